"""`sinusoidal_table`: the numbers of the layers without a layer."""

from __future__ import annotations

from typing import Any

import keras
import ml_dtypes
import numpy as np
import pytest

import keras_posenc as kp
from helpers import reference
from helpers.tensors import to_numpy


@pytest.mark.parametrize("sizes", [(7,), (4, 3), (2, 3, 4)], ids=len)
@pytest.mark.parametrize("channels", [5, 12])
def test_equals_the_formula(sizes: tuple[int, ...], channels: int):
    table = kp.sinusoidal_table(sizes, channels, dtype="float64")
    assert table.shape == (*sizes, channels)
    # Two float64 computations of the same angles.
    np.testing.assert_allclose(
        table, reference.encode(sizes, channels), rtol=0, atol=1e-14
    )


@pytest.mark.parametrize("shape", [7, np.int64(7), (7,), [7], np.array([7])], ids=repr)
def test_one_axis_may_be_a_plain_number(shape: Any):
    np.testing.assert_array_equal(
        kp.sinusoidal_table(shape, 8), kp.sinusoidal_table((7,), 8)
    )


def test_the_table_is_what_the_layer_returns():
    layer = kp.PositionalEncoding2D(12, max_wavelength=[20.0, 300.0])
    outputs = to_numpy(layer(np.zeros((1, 6, 5, 12), "float32")))[0]
    table = kp.sinusoidal_table((6, 5), 12, max_wavelength=[20.0, 300.0])
    assert table.dtype == "float32"
    np.testing.assert_array_equal(outputs, table.astype("float64"))


DTYPES = {
    "float16": np.float16,
    "bfloat16": ml_dtypes.bfloat16,
    "float64": np.float64,
    "mixed_bfloat16": ml_dtypes.bfloat16,
}


@pytest.mark.parametrize("dtype", DTYPES)
def test_the_table_has_the_dtype_that_is_asked_for(dtype: str):
    table = kp.sinusoidal_table(40, 8, dtype=dtype)
    assert table.dtype == DTYPES[dtype]
    exact = reference.encode_1d(40, 8)
    half_unit = float(ml_dtypes.finfo(DTYPES[dtype]).eps) / 4  # of numbers below 1
    np.testing.assert_allclose(
        # 1e-14: two float64 computations of angles up to 40.
        table.astype("float64"),
        exact,
        rtol=0,
        atol=half_unit + 1e-14,
    )


def test_a_dtype_that_is_no_float_is_an_error():
    with pytest.raises(ValueError, match=r"`dtype` must be a floating-point dtype"):
        kp.sinusoidal_table(3, 8, dtype="int32")


def test_an_axis_of_no_positions_gives_an_empty_table():
    assert kp.sinusoidal_table(0, 8).shape == (0, 8)


def test_changing_a_table_changes_no_other():
    first = kp.sinusoidal_table(3, 8)
    first += 1
    np.testing.assert_array_equal(kp.sinusoidal_table(3, 8) + 1, first)


def test_a_table_is_made_without_a_tensor():
    assert type(kp.sinusoidal_table(3, 8)) is np.ndarray
    assert not keras.ops.is_tensor(kp.sinusoidal_table(3, 8))
