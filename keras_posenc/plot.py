"""Pictures of an encoding. They need matplotlib: `pip install 'keras-posenc[plot]'`.

    encoding(x, shape)              the numbers: positions by channels, maps, slices
    similarity(x, position, shape)  dot products of the encodings of two positions
    spectrum(x, sizes)              the wavelength of each channel beside the sizes

`x` is a layer, the name of a preset, or a table. Each function returns a matplotlib
figure and its axes. New figures read well on light and dark pages: the page shows
through, and text is of a grey that stands out on both. As with all of matplotlib, one
thread at a time may draw. To give figures of your own that look, make them in
`matplotlib.rc_context(keras_posenc.plot.STYLE)`; its colours are `TEXT` and
`AXIS_COLORS`.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from keras_posenc._checks import grid_shape
from keras_posenc._view import BARELY, SHORTEST, Floats, Spectrum, table_of, view_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["encoding", "similarity", "spectrum"]


def __dir__() -> list[str]:
    # For those who complete names: not what the module imports.
    return [*__all__, "AXIS_COLORS", "STYLE", "TEXT"]


# Of a contrast of 3 and more with white and with #0d1117, a dark page.
TEXT = "#7d8590"
AXIS_COLORS = ("#2f81f7", "#e05d44", "#1f9d8a", "#db61a2", "#a371f7", "#bf8700")
STYLE = {
    "axes.edgecolor": TEXT,
    "axes.facecolor": "none",
    "axes.labelcolor": TEXT,
    "axes.titlecolor": TEXT,
    "figure.facecolor": "none",
    "legend.frameon": False,
    "legend.labelcolor": TEXT,
    "savefig.facecolor": "auto",
    "text.color": TEXT,
    "xtick.color": TEXT,
    "ytick.color": TEXT,
}
# Both uniform to the eye. The first is pale in the middle, where the numbers are 0.
_SIGNED, _SEQUENTIAL = "coolwarm", "viridis"

# As many as can be told apart at the width of a page.
_MAPS, _COLUMNS = 24, 6
_CHANNELS_OF_SLICES, _SLICES, _COLUMNS_OF_SLICES = 6, 6, 4
# A matrix of more positions has more dots than a screen, and takes gigabytes.
_LONGEST_MATRIX = 4096


def encoding(
    x: Any, shape: Any = None, *, channels: int | None = None, ax: Axes | None = None
) -> tuple[Figure, Any]:
    """Draws the numbers of an encoding, from -1 (blue) to 1 (red).

    One axis: a heat map, with positions from left to right and channels from top to
    bottom. Two axes: a map of the grid for each channel, axis 0 from top to bottom.
    Three axes: for some channels slices of the volume, at places along axis 0. Of many
    channels or slices, as many as fit are drawn, at equal distances.

    Args:
        x: Layer, string, or array. A layer of this package that encodes, or a `Summer`
            of one; one of the names that `keras_posenc.presets()` lists; or a table of
            shape `(*sizes, channels)`. Of a `CoordinateEncoding` the values 0, 1, 2
            and so on are shown.
        shape: Integer, or a sequence with one integer per axis, or `None`. Sizes of
            the grid, in positions. Positive. `None` where `x` is a table, or a layer
            that has a `grid`. Defaults to `None`.
        channels: Integer or `None`. Channels of the encoding. Positive. `None` means
            those of the layer or of the table. Defaults to `None`.
        ax: matplotlib Axes or `None`. Where to draw; several maps share its place.
            `None` means a new figure of pyplot. Defaults to `None`.

    Returns:
        Pair of the matplotlib figure, and the Axes (one axis), an array of those of the
        maps (two), or of those of channels by slices (three).

    Raises:
        ImportError: If matplotlib is not installed.
        TypeError: If an argument has the wrong type.
        ValueError: If an argument has no valid value, or if there are more than three
            axes.

    Example:
        >>> import keras_posenc
        >>> figure, axes = keras_posenc.plot.encoding("mae", (14, 14), channels=64)
        >>> axes.shape
        (22,)

    Reference:
        - Vaswani et al., 2017, arXiv:1706.03762, section 3.5.
    """
    table = table_of(x, shape, channels)
    draw = _for_rank(table.ndim - 1, _draw_table, _draw_maps, _draw_slices)
    return draw(table, ax)


def similarity(
    x: Any,
    position: Any = None,
    shape: Any = None,
    *,
    channels: int | None = None,
    ax: Axes | None = None,
) -> tuple[Figure, Any]:
    """Draws the dot products of the encoding of one position with those of all others.

    What attention can see of distances before it has learned anything. One axis: a
    curve, or without a `position` the matrix of all pairs. Two axes: a map of the grid.
    Three axes: slices of the volume, at places along axis 0, that of the position among
    them. The position is marked.

    Args:
        x: Layer, string, or array. As in `encoding`.
        position: Integer, or a sequence with one integer per axis, or `None`. Where
            the one position is in the grid, counted from 0. `None` means all positions
            of one axis, and the middle of several. Defaults to `None`.
        shape: Integer, or a sequence with one integer per axis, or `None`. As in
            `encoding`. Defaults to `None`.
        channels: Integer or `None`. As in `encoding`. Defaults to `None`.
        ax: matplotlib Axes or `None`. As in `encoding`. Defaults to `None`.

    Returns:
        Pair of the matplotlib figure, and the Axes (one or two axes) or an array of
        those of the slices (three).

    Raises:
        ImportError: If matplotlib is not installed.
        TypeError: If an argument has the wrong type.
        ValueError: If an argument has no valid value, if there are more than three
            axes, or more than 4,096 positions of one axis without a `position`.

    Example:
        >>> import keras_posenc
        >>> layer = keras_posenc.PositionalEncoding1D(64)
        >>> figure, axes = keras_posenc.plot.similarity(layer, 50, 100)
        >>> axes.get_ylabel()
        'dot product with position 50'

    Reference:
        - Vaswani et al., 2017, arXiv:1706.03762, section 3.5.
    """
    # In the other two functions a shape is the second argument.
    hint = "" if position is None else "; the second argument is `position`"
    table = table_of(x, shape, channels, hint=hint)
    sizes = table.shape[:-1]
    draw = _for_rank(len(sizes), _draw_curve, _draw_products, _draw_product_slices)
    if position is None and len(sizes) == 1:
        return _draw_matrix(table, ax)
    place = checked_position(position, sizes)
    return draw(table @ table[place], place, ax)


def spectrum(
    x: Any, sizes: Any = None, *, channels: int | None = None, ax: Axes | None = None
) -> tuple[Figure, Axes]:
    """Draws the wavelength of each channel, beside the sizes in use.

    A wave that is much longer than its axis says little about positions there: hollow
    dots mark channels that turn by less than a tenth. One that is shorter than two
    positions is aliased, that is, it looks like a longer one: crosses mark those. What
    a layer encodes may be values between integers (`CoordinateEncoding`): then nothing
    is aliased. Any number of axes.

    Args:
        x: Layer or string. A layer of this package that encodes, or a `Summer` of one,
            or one of the names that `keras_posenc.presets()` lists. No table: its
            numbers are the same for a wave and for those that it is an alias of.
        sizes: Integer, or a sequence with one integer per axis, or `None`. Sizes of
            the grid, in positions. Positive. `None` means the layer's `grid`, if it has
            one, or else no comparison with sizes. Defaults to `None`.
        channels: Integer or `None`. As in `encoding`. Defaults to `None`.
        ax: matplotlib Axes or `None`. Where to draw. `None` means a new figure of
            pyplot. Defaults to `None`.

    Returns:
        Pair of the matplotlib figure and the Axes.

    Raises:
        ImportError: If matplotlib is not installed.
        TypeError: If an argument has the wrong type.
        ValueError: If an argument has no valid value, or if `sizes` are missing and
            `x` is the name of a preset or has a `coordinate_range`.

    Example:
        >>> import keras_posenc
        >>> layer = keras_posenc.PositionalEncoding2D(64)
        >>> figure, axes = keras_posenc.plot.spectrum(layer, (14, 14))
        >>> axes.get_yscale()
        'log'

    Reference:
        - Vaswani et al., 2017, arXiv:1706.03762, section 3.5 (wavelengths).
    """
    view = view_of(x, sizes, channels, "sizes")
    with _canvas(ax, (6.8, 4.4)) as ax:
        _draw_spectrum(ax, view.spectrum(), view.sizes)
        unit = "values" if view.of_values else "positions"
        ax.set(xlabel="channel", ylabel=f"wavelength ({unit})")
    return ax.figure, ax


# --- One picture each ----------------------------------------------------------------


def _draw_table(table: Floats, ax: Axes | None) -> tuple[Figure, Axes]:
    with _canvas(ax, (6.8, 3.6)) as ax:
        image = ax.imshow(table.T, aspect="auto", **_signed(table))
        ax.set(xlabel="position", ylabel="channel")
        ax.locator_params(integer=True)
        _colour_bar(image, ax, "encoding")
    return ax.figure, ax


def _draw_maps(table: Floats, ax: Axes | None) -> tuple[Figure, Any]:
    *sizes, channels = table.shape
    shown, colours = _every(channels, _MAPS), _signed(table)
    panels = _Panels(len(shown), _columns(len(shown), _COLUMNS), sizes)
    with _canvas(ax, panels.inches) as ax:
        maps = panels.axes(ax)
        name = "channel " if panels.inches_in(ax) > _LONG_TITLE else ""
        for panel, channel in zip(maps, shown, strict=True):
            image = panel.imshow(table[..., channel], aspect=panels.aspect, **colours)
            panel.set_title(f"{name}{channel}", fontsize="small")
        _name_axes(maps[panels.lower_left], "axis 0", "axis 1")
        _colour_bar(image, ax, "encoding")
    return ax.figure, maps


def _draw_slices(table: Floats, ax: Axes | None) -> tuple[Figure, Any]:
    depth, *sizes, channels = table.shape
    shown, places = _every(channels, _CHANNELS_OF_SLICES), _every(depth, _SLICES)
    both, colours = (len(shown), len(places)), _signed(table)
    panels = _Panels(math.prod(both), len(places), sizes, titles=False)
    with _canvas(ax, panels.inches) as ax:
        slices = panels.axes(ax).reshape(both)
        for row, channel in zip(slices, shown, strict=True):
            row[0].set_ylabel(f"channel {channel}", fontsize="small")
            for panel, place in zip(row, places, strict=True):
                numbers = table[place, ..., channel]
                image = panel.imshow(numbers, aspect=panels.aspect, **colours)
        for panel, place in zip(slices[0], places, strict=True):
            panel.set_title(f"axis 0: {place}", fontsize="small")
        slices[-1, 0].set_xlabel("axis 1 down,\naxis 2 across", fontsize="small")
        _colour_bar(image, ax, "encoding")
    return ax.figure, slices


def _draw_matrix(table: Floats, ax: Axes | None) -> tuple[Figure, Axes]:
    if len(table) > _LONGEST_MATRIX:
        raise ValueError(
            f"`position` must be given for more than {_LONGEST_MATRIX} positions, of "
            f"which a matrix has too many pairs. Received: position=None, "
            f"{len(table)} positions"
        )
    with _canvas(ax, (5.6, 4.6)) as ax:
        image = ax.imshow(table @ table.T, cmap=_SEQUENTIAL)
        ax.set(xlabel="position", ylabel="position")
        ax.locator_params(integer=True)
        _colour_bar(image, ax, "dot product")
    return ax.figure, ax


def _draw_curve(
    products: Floats, place: tuple[int, ...], ax: Axes | None
) -> tuple[Figure, Axes]:
    (position,) = place
    with _canvas(ax, (6.8, 3.2)) as ax:
        ax.plot(products, color=AXIS_COLORS[0])
        ax.plot(position, products[position], "o", color=AXIS_COLORS[1])
        ax.set(xlabel="position", ylabel=f"dot product with position {position}")
        ax.locator_params(axis="x", integer=True)
        _open_frame(ax)
    return ax.figure, ax


def _draw_products(
    products: Floats, place: tuple[int, ...], ax: Axes | None
) -> tuple[Figure, Axes]:
    with _canvas(ax, (5.6, 4.6)) as ax:
        image = ax.imshow(products, cmap=_SEQUENTIAL, aspect=_aspect(products.shape))
        _mark(ax, place)
        ax.set(xlabel="axis 1", ylabel="axis 0")
        ax.locator_params(integer=True)
        _colour_bar(image, ax, f"dot product with position {place}")
    return ax.figure, ax


def _draw_product_slices(
    products: Floats, place: tuple[int, ...], ax: Axes | None
) -> tuple[Figure, Any]:
    depth, *sizes = products.shape
    shown = _every(depth, 2 * _COLUMNS_OF_SLICES, among=place[0])
    low, high = _limits(products)
    limits = {"vmin": low, "vmax": high}
    columns = _columns(len(shown), _COLUMNS_OF_SLICES)
    panels = _Panels(len(shown), columns, sizes)
    width, height = panels.inches
    # The label of the bar of colours needs so much, however flat the slices are.
    with _canvas(ax, (width, max(height, 2.9))) as ax:
        slices = panels.axes(ax)
        for panel, number in zip(slices, shown, strict=True):
            how = {"cmap": _SEQUENTIAL, "aspect": panels.aspect, **limits}
            image = panel.imshow(products[number], **how)
            panel.set_title(f"axis 0: {number}", fontsize="small")
        _mark(slices[shown.index(place[0])], place[1:])
        _name_axes(slices[panels.lower_left], "axis 1", "axis 2")
        _colour_bar(image, ax, f"dot product with position {place}")
    return ax.figure, slices


def _draw_spectrum(ax: Axes, waves: Spectrum, sizes: tuple[int, ...] | None) -> None:
    ax.set_yscale("log")
    channel = np.arange(len(waves.axis))
    kinds: tuple[tuple[Any, dict[str, Any]], ...] = (
        (~(waves.barely | waves.aliased | waves.constant), _PLAIN),
        (waves.barely, _HOLLOW),
        (waves.aliased, _CROSS),
    )
    for axis in np.unique(waves.axis[~waves.constant]):
        for of_kind, style in kinds:
            found = of_kind & (waves.axis == axis)
            points = channel[found], waves.wavelength[found]
            ax.plot(*points, color=_color(axis), **style)
    if waves.constant.any():
        # It has no wavelength, and stands on the frame, whatever the scale.
        where = channel[waves.constant], np.ones(waves.constant.sum())
        ax.plot(*where, transform=ax.get_xaxis_transform(), color=TEXT, **_TRIANGLE)
    for size, axes in _axes_by_size(sizes).items():
        ax.axhline(size, color=_color(*axes), zorder=1, **_DASHED)
    _shade_marked(ax, waves, sizes)
    ax.locator_params(axis="x", integer=True)
    _open_frame(ax)
    entries = _legend_of_spectrum(waves, sizes)
    wide = ax.get_window_extent().width / ax.figure.dpi > _TWO_COLUMNS
    below = {"loc": "upper center", "bbox_to_anchor": (0.5, -0.15), "ncols": 1 + wide}
    place = below if _makes_room(ax.figure) else {"loc": "best"}
    ax.legend(handles=entries, fontsize="small", **place)


# Inches that the legend takes side by side.
_TWO_COLUMNS = 4.5


def _makes_room(figure: Any) -> bool:
    """Whether what lies beside the axes is not cut off."""
    from matplotlib.layout_engine import PlaceHolderLayoutEngine

    engine = figure.get_layout_engine()
    return not (engine is None or isinstance(engine, PlaceHolderLayoutEngine))


def _shade_marked(ax: Axes, waves: Spectrum, sizes: tuple[int, ...] | None) -> None:
    """What is too short, and where all axes have one size, what is too long."""
    low, high = ax.get_ylim()
    shade = {"color": TEXT, "alpha": 0.15, "linewidth": 0}
    if waves.aliased.any():
        ax.axhspan(low, SHORTEST, **shade)
    if waves.barely.any() and len(set(sizes or ())) == 1:
        ax.axhspan(max(sizes or ()) / BARELY, high, **shade)
    ax.set_ylim(low, high)


_PLAIN: dict[str, Any] = {"marker": "o", "markersize": 4, "linestyle": "none"}
_HOLLOW = {**_PLAIN, "markerfacecolor": "none"}
_CROSS = {**_PLAIN, "marker": "x"}
_TRIANGLE = {**_PLAIN, "marker": "^", "clip_on": False}
_DASHED = {"linestyle": "--", "linewidth": 1}


def _legend_of_spectrum(waves: Spectrum, sizes: tuple[int, ...] | None) -> list[Any]:
    from matplotlib.lines import Line2D

    def entry(label: str, style: dict[str, Any], color: str = TEXT) -> Any:
        return Line2D([], [], label=label, color=color, **style)

    marks = (
        (waves.barely, "less than a tenth of a turn", _HOLLOW),
        (waves.aliased, f"aliased (below {SHORTEST:g})", _CROSS),
        (waves.constant, "constant", _TRIANGLE),
    )
    return [
        *(
            entry(f"along axis {axis}", _PLAIN, _color(axis))
            for axis in np.unique(waves.axis[~waves.constant])
        ),
        *(
            entry(f"size {size} of {_named(axes)}", _DASHED, _color(*axes))
            for size, axes in _axes_by_size(sizes).items()
        ),
        *(
            entry(f"{label}: {found.sum()} of {len(found)} channels", style)
            for found, label, style in marks
            if found.any()
        ),
    ]


def _axes_by_size(sizes: tuple[int, ...] | None) -> dict[int, list[int]]:
    found: dict[int, list[int]] = {}
    for axis, size in enumerate(sizes or ()):
        found.setdefault(size, []).append(axis)
    return found


def _named(axes: list[int]) -> str:
    return f"{'axes' if len(axes) > 1 else 'axis'} {', '.join(map(str, axes))}"


def _color(*axes: int) -> str:
    """That of an axis; what several share is grey."""
    return TEXT if len(axes) > 1 else AXIS_COLORS[axes[0] % len(AXIS_COLORS)]


# --- What the pictures share ---------------------------------------------------------


def pyplot() -> Any:
    """The module of matplotlib, which is imported only where something is drawn."""
    try:
        from matplotlib import pyplot
    except ImportError as error:
        raise ImportError(
            "keras_posenc.plot needs matplotlib: pip install 'keras-posenc[plot]'"
        ) from error
    return pyplot


@contextlib.contextmanager
def _canvas(ax: Axes | None, size: tuple[float, float]) -> Iterator[Axes]:
    """`ax`, in the style of its owner, or the axes of a new figure, in ours."""
    plt = pyplot()
    if ax is not None:
        if not isinstance(ax, plt.Axes):
            raise TypeError(f"`ax` must be a matplotlib Axes or None. Received: {ax=}")
        yield ax
        return
    with plt.rc_context(STYLE):
        # Of pyplot, so that notebooks and `pyplot.show` show it.
        yield plt.subplots(figsize=size, layout="constrained")[1]


def _for_rank(rank: int, *draws: Any) -> Any:
    if rank > len(draws):
        raise ValueError(
            f"`x` must have at most {len(draws)} axes to be drawn. "
            f"Received: x of {rank} axes"
        )
    return draws[rank - 1]


def checked_position(value: Any, sizes: tuple[int, ...]) -> tuple[int, ...]:
    """A place in the grid, by default in its middle."""
    if value is None:
        return tuple(size // 2 for size in sizes)
    position = grid_shape("position", value)
    if len(position) != len(sizes) or any(
        index >= size for index, size in zip(position, sizes, strict=True)
    ):
        raise ValueError(
            f"`position` must be a place in a grid of shape {sizes}, counted from 0. "
            f"Received: position={value!r}"
        )
    return position


def _signed(table: Floats) -> dict[str, Any]:
    """The colours of an encoding: 0 in the middle, and room for scaled tables."""
    limit = max(1.0, *np.abs(_limits(table)))
    return {"cmap": _SIGNED, "vmin": -limit, "vmax": limit}


def _limits(numbers: Floats) -> tuple[float, float]:
    """The lowest and the highest. What is not finite is left blank."""
    finite = numbers[np.isfinite(numbers)]
    return (float(finite.min()), float(finite.max())) if finite.size else (0.0, 0.0)


def _every(count: int, most: int, among: int = 0) -> range:
    """Up to `most` of the first `count` integers, at equal distances, with `among`."""
    step = math.ceil(count / most)
    return range(among % step, count, step)


def _columns(count: int, most: int) -> int:
    """As few as need no more rows than `most` do: 8 are two rows of 4, not 6 and 2."""
    return math.ceil(count / math.ceil(count / most))


# Height by width of the flattest map and of the steepest one.
_STRIP, _TOWER = 0.3, 2


def _aspect(sizes: Sequence[int]) -> str:
    """Positions are squares, unless the grid would be a strip or a tower."""
    height, width = sizes
    return "equal" if _STRIP <= height / width <= _TOWER else "auto"


class _Panels:
    """Maps in rows and columns, which share the place of one Axes."""

    def __init__(
        self, count: int, columns: int, sizes: Sequence[int], *, titles: bool = True
    ):
        self.count, self.columns = count, columns
        self.rows = math.ceil(count / columns)
        height, width = sizes
        self._width = min(_PAGE / columns - _GAP, _LARGE if titles else _SMALL)
        self._height = self._width * min(max(height / width, _STRIP), _TOWER)
        self.aspect = _aspect(sizes)
        self._gap = _TITLE if titles else _GAP

    @property
    def inches(self) -> tuple[float, float]:
        """The size of a figure that holds nothing else but a bar of colours."""
        return (
            self.columns * (self._width + _GAP) + 1.2,
            self.rows * (self._height + self._gap) + 2 * _TITLE,
        )

    def inches_in(self, ax: Axes) -> float:
        """How wide one is, in place of `ax`."""
        width = ax.get_window_extent().width / ax.figure.dpi / self.columns
        return width * self._width / (self._width + _GAP)

    def axes(self, ax: Axes) -> Any:
        """An array of Axes, row by row, in place of `ax`."""
        ax.set_axis_off()
        gap_x, gap_y = _GAP / self._width, self._gap / self._height
        width = 1 / (self.columns + (self.columns - 1) * gap_x)
        height = 1 / (self.rows + (self.rows - 1) * gap_y)
        panels = np.empty(self.count, dtype=object)
        for number in range(self.count):
            row, column = divmod(number, self.columns)
            left = column * width * (1 + gap_x)
            bottom = 1 - height - row * height * (1 + gap_y)
            panels[number] = ax.inset_axes((left, bottom, width, height))
            panels[number].set(xticks=[], yticks=[])
        return panels

    @property
    def lower_left(self) -> int:
        """The number of the one that names the axes."""
        return (self.rows - 1) * self.columns


# Inches: what panels have of the width of a page, how wide they are at most, with and
# without a title, the room for a title above one, and the space between two.
_PAGE, _LARGE, _SMALL, _TITLE, _GAP = 5.8, 2.0, 1.2, 0.27, 0.07
# And what "channel 100" takes above one.
_LONG_TITLE = 0.72


def _colour_bar(image: Any, ax: Axes, label: str) -> None:
    ax.figure.colorbar(image, ax=ax, label=label, aspect=30, pad=0.02)


def _name_axes(panel: Axes, vertical: str, horizontal: str) -> None:
    panel.set_xlabel(horizontal, fontsize="small")
    panel.set_ylabel(vertical, fontsize="small")


def _mark(ax: Axes, place: tuple[int, ...]) -> None:
    """A ring around a place of the grid, which hides nothing."""
    row, column = place
    ax.plot(column, row, "o", color=AXIS_COLORS[1], fillstyle="none", markersize=8)


def _open_frame(ax: Axes) -> None:
    ax.spines[["top", "right"]].set_visible(False)
