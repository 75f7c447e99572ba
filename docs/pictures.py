"""The pictures of the site, drawn when it is built: `python docs/pictures.py FOLDER`.

All of them show what the package computes, or what the benchmarks measured, so that
none can be out of date.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import keras
import matplotlib as mpl

mpl.use("Agg")  # before pyplot looks for a display

import ml_dtypes
import numpy as np
from matplotlib import pyplot
from matplotlib.figure import Figure

from keras_posenc import encode, plot, sinusoidal_table
from keras_posenc.plot import AXIS_COLORS, STYLE

RESULTS = Path(__file__).parents[1] / "benchmarks/results/README.md"
BACKENDS = ("JAX", "TensorFlow", "PyTorch")
RATIO = re.compile(r"^\| (.*): Summer / stored table \|(.*)\|$", re.MULTILINE)
CHANNELS = 64
FREQUENCIES = 10000.0 ** -(np.arange(CHANNELS // 2) / (CHANNELS // 2))
# Inches. Small, so that a phone, which shows two thirds of this width, can show text.
SIZE = (5.4, 3.2)


def _waves_of(angles: np.ndarray) -> np.ndarray:
    pairs = np.stack([np.sin(angles), np.cos(angles)], axis=-1)
    return pairs.reshape(len(angles), -1)


def _usual(positions: np.ndarray, dtype: Any) -> np.ndarray:
    """The encoding as most code has it, with angles in the dtype of the layer."""
    angles = positions[:, None].astype(dtype) * FREQUENCIES.astype(dtype)
    return _waves_of(angles.astype("float32")).astype(dtype)


def _ours(positions: np.ndarray, dtype: str) -> np.ndarray:
    encoding = encode(positions, CHANNELS, dtype=dtype)
    return keras.ops.convert_to_numpy(encoding)


def errors() -> Figure:
    positions = np.unique(np.geomspace(1, 10**6, 400).round()).astype("int64")
    exact = _waves_of(positions[:, None] * FREQUENCIES)
    curves = {
        "float32 angles": _usual(positions, "float32"),
        "keras-posenc": _ours(positions, "float32"),
    }
    figure, axis = pyplot.subplots(figsize=SIZE, layout="constrained")
    for (name, found), color in zip(curves.items(), AXIS_COLORS[1::-1], strict=True):
        error = np.abs(found - exact).max(axis=1)
        axis.loglog(positions, np.maximum.accumulate(error), label=name, color=color)
    axis.set(xlabel="position", ylabel="largest error up to here")
    axis.legend()
    return figure


def collisions() -> Figure:
    lengths = np.array([64, 128, 256, 512, 1024, 2048, 4096])
    positions = np.arange(lengths[-1])
    usual = {"float16": "float16", "bfloat16": ml_dtypes.bfloat16}
    curves = {
        "keras-posenc, both dtypes": _ours(positions, "bfloat16"),
        **{f"{name} angles": _usual(positions, dtype) for name, dtype in usual.items()},
    }
    figure, axis = pyplot.subplots(figsize=SIZE, layout="constrained")
    for (name, found), color in zip(curves.items(), AXIS_COLORS, strict=False):
        rows = found.astype("float32")
        distinct = [len(np.unique(rows[:length], axis=0)) for length in lengths]
        axis.loglog(lengths, distinct, "o-", label=name, color=color)
    axis.set(xlabel="positions", ylabel="distinct encodings")
    axis.legend()
    return figure


def shares() -> Figure:
    """From the table of results: the time of `Summer` beside that of a stored table."""
    rows = {
        # In bold where it is more than promised.
        name: [float(cell.split()[0].strip("*")) for cell in cells.split("|")]
        for name, cells in RATIO.findall(RESULTS.read_text())
    }
    figure, axis = pyplot.subplots(figsize=SIZE, layout="constrained")
    places = np.arange(len(rows))
    for number, (backend, color) in enumerate(zip(BACKENDS, AXIS_COLORS, strict=False)):
        values = [row[number] for row in rows.values()]
        at = places + (number - 1) * 0.26
        axis.barh(at, values, height=0.24, label=backend, color=color)
    axis.axvline(1, color=mpl.rcParams["text.color"], linestyle="--", linewidth=1)
    axis.set(yticks=places, yticklabels=list(rows), xlabel="share of the time")
    axis.invert_yaxis()
    axis.legend(loc="lower center", bbox_to_anchor=(0.3, 1), ncols=3)
    return figure


def wavelengths() -> Figure:
    distances = np.arange(65)
    figure, axis = pyplot.subplots(figsize=SIZE, layout="constrained")
    for longest, color in zip((10_000, 64, 4), AXIS_COLORS, strict=False):
        table = sinusoidal_table(len(distances), CHANNELS, max_wavelength=longest)
        label = f"max_wavelength {longest:,}"
        axis.plot(distances, table @ table[0], label=label, color=color)
    axis.set(xlabel="distance of two positions", ylabel="dot product", ylim=(None, 45))
    axis.legend(loc="upper right")
    return figure


def spectrum() -> Figure:
    return plot.spectrum("mae", (14, 14), channels=CHANNELS)[0]


def axes() -> Figure:
    """The parts of a sum: places of a grid, row by row, and channels."""
    sizes, channels = (5, 6), 16
    whole = sinusoidal_table(sizes, channels, max_wavelength=20)
    # The first half of the channels is that of axis 0.
    of_first = np.where(np.arange(channels) < channels // 2, whole, 0)
    parts = {
        "part of axis 0": of_first,
        "+  part of axis 1": whole - of_first,
        "=  encoding": whole,
    }
    figure, panels = pyplot.subplots(1, 3, figsize=(6.6, 3.6), layout="constrained")
    for panel, (title, part) in zip(panels, parts.items(), strict=True):
        rows = part.reshape(-1, channels)
        image = panel.imshow(rows, cmap="coolwarm", vmin=-1, vmax=1, aspect="auto")
        panel.set(title=title, xlabel="channel")
    panels[0].set_ylabel("place, row by row")
    figure.colorbar(image, ax=panels)
    return figure


# Maps are dots, and curves are curves.
PICTURES: dict[str, Callable[[], Figure]] = {
    "errors.svg": errors,
    "collisions.svg": collisions,
    "shares.svg": shares,
    "wavelengths.svg": wavelengths,
    "spectrum.png": spectrum,
    "axes.png": axes,
}


def draw(folder: Path) -> None:
    folder.mkdir(exist_ok=True)
    # Text stays text, in the font of the page.
    with pyplot.rc_context({**STYLE, "svg.fonttype": "none"}):
        for name, picture in PICTURES.items():
            figure = picture()
            figure.savefig(folder / name, dpi=140)
            pyplot.close(figure)


if __name__ == "__main__":
    draw(Path(sys.argv[1]))
