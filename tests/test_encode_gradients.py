"""`encode`: gradients flow to real positions, and autocast rounds none."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from keras import ops

import keras_posenc as kp
from helpers import reference
from helpers.gradients import gradient
from helpers.reference import exact_1d, exact_gradient_1d
from helpers.run_modes import BACKEND, KNOWN, with_known_sizes
from helpers.tensors import dtype_of, to_numpy, to_tensor
from helpers.tolerances import COUNTING

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
        to_numpy(found), exact_gradient_1d(REAL, 8), rtol=0, atol=GRADIENT
    )


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_gradients_flow_to_positions_of_few_digits(dtype: str):
    x = to_tensor(REAL / 20, dtype)
    found = gradient(lambda positions: kp.encode(positions, 8), x)
    assert dtype_of(found) == dtype
    expected = exact_gradient_1d(to_numpy(x), 8)
    unit = 2.0 * reference.half_a_unit(expected, dtype)  # each sum may round up
    assert (np.abs(to_numpy(found) - expected) <= unit + GRADIENT).all()


def test_gradients_flow_to_every_axis():
    positions = np.stack([REAL, REAL[::-1]], axis=-1)
    found = gradient(lambda p: kp.encode(p, 16, rank=2), to_tensor(positions))
    np.testing.assert_allclose(
        to_numpy(found), exact_gradient_1d(positions, 8), rtol=0, atol=GRADIENT
    )


if BACKEND != "jax":

    def test_gradients_flow_in_float64():
        positions = REAL[:5].astype("float64") / 3
        found = gradient(
            lambda p: kp.encode(p, 8, dtype="float64"), to_tensor(positions)
        )
        np.testing.assert_allclose(
            to_numpy(found),
            exact_gradient_1d(positions, 8),
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
            to_numpy(found), exact_gradient_1d(REAL, 8), rtol=0, atol=GRADIENT
        )

    @pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=str)
    def test_autocast_rounds_nothing(dtype: torch.dtype):
        positions = torch.tensor([3.0, 1000.0, -65_536.0], dtype=dtype)
        with torch.autocast("cpu", torch.bfloat16):
            outputs = kp.encode(positions, 8)
        assert dtype_of(outputs) == "float32"
        expected = exact_1d(to_numpy(positions), 8)
        np.testing.assert_allclose(to_numpy(outputs), expected, rtol=0, atol=COUNTING)
