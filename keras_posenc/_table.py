"""The encoding as a NumPy array, without layers or tensors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Unpack

import numpy as np
import numpy.typing as npt

from keras_posenc._arguments import (
    float_policy,
    grid_rank,
    grid_shape,
    positive_integer,
)
from keras_posenc._evaluate import host_table
from keras_posenc._options import WaveArguments, WaveOptions, require_options


def sinusoidal_table(
    shape: int | Sequence[int],
    channels: int,
    *,
    dtype: Any = "float32",
    **options: Unpack[WaveArguments],
) -> npt.NDArray[Any]:
    """The encoding of a grid of positions as a NumPy array.

    The numbers of `PositionalEncoding` (its docstring has the formula), of the rank
    that `shape` has, computed in float64 and rounded once to `dtype`.

    Args:
        shape: Integer, or a sequence with one integer per axis. Sizes of the grid,
            in positions. Not negative.
        channels: Integer. Channels of the table. Positive.
        dtype: String, a NumPy, TensorFlow, torch or JAX dtype, or a dtype policy,
            of a floating-point type. `None` means Keras's global policy. Defaults
            to `"float32"`.
        **options: `max_wavelength` and the other options of `PositionalEncoding`.

    Returns:
        NumPy array of shape `(*shape, channels)` and the given dtype.

    Raises:
        TypeError: If `shape` or `channels` holds something that is no integer.
        ValueError: If an argument has no valid value.

    Example:
        >>> from keras_posenc import sinusoidal_table
        >>> sinusoidal_table((14, 14), 64).shape
        (14, 14, 64)
        >>> print(sinusoidal_table(2, 4)[1])
        [0.84147096 0.5403023  0.00999983 0.99995   ]

    Reference:
        - Vaswani et al., 2017, arXiv:1706.03762, section 3.5 (one axis).
    """
    sizes = grid_shape("shape", shape)
    channels = positive_integer("channels", channels)
    require_options(options)
    rank = grid_rank("len(shape)", len(sizes))
    checked = WaveOptions(rank, channels, **options)
    name = float_policy(dtype).compute_dtype
    (table,) = host_table(checked, channels, sizes, len(sizes) + 1, "float64")
    return table.astype(np.dtype(name))
