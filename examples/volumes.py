"""Fill in what is hidden of a scan of a head, without and with an encoding.

The scan is the small magnetic resonance series that nibabel has for its own tests. A
masked autoencoder (as He et al., arXiv:2111.06377, for images) gets blocks of
16 x 16 x 12 voxels, cut into 4 x 4 x 4 patches. Half of the patches are hidden, and it
has to say what they hold. It trains on one half of the head and is tested on the other,
which is mirrored, so that both look alike.

Attention sees a set of patches. Without an encoding, every hidden patch is the same to
it, so the best it can say is an average; with one, it can look at the neighbours.

    pip install -e ".[jax,examples]"      # or torch, or tensorflow
    KERAS_BACKEND=jax python examples/volumes.py

It prints how much of the variance of the hidden voxels was not explained: 1 is what the
mean of all voxels would get, 0 is perfect.
"""

import math
from pathlib import Path

import keras
import nibabel
import numpy as np
from common import (
    AXIS_COLORS,
    LearnedTable,
    compare,
    new_figure,
    parse_arguments,
    print_table,
    transformer_block,
)
from keras import layers

from keras_posenc import PositionalEncoding3D, Summer

PATCH, GRID, CHANNELS = (4, 4, 3), (4, 4, 4), 64
SIZE = np.multiply(PATCH, GRID)
BLOCKS_DRAWN = 5

ENCODINGS = {
    "none": layers.Identity,
    # The default's longest waves would be flat on a grid this small.
    "sinusoidal": lambda: Summer(PositionalEncoding3D(CHANNELS, max_wavelength=100)),
    "learned": lambda: LearnedTable(*GRID),
}


def load_halves() -> list[np.ndarray]:
    """Returns the halves of the head, the second mirrored, standardised."""
    file = Path(nibabel.__file__).parent / "tests" / "data" / "example4d.nii.gz"
    scan = nibabel.load(file).get_fdata()[32:96, ..., 0]  # the head, the first volume
    scan = ((scan - scan.mean()) / scan.std()).astype("float32")
    return [scan[:32], scan[:31:-1]]


def cut_blocks(half: np.ndarray, count: int, seed: int) -> np.ndarray:
    """Returns patches of blocks at random places, `(count, *GRID, voxels)`."""
    generator = np.random.default_rng(seed)
    corners = generator.integers(0, np.array(half.shape) - SIZE + 1, (count, 3))
    views = np.lib.stride_tricks.sliding_window_view(half, SIZE)
    blocks = views[tuple(corners.T)]
    split = [n for pair in zip(GRID, PATCH, strict=True) for n in pair]
    blocks = blocks.reshape(count, *split).transpose(0, 1, 3, 5, 2, 4, 6)
    return blocks.reshape(count, *GRID, -1)


def joined(patches: np.ndarray) -> np.ndarray:
    """Returns the blocks again, `(count, *SIZE)`."""
    patches = patches.reshape(-1, *GRID, *PATCH).transpose(0, 1, 4, 2, 5, 3, 6)
    return patches.reshape(-1, *SIZE)


def hide(patches: np.ndarray, seed: int) -> list[np.ndarray]:
    """Returns patches of which half are zeros, and 1 for each that is."""
    hidden = np.random.default_rng(seed).random((*patches.shape[:-1], 1)) < 0.5
    return [np.where(hidden, 0, patches), hidden.astype("float32")]


def build_model(name: str) -> keras.Model:
    patches = keras.Input((*GRID, math.prod(PATCH)))
    hidden = keras.Input((*GRID, 1))
    x = layers.Dense(CHANNELS)(layers.Concatenate()([patches, hidden]))
    x = ENCODINGS[name]()(x)
    x = layers.Reshape((-1, CHANNELS))(x)
    for _ in range(2):
        x = transformer_block(x)
    x = layers.Dense(patches.shape[-1])(layers.LayerNormalization()(x))
    return keras.Model([patches, hidden], layers.Reshape(patches.shape[1:])(x))


def draw(
    test: np.ndarray, hidden: np.ndarray, predictions: dict[str, np.ndarray], path: Path
) -> None:
    """Draws the middle slice of some blocks, of what is seen, and of what is said."""
    rows = {"scan": test, "seen": np.where(hidden, np.nan, test)}
    rows |= {name: np.where(hidden, said, test) for name, said in predictions.items()}
    figure = new_figure(5.2)
    axes = figure.subplots(len(rows), BLOCKS_DRAWN)
    for (name, patches), row in zip(rows.items(), axes, strict=True):
        row[0].set_ylabel(name)
        for block, axis in zip(joined(patches[:BLOCKS_DRAWN]), row, strict=True):
            middle = block[..., SIZE[2] // 2]
            axis.imshow(middle, cmap="gray", vmin=-1, vmax=3)
            axis.set(xticks=[], yticks=[], facecolor=AXIS_COLORS[0])
    figure.savefig(path)


def main() -> None:
    args = parse_arguments(__doc__, epochs=5)
    first, second = load_halves()
    train, test = cut_blocks(first, 1024, seed=0), cut_blocks(second, 256, seed=1)
    inputs, test_inputs = hide(train, seed=0), hide(test, seed=1)
    hidden = test_inputs[1] == 1
    where = hidden[..., 0]
    predictions = {}

    def score(name: str) -> np.ndarray:
        model = build_model(name)
        # The weights: only what is hidden counts.
        model.compile(keras.optimizers.Adam(0.003), "mse", weighted_metrics=[])
        model.fit(inputs, train, 32, args.epochs, sample_weight=inputs[1][..., 0])
        predictions[name] = model.predict(test_inputs, verbose=0)
        error = np.mean((predictions[name] - test)[where] ** 2)
        return error / np.var(test[where])

    scores = compare(ENCODINGS, args.seeds, score)
    print_table("share of the variance that is not explained", {"hidden": scores})
    draw(test, hidden, predictions, args.output / "volumes.png")
    print(f"picture: {args.output / 'volumes.png'}")


if __name__ == "__main__":
    main()
