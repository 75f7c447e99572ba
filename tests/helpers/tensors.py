"""Tensors of the backend that runs, from NumPy arrays and back."""

from __future__ import annotations

from typing import Any

import keras
import numpy as np
from keras import ops

from helpers.run_modes import BACKEND


def to_numpy(x: Any) -> np.ndarray:
    """A tensor of any dtype as float64: every float dtype fits in it exactly."""
    if keras.backend.standardize_dtype(x.dtype) == "bfloat16":
        x = ops.cast(x, "float32")
    return ops.convert_to_numpy(x).astype("float64")


def dtype_of(x: Any) -> str:
    return keras.backend.standardize_dtype(x.dtype)


def to_tensor(values: np.ndarray, dtype: str | None = None) -> Any:
    return ops.convert_to_tensor(values, dtype=dtype)


def zeros(*shape: int, dtype: str = "float32") -> Any:
    return to_tensor(np.zeros(shape, dtype))


def scalar(value: int, dtype: str = "int32") -> Any:
    return to_tensor(np.array(value, dtype))


def normal(*shape: int) -> np.ndarray:
    """Numbers of float32, the same ones every time."""
    return np.random.default_rng(1).normal(size=shape).astype("float32")


def available(dtype: str) -> str:
    """JAX runs without 64-bit numbers unless told otherwise."""
    return "float32" if (BACKEND, dtype) == ("jax", "float64") else dtype
