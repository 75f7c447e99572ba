"""The encoding of positions that the caller gives."""

from __future__ import annotations

from typing import Any, NamedTuple

import keras
import numpy as np
from keras import ops

from keras_posenc import _backend
from keras_posenc._engine import cache, tables, turns
from keras_posenc._engine.waves import Recipe, WaveSource

# Given as an array, so many positions and channels are computed on the host, in 2 ms or
# less. Beyond, the device is faster.
_FEW_POINTS = 2**17


class _How(NamedTuple):
    """How positions are encoded: no tensor is in it."""

    rank: int
    radix: turns.Radix
    dtype: str


def encode_positions(
    positions: Any, recipe: Recipe, dtype: str, like: Any = None
) -> Any:
    """The encoding of each of `positions`, along a new last dimension.

    For several axes, it takes the place of the one that holds the coordinates.
    `positions` is a tensor, or a NumPy array: that is computed before float32 blurs
    it, and put where the tensor `like` is.
    """
    rank, precision = recipe.rank, _backend.precision_for(dtype)
    if not isinstance(positions, np.ndarray):
        kind = keras.backend.standardize_dtype(positions.dtype)
        how = _How(rank, turns.radix_of(*recipe, kind), dtype)
        rows, axes = _constants(positions, recipe, how)
        return _backend.in_one_call(positions, _encoded, how, positions, rows, axes)
    if positions.size // rank * recipe.channels <= _FEW_POINTS:
        values = positions if rank > 1 else positions[..., None]
        table = tables.point_table(recipe.source.waves(recipe.channels), values)
        table = _backend.put_like(table.astype(precision), like)
        return _backend.rounded(table, dtype)
    most = turns.digits_needed(positions)
    how = _How(rank, turns.radix_of(*recipe, str(positions.dtype), most), dtype)
    digits = turns.host_digits(positions, how.radix, precision)
    digits = digits.map(lambda values: _backend.put_like(values, like))
    like = digits.values[0]
    rows, axes = _constants(like, recipe, how)
    with _backend.device_scope(like):
        return _of_digits(how, digits, rows, axes)


def _constants(like: Any, recipe: Recipe, how: _How) -> tuple[Any, Any | None]:
    radix = (how.radix.unit, how.radix.digits, _backend.precision_for(how.dtype))
    rows = cache.constant(like, recipe, _point_turns, *radix)
    if how.rank == 1:
        return rows, None
    return rows, cache.constant(like, recipe, _channel_axes)


@_backend.host_constant
def _point_turns(
    source: WaveSource, channels: int, unit: float, count: int, precision: str
) -> np.ndarray:
    frequency, phase = source.waves(channels).given()
    with np.errstate(over="ignore"):  # infinite: no position has such an angle
        return turns.turn_rows(frequency, phase, unit, count).astype(precision)


@_backend.host_constant
def _channel_axes(source: WaveSource, channels: int) -> np.ndarray:
    return source.waves(channels).axis.astype("int32")


def _encoded(how: _How, positions: Any, rows: Any, axes: Any | None) -> Any:
    precision = _backend.precision_for(how.dtype)
    digits = turns.tensor_digits(positions, how.radix, precision)
    return _of_digits(how, digits, rows, axes)


def _of_digits(how: _How, digits: turns.Digits, rows: Any, axes: Any | None) -> Any:
    if how.rank == 1:
        digits = digits.map(lambda digit: ops.expand_dims(digit, -1))
    else:  # each channel has positions of its own axis
        digits = digits.map(lambda digit: ops.take(digit, axes, axis=-1))
    return _backend.rounded(turns.turned_sines(digits, rows), how.dtype)
