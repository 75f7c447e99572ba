"""The encoding as a NumPy array, without layers or tensors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Unpack

import numpy as np
import numpy.typing as npt
from keras import ops

from keras_posenc._arguments import (
    float_policy,
    grid_rank,
    grid_shape,
    positive_integer,
)
from keras_posenc._evaluate import host_points, host_table
from keras_posenc._options import WaveArguments, WaveOptions, require_options
from keras_posenc._positions import checked_numbers, is_tensor
from keras_posenc._presets import preset_options


def sinusoidal_table(
    shape: int | Sequence[int] | None,
    channels: int,
    *,
    positions: Any = None,
    dtype: Any = "float32",
    preset: str | None = None,
    **options: Unpack[WaveArguments],
) -> npt.NDArray[Any]:
    """The encoding of a grid, or of positions, as a NumPy array.

    The numbers of `PositionalEncoding` (its docstring has the formula), of the rank
    that `shape` or `positions` have, computed in float64 and rounded once to `dtype`.

    Args:
        shape: Integer, or a sequence with one integer per axis. Sizes of the grid,
            in positions. Not negative. `None` where there are `positions`.
        channels: Integer. Channels of the table. Positive.
        positions: Array or nested list of integer or real numbers, or `None`. What to
            encode in place of a grid: of shape `(n,)` for one axis, `(..., rank)` for
            any number of them. Defaults to `None`.
        dtype: String, a NumPy, TensorFlow, torch or JAX dtype, or a dtype policy,
            of a floating-point type. `None` means Keras's global policy. Defaults
            to `"float32"`.
        preset: String or `None`. One of the names that `keras_posenc.presets()` lists,
            for its options. Those that are given win. Defaults to `None`.
        **options: `max_wavelength` and the other options of `PositionalEncoding`.

    Returns:
        NumPy array of shape `(*shape, channels)`, or that of `positions` with channels
        in place of coordinates, and of the given dtype.

    Raises:
        TypeError: If `shape` or `channels` holds something that is no integer, or
            `positions` something that is no number.
        ValueError: If an argument has no valid value, or if there is a `shape` beside
            `positions`.

    Example:
        >>> from keras_posenc import sinusoidal_table
        >>> sinusoidal_table((14, 14), 64).shape
        (14, 14, 64)
        >>> print(sinusoidal_table(2, 4)[1])
        [0.84147096 0.5403023  0.00999983 0.99995   ]
        >>> print(sinusoidal_table(2, 4, preset="whisper")[1])
        [8.4147096e-01 9.9999997e-05 5.4030228e-01 1.0000000e+00]
        >>> sinusoidal_table(None, 64, positions=[[0.5, 2.0]], preset="mae").shape
        (1, 64)

    Reference:
        - Vaswani et al., 2017, arXiv:1706.03762, section 3.5 (one axis).
    """
    if positions is not None and shape is not None:
        raise ValueError(
            "`shape` must be None beside `positions`, which say where everything is. "
            f"Received: shape={shape!r}, positions={positions!r}"
        )
    require_options(options)
    if positions is None:
        sizes = grid_shape("shape", shape)
        rank = grid_rank("len(shape)", len(sizes))
    else:
        points = _points(positions)
        rank = positive_integer("positions.shape[-1]", points.shape[-1])
    channels = positive_integer("channels", channels)
    chosen: Mapping[str, Any] = options
    if preset is not None:
        chosen = preset_options(preset, rank, channels, options)
    checked = WaveOptions(rank, channels, **chosen)
    name = float_policy(dtype).compute_dtype
    if positions is None:
        (table,) = host_table(checked, channels, sizes, rank + 1, "float64")
    else:
        table = host_points(checked, channels, points)
    return table.astype(np.dtype(name))


def _points(positions: Any) -> npt.NDArray[Any]:
    """Positions with their coordinates along the last dimension."""
    values = checked_numbers("positions", positions)
    if is_tensor(values):
        values = ops.convert_to_numpy(values)
    return values[..., None] if values.ndim < 2 else values
