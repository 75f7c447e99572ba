"""Read digits that are larger than those of training, without and with an encoding.

A model with one attention block sees scikit-learn's 8 x 8 digits as a set of 64 pixels.
It is trained on nothing else, and then reads

- 16 x 16: the same test digits, drawn twice as large;
- padded: the same test digits, 8 x 8, in the middle of an empty 12 x 12 image.

Attention takes any number of pixels. What each encoding makes of the larger grid:

- none: nothing. A set of pixels is all that there is.
- sinusoidal, counted: by itself it counts on, to 15. Training saw no place beyond 7.
- sinusoidal, placed: the same weights, but `positions` say where the pixels are on the
  grid of training: from -0.25 to 7.25 in steps of a half, or from -2 to 9.
- learned: a table of 8 x 8 has no rows for more. It has to be interpolated, which
  stretches it over whatever the image is, as vision transformers do.

    pip install -e ".[jax,examples]"      # or torch, or tensorflow
    KERAS_BACKEND=jax python examples/images.py
"""

from pathlib import Path
from typing import Any

import keras
import numpy as np
from common import (
    COLOURS,
    LearnedTable,
    compare,
    new_figure,
    parse_arguments,
    print_table,
    transformer_block,
)
from keras import layers, ops
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from keras_posenc import PositionalEncoding2D, Summer

SIZE, CHANNELS = 8, 32
# The tests, and where their pixels are on either axis: as they are counted, and as they
# lie on the grid of training.
TESTS = ("8 x 8", "16 x 16", "padded")
MARGIN = 2
COUNTED = tuple(np.arange(n) for n in (SIZE, 2 * SIZE, SIZE + 2 * MARGIN))
PLACED = (COUNTED[0], COUNTED[1] / 2 - 0.25, COUNTED[2] - MARGIN)


class StretchedTable(LearnedTable):
    """A learned table, interpolated to the size of the input."""

    def call(self, inputs: Any) -> Any:
        return inputs + ops.image.resize(
            ops.convert_to_tensor(self.table), inputs.shape[1:3]
        )


def build_model(name: str, places: np.ndarray) -> keras.Model:
    """A model for images of one size, its weights those of any size."""
    size = len(places)
    images = keras.Input((size, size, 1))
    x = layers.Dense(CHANNELS, activation="relu")(images)
    if name == "sinusoidal":  # the default's longest waves would be flat here
        encoding = PositionalEncoding2D(CHANNELS, max_wavelength=100)
        grid = np.stack(np.meshgrid(places, places, indexing="ij"), axis=-1)
        x = Summer(encoding)(x, positions=grid)
    elif name == "learned":
        x = StretchedTable(SIZE, SIZE)(x)
    x = layers.Reshape((size * size, CHANNELS))(x)
    x = transformer_block(x)
    x = layers.GlobalAveragePooling1D()(layers.LayerNormalization()(x))
    model = keras.Model(images, layers.Dense(10)(x))
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile(keras.optimizers.Adam(0.005), loss, metrics=["accuracy"])
    return model


def load_images() -> tuple[list[np.ndarray], list[np.ndarray]]:
    """Returns the test images of each test, and what else there is of the data."""
    images, labels = load_digits(return_X_y=True)
    images = images.reshape(-1, SIZE, SIZE, 1).astype("float32") / 16
    train, test, *labels = train_test_split(
        images, labels, stratify=labels, random_state=0
    )
    large = ops.convert_to_numpy(ops.image.resize(test, (2 * SIZE, 2 * SIZE)))
    padded = np.pad(test, ((0, 0), (MARGIN, MARGIN), (MARGIN, MARGIN), (0, 0)))
    return [test, large, padded], [train, *labels]


def draw(
    columns: dict[str, dict[str, np.ndarray]], tests: list[np.ndarray], path: Path
) -> None:
    """Draws an image of each test beside the accuracies."""
    figure = new_figure(5.2)
    axes = figure.subplots(len(TESTS), 2, width_ratios=(1, 2.5), sharex="col")
    for test, images, (left, right) in zip(TESTS, tests, axes, strict=True):
        left.imshow(images[0, ..., 0], cmap="gray_r")
        left.set(xlim=(-0.5, 15.5), ylim=(15.5, -0.5), xticks=[], yticks=[])
        left.set(title=test, facecolor="white")
        for name, accuracies in columns[test].items():
            colour = COLOURS.get(name, COLOURS["sinusoidal"])
            right.barh(name, accuracies.mean(), color=colour)
            right.plot(accuracies, [name] * len(accuracies), "wo", markeredgecolor="k")
        right.invert_yaxis()
        right.set(xlim=(0, 1))
    axes[-1, 1].set(xlabel="accuracy")
    figure.savefig(path)


def main() -> None:
    args = parse_arguments(__doc__, epochs=14)
    tests, (train, train_labels, test_labels) = load_images()

    def score(name: str) -> np.ndarray:
        """Returns the accuracy in each test, of pixels counted and pixels placed."""
        model = build_model(name, np.arange(SIZE))
        model.fit(train, train_labels, batch_size=64, epochs=args.epochs)
        ways = (COUNTED, PLACED) if name == "sinusoidal" else (COUNTED,)
        accuracies = np.zeros((len(ways), len(tests)))
        for (way, test), _ in np.ndenumerate(accuracies):
            larger = build_model(name, ways[way][test])
            larger.set_weights(model.get_weights())
            results = larger.evaluate(tests[test], test_labels, verbose=0)
            accuracies[way, test] = results[1]
        return accuracies

    scores = compare(("none", "sinusoidal", "learned"), args.seeds, score)
    rows = {
        "none": scores["none"][:, 0],
        "counted": scores["sinusoidal"][:, 0],
        "placed": scores["sinusoidal"][:, 1],
        "learned": scores["learned"][:, 0],
    }
    columns = {
        test: {name: row[:, column] for name, row in rows.items()}
        for column, test in enumerate(TESTS)
    }
    print_table("accuracy", columns)
    draw(columns, tests, args.output / "images.png")
    print(f"picture: {args.output / 'images.png'}")


if __name__ == "__main__":
    main()
