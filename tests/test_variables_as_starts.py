"""A `keras.Variable` among starts and sizes: the first call does as later ones do."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import keras
import numpy as np
import pytest

import keras_posenc as kp
from helpers import reference
from helpers.position_cases import (
    CHANNELS,
    Sequence,
    counted_from,
    each_sequence,
    grid_positions,
    tile_positions,
)
from helpers.tensors import scalar, to_numpy, zeros
from helpers.tolerances import assert_close

each_state = pytest.mark.parametrize("built", [False, True], ids=["new", "built"])
each_dtype = pytest.mark.parametrize("dtype", ["int32", "int64", "uint8"])


def variable(value: Any, dtype: str = "int32") -> keras.Variable:
    if (keras.backend.backend(), dtype) == ("jax", "int64"):
        pytest.skip("JAX has no int64 here.")
    return keras.Variable(np.array(value), dtype=dtype, trainable=False)


@each_state
@each_dtype
@each_sequence
def test_a_sequence_takes_a_variable(case: Sequence, dtype: str, built: bool):
    layer, x = case.make(), case.inputs()
    if built:
        layer(x)
    for _ in range(2):
        outputs = layer(x, start_index=variable(7, dtype))
        assert_close(case.encoding(outputs), counted_from(7))


@each_state
@each_sequence
def test_a_sequence_takes_a_variable_of_starts(case: Sequence, built: bool):
    layer, x = case.make(), case.inputs()
    if built:
        layer(x)
    for _ in range(2):
        outputs = layer(x, start_index=variable([0, 7, -20]))
        assert_close(case.encoding(outputs), counted_from([0, 7, -20]))


AMONG: dict[str, Callable[[], Any]] = {
    "alone": lambda: [variable(0), variable(7), variable(-20)],
    "numbers": lambda: [0, variable(7), -20],
    "tensors": lambda: (scalar(0), variable(7), scalar(-20)),
    "all": lambda: (0, variable(7), scalar(-20)),
    "NumPy": lambda: (np.int64(0), variable(7), np.int32(-20)),
}


@each_state
@pytest.mark.parametrize("among", AMONG)
@each_sequence
def test_a_sequence_takes_variables_among_starts(
    case: Sequence, among: str, built: bool
):
    layer, x = case.make(), case.inputs()
    if built:
        layer(x)
    for _ in range(2):
        outputs = layer(x, start_index=AMONG[among]())
        assert_close(case.encoding(outputs), counted_from([0, 7, -20]))


TILES: dict[str, Callable[[], Any]] = {
    "alone": lambda: (variable(10), variable(-20)),
    "numbers": lambda: (10, variable(-20)),
    "list": lambda: [variable(10), -20],
    "tensors": lambda: (scalar(10), variable(-20)),
    "NumPy": lambda: (np.int64(10), variable(-20)),
}
LAYERS: dict[str, tuple[Callable[[], Any], bool]] = {
    "2d": (lambda: kp.PositionalEncoding2D(CHANNELS), False),
    "rank2": (lambda: kp.PositionalEncoding(2, CHANNELS), False),
    "permute2d": (lambda: kp.PositionalEncodingPermute2D(CHANNELS), True),
    "sum-of-2d": (lambda: kp.Summer(kp.PositionalEncoding2D(CHANNELS)), False),
}


@each_state
@pytest.mark.parametrize("among", TILES)
@pytest.mark.parametrize("name", LAYERS)
def test_a_tile_takes_variables_among_starts(name: str, among: str, built: bool):
    make, first = LAYERS[name]
    layer = make()
    x = zeros(2, CHANNELS, 3, 4) if first else zeros(2, 3, 4, CHANNELS)
    if built:
        layer(x)
    expected = reference.exact(tile_positions((3, 4), (10, -20)), CHANNELS)
    for _ in range(2):
        outputs = to_numpy(layer(x, start_index=TILES[among]()))
        outputs = np.moveaxis(outputs, 1, -1) if first else outputs
        assert_close(outputs, expected)


SIZES: dict[str, Callable[[], Any]] = {
    "alone": lambda: (variable(3), variable(4)),
    "numbers": lambda: (3, variable(4)),
    "unknown": lambda: (variable(3), None),
    "tensors": lambda: [scalar(3), variable(4)],
}


@each_state
@pytest.mark.parametrize("among", SIZES)
@pytest.mark.parametrize("name", ["2d", "rank2", "sum-of-2d"])
def test_a_grid_takes_variables_among_sizes(name: str, among: str, built: bool):
    layer, x = LAYERS[name][0](), zeros(2, 12, CHANNELS)
    if built:
        layer(x, grid=(3, 4))
    expected = reference.exact(grid_positions(3, 4), CHANNELS).reshape(12, CHANNELS)
    for _ in range(2):
        assert_close(layer(x, grid=SIZES[among]()), expected)


@each_state
@pytest.mark.parametrize("name", ["2d", "sum-of-2d"])
def test_a_variable_of_real_numbers_is_refused_alike(name: str, built: bool):
    layer, x = LAYERS[name][0](), zeros(2, 3, 4, CHANNELS)
    if built:
        layer(x)
    with pytest.raises(TypeError, match=r"^`start_index` must hold|^`start_index` m"):
        layer(x, start_index=(keras.Variable(1.5, trainable=False), 0))


def test_a_variable_may_change_between_calls():
    start, layer = variable(0), kp.PositionalEncoding1D(CHANNELS)
    for value in (0, 5, 9):
        start.assign(value)
        found = layer(zeros(2, 6, CHANNELS), start_index=start)
        assert_close(found, counted_from(value))
