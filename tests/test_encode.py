"""`encode`: the encoding of any positions. How exact it is, test_exactness.py says."""

from __future__ import annotations

import fractions
import re
from typing import Any

import keras
import ml_dtypes
import mpmath
import numpy as np
import pytest
from keras import ops

import keras_posenc as kp
from helpers import reference
from helpers.gradients import gradient
from helpers.position_cases import grid_positions, sample
from helpers.reference import exact_1d
from helpers.run_modes import (
    BACKEND,
    KNOWN,
    UNKNOWN,
    whole_torch_graph,
    with_known_sizes,
    with_unknown_sizes,
)
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


# Dtypes.

# What holds the values of a tensor or an array, and where they end.
INTEGERS = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]
FLOATS = {
    "float16": np.float16,
    "bfloat16": ml_dtypes.bfloat16,
    "float32": np.float32,
    "float64": np.float64,
}
# Keras has no uint64 for torch, and JAX no 64 bits unless it is told to.
LACKING = {"jax": ["int64", "uint64", "float64"], "torch": ["uint64"]}
TENSOR_DTYPES = [
    dtype for dtype in [*INTEGERS, *FLOATS] if dtype not in LACKING.get(BACKEND, [])
]
SMALL = [0, 1, 2, 3, 100, 127]


@pytest.mark.parametrize("dtype", [*INTEGERS, *FLOATS])
def test_arrays_of_every_dtype(dtype: str):
    positions = np.array(SMALL).astype(FLOATS.get(dtype, dtype))
    outputs = to_numpy(kp.encode(positions, 8))
    np.testing.assert_allclose(outputs, exact_1d(SMALL, 8), rtol=0, atol=COUNTING)


@pytest.mark.parametrize("dtype", TENSOR_DTYPES)
def test_tensors_of_every_dtype(dtype: str):
    outputs = to_numpy(kp.encode(to_tensor(np.array(SMALL), dtype), 8))
    np.testing.assert_allclose(outputs, exact_1d(SMALL, 8), rtol=0, atol=COUNTING)


def ends(dtype: str) -> np.ndarray:
    info = np.iinfo(dtype)
    few = [info.min, info.min + 1, 0, 1, info.max - 1, info.max]
    return np.array(few, dtype)


def assert_right_or_at_least_a_sine(outputs: Any, positions: np.ndarray) -> None:
    """The rounding of a frequency counts as often as the position says."""
    exactly = np.array([[float(sine) for sine in row] for row in sines(positions, 8)])
    bound = COUNTING + 2.0**-52 * np.abs(positions.astype("float64"))[:, None]
    off = np.abs(to_numpy(outputs) - exactly)
    assert (off <= np.minimum(bound, 2)).all()
    assert np.abs(to_numpy(outputs)).max() <= 1


