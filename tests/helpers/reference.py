"""The formulas of the papers, written out in NumPy float64 from their definition.

Nothing here comes from the package: it is what the package is measured against.
`encode` is the plain formula, right to 2e-12 at the positions up to 10,000; `exact` is
for the positions where float64 angles run out.
"""

from __future__ import annotations

import functools
import itertools
import math
from dataclasses import dataclass
from decimal import Decimal, localcontext
from typing import Any

import numpy as np
import numpy.typing as npt


def encode_1d(length: int, channels: int, base: float = 10000.0) -> np.ndarray:
    """PE(x, 2i) = sin(x / base^(2i/D)), PE(x, 2i+1) = cos(same), cut to channels."""
    padded = channels + channels % 2
    table = np.zeros((length, padded))
    x = np.arange(length, dtype="float64")
    for i in range(padded // 2):
        table[:, 2 * i] = np.sin(x / base ** (2 * i / padded))
        table[:, 2 * i + 1] = np.cos(x / base ** (2 * i / padded))
    return table[:, :channels]


def encode_2d(width: int, height: int, channels: int) -> np.ndarray:
    """The first half as encode_1d of x, the second of y, with base^(4i/D)."""
    padded = 4 * -(-channels // 4)
    table = np.zeros((width, height, padded))
    x, y = np.meshgrid(np.arange(width), np.arange(height), indexing="ij")
    for i in range(padded // 4):
        wavelength = 10000.0 ** (4 * i / padded)
        table[..., 2 * i] = np.sin(x / wavelength)
        table[..., 2 * i + 1] = np.cos(x / wavelength)
        table[..., 2 * i + padded // 2] = np.sin(y / wavelength)
        table[..., 2 * i + 1 + padded // 2] = np.cos(y / wavelength)
    return table[..., :channels]


def encode_3d(width: int, height: int, depth: int, channels: int) -> np.ndarray:
    """Thirds for x, y and z, with base^(6i/D)."""
    padded = 6 * -(-channels // 6)
    table = np.zeros((width, height, depth, padded))
    grid = np.meshgrid(
        np.arange(width), np.arange(height), np.arange(depth), indexing="ij"
    )
    for axis, position in enumerate(grid):
        first = axis * padded // 3
        for i in range(padded // 6):
            wavelength = 10000.0 ** (6 * i / padded)
            table[..., first + 2 * i] = np.sin(position / wavelength)
            table[..., first + 2 * i + 1] = np.cos(position / wavelength)
    return table[..., :channels]


def encode(sizes: tuple[int, ...], channels: int) -> np.ndarray:
    """The formula that goes with the number of sizes, of shape (*sizes, channels)."""
    formula = {1: encode_1d, 2: encode_2d, 3: encode_3d}[len(sizes)]
    return formula(*sizes, channels)


TWO_PI = Decimal("6.28318530717958647692528676655900576839433879875021164194989")


def exact(
    positions: npt.ArrayLike, channels: int, base: float = 10000.0
) -> npt.NDArray[np.float64]:
    """The encoding at real positions `(..., rank)`, right to 1e-15 below 2^31.

    Blocks of channels as in encode_2d and encode_3d. Float64 angles would be off by
    2e-7 at 2^31, which is why the angles are counted in turns here.
    """
    positions = np.asarray(positions, dtype="float64")
    rank = positions.shape[-1]
    width = 2 * -(-channels // (2 * rank))
    blocks = [exact_1d(positions[..., axis], width, base) for axis in range(rank)]
    return np.concatenate(blocks, axis=-1)[..., :channels]


def exact_1d(
    positions: npt.ArrayLike, channels: int, base: float = 10000.0
) -> npt.NDArray[np.float64]:
    """What encode_1d has in one row, at positions of any shape `(...)`."""
    positions = np.asarray(positions, dtype="float64")[..., None]
    wrapping, rest, per_position = _turns(channels + channels % 2, base)
    # Whole units of 2^-20, and what is left of them: both exact, in 53 bits.
    units = np.floor(positions * 2.0**20)
    left = positions - units * 2.0**-20
    # The product wraps at 2^64, which is one turn: whole turns drop out by themselves.
    turns = (units.astype("int64") * wrapping) * 2.0**-64
    # `rest` is less than 2^-64 of a turn, and the units are at most 2^51.
    angles = 2 * np.pi * (turns + units * rest + left * per_position)
    table = np.empty((*angles.shape[:-1], 2 * angles.shape[-1]))
    table[..., 0::2] = np.sin(angles)
    table[..., 1::2] = np.cos(angles)
    return table[..., :channels]


def exact_gradient_1d(
    positions: npt.ArrayLike, channels: int
) -> npt.NDArray[np.float64]:
    """Of the sum of each row of exact_1d: f * cos for a sine, -f * sin for a cosine."""
    encoding = exact_1d(positions, channels)
    frequencies = 10000.0 ** -(np.arange(channels // 2) / (channels // 2))
    slopes = encoding[..., 1::2] - encoding[..., 0::2]
    return (slopes * frequencies).sum(axis=-1)


@functools.cache
def _turns(padded: int, base: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The turns of each sine in one unit of 2^-20: a multiple of 2^-64, and a rest.

    The third array has the turns per position, for fractions of a unit.
    """
    with localcontext(prec=60):
        turns = [
            Decimal(base) ** (Decimal(-2 * i) / padded) / TWO_PI
            for i in range(padded // 2)
        ]
        whole = [round(number * 2**44) for number in turns]
        rest = [
            (number * 2**44 - nearest) / 2**64
            for number, nearest in zip(turns, whole, strict=True)
        ]
    return np.array(whole), np.array(rest, "float64"), np.array(turns, "float64")


@functools.lru_cache(maxsize=16)
def exact_rows(size: int, width: int, base: float) -> npt.NDArray[np.float64]:
    """exact_1d of the positions below `size`, kept for whoever asks for the same."""
    return exact_1d(np.arange(size), width, base)


def grid_error(grid: npt.NDArray[Any], base: float = 10000.0) -> float:
    """How far the encoding of a grid `(*sizes, channels)` is off, at most."""
    *sizes, channels = grid.shape
    width = 2 * -(-channels // (2 * len(sizes)))
    found = []
    for axis, size in enumerate(sizes):
        block = grid[..., axis * width : (axis + 1) * width]
        block = np.moveaxis(block, axis, len(sizes) - 1)
        expected = exact_rows(size, width, base)[:, : block.shape[-1]]
        found.append(np.abs(block - expected).max())
    return max(found)


_SIGNIFICANT_BITS = {"float16": 11, "bfloat16": 8}
_FIRST_NORMAL_EXPONENT = {"float16": -13, "bfloat16": -125}  # of np.frexp


def half_a_unit(values: npt.NDArray[Any], dtype: str) -> npt.NDArray[np.float64]:
    """Half the distance between the numbers of `dtype` about each value."""
    exponent = np.maximum(np.frexp(values)[1], _FIRST_NORMAL_EXPONENT[dtype])
    return np.ldexp(1.0, exponent - _SIGNIFICANT_BITS[dtype] - 1)


# Every option of the published encodings, from the words of their documentation.


@dataclass(frozen=True)
class Wave:
    """A channel: a sine or cosine along an axis, or zeros where there is no axis."""

    axis: int | None
    frequency: float = 0.0
    cosine: bool = False


def waves(
    rank: int,
    channels: int,
    inputs: int | None = None,
    *,
    max_wavelength: Any = 10000.0,
    endpoint: bool = False,
    frequencies: Any = None,
    layout: str = "interleaved",
    cos_first: bool = False,
    axis_order: Any = None,
    split: Any = None,
    remainder: str = "truncate",
) -> list[Wave]:
    """The channels that an input with `inputs` of them gets of `channels` written."""
    names = {"interleaved": "axis freq phase", "concatenated": "axis phase freq"}
    words = names.get(layout, layout).split()
    if split is not None:
        bands = [part // 2 for part in split]
    elif remainder == "pad":
        bands = [channels // (2 * rank)] * rank
    else:
        bands = [math.ceil(channels / (2 * rank))] * rank
    loops = {
        "axis": range(rank) if axis_order is None else axis_order,
        "freq": range(max(bands)),
        "phase": [True, False] if cos_first else [False, True],
    }
    found = []
    for indices in itertools.product(*[loops[word] for word in words]):
        index = dict(zip(words, indices, strict=True))
        axis, band = index["axis"], index["freq"]
        if band >= bands[axis]:
            continue
        if frequencies is not None:
            own = frequencies[axis] if isinstance(frequencies[0], list) else frequencies
            frequency = own[band]
        else:
            base = along(max_wavelength, axis)
            steps = bands[axis] - 1 if endpoint else bands[axis]
            frequency = base ** (-band / steps) if band else 1.0
        found.append(Wave(axis, frequency, bool(index["phase"])))
    if remainder == "pad":
        found += [Wave(None)] * (channels - len(found))
    return found[: channels if inputs is None else inputs]


def along(value: Any, axis: int) -> float:
    """A number for all axes, or that of one axis."""
    return value[axis] if isinstance(value, list) else value


def coordinate(
    i: int,
    n: int,
    axis: int,
    *,
    offset: Any = 0.0,
    scale: Any = 1.0,
    coordinate_range: Any = None,
    align_corners: bool = False,
    eps: float = 0.0,
) -> float:
    """Where the element `i` of `n` lies along an axis."""
    place = i + along(offset, axis)
    if coordinate_range is not None:
        low, high = coordinate_range
        if align_corners:
            place = low + (high - low) * place / (n - 1) if n > 1 else low
        else:
            place = low + (high - low) * place / (n + eps)
    return along(scale, axis) * place


_COORDINATE_OPTIONS = ("offset", "scale", "coordinate_range", "align_corners", "eps")


def encode_options(
    sizes: tuple[int, ...], channels: int, inputs: int | None = None, **options: Any
) -> np.ndarray:
    """The encoding with any options, of shape (*sizes, what there is of channels)."""
    where = {name: options.pop(name) for name in _COORDINATE_OPTIONS if name in options}
    found = waves(len(sizes), channels, inputs, **options)
    table = np.zeros((*sizes, len(found)))
    for channel, wave in enumerate(found):
        if wave.axis is None:
            continue
        n = sizes[wave.axis]
        function = math.cos if wave.cosine else math.sin
        for i in range(n):
            angle = wave.frequency * coordinate(i, n, wave.axis, **where)
            np.moveaxis(table, wave.axis, 0)[i, ..., channel] = function(angle)
    return table
