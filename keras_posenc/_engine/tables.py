"""Tables of sines, computed on the host in float64.

A long axis is made by angle addition, sin(a + b) = sin(a) * cos(b) + cos(a) * sin(b):
of the sines of every `step`-th position and of those of the positions below `step`.
"""

from __future__ import annotations

import functools
import math
from typing import NamedTuple

import numpy as np

from keras_posenc import _backend
from keras_posenc._engine.waves import (
    LARGE_ANGLE,
    QUARTER_TURN,
    TURN,
    Grid,
    Recipe,
    Waves,
    WaveSource,
)

# Up to this many numbers an axis has one table: 2 MB of float32. Read once for each
# element of a batch, it stays in the cache of the processor, and costs less than the
# products of two. (These took 1.05 times as long on JAX, and 1.3 on torch, for an input
# of 8 x 1024 x 512.)
_ONE_TABLE = 2**19


class Known(NamedTuple):
    """Size and first position of an axis that a graph knows."""

    size: int
    start: int


def table_sizes(size: int, channels: int) -> tuple[int, ...]:
    """The positions in each of the tables of an axis: of one, or of four.

    The four are sine and cosine of every `step`-th position, then sine and cosine of
    the positions below `step`.
    """
    if size * channels <= _ONE_TABLE:
        return (size,)
    # Beyond the square root, where the tables are shortest: with 96 positions instead
    # of 64, an input of 1 x 4096 x 1024 takes 5% less on JAX, and with 256 5% more.
    step = -(-math.isqrt(2 * size) // 32) * 32
    count = -(-size // step)
    return (count, count, step, step)


def axis_tables(waves: Waves, axis: int, known: Known) -> list[np.ndarray]:
    """The tables of an axis, each of shape `(positions, channels)`."""
    line = waves.coordinates[axis].counted(known.start, known.size)
    frequency, phase = waves.along(axis, line)
    counts = table_sizes(known.size, len(frequency))
    if len(counts) == 1:
        return [sines(np.arange(known.size), frequency, phase)]
    count, _, step, _ = counts
    coarse, fine = np.arange(count) * step, np.arange(step)
    return [
        sines(coarse, frequency, 0.0),
        sines(coarse, frequency, QUARTER_TURN),
        sines(fine, frequency, phase),
        sines(fine, frequency, phase + QUARTER_TURN),
    ]


def sines(
    positions: np.ndarray, frequency: np.ndarray, phase: np.ndarray | float
) -> np.ndarray:
    """The sines at positions, along a new last dimension."""
    with np.errstate(over="ignore"):
        angles = np.multiply.outer(positions, frequency)
    return _sines(angles, phase)


def _sines(angles: np.ndarray, phase: np.ndarray | float) -> np.ndarray:
    # The sine of infinity is NaN, as it is everywhere else.
    with np.errstate(invalid="ignore"):
        if angles.size and max(angles.max(), -angles.min()) > LARGE_ANGLE:
            angles = np.fmod(angles, TURN)
        return np.sin(angles + phase)


def point_table(waves: Waves, positions: np.ndarray) -> np.ndarray:
    """The encoding of given positions `(..., rank)`, in float64."""
    frequency, phase = waves.given()
    with np.errstate(over="ignore", invalid="ignore"):
        values = positions.astype("float64")
        angles = values[..., waves.axis] * frequency
        if positions.dtype.kind in "iu" and np.any(np.abs(values) >= 2.0**53):
            # What float64 has left out of the integers, beside whole turns.
            whole = np.frompyfunc(int, 1, 1)(values)
            rest = (positions.astype(object) - whole).astype("float64")
            angles = np.fmod(angles, TURN) + rest[..., waves.axis] * frequency
        return _sines(angles, phase)


def grid_table(recipe: Recipe, grid: Grid, dtype: str) -> np.ndarray:
    """The encoding of a grid of known sizes and starts, before it is made tokens."""
    waves = recipe.source.waves(recipe.channels)
    try:
        terms = []
        for axis, dim in enumerate(grid.dims):
            known = Known(grid.sizes[axis], grid.starts[axis])
            shape = [1] * grid.ndim
            shape[dim], shape[grid.channel_dim] = known.size, recipe.channels
            rows = _axis_sines(waves, axis, known, dtype)
            rows = rows.T if grid.channel_dim < dim else rows
            terms.append(rows.reshape(shape))
        return functools.reduce(np.add, terms)
    except MemoryError as error:
        # With its text: Keras repeats what a layer raises, and cannot repeat NumPy's.
        raise MemoryError(str(error)) from None


def _axis_sines(waves: Waves, axis: int, known: Known, dtype: str) -> np.ndarray:
    """The sines of an axis, of shape `(positions, channels)`."""
    # A table beyond memory is an error now, not after minutes of work.
    np.empty((known.size, len(waves.axis)), dtype)
    tables = axis_tables(waves, axis, known)
    if len(tables) == 1:
        return tables[0].astype(dtype)
    # Angle addition here too: it takes a fifth of the time of sines at 65,536 x 512.
    # Block by block, which the processor's cache holds.
    coarse_sine, coarse_cosine, fine_sine, fine_cosine = tables
    blocks = np.empty((len(coarse_sine), *fine_sine.shape), dtype)
    for block, sine, cosine in zip(blocks, coarse_sine, coarse_cosine, strict=True):
        block[...] = sine * fine_cosine + cosine * fine_sine
    return blocks.reshape(-1, len(waves.axis))[: known.size]


# `source` and `channels` are one `Recipe` wherever no compiler looks: torch.compile
# rebuilds no record around what was made before it traces.


@_backend.host_constant
def graph_tables(
    source: WaveSource,
    channels: int,
    dtype: str,
    known: tuple[Known | None, ...],
    columns: bool,
) -> np.ndarray:
    """The tables of all axes that are known, one below the other, or with `columns`
    beside each other.

    In one constant: each takes torch.compile 5 us in every call.
    """
    waves = source.waves(channels)
    tables: list[np.ndarray] = []
    for axis, of_axis in enumerate(known):
        if of_axis is not None:
            tables += axis_tables(waves, axis, of_axis)
    rows = np.concatenate(tables).astype(dtype)
    if columns:
        return _backend.aligned(np.ascontiguousarray(rows.T))
    if len(tables) > 1:
        rows = np.pad(rows, ((0, 0), (0, _backend.ROW_PADDING)))
    return _backend.aligned(rows)
