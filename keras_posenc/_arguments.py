"""Checks of constructor arguments, and the one form of their error messages."""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from typing import Any

import keras
import numpy as np

_COMPUTE_DTYPES = ("float16", "bfloat16", "float32", "float64")


def positive_integer(name: str, value: Any, *, hint: str = "") -> int:
    """`value` as a plain `int`, so that NumPy integers survive a JSON config."""
    message = f"`{name}` must be a positive integer{hint}. Received: {name}={value!r}"
    try:
        integer = _index(value)
    except TypeError:
        raise TypeError(message) from None
    if integer < 1:
        raise ValueError(message)
    return integer


def _index(value: Any) -> int:
    """`operator.index`, but for `True` and `False`, which count nothing."""
    if isinstance(value, bool):
        raise TypeError
    return operator.index(value)


def optional_positive_integer(name: str, value: Any) -> int | None:
    return None if value is None else positive_integer(name, value, hint=" or None")


# What NumPy, which makes the tables, has, and the kernels of torch.
_MAX_DIMENSIONS = 64


def grid_rank(name: str, value: Any) -> int:
    """A number of axes that fits into an array, beside batch and channels."""
    rank = positive_integer(name, value)
    if rank > _MAX_DIMENSIONS - 2:
        raise ValueError(
            f"`{name}` must be at most {_MAX_DIMENSIONS - 2}: arrays have up to "
            f"{_MAX_DIMENSIONS} dimensions, two of them for batch and channels. "
            f"Received: {name}={rank}"
        )
    return rank


def grid_shape(name: str, value: Any) -> tuple[int, ...]:
    """A size, or a non-empty sequence of sizes, as a tuple of plain `int`s."""
    message = (
        f"`{name}` must be a non-negative integer, or a sequence of one or more. "
        f"Received: {name}={value!r}"
    )
    try:
        sizes = tuple(
            _index(size) for size in (value if np.iterable(value) else (value,))
        )
    except TypeError:
        raise TypeError(message) from None
    if not sizes or min(sizes) < 0:
        raise ValueError(message)
    return sizes


def positive_per_axis(name: str, value: Any, rank: int) -> float | tuple[float, ...]:
    """A positive number, or a sequence with one positive number per axis."""
    if isinstance(value, np.ndarray):
        value = value.tolist()
    if isinstance(value, Sequence) and not isinstance(value, (str, bytes)):
        if len(value) != rank:
            raise ValueError(
                f"`{name}` must be a number or hold one number for each of the "
                f"{rank} axes. Received: {name}={value!r} (of length {len(value)})"
            )
        return tuple(_positive_number(name, item, value) for item in value)
    return _positive_number(name, value, value)


def _positive_number(name: str, number: Any, received: Any) -> float:
    message = (
        f"`{name}` must be a positive finite number, or one per axis. "
        f"Received: {name}={received!r}"
    )
    if isinstance(number, (bool, np.bool_, str, bytes)):
        raise TypeError(message)
    try:
        number = float(number)
    except (TypeError, ValueError):
        raise TypeError(message) from None
    except OverflowError:
        raise ValueError(message) from None
    if not (math.isfinite(number) and number > 0):
        raise ValueError(message)
    return number


def one_of(name: str, value: Any, valid: Sequence[str]) -> str:
    listed = ", ".join(repr(item) for item in valid)
    message = f"`{name}` must be one of {listed}. Received: {name}={value!r}"
    if not isinstance(value, str):
        raise TypeError(message)
    if value not in valid:
        raise ValueError(message)
    return value


def float_policy(dtype: Any, dtype_override: Any = None) -> keras.DTypePolicy:
    """The dtype policy that `dtype` and its legacy twin `dtype_override` name."""
    policy = _float_policy("dtype", dtype)
    if dtype_override is None:
        return policy
    override = _float_policy("dtype_override", dtype_override)
    serialize = keras.dtype_policies.serialize
    if dtype is not None and serialize(override) != serialize(policy):
        raise ValueError(
            "`dtype` and `dtype_override` are two names of one argument: give one "
            "of them, or the same value. "
            f"Received: dtype={dtype!r}, dtype_override={dtype_override!r}"
        )
    return override


def _float_policy(name: str, value: Any) -> keras.DTypePolicy:
    message = (
        f"`{name}` must be a floating-point dtype ({', '.join(_COMPUTE_DTYPES)}; as "
        "a string or as a NumPy, TensorFlow, torch or JAX dtype) or a dtype policy "
        f"that computes in one, not quantized. Received: {name}={value!r}"
    )
    try:
        policy = keras.dtype_policies.get(value)
    except (ValueError, TypeError) as error:
        raise ValueError(message) from error
    # A quantized policy is for layers that have weights to quantize.
    if policy.compute_dtype not in _COMPUTE_DTYPES or policy.quantization_mode:
        raise ValueError(message)
    return policy
