"""The encoding of any positions, as a function."""

from __future__ import annotations

from typing import Any, Unpack

import keras
import numpy as np
from keras import ops

from keras_posenc import _backend
from keras_posenc._arguments import float_policy, positive_integer
from keras_posenc._evaluate import encode_positions
from keras_posenc._waves import WaveArguments, require_options


def encode(
    positions: Any,
    channels: int,
    *,
    rank: int = 1,
    dtype: Any = None,
    **options: Unpack[WaveArguments],
) -> Any:
    """The sinusoidal encoding of any positions: integer or real, negative, repeated.

    The numbers of `PositionalEncoding` (its docstring has the formula) at the given
    positions, in place of those of an input's elements.

    Positions are counted exactly, not multiplied by a frequency in float32: the
    error under float32 is less than 2e-7 for integers below 2**24, negative ones
    too, and grows with `2**-52 * position` beyond. Real positions are taken for the
    exact value of their dtype. NumPy arrays and Python numbers are split before
    float32 could blur them, so that a timestamp in seconds keeps its fraction. Other
    dtypes round these numbers once. Gradients flow to real positions.

    Args:
        positions: Tensor, array, number, or nested list of numbers, integer or real.
            For `rank=1` of any shape, for other ranks of shape `(..., rank)`, with
            the coordinates of a position along the last dimension. In units of which
            the wavelengths are `2 * pi * max_wavelength**(k / K)`.
        channels: Integer. Channels of the encoding. Positive.
        rank: Integer. Number of axes that a position has coordinates on. At least 1.
            Defaults to `1`.
        dtype: String, a NumPy, TensorFlow, torch or JAX dtype, or a dtype policy, of
            a floating-point type. `None` means Keras's global policy. Defaults to
            `None`.
        **options: `max_wavelength` as in `PositionalEncoding`.

    Returns:
        Tensor of shape `(..., channels)` and of the compute dtype that `dtype` names.

    Raises:
        TypeError: If `positions` are no integers or real numbers, or if `channels` or
            `rank` is no integer.
        ValueError: If an argument has no valid value, if the last dimension of
            `positions` is not `rank`, or if they are sparse, ragged or uneven.

    Example:
        >>> import keras
        >>> from keras_posenc import encode
        >>> keras.ops.shape(encode([0, 1, -1, 1_000_000], channels=64))
        (4, 64)
        >>> encoding = encode([[3.5, 10.25]], channels=8, rank=2)
        >>> print(keras.ops.convert_to_numpy(encoding).round(3))
        [[-0.351 -0.936  0.035  0.999 -0.735 -0.678  0.102  0.995]]

    Reference:
        - Vaswani et al., 2017, arXiv:1706.03762, section 3.5.
    """
    rank = positive_integer("rank", rank)
    channels = positive_integer("channels", channels)
    require_options(options)
    return encode_positions(
        _checked_positions(positions, rank),
        rank,
        channels,
        tuple(options.items()),
        _backend.available_dtype(float_policy(dtype).compute_dtype),
    )


def _checked_positions(positions: Any, rank: int) -> Any:
    """A tensor as it is, anything else as an array of float64 or of integers."""
    if isinstance(positions, keras.Variable):
        positions = ops.convert_to_tensor(positions)
    if not _backend.is_dense(positions):
        raise ValueError(
            "`positions` must be dense; make sparse and ragged tensors dense first. "
            f"Received: positions={positions!r}"
        )
    if not (ops.is_tensor(positions) or isinstance(positions, keras.KerasTensor)):
        try:
            positions = np.asarray(positions)
        except ValueError as error:  # lists of different lengths
            raise ValueError(
                "`positions` must be numbers, or lists of as many numbers each. "
                f"Received: positions={positions!r}"
            ) from error
    try:
        dtype = keras.backend.standardize_dtype(positions.dtype)
        numbers = keras.backend.is_float_dtype(dtype) or (
            keras.backend.is_int_dtype(dtype) and dtype != "bool"
        )
    except ValueError:
        numbers = False
    if not numbers:
        raise TypeError(
            "`positions` must be integers or real numbers. "
            f"Received: positions of dtype {positions.dtype}"
        )
    shape = tuple(positions.shape)
    if rank > 1 and (not shape or shape[-1] != rank):
        raise ValueError(
            f"`positions` must have shape (..., {rank}), with a coordinate on each of "
            f"the rank={rank} axes. Received: positions of shape {shape}"
        )
    return positions
