"""The few questions that `keras.ops` cannot answer, one function each.

This is the only module that imports a backend, always inside a function and only
the one that runs, so that importing the package never pulls in another.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar

import keras
import numpy as np
from keras import ops

P = ParamSpec("P")
R = TypeVar("R")


def shape(x: Any) -> tuple[Any, ...]:
    """The sizes of `x`: an `int` where known, else what the backend counts with."""
    # `ops.shape` builds TensorFlow's dynamic shape even where nothing is unknown.
    return ops.shape(x) if None in tuple(x.shape) else x.shape


def is_known(size: Any) -> bool:
    """Whether a size is a number now, not a tensor or symbol for a later one.

    Symbols of JAX and torch and the sizes inside a TorchScript trace would convert
    to `int`, which freezes them at the size that happens to be traced.
    """
    if type(size) is not int:
        return False
    if keras.backend.backend() == "torch":
        import torch

        if torch.compiler.is_compiling():
            # A size that torch.compile keeps open looks like an `int` there.
            from torch.fx.experimental.symbolic_shapes import has_static_value

            return has_static_value(size)
    return True


def host_constant(function: Callable[P, R]) -> Callable[P, R]:
    """Marks a pure function of hashable arguments as a constant to compilers.

    torch.compile would trace into it, and rewrite its NumPy as torch operations.
    """
    if keras.backend.backend() == "torch":
        import torch

        function = torch.compiler.assume_constant_result(function)
    return function


def is_dense(x: Any) -> bool:
    """Whether `x` is an ordinary tensor: neither sparse nor ragged."""
    if isinstance(x, keras.KerasTensor):
        return not (x.sparse or getattr(x, "ragged", False))
    backend = keras.backend.backend()
    if backend == "tensorflow":
        import tensorflow as tf

        return not isinstance(x, (tf.SparseTensor, tf.RaggedTensor, tf.IndexedSlices))
    if backend == "jax":
        from jax.experimental.sparse import JAXSparse

        return not isinstance(x, JAXSparse)
    if backend == "torch":
        import torch

        return not isinstance(x, torch.Tensor) or (
            x.layout is torch.strided and not x.is_nested
        )
    return True


def device_of(x: Any) -> contextlib.AbstractContextManager[Any]:
    """A scope in which new tensors are made where `x` is.

    JAX and TensorFlow move small constants to their operands by themselves. On
    torch, `keras.ops` makes everything on Keras's default device instead.
    """
    if keras.backend.backend() == "torch":
        return keras.device(str(x.device))
    return contextlib.nullcontext()


def to_tensor(values: np.ndarray, dtype: str, x: Any) -> Any:
    """`values` as a tensor where `x` is."""
    if keras.backend.backend() == "torch":
        import torch

        # `ops.convert_to_tensor` inspects its argument in a way that torch.compile
        # cannot follow for what `host_constant` returned.
        return torch.as_tensor(values, device=x.device).to(getattr(torch, dtype))
    return ops.convert_to_tensor(values, dtype=dtype)


def zeros_like(x: Any, dtype: str) -> Any:
    """Zeros of the shape of `x`, where `x` is, and in its graph."""
    with device_of(x):
        return ops.zeros_like(x, dtype=dtype)


def available_dtype(dtype: str) -> str:
    """`dtype`, or float32 where JAX runs without its 64-bit mode.

    JAX would give float32 all the same, with a warning at every operation.
    """
    if dtype == "float64" and keras.backend.backend() == "jax":
        import jax

        return dtype if jax.config.jax_enable_x64 else "float32"
    return dtype
