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


Entry = Callable[[Any], Any]


def _encode(**options: Any) -> Entry:
    return lambda positions: kp.encode(positions, CHANNELS, **options)


def _encode_pairs(**options: Any) -> Entry:
    options = {"rank": 2, **options}
    return lambda positions: kp.encode(_pairs(positions), 2 * CHANNELS, **options)[
        :, :CHANNELS
    ]


def _values(**options: Any) -> Entry:
    layer = kp.CoordinateEncoding(CHANNELS, **options)
    layer(zeros(1))
    return layer


def _table(**options: Any) -> Entry:
    return lambda positions: kp.sinusoidal_table(
        None, CHANNELS, positions=positions, **options
    )


def _sequence(**options: Any) -> Entry:
    return _of_sequence(kp.PositionalEncoding1D(CHANNELS, **options))


def _sum(**options: Any) -> Entry:
    return _of_sequence(kp.Summer(kp.PositionalEncoding1D(CHANNELS, **options)))


def _of_sequence(layer: Any) -> Entry:
    # torch cannot build a layer in a graph.
    layer.build((1, 2, CHANNELS))
    return lambda positions: layer(
        ops.zeros((1, len(positions), CHANNELS)), positions=positions
    )[0]


def _permuted(**options: Any) -> Entry:
    layer = kp.PositionalEncodingPermute1D(CHANNELS, **options)
    layer.build((1, CHANNELS, 2))
    return lambda positions: ops.transpose(
        layer(ops.zeros((1, CHANNELS, len(positions))), positions=positions)[0]
    )


def _tokens(**options: Any) -> Entry:
    layer = kp.PositionalEncoding2D(2 * CHANNELS, **options)
    layer.build((1, 2, 2 * CHANNELS))
    return lambda positions: layer(
        ops.zeros((1, len(positions), 2 * CHANNELS)), positions=_pairs(positions)
    )[0, :, :CHANNELS]


_ENTRIES: dict[str, Callable[..., Entry]] = {
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


def entry_point(name: str, **options: Any) -> Entry:
    """What makes of a row of positions the encoding of each, one after the other."""
    return _ENTRIES[name](**options)


def entered(name: str, positions: Any, **options: Any) -> np.ndarray:
    """The encoding of each of `positions`, in float64."""
    return to_numpy(entry_point(name, **options)(positions))
