"""The functions: any positions as a tensor, a grid or points as an array."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Unpack

import numpy as np
import numpy.typing as npt
from keras import ops

from keras_posenc import _backend, _checks
from keras_posenc._dtypes import float_policy
from keras_posenc._engine.points import encode_positions
from keras_posenc._engine.tables import grid_table, point_table
from keras_posenc._engine.waves import Grid, Recipe
from keras_posenc._hints import hint_at_arguments
from keras_posenc._positions import checked_numbers, require_coordinates
from keras_posenc._presets import preset_options
from keras_posenc._sinusoidal import (
    OPTION_NAMES,
    UncheckedOptions,
    WaveArguments,
    WaveOptions,
    wave_source,
)


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
    rank = _checks.positive_integer("rank", rank)
    channels = _checks.channel_count("channels", channels)
    source = _source(rank, channels, preset, options)
    positions = checked_numbers("positions", positions)
    require_coordinates("positions", tuple(positions.shape), rank)
    name = _backend.available_dtype(float_policy(dtype).compute_dtype)
    return encode_positions(positions, Recipe(source, channels), name)


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
        rule = "`shape` must be None beside `positions`, which say where everything is"
        raise _checks.refusal(rule, shape=shape, positions=positions)
    name = float_policy(dtype).compute_dtype
    if positions is not None:
        points = _points(positions)
        rank = _checks.positive_integer("positions.shape[-1]", points.shape[-1])
        channels = _checks.channel_count("channels", channels)
        source = _source(rank, channels, preset, options)
        table = point_table(source.waves(channels), points)
    else:
        sizes = _checks.grid_shape("shape", shape)
        rank = _checks.grid_rank("len(shape)", len(sizes))
        channels = _checks.channel_count("channels", channels)
        source = _source(rank, channels, preset, options)
        _checks.require_room("shape", sizes, channels)
        table = table_of_grid(source, channels, sizes)
    return table.astype(np.dtype(name))


def table_of_grid(
    source: WaveOptions | UncheckedOptions, channels: int, sizes: tuple[int, ...]
) -> npt.NDArray[Any]:
    """The encoding of a grid, of shape `(*sizes, channels)`, in float64."""
    rank = len(sizes)
    grid = Grid(sizes, (0,) * rank, tuple(range(rank)), rank)
    return grid_table(Recipe(source, channels), grid, "float64")


def _source(
    rank: int, channels: int, preset: str | None, options: Mapping[str, Any]
) -> WaveOptions | UncheckedOptions:
    """The record of options beside, or instead of, those of a preset."""
    unknown = {k: value for k, value in options.items() if k not in OPTION_NAMES}
    if unknown:
        raise ValueError(
            f"Unrecognized options. Expected: {', '.join(OPTION_NAMES)}."
            f"{hint_at_arguments(unknown, ('channels', *OPTION_NAMES))} "
            f"Received: {_checks.shown(unknown)}"
        )
    if preset is not None:
        options = preset_options(preset, rank, channels, options)
    return wave_source(rank, channels, options)


def _points(positions: Any) -> npt.NDArray[Any]:
    """Positions with their coordinates along the last dimension."""
    values = checked_numbers("positions", positions)
    if _backend.is_tensor(values):
        values = ops.convert_to_numpy(values)
    return values[..., None] if values.ndim < 2 else values
