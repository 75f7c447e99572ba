"""The drop-in for the torch module that many notebooks carry."""

from __future__ import annotations

from typing import Any, Unpack

import keras

from keras_posenc._arguments import positive_integer
from keras_posenc._encoding import checked_where, encoding_at
from keras_posenc._evaluate import kept_encoding
from keras_posenc._layer import (
    EncodingLayer,
    LayerArguments,
    Shape,
    dims_error,
    has_dims,
)
from keras_posenc._options import WaveOptions
from keras_posenc._positions import is_zero, largest_start


@keras.saving.register_keras_serializable(package="keras_posenc")
class SinusoidEncoding(EncodingLayer):
    """Adds the sinusoidal encoding of its positions to a batch of sequences.

    Takes the place of the torch module of the same name and arguments that many
    notebooks carry. For position `x` and `i = 0 .. hidden_dim/2 - 1`, it adds

        PE(x, 2*i)     = sin(x / 10000**(2*i / hidden_dim))
        PE(x, 2*i + 1) = cos(x / 10000**(2*i / hidden_dim))

    Positions count from 0. The numbers are computed in float32 or better under
    every dtype policy and rounded once. Masks pass through. The input is in the sum: a
    `Summer` around the layer would add it again.

    Args:
        hidden_dim: Integer. Channels of the input. Positive. An odd number gets the
            frequencies of the next even one.
        max_len: Integer. The longest sequence taken, in positions. Positive. Where a
            length is known only when a graph runs, the limit is not enforced, and
            the numbers are right all the same. Defaults to `5000`.
        dtype_override: Another name of `dtype`. Defaults to `None`.
        **kwargs: Base layer arguments such as `name` and `dtype`. `dtype` takes a
            string, a NumPy, TensorFlow, torch or JAX dtype, or a dtype policy.

    Call arguments:
        inputs: Tensor of shape `(batch, length, hidden_dim)`, of any dtype. Integers
            and booleans become numbers of the compute dtype.
        start_index, positions: As in `PositionalEncoding1D`.

    Returns:
        Tensor of the input's shape, in the layer's compute dtype: the input plus the
        encoding.

    Raises:
        TypeError: If `hidden_dim` or `max_len` is no integer.
        ValueError: If one of them is not positive; when called, if the input has
            another number of channels, more than `max_len` positions or another
            rank, or is sparse or ragged.

    Example:
        >>> import numpy as np
        >>> import keras
        >>> from keras_posenc import SinusoidEncoding
        >>> y = SinusoidEncoding(hidden_dim=8, max_len=100)(np.zeros((2, 3, 8)))
        >>> print(keras.ops.convert_to_numpy(y)[1, 1].round(3))
        [0.841 0.54  0.1   0.995 0.01  1.    0.001 1.   ]

    Reference:
        - Vaswani et al., 2017, arXiv:1706.03762, section 3.5.
    """

    _known = ("hidden_dim", "max_len")

    def __init__(
        self,
        hidden_dim: int,
        max_len: int = 5000,
        *,
        dtype_override: Any = None,
        **kwargs: Unpack[LayerArguments],
    ):
        super().__init__(dtype_override=dtype_override, **kwargs)
        self.hidden_dim = positive_integer("hidden_dim", hidden_dim)
        self.max_len = positive_integer("max_len", max_len)
        self._options = WaveOptions(rank=1, channels=self.hidden_dim)

    def call(self, inputs: Any, start_index: Any = 0, positions: Any = None) -> Any:
        self.check_inputs(inputs)
        self._check_length(inputs.shape, start_index, positions)
        dtype = self.available_dtype
        grid = (inputs, self._options, 2, (dtype,))
        encoding = None
        if positions is None and is_zero(start_index):
            encoding = kept_encoding(*grid)
        if encoding is None:
            encoding = encoding_at(*grid, self.hidden_dim, start_index, positions)
        return self.as_float(inputs, dtype) + encoding

    def check_shape(self, shape: Shape) -> None:
        if not has_dims(shape, 3, 2):
            raise dims_error(self, shape, 3, "(batch, length, hidden_dim)")
        channels = shape[2]
        if channels != self.hidden_dim:
            raise ValueError(
                f"{type(self).__name__} expects inputs of shape (batch, length, "
                f"hidden_dim={self.hidden_dim}). Received: inputs of shape {shape}"
            )
        self._check_length(shape)

    def check_where(self, shape: Shape, start_index: Any, positions: Any) -> None:
        checked_where(shape, self._options, 2, start_index, positions)
        self._check_length(shape, start_index, positions)

    def _check_length(
        self, shape: Shape, start_index: Any = 0, positions: Any = None
    ) -> None:
        length = shape[1]
        first = largest_start(start_index) if positions is None else 0
        if type(length) is not int or first is None:
            return
        if first + length > self.max_len:
            start = f" from start_index={start_index} on" if first else ""
            raise ValueError(
                f"{type(self).__name__} expects at most "
                f"max_len={self.max_len} positions, found {length}{start}. "
                f"Received: inputs of shape {shape}"
            )

    def get_config(self) -> dict[str, Any]:
        return {
            **super().get_config(),
            "hidden_dim": self.hidden_dim,
            "max_len": self.max_len,
        }
