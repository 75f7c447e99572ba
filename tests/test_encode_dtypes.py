"""`encode`: positions of every dtype, and the dtype of the result."""

from __future__ import annotations

from typing import Any

import keras
import ml_dtypes
import mpmath
import numpy as np
import pytest
from keras import ops

import keras_posenc as kp
from helpers.reference import exact_1d
from helpers.run_modes import BACKEND
from helpers.tensors import dtype_of, to_numpy, to_tensor
from helpers.tolerances import COUNTING

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


# Integers of every size are among the tensors at their ends, below.
@pytest.mark.parametrize(
    "dtype", [dtype for dtype in TENSOR_DTYPES if dtype in FLOATS or dtype == "int32"]
)
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
