"""What the examples on real data share: arguments, a transformer block, a table."""

import argparse
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import keras
import matplotlib as mpl
import numpy as np
from keras import layers
from matplotlib.figure import Figure

from keras_posenc.plot import AXIS_COLORS, STYLE, TEXT

# One colour for each way to encode, in every picture.
COLOURS = {"none": TEXT, "sinusoidal": AXIS_COLORS[0], "learned": AXIS_COLORS[1]}
OTHER_COLOUR = AXIS_COLORS[2]
# Inches. Small, so that a phone, which shows two thirds of this width, can show text.
WIDTH = 5.4

# Pictures for light and for dark pages.
mpl.rcParams.update({**STYLE, "savefig.dpi": 140})


def parse_arguments(
    description: str, epochs: int, seeds: int | None = 3
) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=description.splitlines()[0])
    parser.add_argument("--epochs", type=int, default=epochs)
    if seeds:
        parser.add_argument("--seeds", type=int, default=seeds, help="how many")
    parser.add_argument("--output", type=Path, default=Path(__file__).parent / "output")
    arguments = parser.parse_args()
    arguments.output.mkdir(parents=True, exist_ok=True)
    return arguments


class LearnedTable(layers.Layer):
    """Adds a trained vector to each place: the usual alternative to an encoding."""

    def __init__(self, *sizes: int):
        super().__init__()
        self.sizes = sizes

    def build(self, input_shape: tuple) -> None:
        # A deviation of 0.02 is what BERT, GPT-2 and vision transformers begin with.
        self.table = self.add_weight(
            shape=(*self.sizes, input_shape[-1]),
            initializer=keras.initializers.RandomNormal(stddev=0.02),
        )

    def call(self, inputs: Any) -> Any:
        return inputs + self.table


def transformer_block(x: Any, causal: bool = False) -> Any:
    """Attention and two dense layers, each added to its input (pre-norm)."""
    channels = x.shape[-1]
    y = layers.LayerNormalization()(x)
    attention = layers.MultiHeadAttention(num_heads=4, key_dim=channels // 4)
    x = x + attention(y, y, use_causal_mask=causal)
    y = layers.LayerNormalization()(x)
    y = layers.Dense(2 * channels, activation="relu")(y)
    return x + layers.Dense(channels)(y)


def compare(
    names: Iterable[str], seeds: int, score: Callable[[str], np.ndarray]
) -> dict[str, np.ndarray]:
    """Returns what `score(name)` returns with each seed: `{name: (seeds, ...)}`."""
    scores = {}
    for name in names:
        of_seeds = []
        for seed in range(seeds):
            print(f"\nencoding: {name}, seed {seed}")
            keras.utils.set_random_seed(seed)
            of_seeds.append(score(name))
        scores[name] = np.stack(of_seeds)
    return scores


def print_table(title: str, columns: dict[str, dict[str, np.ndarray]]) -> None:
    """Prints means over the seeds, and the lowest and highest of them in brackets."""
    print(f"\n{title} ({keras.config.backend()})")
    names = list(dict.fromkeys(name for column in columns.values() for name in column))
    print(" " * 12 + "".join(f"{column:>24}" for column in columns))
    for name in names:
        cells = (summary(column.get(name)) for column in columns.values())
        print(f"{name:12}" + "".join(f"{cell:>24}" for cell in cells))


def summary(of_seeds: np.ndarray | None) -> str:
    if of_seeds is None:
        return "-"
    return f"{np.mean(of_seeds):.3f} ({np.min(of_seeds):.3f} - {np.max(of_seeds):.3f})"


def new_figure(height: float) -> Figure:
    return Figure(figsize=(WIDTH, height), layout="constrained")
