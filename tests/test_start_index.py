"""`start_index`: a call that goes on where another one ended."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import keras
import numpy as np
import pytest
from keras import ops

import keras_posenc as kp
from helpers import reference
from helpers.position_cases import (
    BATCH,
    CHANNELS,
    IMAGE,
    LENGTH,
    NAMED,
    PLANE_TABLE,
    SEQUENCES,
    STARTS,
    TABLE,
    Sequence,
    X,
    counted_from,
    tile_positions,
)
from helpers.tensors import dtype_of, scalar, to_numpy, to_tensor, zeros
from helpers.tolerances import COUNTING, ROUNDING, assert_close

FORMS: dict[str, Any] = {
    "zero": (lambda: 0, 0),
    "int": (lambda: 4, 4),
    "negative": (lambda: -4, -4),
    "NumPy-int": (lambda: np.int64(4), 4),
    "NumPy-zero": (lambda: np.int64(0), 0),
    "array-of-no-axes": (lambda: np.array(-4), -4),
    "scalar-tensor": (lambda: scalar(-4), -4),
    "scalar-tensor-of-8-bits": (lambda: scalar(250, "uint8"), 250),
    "list": (lambda: STARTS, STARTS),
    "tuple": (lambda: tuple(STARTS), STARTS),
    "array": (lambda: np.array(STARTS), STARTS),
    "array-of-8-bits": (lambda: np.array(STARTS, "int8"), STARTS),
    "tensor": (lambda: to_tensor(np.array(STARTS, "int32")), STARTS),
    "list-of-tensors": (lambda: [scalar(start) for start in STARTS], STARTS),
    "tensor-among-numbers": (lambda: [0, scalar(7), -20], STARTS),
}


@pytest.mark.parametrize(
    ("form", "case"),
    [(form, NAMED[name]) for form in FORMS for name in ("permute1d", "sum-of-1d")]
    + [
        (form, NAMED[name])
        for form in ("zero", "int", "scalar-tensor", "list", "tensor")
        for name in ("1d", "sum-of-sum-of-1d", "sinusoid")
    ],
    ids=lambda value: value if isinstance(value, str) else value.name,
)
def test_a_start_may_come_in_every_form(form: str, case: Sequence):
    given, starts = FORMS[form]
    layer, x = case.make(), case.inputs()
    assert_close(case.encoding(layer(x, start_index=given())), counted_from(starts))
    # The first call builds the layer, by another way through Keras.
    assert_close(case.encoding(layer(x, start_index=given())), counted_from(starts))


# A part of the whole.


@pytest.fixture(scope="module")
def whole() -> np.ndarray:
    layer = kp.PositionalEncoding1D(CHANNELS)
    return ops.convert_to_numpy(layer(zeros(1, 10**6 + LENGTH, CHANNELS)))


@pytest.mark.parametrize("tensor", [False, True], ids=["int", "tensor"])
@pytest.mark.parametrize("start", [0, 1, 999, 2**16 - 1, 10**6])
def test_equals_a_part_of_the_whole(start: int, tensor: bool, whole: np.ndarray):
    layer = kp.PositionalEncoding1D(CHANNELS)
    part = layer(zeros(1, 1, CHANNELS), start_index=scalar(start) if tensor else start)
    # Each of the two is off by as much at most.
    atol = COUNTING + ROUNDING["float32"]
    assert_close(part, whole[:, start : start + 1], atol)


def test_a_sum_passes_the_start_on():
    x = np.random.default_rng(0).normal(size=(BATCH, LENGTH, CHANNELS))
    x = x.astype("float32")
    outputs = kp.Summer(kp.PositionalEncoding1D(CHANNELS))(x, start_index=STARTS)
    # Rounding a sum below 8 to float32 comes on top.
    assert_close(outputs, x + counted_from(STARTS), COUNTING + 2.0**-22)


# Several axes.

TILES = {
    "2D": (lambda: kp.PositionalEncoding2D(CHANNELS), (3, 4), (10, -20)),
    "3D": (lambda: kp.PositionalEncoding3D(12), (2, 3, 2), (10, 0, -5)),
    "4D": (lambda: kp.PositionalEncoding(4, CHANNELS), (2, 1, 2, 1), (10, 0, 0, -5)),
}
TILE_FORMS = {
    "ints": tuple,
    "list": list,
    "NumPy-ints": lambda starts: tuple(map(np.int64, starts)),
    "tensors": lambda starts: tuple(map(scalar, starts)),
    "one-tensor": lambda starts: (scalar(starts[0]), *starts[1:]),
}


@pytest.mark.parametrize("form", TILE_FORMS)
@pytest.mark.parametrize("name", TILES)
def test_a_tile_starts_at_an_index_for_each_axis(name: str, form: str):
    make, sizes, starts = TILES[name]
    layer = make()
    x = zeros(2, *sizes, layer.channels)
    expected = reference.exact(tile_positions(sizes, starts), layer.channels)
    assert_close(layer(x, start_index=TILE_FORMS[form](starts)), expected)


def test_zero_means_zero_on_every_axis():
    layer = kp.PositionalEncoding2D(CHANNELS)
    x = zeros(2, 3, 4, CHANNELS)
    np.testing.assert_array_equal(
        to_numpy(layer(x, start_index=0)), to_numpy(layer(x, start_index=(0, 0)))
    )


def test_a_start_of_zeros_goes_with_a_range():
    layer = kp.PositionalEncoding2D(CHANNELS, coordinate_range=(0, 1))
    x = zeros(2, 3, 4, CHANNELS)
    np.testing.assert_array_equal(
        to_numpy(layer(x, start_index=(0, 0))), to_numpy(layer(x))
    )


# Precision.


@pytest.mark.parametrize("tensor", [False, True], ids=["int", "tensor"])
@pytest.mark.parametrize(
    ("case", "mixed", "dtype"),
    [(case, True, "bfloat16") for case in SEQUENCES]
    + [
        (NAMED["1d"], False, "bfloat16"),
        (NAMED["sum-of-1d"], False, "float16"),
        (NAMED["permute1d"], True, "float16"),
    ],
    ids=lambda value: (
        {True: "mixed", False: "pure"}.get(value, value)
        if isinstance(value, (bool, str))
        else value.name
    ),
)
def test_half_precision_rounds_the_encoding_and_not_the_start(
    case: Sequence, mixed: bool, dtype: str, tensor: bool
):
    # 1001 is no number of bfloat16.
    layer = case.make(dtype=f"mixed_{dtype}" if mixed else dtype)
    outputs = layer(case.inputs(), start_index=scalar(1001) if tensor else 1001)
    assert dtype_of(outputs) == dtype
    assert_close(case.encoding(outputs), counted_from(1001), ROUNDING[dtype])


# Models.


def test_a_model_takes_starts_as_an_input(tmp_path: Path):
    inputs = keras.Input((LENGTH, CHANNELS))
    starts = keras.Input((), dtype="int32")
    layer = kp.Summer(kp.PositionalEncoding1D(CHANNELS))
    model = keras.Model([inputs, starts], layer(inputs, start_index=starts))
    model.save(tmp_path / "model.keras")
    loaded = keras.models.load_model(tmp_path / "model.keras")
    x = np.zeros((BATCH, LENGTH, CHANNELS), "float32")
    given = [x, np.array(STARTS, "int32")]
    outputs = model.predict(given, verbose=0)
    assert_close(outputs, counted_from(STARTS))
    np.testing.assert_array_equal(loaded.predict(given, verbose=0), outputs)


CONSTANTS = {
    "int": lambda: 5,
    "NumPy-int": lambda: np.int64(5),
    "tensor": lambda: scalar(5),
    "list": lambda: [5] * BATCH,
}


@pytest.mark.parametrize("form", CONSTANTS)
def test_a_model_keeps_its_start_when_saved_and_cloned(form: str, tmp_path: Path):
    inputs = keras.Input((LENGTH, CHANNELS))
    layer = kp.PositionalEncoding1D(CHANNELS)
    model = keras.Model(inputs, layer(inputs, start_index=CONSTANTS[form]()))
    model.save(tmp_path / "model.keras")
    loaded = keras.models.load_model(tmp_path / "model.keras")
    clone = keras.models.clone_model(model)
    x = np.zeros((BATCH, LENGTH, CHANNELS), "float32")
    found = [to_numpy(each(x)) for each in (model, loaded, clone)]
    assert_close(np.stack(found), counted_from(5))


def test_a_model_keeps_the_start_of_a_tile_when_saved(tmp_path: Path):
    inputs = keras.Input((None, None, CHANNELS))
    layer = kp.PositionalEncoding2D(CHANNELS)
    model = keras.Model(inputs, layer(inputs, start_index=(10, -20)))
    model.save(tmp_path / "model.keras")
    loaded = keras.models.load_model(tmp_path / "model.keras")
    outputs = loaded.predict(np.zeros((2, 3, 4, CHANNELS), "float32"), verbose=0)
    assert_close(outputs, reference.exact(tile_positions((3, 4), (10, -20)), CHANNELS))


# By place, and in every layer.


def test_the_start_may_be_passed_by_place():
    layer = kp.PositionalEncoding1D(CHANNELS)
    for _ in ("first call", "later call"):
        outputs = layer(zeros(BATCH, LENGTH, CHANNELS), np.int64(5))
        assert_close(outputs, counted_from(5))
    with pytest.raises(ValueError, match="as a keyword argument: 5"):
        layer(zeros(BATCH, LENGTH, CHANNELS), 5, start_index=6)


@pytest.mark.parametrize("start", [-3, 1000, 10**6])
@pytest.mark.parametrize("as_tensor", [False, True])
def test_far_and_negative_starts_are_exact(start: int, as_tensor: bool):
    given = to_tensor(np.array(start, "int32")) if as_tensor else start
    outputs = kp.PositionalEncoding1D(CHANNELS)(to_tensor(X), start_index=given)
    positions = start + np.arange(LENGTH)
    assert_close(outputs, reference.exact_1d(positions, CHANNELS))


def test_one_element_at_a_time_is_the_whole():
    layer = kp.Summer(kp.PositionalEncoding1D(CHANNELS))
    x = to_tensor(np.random.default_rng(0).random((2, 9, CHANNELS), "float32"))
    steps = [layer(x[:, k : k + 1], start_index=k) for k in range(9)]
    np.testing.assert_array_equal(
        to_numpy(ops.concatenate(steps, 1)), to_numpy(layer(x))
    )


@pytest.mark.parametrize("channels_first", [False, True])
@pytest.mark.parametrize("as_tensor", [False, True])
def test_a_tile_of_either_format_starts_elsewhere(
    as_tensor: bool, channels_first: bool
):
    start = (to_tensor(np.array(10, "int32")) if as_tensor else 10, 20)
    expected = PLANE_TABLE[10:13, 20:24]
    if channels_first:
        layer, x = kp.PositionalEncodingPermute2D(CHANNELS), IMAGE.transpose(0, 3, 1, 2)
        expected = expected.transpose(2, 0, 1)
    else:
        layer, x = kp.PositionalEncoding2D(CHANNELS), IMAGE
    assert_close(layer(to_tensor(x), start_index=start), expected)


def test_a_saved_model_keeps_its_start(tmp_path: Any):
    inputs = keras.Input((None, CHANNELS))
    outputs = kp.PositionalEncoding1D(CHANNELS)(inputs, start_index=5)
    model = keras.Model(inputs, outputs)
    model.save(tmp_path / "model.keras")
    loaded = keras.models.load_model(tmp_path / "model.keras")
    assert_close(loaded.predict(X, verbose=0), TABLE[5 : 5 + LENGTH])
