"""Read handwritten digits with a small attention model, without and with an encoding.

An 8 x 8 digit (scikit-learn's `load_digits`) is cut into a 4 x 4 grid of patches, the
tokens of one attention block, whose outputs are averaged. Attention and the average
treat tokens as a set, so the model sees which patches a digit has but not where they
are, unless `Summer(PositionalEncoding2D(...))` adds it. That is all that differs: the
two models share architecture, seed, initial weights (an encoding has none), epochs and
a stratified split into training and test images, the same for every seed.

    pip install -e ".[jax,examples]"      # or torch, or tensorflow
    python examples/quickstart.py

It trains both, saves the second, loads it in a new process (under another backend where
one is installed), checks that the predictions agree, draws the encoding, and prints the
test accuracies, in less than 90 seconds on two cores. KERAS_BACKEND sets the backend.
"""

import argparse
import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

# Keras chooses its backend once, on import, and unless told takes TensorFlow, installed
# or not. So one that is installed has to be named here, before that import.
os.environ.setdefault(
    "KERAS_BACKEND",
    next(filter(find_spec, ("jax", "torch", "tensorflow")), "tensorflow"),
)

import keras
from keras import layers

import keras_posenc
from keras_posenc import PositionalEncoding2D, Summer

CHANNELS = 32

# Float32 kernels that add in another order move these probabilities by some 1e-6, and
# GPUs that multiply in TF32 by some 1e-3. Losing the encoding would move some by 1.
TOLERANCE = 0.02

# What any process needs in order to use the file. Predicting takes no optimizer.
LOAD_AND_PREDICT = """
import sys
import keras
import numpy as np
import keras_posenc  # The file has its layers by name: this import registers them.
model = keras.saving.load_model(sys.argv[1] + "/model.keras", compile=False)
predictions = model.predict(np.load(sys.argv[1] + "/images.npy"), verbose=0)
np.save(sys.argv[1] + "/predictions.npy", predictions)
"""


def build_model(encode: bool) -> keras.Model:
    images = keras.Input((8, 8, 1))
    x = layers.Conv2D(CHANNELS, kernel_size=2, strides=2)(images)
    if encode:  # The default's longest waves would be flat on a grid this small.
        x = Summer(PositionalEncoding2D(CHANNELS, max_wavelength=100))(x)
    x = layers.Reshape((16, CHANNELS))(x)
    y = layers.LayerNormalization()(x)
    x = x + layers.MultiHeadAttention(num_heads=4, key_dim=CHANNELS // 4)(y, y)
    y = layers.LayerNormalization()(x)
    y = layers.Dense(2 * CHANNELS, activation="relu")(y)
    x = layers.LayerNormalization()(x + layers.Dense(CHANNELS)(y))
    x = layers.GlobalAveragePooling1D()(x)
    return keras.Model(images, layers.Dense(10, activation="softmax")(x))


def train(
    encode: bool, data: list[np.ndarray], seed: int, epochs: int
) -> tuple[keras.Model, float]:
    """Returns the trained model and its accuracy on the test images."""
    train_images, test_images, train_labels, test_labels = data
    keras.utils.set_random_seed(seed)
    model = build_model(encode)
    optimizer = keras.optimizers.Adam(0.005)
    model.compile(optimizer, "sparse_categorical_crossentropy", metrics=["accuracy"])
    print(f"\nTraining {'with' if encode else 'without'} encoding")
    model.fit(train_images, train_labels, batch_size=128, epochs=epochs)
    return model, model.evaluate(test_images, test_labels, verbose=0)[1]


def predict_elsewhere(
    model: keras.Model, images: np.ndarray, backend: str, folder: Path
) -> np.ndarray:
    """Saves the model and returns what a new process predicts with it."""
    model.save(folder / "model.keras")
    np.save(folder / "images.npy", images)
    env = {**os.environ, "KERAS_BACKEND": backend}
    # On the CPU, since this process may hold all of a GPU's memory.
    env |= {"CUDA_VISIBLE_DEVICES": "-1", "JAX_PLATFORMS": "cpu"}
    command = [sys.executable, "-c", LOAD_AND_PREDICT, str(folder)]
    subprocess.run(command, env=env, check=True)
    return np.load(folder / "predictions.npy")


def draw_encoding(path: Path, size: int = 25) -> None:
    """Draws the encoding of a grid larger than the model's, which shows more of it."""
    layer = PositionalEncoding2D(CHANNELS, max_wavelength=100)
    encoding = layer(np.zeros((1, size, size, CHANNELS), "float32"))
    encoding = keras.ops.convert_to_numpy(encoding)[0]
    with mpl.rc_context(keras_posenc.plot.STYLE):  # for light and for dark pages
        figure = Figure(figsize=(6, 3.2), layout="constrained")  # needs no display
        left, right = figure.subfigures(1, 2)
        figure.get_layout_engine().set(wspace=0.03, hspace=0.03, w_pad=0.01, h_pad=0.01)
        axes = left.subplots(4, 4)
        for axis, channel in zip(axes.flat, range(0, CHANNELS, 2), strict=True):
            image = axis.imshow(
                encoding[..., channel], cmap="coolwarm", vmin=-1, vmax=1
            )
            axis.set(xticks=[], yticks=[])
        left.suptitle(f"channels 0, 2 to {CHANNELS - 2}")
        left.colorbar(image, ax=axes, location="bottom", label="encoding")
        axis = right.subplots()
        image = axis.imshow(encoding @ encoding[size // 2, size // 2])
        axis.set(xticks=[], yticks=[])
        right.suptitle("likeness to the centre")
        right.colorbar(image, ax=axis, location="bottom", label="dot product")
        figure.savefig(path, dpi=140)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--epochs", type=int, default=25)
    parser.add_argument("--output", type=Path, default=Path(__file__).parent / "output")
    args = parser.parse_args()
    args.output.mkdir(parents=True, exist_ok=True)

    images, labels = load_digits(return_X_y=True)
    images = images.reshape(-1, 8, 8, 1).astype("float32") / 16
    data = train_test_split(images, labels, stratify=labels, random_state=0)
    _, accuracy_without = train(False, data, args.seed, args.epochs)
    model, accuracy_with = train(True, data, args.seed, args.epochs)

    here = keras.config.backend()
    others = [b for b in ("jax", "torch", "tensorflow") if b != here and find_spec(b)]
    there = others[0] if others else here
    loaded = predict_elsewhere(model, data[1], there, args.output)
    difference = np.abs(loaded - model.predict(data[1], verbose=0)).max()
    draw_encoding(args.output / "quickstart.png")

    print(f"\nbackend                     {here}")
    print(f"accuracy without encoding   {accuracy_without:.2f}")
    print(f"accuracy with encoding      {accuracy_with:.2f}")
    print(f"saved by {here}, loaded by {there}: ", end="")
    print(f"largest difference of the predictions {difference:.0e}")
    print(f"picture: {args.output / 'quickstart.png'}")
    if not difference <= TOLERANCE:  # NaN must not pass
        sys.exit(f"The loaded model's predictions differ by more than {TOLERANCE}.")


if __name__ == "__main__":
    main()
