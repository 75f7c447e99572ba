"""Every way by which positions that a user gives become an encoding."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from keras import ops

import keras_posenc as kp
from helpers.tensors import to_numpy, zeros

CHANNELS = 8


def _pairs(positions: Any) -> Any:
    """The positions on the first axis of a plane, and 0 on the second."""
    if ops.is_tensor(positions):
        return ops.stack([positions, ops.zeros_like(positions)], axis=-1)
    if isinstance(positions, list):
        return [[position, 0] for position in positions]
    return np.stack([positions, np.zeros_like(positions)], axis=-1)


def _encode(positions: Any, **options: Any) -> Any:
    return kp.encode(positions, CHANNELS, **options)


def _encode_pairs(positions: Any, **options: Any) -> Any:
    found = kp.encode(_pairs(positions), 2 * CHANNELS, rank=2, **options)
    return found[:, :CHANNELS]


def _values(positions: Any, **options: Any) -> Any:
    return kp.CoordinateEncoding(CHANNELS, **options)(positions)


def _table(positions: Any, **options: Any) -> Any:
    return kp.sinusoidal_table(None, CHANNELS, positions=positions, **options)


def _sequence(positions: Any, **options: Any) -> Any:
    x = zeros(1, len(positions), CHANNELS)
    return kp.PositionalEncoding1D(CHANNELS, **options)(x, positions=positions)[0]


def _permuted(positions: Any, **options: Any) -> Any:
    layer = kp.PositionalEncodingPermute1D(CHANNELS, **options)
    x = zeros(1, CHANNELS, len(positions))
    return ops.transpose(layer(x, positions=positions)[0])


def _sum(positions: Any, **options: Any) -> Any:
    layer = kp.Summer(kp.PositionalEncoding1D(CHANNELS, **options))
    return layer(zeros(1, len(positions), CHANNELS), positions=positions)[0]


def _tokens(positions: Any, **options: Any) -> Any:
    layer = kp.PositionalEncoding2D(2 * CHANNELS, **options)
    x = zeros(1, len(positions), 2 * CHANNELS)
    return layer(x, positions=_pairs(positions))[0, :, :CHANNELS]


_ENTRIES: dict[str, Callable[..., Any]] = {
    "encode": _encode,
    "encode-pairs": _encode_pairs,
    "values": _values,
    "table": _table,
    "1d": _sequence,
    "permute1d": _permuted,
    "sum-of-1d": _sum,
    "tokens-of-a-plane": _tokens,
}
ENTRIES = list(_ENTRIES)
# Those that make tensors, and so can be compiled.
TENSOR_ENTRIES = [name for name in ENTRIES if name != "table"]


def enter(name: str, positions: Any, **options: Any) -> Any:
    """The encoding of each of `positions`, one after the other, as the entry has it."""
    return _ENTRIES[name](positions, **options)


def entered(name: str, positions: Any, **options: Any) -> np.ndarray:
    """The same in float64."""
    return to_numpy(enter(name, positions, **options))
