"""Dtype policies that compute in floating point."""

from __future__ import annotations

from typing import Any

import keras

from keras_posenc._checks import shown

COMPUTE_DTYPES = ("float16", "bfloat16", "float32", "float64")
HALF_DTYPES = ("float16", "bfloat16")

_KIND = (
    f"a floating-point dtype ({', '.join(COMPUTE_DTYPES)}; as a string or as a NumPy, "
    "TensorFlow, torch or JAX dtype) or a dtype policy that computes in one, not "
    "quantized"
)


def float_policy(dtype: Any, name: str = "dtype") -> keras.DTypePolicy:
    """The dtype policy that `dtype` names."""
    try:
        policy = keras.dtype_policies.get(dtype)
    except (ValueError, TypeError) as error:
        raise ValueError(_message(name, dtype)) from error
    require_float(policy.compute_dtype, policy.quantization_mode, dtype, name)
    return policy


def require_float(
    dtype: str, quantization: Any, given: Any, name: str = "dtype"
) -> None:
    """Raises where what was `given` means to compute in this `dtype`, no float."""
    # A quantized policy is for layers that have weights to quantize.
    if dtype not in COMPUTE_DTYPES or quantization:
        raise ValueError(_message(name, given))


def either_policy(dtype: Any, dtype_override: Any) -> Any:
    """`dtype`, or its legacy twin `dtype_override`, which must not contradict it."""
    if dtype_override is None:
        return dtype
    override = float_policy(dtype_override, "dtype_override")
    serialize = keras.dtype_policies.serialize
    if dtype is not None and serialize(float_policy(dtype)) != serialize(override):
        raise ValueError(
            "`dtype` and `dtype_override` are two names of one argument: give one "
            "of them, or the same value. "
            f"Received: dtype={shown(dtype)}, dtype_override={shown(dtype_override)}"
        )
    return override


def _message(name: str, value: Any) -> str:
    # The second of two numbers may have been meant as a length.
    second = name == "dtype_override" and type(value) is int
    length = " There is no length to give: any is taken." if second else ""
    return f"`{name}` must be {_KIND}.{length} Received: {name}={shown(value)}"
