"""`encode`: the encoding of any positions. How exact it is, test_exactness.py says."""

from __future__ import annotations

from typing import Any

import keras
import numpy as np
import pytest
from keras import ops

import keras_posenc as kp
from helpers import reference
from helpers.position_cases import grid_positions, sample
from helpers.reference import exact_1d
from helpers.tensors import dtype_of, to_numpy, to_tensor
from helpers.tolerances import COUNTING, ROUNDING

# Shapes.

FORMS = {
    "integer": (3, ()),
    "negative-integer": (-3, ()),
    "real": (0.5, ()),
    "list": ([0, 1, -2], (3,)),
    "list-of-both": ([0, 1.5, -2], (3,)),
    "nested-list": ([[0.5, 1.0], [2.0, 3.0]], (2, 2)),
    "tuple": ((1, 2), (2,)),
    "range": (range(4), (4,)),
    "empty": ([], (0,)),
    "number-of-numpy": (np.float64(2.0), ()),
    "array": (np.arange(24.0).reshape(2, 3, 4), (2, 3, 4)),
    "array-of-six-axes": (np.ones((1, 2, 1, 3, 1, 2), "int32"), (1, 2, 1, 3, 1, 2)),
    "array-with-none": (np.zeros((0, 3)), (0, 3)),
    "array-of-a-column": (np.ones((3, 1)), (3, 1)),
}


@pytest.mark.parametrize("form", FORMS)
def test_positions_in_any_form(form: str):
    positions, shape = FORMS[form]
    outputs = kp.encode(positions, 8)
    assert ops.is_tensor(outputs)
    assert dtype_of(outputs) == "float32"
    assert tuple(outputs.shape) == (*shape, 8)
    expected = exact_1d(positions, 8)
    np.testing.assert_allclose(to_numpy(outputs), expected, rtol=0, atol=COUNTING)


TENSORS = {
    "scalar": np.float32(2.5),
    "integer": np.int32(-3),
    "vector": np.array([0.5, 1, -2], "float32"),
    "of-three-axes": np.arange(24, dtype="int32").reshape(2, 3, 4),
    "empty": np.zeros((0, 3), "float32"),
}


@pytest.mark.parametrize("name", TENSORS)
def test_tensors_of_any_shape(name: str):
    positions = TENSORS[name]
    outputs = kp.encode(to_tensor(positions), 8)
    assert tuple(outputs.shape) == (*positions.shape, 8)
    expected = exact_1d(positions, 8)
    np.testing.assert_allclose(to_numpy(outputs), expected, rtol=0, atol=COUNTING)


# Few shapes, since JAX compiles every operation for each of them.
SEVERAL_AXES = [
    (2, (), "tensor"),
    (2, (2, 3), "array"),
    (2, (0,), "tensor"),
    (3, (2, 3), "tensor"),
    (3, (), "array"),
    (4, (5,), "array"),
    (4, (2, 1, 3), "tensor"),
]


@pytest.mark.parametrize(("rank", "shape", "kind"), SEVERAL_AXES, ids=str)
def test_positions_on_several_axes(rank: int, shape: tuple[int, ...], kind: str):
    positions = np.random.default_rng(0).uniform(-50, 50, (*shape, rank))
    positions = positions.astype("float32")
    given = to_tensor(positions) if kind == "tensor" else positions
    outputs = kp.encode(given, 26, rank=rank)
    assert tuple(outputs.shape) == (*shape, 26)
    expected = reference.exact(positions, 26)
    np.testing.assert_allclose(to_numpy(outputs), expected, rtol=0, atol=COUNTING)


def test_a_variable_is_encoded():
    positions = keras.Variable(np.array([1.0, 2.5], "float32"))
    outputs = to_numpy(kp.encode(positions, 8))
    np.testing.assert_allclose(outputs, exact_1d([1.0, 2.5], 8), rtol=0, atol=COUNTING)


def test_a_list_of_tensors_is_encoded():
    positions = [ops.ones(()), 2 * ops.ones(())]
    outputs = to_numpy(kp.encode(positions, 8))
    np.testing.assert_allclose(outputs, exact_1d([1.0, 2.0], 8), rtol=0, atol=COUNTING)


# In a model.

INPUTS = {
    "sequence": (1, (None,), (2, 5)),
    "sequence-of-known-length": (1, (5,), (2, 5)),
    "numbers": (1, (), (3,)),
    "points": (2, (None, 2), (2, 5, 2)),
    "one-point-each": (3, (3,), (4, 3)),
}
each_input = pytest.mark.parametrize("name", INPUTS)
each_kind_of_number = pytest.mark.parametrize("dtype", ["int32", "float32"])


def model_of(name: str, dtype: str, compute_dtype: str = "float32") -> keras.Model:
    rank, shape, _ = INPUTS[name]
    inputs = keras.Input(shape, dtype=dtype)
    outputs = kp.encode(inputs, 12, rank=rank, dtype=compute_dtype)
    return keras.Model(inputs, outputs)


@each_input
@each_kind_of_number
def test_a_functional_model_encodes_its_input(name: str, dtype: str):
    rank, shape, given = INPUTS[name]
    model = model_of(name, dtype)
    assert model.outputs[0].shape == (None, *(shape[:-1] if rank > 1 else shape), 12)
    assert dtype_of(model.outputs[0]) == "float32"
    positions = sample(given, dtype)
    outputs = model.predict(positions, verbose=0)
    eager = to_numpy(kp.encode(positions, 12, rank=rank))
    np.testing.assert_allclose(outputs, eager, rtol=0, atol=COUNTING)


