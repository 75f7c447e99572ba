"""Predict the next character of English text, without and with an encoding.

The text is Python's own language reference, which comes with Python. A transformer of
two causal blocks reads windows of 32 characters. A causal model without an encoding is
not lost: it knows the last character, and which ones came before. What it can hardly
tell is their order. It is tested on paragraphs that training has not seen.

    pip install -e ".[jax,examples]"      # or torch, or tensorflow
    KERAS_BACKEND=jax python examples/text.py

It prints bits per character, which say how well the next one was foreseen (less is
better), for windows as long as those of training and for windows twice as long. For the
latter the learned table has no rows; the sinusoidal encoding has numbers for any place.
"""

from pathlib import Path
from pydoc_data.topics import topics

import keras
import numpy as np
from common import (
    COLOURS,
    TEXT,
    LearnedTable,
    compare,
    new_figure,
    parse_arguments,
    print_table,
    transformer_block,
)
from keras import layers, ops

from keras_posenc import PositionalEncoding1D, Summer

LENGTH, CHANNELS = 32, 64

ENCODINGS = {
    "none": layers.Identity,
    "sinusoidal": lambda: Summer(PositionalEncoding1D(CHANNELS, max_wavelength=1000)),
    "learned": lambda: LearnedTable(LENGTH),
}


def load_text() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Returns the characters for training and for testing, and their kinds."""
    paragraphs = "\n\n".join(topics.values()).lower().split("\n\n")
    # Some topics repeat others: none must be in training and in the test.
    paragraphs = list(dict.fromkeys(" ".join(p.split()) for p in paragraphs))
    paragraphs = np.random.default_rng(0).permutation(paragraphs)
    text = np.array(list("\n".join(paragraphs)))
    kinds, characters = np.unique(text, return_inverse=True)
    start = len(text) * 9 // 10
    return characters[:start], characters[start:], kinds


def windows(characters: np.ndarray, length: int) -> tuple[np.ndarray, np.ndarray]:
    """Returns windows of the text, and for each character the one after it."""
    count = (len(characters) - 1) // length
    x = characters[: count * length].reshape(count, length)
    return x, characters[1 : count * length + 1].reshape(count, length)


def build_model(kinds: int, name: str) -> keras.Model:
    length = LENGTH if name == "learned" else None  # any
    inputs = keras.Input((length,), dtype="int32")
    # As large as the encoding: Keras's default start is some 25 times smaller.
    unit = keras.initializers.RandomNormal(stddev=1)
    x = layers.Embedding(kinds, CHANNELS, embeddings_initializer=unit)(inputs)
    x = ENCODINGS[name]()(x)
    for _ in range(2):
        x = transformer_block(x, causal=True)
    x = layers.LayerNormalization()(x)
    return keras.Model(inputs, layers.Dense(kinds)(x))


def bits(model: keras.Model, characters: np.ndarray, length: int) -> np.ndarray:
    """Returns the bits per character at the first places of each window."""
    x, y = (part[:, :length] for part in windows(characters, 2 * LENGTH))
    loss = keras.losses.sparse_categorical_crossentropy(
        y, model.predict(x, verbose=0), from_logits=True
    )
    return ops.convert_to_numpy(loss).mean(axis=0) / np.log(2)


def draw(scores: dict[str, np.ndarray], path: Path) -> None:
    figure = new_figure(3.4)
    axis = figure.subplots()
    for name, at_place in scores.items():
        # Averages of neighbouring places: a single one is noisy.
        mean = at_place.mean(axis=0).reshape(-1, 4).mean(axis=1)
        axis.plot(2 + 4 * np.arange(len(mean)), mean, color=COLOURS[name], label=name)
    axis.axvline(LENGTH, color=TEXT, linestyle=":", label="longest in training")
    axis.set(xlabel="place in the window", ylabel="bits per character")
    axis.legend()
    figure.savefig(path)


def main() -> None:
    args = parse_arguments(__doc__, epochs=1)
    train, test, kinds = load_text()

    def score(name: str) -> np.ndarray:
        model = build_model(len(kinds), name)
        loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
        model.compile(keras.optimizers.Adam(0.003), loss)
        model.fit(*windows(train, LENGTH), batch_size=32, epochs=args.epochs)
        return bits(model, test, LENGTH if name == "learned" else 2 * LENGTH)

    scores = compare(ENCODINGS, args.seeds, score)
    known, new = slice(LENGTH), slice(LENGTH, 2 * LENGTH)
    columns = {
        f"places {part.start or 0}-{part.stop - 1}": {
            name: at_place[:, part].mean(axis=1)
            for name, at_place in scores.items()
            if at_place.shape[1] >= part.stop
        }
        for part in (known, new)
    }
    print_table("bits per character", columns)
    draw(scores, args.output / "text.png")
    print(f"picture: {args.output / 'text.png'}")


if __name__ == "__main__":
    main()
