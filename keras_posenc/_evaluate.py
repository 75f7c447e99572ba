"""Waves to numbers: the only module that takes a sine.

An N-D encoding is the broadcast sum of one term per axis, which holds the waves of
that axis and zeros in the channels of the others. A term of known length is computed
on the host in NumPy float64. Where the length is known only when the graph runs, the
graph counts in turns, so that float32 loses nothing of a large position.
"""

from __future__ import annotations

import operator
from typing import Any

import numpy as np
from keras import ops

from keras_posenc import _backend
from keras_posenc._waves import WaveOptions, Waves


def encoding_terms(
    x: Any, options: WaveOptions, channel_dim: int, dtype: str
) -> list[Any]:
    """One tensor of `dtype` per axis of `x`; their broadcast sum is the encoding.

    Everything is computed in float32 or better, then cast once, last.
    """
    sizes = _backend.shape(x)
    ndim, channels = len(sizes), operator.index(sizes[channel_dim])
    precision = "float64" if dtype == "float64" else "float32"
    channels_shape = _vector_shape(channel_dim, ndim)
    terms = []
    with _backend.device_of(x):
        spatial_dims = [dim for dim in range(1, ndim) if dim != channel_dim]
        for axis, dim in enumerate(spatial_dims):
            size, positions_shape = sizes[dim], _vector_shape(dim, ndim)
            if _backend.is_known(size):
                size = operator.index(size)
                values = _host_term(
                    options, channels, axis, size, positions_shape, channels_shape
                )
                term = _backend.to_tensor(values, precision, x)
            else:
                positions = ops.reshape(
                    ops.arange(size, dtype="int32"), positions_shape
                )
                turns = _turns(options, channels, axis, channels_shape)
                turns = _backend.to_tensor(turns, precision, x)
                term = _counted_term(positions, turns)
            terms.append(ops.cast(term, dtype))
    return terms


def host_table(
    options: WaveOptions, channels: int, shape: tuple[int, ...]
) -> np.ndarray:
    """The encoding of a grid as a float64 array of shape `(*shape, channels)`."""
    rank = len(shape)
    table = np.zeros((*shape, channels))
    channels_shape = _vector_shape(rank, rank + 1)
    for axis, size in enumerate(shape):
        positions_shape = _vector_shape(axis, rank + 1)
        table += _host_term(
            options, channels, axis, size, positions_shape, channels_shape
        )
    return table


def _vector_shape(dim: int, ndim: int) -> tuple[int, ...]:
    """The shape that lays a vector along one of `ndim` dimensions."""
    return tuple(-1 if other == dim else 1 for other in range(ndim))


@_backend.host_constant
def _host_term(
    options: WaveOptions,
    channels: int,
    axis: int,
    size: int,
    positions_shape: tuple[int, ...],
    channels_shape: tuple[int, ...],
) -> np.ndarray:
    frequency, phase = Waves(options, channels).along(axis)
    angles = np.arange(size).reshape(positions_shape) * frequency.reshape(
        channels_shape
    )
    return np.sin(angles + phase.reshape(channels_shape))


# Twelve bits: the product of two such digits is exact in float32's 24.
_DIGIT = 4096


def _counted_term(positions: Any, turns: Any) -> Any:
    """Sines at integer `positions` below 2**31, to less than 7e-7 in float32.

    The angle is counted in turns. The frequency's digits, and the position's, meet
    in products that are exact, of which whole turns can be dropped without loss.
    """
    *digits, rest, phase = ops.unstack(turns, num=5)
    pieces = []  # positions = the sum of pieces[i] * _DIGIT**i
    for _ in range(3):
        higher = ops.floor_divide(positions, _DIGIT)
        pieces.append(ops.cast(positions - higher * _DIGIT, turns.dtype))
        positions = higher
    # pieces[i] * digits[j] weighs _DIGIT**(i - j - 1): whole turns wherever j < i.
    total = phase
    for weight, pairs in (
        (-1, [(0, 0), (1, 1), (2, 2)]),
        (-2, [(0, 1), (1, 2)]),
        (-3, [(0, 2)]),
    ):
        for i, j in pairs:
            product = pieces[i] * digits[j] * _DIGIT**weight
            total = _fraction(total + _fraction(product))
    for i, piece in enumerate(pieces):
        total = total + piece * rest * _DIGIT**i
    return ops.sin(_fraction(total) * (2 * np.pi))


@_backend.host_constant
def _turns(
    options: WaveOptions, channels: int, axis: int, channels_shape: tuple[int, ...]
) -> np.ndarray:
    """Frequency in turns, as three digits and a rest, and phase in turns.

    Turns = digit[0] / _DIGIT + digit[1] / _DIGIT**2 + digit[2] / _DIGIT**3 + rest.
    """
    frequency, phase = Waves(options, channels).along(axis)
    # At an integer position, whole turns per position make no difference.
    rest = np.mod(frequency / (2 * np.pi), 1.0)
    digits = []
    for _ in range(3):
        digit, rest = np.divmod(rest * _DIGIT, 1.0)
        digits.append(digit)
    rows = (*digits, rest / _DIGIT**3, phase / (2 * np.pi))
    return np.stack([row.reshape(channels_shape) for row in rows])


def _fraction(turns: Any) -> Any:
    """What is left of `turns` in [-1/2, 1/2] without the whole ones; exact."""
    return turns - ops.round(turns)