@pytest.mark.parametrize("dtype", ["float16", "mixed_bfloat16"])
def test_a_functional_model_encodes_in_half_precision(dtype: str):
    model = model_of("sequence", "float32", dtype)
    assert dtype_of(model.outputs[0]) == dtype.removeprefix("mixed_")
    positions = sample((2, 5), "float32")
    outputs = to_numpy(model(positions))
    expected = to_numpy(kp.encode(positions, 12, dtype=dtype))
    np.testing.assert_array_equal(outputs, expected)


@each_input
def test_a_functional_model_is_saved(name: str, tmp_path: Any):
    model = model_of(name, "float32")
    model.save(tmp_path / "model.keras")
    loaded = keras.models.load_model(tmp_path / "model.keras")
    positions = sample(INPUTS[name][2], "float32")
    np.testing.assert_array_equal(
        loaded.predict(positions, verbose=0), model.predict(positions, verbose=0)
    )


# The same numbers as elsewhere.

TABLES = {"1D": (50,), "2D": (9, 5), "3D": (4, 5, 3), "4D": (2, 3, 4, 2)}
CHANNELS = {"1D": 27, "2D": 26, "3D": 27, "4D": 26}  # none of them divides
LAYERS = {
    "1D": kp.PositionalEncoding1D,
    "2D": kp.PositionalEncoding2D,
    "3D": kp.PositionalEncoding3D,
    "4D": lambda channels: kp.PositionalEncoding(4, channels),
}


def places(name: str) -> np.ndarray:
    """The integer positions of a grid, without an axis of one for a sequence."""
    return (
        grid_positions(*TABLES[name])[..., 0]
        if name == "1D"
        else grid_positions(*TABLES[name])
    )


@pytest.mark.parametrize("name", TABLES)
def test_equals_the_table(name: str):
    sizes, channels = TABLES[name], CHANNELS[name]
    outputs = to_numpy(kp.encode(places(name), channels, rank=len(sizes)))
    table = kp.sinusoidal_table(sizes, channels, dtype="float64")
    np.testing.assert_allclose(outputs, table, rtol=0, atol=COUNTING)


@pytest.mark.parametrize("name", LAYERS)
def test_equals_the_layer(name: str):
    sizes, channels = TABLES[name], CHANNELS[name]
    positions = to_tensor(places(name).astype("int32"))
    outputs = kp.encode(positions, channels, rank=len(sizes))
    layer = LAYERS[name](channels)(np.zeros((1, *sizes, channels), "float32"))
    np.testing.assert_allclose(
        to_numpy(outputs),
        to_numpy(layer)[0],
        rtol=0,
        atol=COUNTING + ROUNDING["float32"],
    )


def test_max_wavelength_for_each_axis():
    positions = np.random.default_rng(0).uniform(-90, 90, (7, 2))
    outputs = kp.encode(positions, 16, rank=2, max_wavelength=[20.0, 300.0])
    parts = [
        kp.encode(positions[:, axis], 8, max_wavelength=wavelength)
        for axis, wavelength in enumerate([20.0, 300.0])
    ]
    expected = np.concatenate([to_numpy(part) for part in parts], axis=-1)
    np.testing.assert_array_equal(to_numpy(outputs), expected)


@pytest.mark.parametrize("positions", [[1, 2, 300], [0.25, 2.5, 300.75]], ids=str)
def test_negative_positions_mirror_the_sines(positions: list[float]):
    outputs = to_numpy(kp.encode(positions, 8))
    mirrored = to_numpy(kp.encode([-position for position in positions], 8))
    signs = np.array([-1, 1] * 4)  # an odd and an even function
    np.testing.assert_allclose(mirrored * signs, outputs, rtol=0, atol=2 * COUNTING)


@pytest.mark.parametrize("tensor", [False, True], ids=["array", "tensor"])
def test_repeated_positions_have_equal_rows(tensor: bool):
    positions = np.array([7.25, -3.0, 7.25, 7.25], "float32")
    outputs = to_numpy(kp.encode(to_tensor(positions) if tensor else positions, 8))
    np.testing.assert_array_equal(outputs[[2, 3]], outputs[[0, 0]])
    assert (outputs[0] != outputs[1]).any()


def test_all_positions_in_any_order():
    positions = np.random.default_rng(0).permutation(1000)
    outputs = to_numpy(kp.encode(positions, 8))
    np.testing.assert_allclose(
        outputs, reference.encode_1d(1000, 8)[positions], rtol=0, atol=COUNTING
    )


# What is no number.


@pytest.mark.parametrize("tensor", [False, True], ids=["array", "tensor"])
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf], ids=str)
def test_nan_and_infinity_give_nan_in_their_place_alone(value: float, tensor: bool):
    positions = np.array([1.0, value, 2.0], "float32")
    outputs = to_numpy(kp.encode(to_tensor(positions) if tensor else positions, 8))
    assert np.isnan(outputs[1]).all()
    np.testing.assert_allclose(
        outputs[[0, 2]], exact_1d([1.0, 2.0], 8), rtol=0, atol=COUNTING
    )


@pytest.mark.parametrize("value", [np.nan, np.inf], ids=str)
def test_nan_and_infinity_on_one_axis_leave_the_other(value: float):
    outputs = to_numpy(kp.encode([[value, 2.0]], 8, rank=2))[0]
    assert np.isnan(outputs[:4]).all()
    np.testing.assert_allclose(outputs[4:], exact_1d(2.0, 4), rtol=0, atol=COUNTING)
