"""The drop-in for the torch module that many notebooks carry."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any, Unpack

import keras

from keras_posenc import _checks
from keras_posenc._base import LayerArguments, ReadOnly, Shape
from keras_posenc._grid_layer import GridLayer
from keras_posenc._placing import Placing
from keras_posenc._positions import largest_start
from keras_posenc._sinusoidal import WaveOptions


@dataclass(frozen=True)
class _Arguments:
    hidden_dim: int
    max_len: int


@keras.saving.register_keras_serializable(package="keras_posenc")
class SinusoidEncoding(GridLayer):
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
    hidden_dim = ReadOnly("_arguments")
    max_len = ReadOnly("_arguments")

    def __init__(
        self,
        hidden_dim: int,
        max_len: int = 5000,
        **kwargs: Unpack[LayerArguments],
    ):
        super().__init__(**kwargs)
        self._arguments = _Arguments(
            _checks.channel_count("hidden_dim", hidden_dim),
            _checks.positive_integer("max_len", max_len),
        )
        self._options = WaveOptions(rank=1, channels=self._arguments.hidden_dim)
        self._placing = Placing(rank=1)

    def call(self, inputs: Any, start_index: Any = 0, positions: Any = None) -> Any:
        self._check_inputs(inputs)
        self._check_shape(tuple(inputs.shape))
        self._check_length(tuple(inputs.shape), start_index, positions)
        encoding = self._encoding(inputs, start_index, positions, None)
        return self._as_float(inputs, self.available_dtype) + encoding

    def _check_shape(self, shape: Shape) -> None:
        super()._check_shape(shape)
        if shape[2] != self.hidden_dim:
            raise ValueError(
                f"{type(self).__name__} expects inputs of shape (batch, length, "
                f"hidden_dim={self.hidden_dim}). Received: inputs of shape {shape}"
            )

    def _check_built_shape(self, shape: Shape) -> None:
        self._check_shape(shape)
        self._check_length(shape, 0, None)

    def _check_places(self, shape: Shape, **places: Any) -> None:
        self._check_shape(shape)
        super()._check_places(shape, **places)
        self._check_length(shape, places["start_index"], places["positions"])

    def _check_length(self, shape: Shape, start_index: Any, positions: Any) -> None:
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
        return {**super().get_config(), **dataclasses.asdict(self._arguments)}