def sines(positions: Any, channels: int) -> list[list[Any]]:
    """The rows of an encoding in as many digits as they need."""
    with mpmath.workdps(60):
        frequencies = [
            mpmath.mpf(10000) ** -(mpmath.mpf(band) / (channels // 2))
            for band in range(channels // 2)
        ]
        return [
            [
                wave(frequency * mpmath.mpf(position))
                for frequency in frequencies
                for wave in (mpmath.sin, mpmath.cos)
            ]
            for position in map(_number, positions)
        ]


def _number(position: Any) -> int | float:
    return int(position) if np.issubdtype(type(position), np.integer) else position


@pytest.mark.parametrize("dtype", INTEGERS)
def test_arrays_at_the_ends_of_every_integer_dtype(dtype: str):
    assert_right_or_at_least_a_sine(kp.encode(ends(dtype), 8), ends(dtype))


@pytest.mark.parametrize("dtype", [d for d in TENSOR_DTYPES if d in INTEGERS])
def test_tensors_at_the_ends_of_every_integer_dtype(dtype: str):
    positions = to_tensor(ends(dtype), dtype)
    assert_right_or_at_least_a_sine(kp.encode(positions, 8), ends(dtype))


FAR = [2**40, 2**40 + 1, 10**12, 2.0**40 + 0.25, 1e12 + 0.125, -1e12, 3e14 + 0.5]


@pytest.mark.parametrize("position", FAR, ids=repr)
def test_far_positions_of_the_host(position: float):
    (expected,) = sines([position], 8)
    outputs = to_numpy(kp.encode(position, 8))
    # A frequency is a float64, which is off by 2**-53 of itself; so is the product.
    bound = COUNTING + 2.0**-52 * abs(position)
    assert np.abs(outputs - np.array(expected, "float64")).max() <= bound


@pytest.mark.parametrize("position", [1e20, 1e49, 1e300, -1e300, 2**64 - 1], ids=repr)
def test_positions_beyond_all_sense_raise_nothing(position: float):
    outputs = to_numpy(kp.encode([position], 8))
    assert (np.isnan(outputs) | (np.abs(outputs) <= 1)).all()


# The dtype of the result.


POSITIONS = np.array([0.0, 1.0, -2.5, 77.0, 1e4, 123456.78], "float32")
DTYPES = {
    "str": ("float16", "float16"),
    "str-of-a-policy": ("mixed_bfloat16", "bfloat16"),
    "policy": (keras.DTypePolicy("mixed_float16"), "float16"),
    "numpy-type": (np.float16, "float16"),
    "numpy-dtype": (np.dtype("float32"), "float32"),
    "ml_dtypes": (ml_dtypes.bfloat16, "bfloat16"),
    "float64": ("float64", "float32" if BACKEND == "jax" else "float64"),
}


@pytest.mark.parametrize("tensor", [False, True], ids=["array", "tensor"])
@pytest.mark.parametrize("name", DTYPES)
def test_the_result_has_the_dtype_that_is_asked_for(name: str, tensor: bool):
    dtype, expected = DTYPES[name]
    positions = to_tensor(POSITIONS) if tensor else POSITIONS
    assert dtype_of(kp.encode(positions, 8, dtype=dtype)) == expected


@pytest.mark.parametrize("policy", ["float16", "mixed_bfloat16", "float32"])
def test_without_a_dtype_the_global_policy_holds(policy: str, global_policy: Any):
    global_policy(policy)
    outputs = kp.encode(POSITIONS, 8)
    assert dtype_of(outputs) == policy.removeprefix("mixed_")
    expected = kp.encode(POSITIONS, 8, dtype=policy)
    np.testing.assert_array_equal(to_numpy(outputs), to_numpy(expected))


@pytest.mark.parametrize("given", ["array", "float32", "float16", "int32"])
@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_half_precision_rounds_the_numbers_of_float32_once(dtype: str, given: str):
    positions = np.array([0.0, 1.0, -2.0, 77.0, 999.0, 60_000.0])
    positions = positions if given == "array" else to_tensor(positions, given)
    single = ops.convert_to_numpy(kp.encode(positions, 8, dtype="float32"))
    outputs = kp.encode(positions, 8, dtype=dtype)
    assert dtype_of(outputs) == dtype
    rounded = single.astype(FLOATS[dtype]).astype("float64")
    np.testing.assert_array_equal(to_numpy(outputs), rounded)


# Gradients.


def exact_gradient(positions: np.ndarray, channels: int) -> np.ndarray:
    """Of the sum of the encoding of each position: f * cos for a sine, -f * sin."""
    encoding = exact_1d(positions, channels)
    frequency = 10000.0 ** -(np.arange(channels // 2) / (channels // 2))
    slopes = encoding[..., 1::2] - encoding[..., 0::2]
    return (slopes * frequency).sum(axis=-1)


REAL = np.array([0.0, 0.5, -3.75, 1000.125, -50_000.5, 1e6], "float32")
# What is off by COUNTING is multiplied with frequencies of 1, 1/10, 1/100, ... and so
# is the rounding of each product, twice for each band.
GRADIENT = 2 * 1.2 * (COUNTING + 2.0**-24)


@pytest.mark.parametrize("mode", KNOWN)
def test_gradients_flow_to_real_positions(mode: str):
    def encode(positions: Any) -> Any:
        return kp.encode(positions, 8)

    x = to_tensor(REAL)
    if BACKEND == "torch":  # whose graphs are of functions, not of their gradients
        found = gradient(with_known_sizes(encode, mode), x)
    else:
        found = with_known_sizes(lambda x: gradient(encode, x), mode)(x)
    assert dtype_of(found) == "float32"
    np.testing.assert_allclose(
        to_numpy(found), exact_gradient(REAL, 8), rtol=0, atol=GRADIENT
    )


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_gradients_flow_to_positions_of_few_digits(dtype: str):
    x = to_tensor(REAL / 20, dtype)
    found = gradient(lambda positions: kp.encode(positions, 8), x)
    assert dtype_of(found) == dtype
    expected = exact_gradient(to_numpy(x), 8)
    unit = 2.0 * reference.half_a_unit(expected, dtype)  # each sum may round up
    assert (np.abs(to_numpy(found) - expected) <= unit + GRADIENT).all()


def test_gradients_flow_to_every_axis():
    positions = np.stack([REAL, REAL[::-1]], axis=-1)
    found = gradient(lambda p: kp.encode(p, 16, rank=2), to_tensor(positions))
    np.testing.assert_allclose(
        to_numpy(found), exact_gradient(positions, 8), rtol=0, atol=GRADIENT
    )


if BACKEND != "jax":

    def test_gradients_flow_in_float64():
        positions = REAL[:5].astype("float64") / 3
        found = gradient(
            lambda p: kp.encode(p, 8, dtype="float64"), to_tensor(positions)
        )
        np.testing.assert_allclose(
            to_numpy(found),
            exact_gradient(positions, 8),
            rtol=0,
            atol=2.0**-52 * 50_000,  # of the position: a rounding of its angle
        )


def test_no_gradient_flows_to_integers():
    def encode(x: Any) -> Any:
        return kp.encode(ops.cast(x, "int32"), 8) + x[:, None]

    found = gradient(encode, to_tensor(REAL))
    np.testing.assert_array_equal(to_numpy(found), 8)


if BACKEND == "torch":
    import torch

    def test_gradients_under_autocast():
        with torch.autocast("cpu", torch.bfloat16):
            found = gradient(lambda p: kp.encode(p, 8), to_tensor(REAL))
        np.testing.assert_allclose(
            to_numpy(found), exact_gradient(REAL, 8), rtol=0, atol=GRADIENT
        )

    @pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=str)
    def test_autocast_rounds_nothing(dtype: torch.dtype):
        positions = torch.tensor([3.0, 1000.0, -65_536.0], dtype=dtype)
        with torch.autocast("cpu", torch.bfloat16):
            outputs = kp.encode(positions, 8)
        assert dtype_of(outputs) == "float32"
        expected = exact_1d(to_numpy(positions), 8)
        np.testing.assert_allclose(to_numpy(outputs), expected, rtol=0, atol=COUNTING)


# In graphs.


@pytest.mark.parametrize("rank", [1, 3])
@pytest.mark.parametrize("mode", KNOWN)
def test_a_graph_encodes_positions(mode: str, rank: int):
    positions = sample((5, rank) if rank > 1 else (5,), "float32")
    graph = with_known_sizes(lambda p: kp.encode(p, 12, rank=rank), mode)
    expected = reference.exact(positions.reshape(5, rank), 12)
    np.testing.assert_allclose(
        to_numpy(graph(to_tensor(positions))), expected, rtol=0, atol=COUNTING
    )


@pytest.mark.parametrize("dtype", ["int32", "float32"])
@pytest.mark.parametrize("mode", UNKNOWN)
def test_a_graph_that_knows_no_size_encodes_positions(mode: str, dtype: str):
    graph = with_unknown_sizes(lambda p: kp.encode(p, 12), mode, (None, None), dtype)
    given = [sample(shape, dtype) for shape in ((2, 5), (3, 7))]
    errors = [
        np.abs(to_numpy(graph(to_tensor(p))) - exact_1d(p, 12)).max() for p in given
    ]
    assert max(errors) <= COUNTING


def errors_for_values(graph: Any, dtype: str) -> list[float]:
    """For three calls with positions of the same shape."""
    given = [sample((6,), dtype) + 1000 * number for number in range(3)]
    outputs = [to_numpy(graph(to_tensor(positions))) for positions in given]
    expected = [exact_1d(positions, 12) for positions in given]
    return [np.abs(a - b).max() for a, b in zip(outputs, expected, strict=True)]


if BACKEND == "torch":

    @pytest.mark.parametrize("dtype", ["int32", "float32"])
    def test_other_values_need_no_other_graph(dtype: str):
        graphs: list[Any] = []

        def note(graph: Any, inputs: Any) -> Any:
            graphs.append(graph)
            return graph.forward

        graph = whole_torch_graph(
            lambda positions: kp.encode(positions, 12), backend=note
        )
        assert max(errors_for_values(graph, dtype)) <= COUNTING
        assert len(graphs) == 1

else:

    @pytest.mark.parametrize("dtype", ["int32", "float32"])
    @pytest.mark.parametrize("mode", KNOWN[1:])
    def test_other_values_need_no_other_trace(mode: str, dtype: str):
        traces: list[Any] = []

        def encode(positions: Any) -> Any:
            traces.append(positions)
            return kp.encode(positions, 12)

        graph = with_known_sizes(encode, mode)
        assert max(errors_for_values(graph, dtype)) <= COUNTING
        assert len(traces) == 1


CONSTANTS = {
    "integer": 3,
    "real": 2.5,
    "list": [0, 1, -2],
    "timestamps": [1.7e9, 1.7e9 + 0.5],
    "array": np.array([0.5, -1.25]),
}


if BACKEND != "torch":  # torch.compile cannot follow what NumPy knows of an array

    @pytest.mark.parametrize("name", CONSTANTS)
    @pytest.mark.parametrize("mode", KNOWN[1:])
    def test_a_graph_has_positions_of_the_host_as_constants(mode: str, name: str):
        positions = CONSTANTS[name]
        graph = with_known_sizes(lambda x: x + kp.encode(positions, 8), mode)
        outputs = to_numpy(graph(to_tensor(np.zeros(8, "float32"))))
        expected = to_numpy(kp.encode(positions, 8))
        np.testing.assert_allclose(outputs, expected, rtol=0, atol=COUNTING)


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


# Errors.

BAD_POSITIONS: dict[str, tuple[Any, str]] = {
    "boolean": (True, "bool"),
    "list-of-booleans": ([True, False], "bool"),
    "complex": (1j, "complex128"),
    "string": ("1", "<U1"),
    "list-of-strings": (["1", "22"], "<U2"),
    "bytes": (b"1", r"\|S1"),
    "none": (None, "object"),
    "list-with-none": ([1, None], "object"),
    "mapping": ({"a": 1}, "object"),
    "fraction": (fractions.Fraction(1, 2), "object"),
    "large-integer": (2**64, "object"),
    "object-array": (np.array([1, 2], object), "object"),
    "date": (np.datetime64("2024-01-01"), r"datetime64\[D\]"),
    "duration": (np.array([1, 2], "timedelta64[s]"), r"timedelta64\[s\]"),
}


@pytest.mark.parametrize("name", BAD_POSITIONS)
def test_positions_that_are_no_numbers_are_refused(name: str):
    positions, dtype = BAD_POSITIONS[name]
    with pytest.raises(
        TypeError,
        match=r"^`positions` must be integers or real numbers\. "
        rf"Received: positions of dtype {dtype}$",
    ):
        kp.encode(positions, 8)


@pytest.mark.parametrize("dtype", ["bool", "complex64"])
def test_tensors_that_are_no_numbers_are_refused(dtype: str):
    positions = to_tensor(np.zeros(3, dtype))
    with pytest.raises(
        TypeError, match=rf"^`positions` must be .* of dtype .*{dtype}.*$"
    ):
        kp.encode(positions, 8)


def test_inputs_of_a_model_that_are_no_numbers_are_refused():
    with pytest.raises(TypeError, match=r"^`positions` must be .* of dtype bool$"):
        kp.encode(keras.Input((3,), dtype="bool"), 8)


WRONG_SHAPES = {
    "number": (3, 2, "()"),
    "list": ([1.0, 2.0, 3.0], 2, "(3,)"),
    "rows": ([[1, 2, 3]], 2, "(1, 3)"),
    "empty": ([], 2, "(0,)"),
    "column": (np.zeros((4, 1)), 3, "(4, 1)"),
}


@pytest.mark.parametrize("tensor", [False, True], ids=["array", "tensor"])
@pytest.mark.parametrize("name", WRONG_SHAPES)
def test_positions_of_another_rank_are_refused(name: str, tensor: bool):
    positions, rank, shape = WRONG_SHAPES[name]
    if tensor:
        positions = to_tensor(np.asarray(positions, "float32"))
    message = (
        rf"^`positions` must have shape \(\.\.\., {rank}\), with a coordinate on each "
        rf"of the rank={rank} axes\. Received: positions of shape {re.escape(shape)}$"
    )
    with pytest.raises(ValueError, match=message):
        kp.encode(positions, 8, rank=rank)


def test_inputs_of_a_model_with_an_unknown_number_of_coordinates_are_refused():
    message = r"^`positions` must have shape .* of shape \(None, None, None\)$"
    with pytest.raises(ValueError, match=message):
        kp.encode(keras.Input((None, None)), 8, rank=2)


def test_a_ragged_list_is_refused():
    with pytest.raises(ValueError, match=r"^`positions` must .* Received: positions="):
        kp.encode([[1, 2], [3]], 8)


BAD_INTEGERS = [(0, ValueError), (-1, ValueError), (2.5, TypeError), (True, TypeError)]


@pytest.mark.parametrize(("value", "error"), BAD_INTEGERS, ids=repr)
@pytest.mark.parametrize("argument", ["channels", "rank"])
def test_bad_channels_and_ranks_are_refused(
    argument: str, value: Any, error: type[Exception]
):
    arguments = {"channels": 8, "rank": 1, argument: value}
    message = (
        rf"^`{argument}` must be a positive integer\. Received: {argument}={value}$"
    )
    with pytest.raises(error, match=message):
        kp.encode([1, 2], **arguments)


def test_channels_none_is_refused():
    message = r"^`channels` must be a positive integer\. Received: channels=None$"
    with pytest.raises(TypeError, match=message):
        kp.encode([1, 2], None)


@pytest.mark.parametrize("name", ["max_wave_length", "dtype_override", "data_format"])
def test_an_unknown_option_is_refused(name: str):
    with pytest.raises(
        ValueError,
        match=rf"^Unrecognized options\. Expected: max_wavelength.*\. "
        rf"Received: {{'{name}': 1}}$",
    ):
        kp.encode([1, 2], 8, **{name: 1})


def test_a_bad_max_wavelength_is_refused():
    with pytest.raises(ValueError, match=r"`max_wavelength` .* for each of the 2 axes"):
        kp.encode([[1, 2]], 8, rank=2, max_wavelength=[1.0, 2.0, 3.0])


def test_a_dtype_that_is_no_float_is_refused():
    with pytest.raises(ValueError, match=r"^`dtype` must be a floating-point dtype"):
        kp.encode([1, 2], 8, dtype="int32")


@pytest.mark.parametrize("rest", [(2,), (1, "float32")], ids=str)
def test_rank_and_dtype_are_keyword_only(rest: tuple[Any, ...]):
    with pytest.raises(TypeError, match="positional argument"):
        kp.encode([[1, 2]], 8, *rest)


def sparse_positions() -> Any:
    if BACKEND == "tensorflow":
        import tensorflow as tf

        return tf.sparse.from_dense([[1.0, 0.0]])
    if BACKEND == "torch":
        return torch.tensor([[1.0, 0.0]]).to_sparse()
    import jax.numpy as jnp
    from jax.experimental import sparse

    return sparse.BCOO.fromdense(jnp.array([[1.0, 0.0]]))


def test_sparse_positions_are_refused():
    with pytest.raises(ValueError, match=r"^`positions` must be .*dense"):
        kp.encode(sparse_positions(), 8)


if BACKEND == "tensorflow":

    def test_ragged_positions_are_refused():
        import tensorflow as tf

        with pytest.raises(ValueError, match=r"^`positions` must be .*dense"):
            kp.encode(tf.ragged.constant([[1.0, 2.0], [3.0]]), 8)

    def test_a_tensor_of_strings_is_refused():
        import tensorflow as tf

        with pytest.raises(TypeError, match=r"^`positions` must be integers or real"):
            kp.encode(tf.constant(["1"]), 8)
