"""What is to be shown of an encoding: its table and its wavelengths, in NumPy.

Plots and the command line take a layer, the name of a preset or a table; here that
becomes numbers. How they are drawn or printed is the business of `plot` and
`_command_line`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import keras
import numpy as np
import numpy.typing as npt
from keras import ops

from keras_posenc._base import EncodingLayer
from keras_posenc._checks import (
    channel_count,
    grid_rank,
    grid_shape,
    require_room,
    shown,
)
from keras_posenc._coordinates import CoordinateEncoding
from keras_posenc._engine.tables import point_table
from keras_posenc._functions import table_of_grid
from keras_posenc._positions import checked_numbers, known_shape
from keras_posenc._presets import preset_options
from keras_posenc._sinusoid import SinusoidEncoding
from keras_posenc._sinusoidal import WaveOptions
from keras_posenc._summer import Summer

Sizes = tuple[int, ...]
Floats = npt.NDArray[np.float64]

# A channel that turns by less than this over its whole axis says little about where
# on it a position is: a sine is below 0.6 there, a cosine above 0.8.
BARELY = 0.1
# Positions are samples: of a wave that is shorter than two of them they show another.
SHORTEST = 2.0


@dataclass(frozen=True)
class Spectrum:
    """For each channel the axis that it runs along and its wavelength in positions."""

    axis: npt.NDArray[np.int64]
    wavelength: Floats  # infinite where a channel is constant
    barely: npt.NDArray[np.bool_]  # turns by less than `BARELY`; not if constant
    aliased: npt.NDArray[np.bool_]

    @property
    def constant(self) -> npt.NDArray[np.bool_]:
        return np.isinf(self.wavelength)


@dataclass(frozen=True)
class View:
    """An encoding, and the sizes of the grid that shows it, where there are any."""

    options: WaveOptions
    channels: int
    sizes: Sizes | None
    # Whether it encodes values, which need not be integers, instead of positions.
    of_values: bool = False

    def table(self) -> Floats:
        """The encoding of the grid, of shape `(*sizes, channels)`."""
        assert self.sizes is not None
        if self.of_values:
            values = np.moveaxis(np.indices(self.sizes), 0, -1)
            return point_table(self.options.waves(self.channels), values)
        require_room("shape", self.sizes, self.channels)
        return table_of_grid(self.options, self.channels, self.sizes)

    def spectrum(self) -> Spectrum:
        rank = self.options.rank
        # Only `coordinate_range` asks for a size, and `view_of` sees that there is one.
        sizes = self.sizes or (1,) * rank
        waves = self.options.waves(self.channels)
        frequency, _ = waves.over(
            [
                coordinate.given() if self.of_values else coordinate.counted(0, size)
                for coordinate, size in zip(waves.coordinates, sizes, strict=True)
            ]
        )
        with np.errstate(divide="ignore"):
            wavelength = 2 * np.pi / np.abs(frequency)
        turns = np.array(sizes)[waves.axis] / wavelength
        known = self.sizes is not None
        return Spectrum(
            waves.axis,
            wavelength,
            barely=known & (turns > 0) & (turns < BARELY),
            aliased=(wavelength < SHORTEST) & (not self.of_values),
        )


def table_of(x: Any, shape: Any, channels: Any, *, hint: str = "") -> Floats:
    """The numbers of whatever `x` may be, of shape `(*sizes, channels)`."""
    if isinstance(x, (np.ndarray, keras.Variable)) or ops.is_tensor(x):
        return _given_table(x, shape, channels)
    view = view_of(x, shape, channels)
    if view.sizes is None:
        raise ValueError(
            "`shape` must hold a size for each axis, unless `x` is a table or a layer "
            f"that has a `grid`{hint}. Received: shape=None"
        )
    return view.table()


def view_of(x: Any, sizes: Any, channels: Any, name: str = "shape") -> View:
    """The encoding that `x` stands for. `name` is that of `sizes`."""
    if isinstance(x, View):  # from the command line, which has checked it
        return x
    if isinstance(x, str):
        return _of_preset(x, sizes, channels, name)
    layer = x.penc if isinstance(x, Summer) and x._call_is_ours else x
    # A subclass that has a `call` of its own may return anything.
    if not (isinstance(layer, EncodingLayer) and layer._call_is_ours):
        raise TypeError(
            "`x` must be a layer of this package, a `Summer` of one, or the name of a "
            "preset; where wavelengths do not matter, also a table, an array of shape "
            f"(*sizes, channels). Received: {_described(x)}"
        )
    return _of_layer(layer, sizes, channels, name)


def _described(x: Any) -> str:
    shape = known_shape(x)
    if shape is not None:  # whose numbers would bury the message
        return f"x of shape {shape} (of type {type(x).__name__})"
    return f"x={shown(x)} (of type {type(x).__name__})"


def _of_preset(preset: str, sizes: Any, channels: Any, name: str) -> View:
    if sizes is None:
        raise ValueError(
            f"`{name}` must hold a size for each axis beside the name of a preset, "
            f"which may have several ranks. Received: {name}=None, x={shown(preset)}"
        )
    checked = _checked_sizes(name, sizes)
    rank = grid_rank(f"len({name})", len(checked))
    if channels is not None:
        channels = channel_count("channels", channels)
    chosen = preset_options(preset, rank, channels, {})
    if channels is None:
        raise ValueError(
            "`channels` must be given beside the name of a preset. "
            "Received: channels=None"
        )
    return View(WaveOptions(rank, channels, **chosen), channels, checked)


def _of_layer(layer: keras.layers.Layer, sizes: Any, channels: Any, name: str) -> View:
    options: WaveOptions = layer._options
    grid = getattr(layer, "grid", None)
    checked = grid if sizes is None else _checked_sizes(name, sizes, options.rank)
    if grid is not None and checked != grid:
        raise ValueError(
            f"`{name}` must be None or the grid of the layer, {grid}. "
            f"Received: {name}={shown(sizes)}"
        )
    of_values = isinstance(layer, CoordinateEncoding)
    if checked is None and options.coordinate_range is not None and not of_values:
        raise ValueError(
            f"`{name}` must hold a size for each axis with `coordinate_range`, which "
            f"spreads over it. Received: {name}=None"
        )
    count = _checked_channels(options, channels)
    if isinstance(layer, SinusoidEncoding):
        layer._check_built_shape((1, checked[0] if checked else 1, count))
    return View(options, options.encoded_channels(count), checked, of_values)


def _checked_sizes(name: str, value: Any, rank: int | None = None) -> Sizes:
    sizes = grid_shape(name, value)
    if min(sizes) < 1:
        raise ValueError(
            f"`{name}` must hold positive sizes. Received: {name}={shown(value)}"
        )
    if rank is not None and len(sizes) != rank:
        raise ValueError(
            f"`{name}` must hold a size for each of the {rank} axes of `x`. "
            f"Received: {name}={shown(value)}"
        )
    return sizes


def _checked_channels(options: WaveOptions, channels: Any) -> int:
    """Those of an input, which are the encoding's own unless something else is said."""
    if channels is None:
        channels = options.channels
    if channels is None:
        raise ValueError(
            "`channels` must be given where `x` is a layer that takes them from its "
            "input. Received: channels=None"
        )
    count = channel_count("channels", channels)
    if options.channels is None:
        options.require_channels(count)
    return count


def _given_table(x: Any, shape: Any, channels: Any) -> Floats:
    values = checked_numbers("x", x)
    if ops.is_tensor(values):
        # NumPy has no bfloat16, and what is drawn no more digits than float32.
        values = ops.convert_to_numpy(ops.cast(values, "float32"))
    table = values.astype("float64")
    if table.ndim < 2 or not table.size:
        raise ValueError(
            "`x` must have shape (*sizes, channels), none of them 0, if it is a "
            f"table. Received: x of shape {table.shape}"
        )
    if shape is not None and grid_shape("shape", shape) != table.shape[:-1]:
        raise ValueError(
            f"`shape` must be None or that of the table, {table.shape[:-1]}. "
            f"Received: shape={shown(shape)}"
        )
    if channels is not None and channels != table.shape[-1]:
        raise ValueError(
            f"`channels` must be None or those of the table, {table.shape[-1]}. "
            f"Received: channels={shown(channels)}"
        )
    return table
