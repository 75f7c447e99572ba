"""The encoding of any positions, as a function."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Unpack

import numpy as np

from keras_posenc import _backend
from keras_posenc._arguments import float_policy, positive_integer
from keras_posenc._evaluate import encode_positions
from keras_posenc._options import WaveArguments, require_options
from keras_posenc._positions import checked_numbers, require_coordinates
from keras_posenc._presets import preset_options


def encode(
    positions: Any,
    channels: int,
    *,
    rank: int = 1,
    dtype: Any = None,
    preset: str | None = None,
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
        preset: String or `None`. One of the names that `keras_posenc.presets()` lists,
            for its options. Those that are given win. Defaults to `None`.
        **options: `max_wavelength` and the other options of `PositionalEncoding`.

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
    chosen: Mapping[str, Any] = options
    if preset is not None:
        chosen = preset_options(preset, rank, channels, options)
    items = tuple((name, _as_tuples(value)) for name, value in chosen.items())
    positions = checked_numbers("positions", positions)
    require_coordinates("positions", tuple(positions.shape), rank)
    return encode_positions(
        positions,
        (("rank", rank), ("channels", channels), *items),
        channels,
        (_backend.available_dtype(float_policy(dtype).compute_dtype),),
    )


def _as_tuples(value: Any) -> Any:
    """`value` with tuples for sequences, which do not hash."""
    if isinstance(value, np.ndarray):
        value = value.tolist()
    if isinstance(value, (list, tuple)):
        return tuple(_as_tuples(item) for item in value)
    return value
