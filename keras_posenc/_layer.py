"""What every layer of the package keeps: dtype, checks before `call`, masks."""

from __future__ import annotations

import sys
import warnings
from types import FrameType
from typing import Any

import keras

from keras_posenc import _backend
from keras_posenc._arguments import float_policy

Shape = tuple[int | None, ...]


class EncodingLayer(keras.layers.Layer):
    """Base of the layers: one dense tensor in, the same shape out, no weights."""

    def __init__(self, *, dtype: Any = None, dtype_override: Any = None, **kwargs: Any):
        super().__init__(dtype=float_policy(dtype, dtype_override), **kwargs)
        self.supports_masking = True

    @property
    def input_dtype(self) -> str:
        """The compute dtype as far as the backend has it; Keras casts inputs to it.

        JAX without its 64-bit mode has no float64, and would warn at every cast.
        """
        return _backend.available_dtype(self.compute_dtype)

    def __call__(self, inputs: Any, *args: Any, **kwargs: Any) -> Any:
        # Checked here, since Keras wraps in escape codes what `call` raises, and
        # `build` runs only once, while every call brings a shape of its own.
        if not _backend.is_dense(inputs):
            raise ValueError(
                f"{type(self).__name__} expects a dense tensor; make sparse and "
                f"ragged tensors dense first. Received: inputs={inputs!r}"
            )
        if not hasattr(inputs, "shape"):
            raise ValueError(
                f"{type(self).__name__} expects one tensor. "
                f"Received: inputs={inputs!r} (of type {type(inputs).__name__})"
            )
        self.check_inputs(tuple(inputs.shape))
        return super().__call__(inputs, *args, **kwargs)

    def build(self, input_shape: Any) -> None:
        self.check_shape(tuple(input_shape))

    def compute_output_shape(self, input_shape: Any) -> Shape:
        self.check_shape(tuple(input_shape))
        return tuple(input_shape)

    def check_inputs(self, shape: Shape) -> None:
        """Runs before each call: raises, and warns, where `shape` does not fit."""
        self.check_shape(shape)

    def check_shape(self, shape: Shape) -> None:
        """Raises a ValueError where inputs of `shape` do not fit this layer."""


def check_dims(layer: keras.layers.Layer, shape: Shape, dims: tuple[str, ...]) -> None:
    """Raises unless `shape` has the named `dims` and a known number of channels."""
    expected = f"inputs of shape ({', '.join(dims)})"
    if len(shape) != len(dims):
        raise ValueError(
            f"{type(layer).__name__} expects {expected}: expected ndim={len(dims)}, "
            f"found ndim={len(shape)}. Received: inputs of shape {shape}"
        )
    if shape[dims.index("channels")] is None:
        raise ValueError(
            f"{type(layer).__name__} expects {expected} whose number of channels is "
            f"known when the model is built. Received: inputs of shape {shape}"
        )


@_backend.host_constant  # torch.compile then warns as it traces
def warn(message: str) -> None:
    """Warns at the line that called, which is neither this package's nor Keras's."""
    level, frame = 1, sys._getframe()
    while frame.f_back and _package(frame) in ("keras", "keras_posenc"):
        level, frame = level + 1, frame.f_back
    warnings.warn(message, stacklevel=level)


def _package(frame: FrameType) -> str:
    return frame.f_globals.get("__name__", "").partition(".")[0]
