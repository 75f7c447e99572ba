"""What reaches the device: no double, and no matrix product."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import pytest
from keras import ops

import keras_posenc as kp
from helpers.device_operations import Operations, operations
from helpers.hard_positions import TIMESTAMPS, integers, reals
from helpers.run_modes import BACKEND, KNOWN, UNKNOWN
from helpers.tensors import to_tensor

WAYS = [(mode, False) for mode in KNOWN] + [(mode, True) for mode in UNKNOWN]


def way_id(value: Any) -> str:
    return {True: "unknown", False: "known"}.get(value, value)


each_way = pytest.mark.parametrize(("mode", "open_"), WAYS, ids=way_id)


def sized(*shape: int) -> Any:
    return ops.zeros((1, *shape), "float32")


# No other test has 307 positions: a table that it left would hide how one is made.
CALLS = {
    "1d": (functools.partial(kp.PositionalEncoding1D, 16), sized(307, 16)),
    "3d": (functools.partial(kp.PositionalEncoding3D, 18), sized(7, 307, 9, 18)),
    "sum-of-2d": (
        lambda dtype: kp.Summer(kp.PositionalEncoding2D(16, dtype), dtype=dtype),
        sized(307, 9, 16),
    ),
    "integers": (
        lambda dtype: lambda x: kp.encode(x, 16, dtype=dtype),
        to_tensor(integers(2**31, 10).astype("int32")),
    ),
    "reals": (
        lambda dtype: lambda x: kp.encode(x, 16, dtype=dtype),
        to_tensor(reals(1e6, 10)),
    ),
}
# Eager calls run on three axes what they run on two.
RUN = [
    (name, *way) for name in CALLS for way in WAYS if (name, way[0]) != ("3d", "eager")
]


@pytest.fixture
def double_is_available():
    """JAX makes no double unless it is told to: then nothing would be tested."""
    if BACKEND != "jax":
        yield
        return
    import jax

    jax.config.update("jax_enable_x64", True)
    try:
        yield
    finally:
        jax.config.update("jax_enable_x64", False)


@functools.cache
def operations_of(name: str, dtype: str, mode: str, open_: bool) -> Operations:
    make, x = CALLS[name]
    signature = (None,) * (len(x.shape) - 1) + (x.shape[-1] if x.ndim > 1 else None,)
    return operations(make(dtype), x, mode, signature if open_ else None)


@pytest.mark.usefixtures("double_is_available")
@pytest.mark.parametrize(
    ("name", "mode", "open_", "dtype"),
    [(*run, "float32") for run in RUN]
    + [(name, *WAYS[-1], "bfloat16") for name in ("1d", "reals")],
    ids=way_id,
)
def test_no_double_reaches_the_device(name: str, mode: str, open_: bool, dtype: str):
    found = operations_of(name, dtype, mode, open_)
    assert dtype in found.dtypes
    assert "float64" not in found.dtypes


@pytest.mark.usefixtures("double_is_available")
@pytest.mark.parametrize("name", ["1d", "reals"])
@each_way
def test_a_double_would_be_seen(name: str, mode: str, open_: bool):
    assert "float64" in operations_of(name, "float64", mode, open_).dtypes


@pytest.mark.usefixtures("double_is_available")
@pytest.mark.parametrize("positions", [TIMESTAMPS[:9], TIMESTAMPS[:9].tolist(), 0.5])
def test_positions_of_the_host_are_split_there(positions: Any):
    found = operations(lambda x: x + kp.encode(positions, 16), sized(16), "eager")
    assert "float64" not in found.dtypes


@pytest.mark.usefixtures("double_is_available")
@pytest.mark.parametrize(("name", "mode", "open_"), RUN, ids=way_id)
def test_positions_and_frequencies_meet_in_no_matmul(name: str, mode: str, open_: bool):
    assert not operations_of(name, "float32", mode, open_).products


PRODUCTS = {
    "matmul": lambda x: ops.matmul(x, ops.transpose(x)),
    "dot": lambda x: ops.dot(x, ops.transpose(x)),
    "einsum": lambda x: ops.einsum("ij,kj->ik", x, x),
    "tensordot": lambda x: ops.tensordot(x, x, axes=[[1], [1]]),
}


@pytest.mark.parametrize("name", PRODUCTS)
@each_way
def test_a_matmul_would_be_seen(name: str, mode: str, open_: bool):
    signature = (None, 2) if open_ else None
    x = to_tensor(np.ones((5, 2), "float32"))
    assert operations(PRODUCTS[name], x, mode, signature).products
