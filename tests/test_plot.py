"""`keras_posenc.plot`: what is drawn are the numbers, and says what it is."""

from __future__ import annotations

import functools
import io
import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from typing import Any

import keras
import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.colors import to_rgb, to_rgba

import keras_posenc as kp
from helpers import reference
from helpers.docstrings import (
    documented,
    documented_defaults,
    sections,
    without_required,
)
from helpers.docstrings import written_arguments as arguments
from keras_posenc import plot

mpl.use("agg")  # needs no display


@pytest.fixture(autouse=True)
def close_figures() -> Iterator[None]:
    yield
    plt.close("all")


def image_of(axes: Any) -> np.ndarray:
    (image,) = axes.images
    return np.asarray(image.get_array())


def expected(*sizes: int, channels: int) -> np.ndarray:
    return reference.encode(sizes, channels)


# Two float64 computations of the same angles, below 100; dot products add up to 66.
EXACT = {"rtol": 0, "atol": 1e-12}
# A tensor has float32.
SINGLE = {"rtol": 0, "atol": 2.0**-24}


# --- What `x` may be -----------------------------------------------------------------


def table_tensor(dtype: str) -> Any:
    return keras.ops.convert_to_tensor(kp.sinusoidal_table(7, 10), dtype=dtype)


SOURCES: dict[str, tuple[Callable[[], Any], dict[str, Any]]] = {
    "1D": (lambda: kp.PositionalEncoding1D(10), {"shape": 7}),
    "sequence of sizes": (lambda: kp.PositionalEncoding1D(10), {"shape": [7]}),
    "any rank": (lambda: kp.PositionalEncoding(1, 10), {"shape": 7}),
    "float16": (lambda: kp.PositionalEncoding1D(10, dtype="float16"), {"shape": 7}),
    "Permute1D": (lambda: kp.PositionalEncodingPermute1D(10), {"shape": 7}),
    "input's channels": (
        lambda: kp.PositionalEncoding1D(),
        {"shape": 7, "channels": 10},
    ),
    "grid": (lambda: kp.PositionalEncoding1D(10, grid=[7], prefix_tokens=2), {}),
    "Summer": (lambda: kp.Summer(kp.PositionalEncoding1D(10)), {"shape": 7}),
    "sinusoid": (lambda: kp.SinusoidEncoding(10, 7), {"shape": 7}),
    "values": (lambda: kp.CoordinateEncoding(10), {"shape": 7}),
    "preset": (lambda: "positional-encodings", {"shape": 7, "channels": 10}),
    "table": (lambda: expected(7, channels=10), {}),
    "table, shape": (
        lambda: expected(7, channels=10),
        {"shape": 7, "channels": 10},
    ),
}


@pytest.mark.parametrize("source", SOURCES)
def test_every_source_shows_the_formula(source: str):
    make, where = SOURCES[source]
    _, axes = plot.encoding(make(), **where)
    np.testing.assert_allclose(image_of(axes).T, expected(7, channels=10), **EXACT)


def test_a_tensor_is_a_table():
    _, axes = plot.encoding(table_tensor("float32"))
    np.testing.assert_allclose(image_of(axes).T, expected(7, channels=10), **SINGLE)


def test_a_variable_is_a_table():
    """Such as the one that a model has learned."""
    embedding = keras.layers.Embedding(7, 10)
    embedding.build()
    embedding.set_weights([expected(7, channels=10)])
    _, axes = plot.encoding(embedding.embeddings)
    np.testing.assert_allclose(image_of(axes).T, expected(7, channels=10), **SINGLE)


def test_a_tensor_of_bfloat16_is_a_table():
    _, axes = plot.encoding(table_tensor("bfloat16"))
    found, wanted = image_of(axes).T, expected(7, channels=10)
    # Half a unit of its last place near 1.
    np.testing.assert_allclose(found, wanted, rtol=0, atol=2.0**-9 + 2.0**-24)


def test_a_layer_without_all_channels_shows_those_that_there_are():
    _, axes = plot.encoding(kp.PositionalEncoding1D(10), 7, channels=6)
    np.testing.assert_allclose(
        image_of(axes).T, expected(7, channels=10)[:, :6], **EXACT
    )


def test_values_are_coordinates_already():
    options = {"coordinate_range": [0.0, 1.0], "scale": 2.0, "max_wavelength": 50.0}
    _, axes = plot.encoding(kp.CoordinateEncoding(8, **options), 5)
    values = kp.sinusoidal_table(
        None, 8, positions=np.arange(5), dtype="float64", **options
    )
    np.testing.assert_array_equal(image_of(axes).T, values)
    assert not np.allclose(values, kp.sinusoidal_table(5, 8, **options))


class Doubled(kp.PositionalEncoding1D):
    def call(self, inputs: Any, **kwargs: Any) -> Any:
        return 2 * super().call(inputs, **kwargs)


GRID_OF_6 = kp.PositionalEncoding2D(8, grid=[2, 3])
BAD_SOURCES = {
    "list": ([[1.0, 2.0]], {}, TypeError, "`x` must be a layer of this package"),
    "other layer": (keras.layers.Dense(3), {}, TypeError, "`x` must be a layer"),
    "sum of another": (
        kp.Summer(keras.layers.Dropout(0.5)),
        {"shape": 3},
        TypeError,
        "`x` must be a layer",
    ),
    "own call": (Doubled(8), {"shape": 3}, TypeError, "`x` must be a layer"),
    "class": (kp.PositionalEncoding1D, {"shape": 3}, TypeError, "`x` must be a layer"),
    "no preset": (
        "mea",
        {"shape": (3, 3), "channels": 8},
        ValueError,
        "`preset` must be one of .* close ones are mae",
    ),
    "preset of another rank": (
        "detr",
        {"shape": 3, "channels": 8},
        ValueError,
        "`preset` must be one for rank 1. Use rank 2",
    ),
    "preset without shape": (
        "mae",
        {"channels": 8},
        ValueError,
        r"`shape` must hold .* Received: shape=None, x='mae'",
    ),
    "preset without channels": (
        "mae",
        {"shape": 3},
        ValueError,
        "`channels` must be given beside the name of a preset",
    ),
    "no shape": (
        kp.PositionalEncoding1D(8),
        {},
        ValueError,
        "`shape` must hold a size for each axis, unless",
    ),
    "wrong rank": (
        kp.PositionalEncoding2D(8),
        {"shape": 3},
        ValueError,
        r"`shape` must hold a size for each of the 2 axes of `x`. Received: shape=3",
    ),
    "size 0": (
        kp.PositionalEncoding1D(8),
        {"shape": 0},
        ValueError,
        "`shape` must hold positive sizes. Received: shape=0",
    ),
    "fractions": (
        kp.PositionalEncoding1D(8),
        {"shape": 2.5},
        TypeError,
        "`shape` must be a non-negative integer",
    ),
    "not the grid": (
        GRID_OF_6,
        {"shape": (3, 2)},
        ValueError,
        r"`shape` must be None or the grid of the layer, \(2, 3\)",
    ),
    "no channels": (
        kp.PositionalEncoding1D(),
        {"shape": 3},
        ValueError,
        "`channels` must be given where `x` is a layer that takes them",
    ),
    "channels that do not divide": (
        kp.PositionalEncoding1D(remainder="error"),
        {"shape": 3, "channels": 5},
        ValueError,
        "`channels` must be divisible by 2",
    ),
    "too long": (
        kp.SinusoidEncoding(8, 20),
        {"shape": 21},
        ValueError,
        "at most max_len=20 positions, found 21",
    ),
    "table of one dimension": (
        np.zeros(3),
        {},
        ValueError,
        r"`x` must have shape \(\*sizes, channels\)",
    ),
    "empty table": (np.zeros((0, 3)), {}, ValueError, "`x` must have shape"),
    "table of words": (
        np.array([["a", "b"]]),
        {},
        TypeError,
        "`x` must be integers or real numbers",
    ),
    "table of another shape": (
        np.zeros((3, 8)),
        {"shape": 4},
        ValueError,
        r"`shape` must be None or that of the table, \(3,\). Received: shape=4",
    ),
    "table of other channels": (
        np.zeros((3, 8)),
        {"channels": 4},
        ValueError,
        "`channels` must be None or those of the table, 8. Received: channels=4",
    ),
    "four axes": (
        np.zeros((2, 2, 2, 2, 8)),
        {},
        ValueError,
        "`x` must have at most 3 axes to be drawn. Received: x of 4 axes",
    ),
    "no axes of matplotlib": (
        np.zeros((3, 8)),
        {"ax": "right"},
        TypeError,
        "`ax` must be a matplotlib Axes or None. Received: ax='right'",
    ),
}


@pytest.mark.parametrize("draw", [plot.encoding, plot.similarity])
@pytest.mark.parametrize("case", BAD_SOURCES)
def test_what_cannot_be_drawn(case: str, draw: Callable[..., Any]):
    x, where, error, message = BAD_SOURCES[case]
    with pytest.raises(error, match=message):
        draw(x, **where)
    assert plt.get_fignums() == []


# --- The numbers of an encoding ------------------------------------------------------


def test_one_axis_is_a_heat_map():
    figure, axes = plot.encoding(kp.PositionalEncoding1D(10), 7)
    assert axes in figure.axes
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("position", "channel")
    assert axes.images[0].get_clim() == (-1, 1)


def test_a_scaled_table_has_its_own_colours():
    _, axes = plot.encoding(3 * expected(7, channels=10))
    # Position 0 has cosines of 1.
    assert axes.images[0].get_clim() == (-3, 3)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_what_is_not_finite_leaves_the_other_colours_as_they_are(value: float):
    table = 3 * expected(3, 6, 6, channels=12)
    limits = []
    for number in (table[1, 1, 1, 1], value):
        table[1, 1, 1, 1] = number
        _, slices = plot.encoding(table)
        _, products = plot.similarity(table, (2, 3, 3))
        limits.append(
            [panel.images[0].get_clim() for panel in (*slices.flat, *products)]
        )
    assert limits[0] == limits[1]


def test_of_a_table_that_is_nowhere_finite_there_is_a_picture():
    _, axes = plot.encoding(np.full((4, 6), np.nan))
    assert axes.images[0].get_clim() == (-1, 1)


@pytest.mark.parametrize(
    ("sizes", "aspect"), [((30, 60), 1), ((20, 200), "auto"), ((200, 20), "auto")]
)
def test_positions_are_squares_unless_nothing_could_be_seen(
    sizes: tuple[int, int], aspect: Any
):
    layer = kp.PositionalEncoding2D(4)
    _, maps = plot.encoding(layer, sizes)
    _, products = plot.similarity(layer, None, sizes)
    assert [panel.get_aspect() for panel in (*maps, products)] == [aspect] * 5


def test_two_axes_are_a_map_for_each_channel():
    _, axes = plot.encoding(kp.PositionalEncoding2D(8), (6, 3))
    assert [panel.get_title() for panel in axes] == [f"channel {i}" for i in range(8)]
    maps = np.stack([image_of(panel) for panel in axes], axis=-1)
    np.testing.assert_allclose(maps, expected(6, 3, channels=8), **EXACT)
    corner = axes[4]  # lower left of two rows
    assert (corner.get_xlabel(), corner.get_ylabel()) == ("axis 1", "axis 0")


def test_of_many_channels_some_are_drawn():
    _, axes = plot.encoding(kp.PositionalEncoding2D(100), (6, 3))
    # 100 channels in steps of 5 are 20: 24 is the limit.
    assert [panel.get_title() for panel in axes] == [
        f"channel {i}" for i in range(0, 100, 5)
    ]
    maps = np.stack([image_of(panel) for panel in axes], axis=-1)
    np.testing.assert_allclose(maps, expected(6, 3, channels=100)[..., ::5], **EXACT)
    named = [panel for panel in axes if panel.get_xlabel()]
    assert [panel.get_title() for panel in named] == ["channel 75"]  # lower left


def test_three_axes_are_slices_for_some_channels():
    _, axes = plot.encoding(kp.PositionalEncoding3D(12), (7, 4, 3))
    assert axes.shape == (6, 4)
    titles = [panel.get_title() for panel in axes[0]]
    assert titles == ["axis 0: 0", "axis 0: 2", "axis 0: 4", "axis 0: 6"]
    labels = [row[0].get_ylabel() for row in axes]
    assert labels == [f"channel {channel}" for channel in range(0, 12, 2)]
    maps = np.array([[image_of(panel) for panel in row] for row in axes])
    wanted = np.moveaxis(expected(7, 4, 3, channels=12)[::2, ..., ::2], -1, 0)
    np.testing.assert_allclose(maps, wanted, **EXACT)


# --- Dot products --------------------------------------------------------------------


def test_one_axis_with_a_position_is_a_curve():
    _, axes = plot.similarity(kp.PositionalEncoding1D(10), 4, 7)
    curve, dot = axes.lines
    table = expected(7, channels=10)
    np.testing.assert_allclose(curve.get_ydata(), table @ table[4], **EXACT)
    assert dot.get_xdata() == [4]
    assert dot.get_ydata() == curve.get_ydata()[4]
    assert axes.get_ylabel() == "dot product with position 4"


def test_one_axis_without_a_position_is_a_matrix():
    _, axes = plot.similarity(kp.PositionalEncoding1D(10), shape=7)
    table = expected(7, channels=10)
    np.testing.assert_allclose(image_of(axes), table @ table.T, **EXACT)


def test_a_matrix_has_an_end():
    with pytest.raises(ValueError, match="`position` must be given for more than 4096"):
        plot.similarity(kp.PositionalEncoding1D(2), shape=4097)


@pytest.mark.parametrize(("position", "place"), [((1, 2), (1, 2)), (None, (3, 1))])
def test_two_axes_are_a_map(position: Any, place: tuple[int, int]):
    figure, axes = plot.similarity(kp.PositionalEncoding2D(8), position, (6, 3))
    table = expected(6, 3, channels=8)
    np.testing.assert_allclose(image_of(axes), table @ table[place], **EXACT)
    (ring,) = axes.lines
    assert (ring.get_ydata()[0], ring.get_xdata()[0]) == place
    bar = figure.axes[-1]
    assert bar.get_ylabel() == f"dot product with position {place}"


@pytest.mark.parametrize("first", range(4))
def test_three_axes_are_slices_with_that_of_the_position(first: int):
    place = (first, 2, 1)
    _, axes = plot.similarity(kp.PositionalEncoding3D(12), place, (17, 4, 3))
    drawn = range(first % 3, 17, 3)  # up to 8 slices
    assert [p.get_title() for p in axes] == [f"axis 0: {depth}" for depth in drawn]
    table = expected(17, 4, 3, channels=12)
    products = np.stack([image_of(panel) for panel in axes])
    np.testing.assert_allclose(products, (table @ table[place])[drawn], **EXACT)
    marked = [panel.get_title() for panel in axes if panel.lines]
    assert marked == [f"axis 0: {first}"]
    assert len({panel.images[0].get_clim() for panel in axes}) == 1


@pytest.mark.parametrize("position", [7, (1, 1), [], -1], ids=repr)
def test_a_position_outside(position: Any):
    with pytest.raises(ValueError, match=r"`position` must be .* Received: position="):
        plot.similarity(kp.PositionalEncoding1D(10), position, 7)


# --- Wavelengths ---------------------------------------------------------------------


def marks(axes: Any) -> dict[str, dict[int, float]]:
    """Marker -> channel -> wavelength, of the dots of all axes together."""
    found: dict[str, dict[int, float]] = {}
    for line in axes.lines:
        if line.get_linestyle() != "None":
            continue
        kind = line.get_marker()
        if kind == "o" and line.get_markerfacecolor() == "none":
            kind = "hollow"
        pairs = zip(line.get_xdata(), line.get_ydata(), strict=True)
        found.setdefault(kind, {}).update((int(x), float(y)) for x, y in pairs)
    return {kind: dots for kind, dots in found.items() if dots}


def legend(axes: Any) -> list[str]:
    return [text.get_text() for text in axes.get_legend().get_texts()]


def test_similarity_takes_the_position_first():
    with pytest.raises(ValueError, match=r"`grid`; the second argument is `position`"):
        plot.similarity(kp.PositionalEncoding1D(8), 200)


@pytest.mark.parametrize(("channels", "name"), [(24, "{}"), (4, "channel {}")])
def test_titles_of_narrow_maps_are_numbers(channels: int, name: str):
    _, (left, _) = plt.subplots(1, 2, figsize=(9, 4), layout="constrained")
    _, maps = plot.encoding(kp.PositionalEncoding2D(channels), (4, 4), ax=left)
    titles = [name.format(number) for number in range(channels)]
    assert [panel.get_title() for panel in maps] == titles


@pytest.mark.parametrize("room", ["none", "constrained", "no longer"])
def test_the_legend_is_in_the_picture(room: str):
    figure, ax = plt.subplots(layout=None if room == "none" else "constrained")
    if room == "no longer":
        figure.canvas.draw()
        figure.set_layout_engine("none")
    plot.spectrum(kp.PositionalEncoding2D(64), (14, 20), ax=ax)
    figure.canvas.draw()
    drawn = ax.get_legend().get_window_extent()
    assert figure.bbox.count_contains(drawn.corners()) == 4
    assert (drawn.y1 < ax.bbox.y0) == (room == "constrained")


def test_wavelengths_are_those_of_the_formula():
    _, axes = plot.spectrum(kp.PositionalEncoding1D(8))
    wanted = {c: 2 * np.pi * 10000 ** (2 * (c // 2) / 8) for c in range(8)}
    # The roundings of a power and a quotient.
    assert marks(axes) == {"o": pytest.approx(wanted, rel=1e-14)}
    assert axes.get_yscale() == "log"
    assert axes.get_ylabel() == "wavelength (positions)"
    assert legend(axes) == ["along axis 0"]


def test_channels_that_barely_turn_are_hollow():
    # Wavelengths of 2 * pi times 1, 10, 100 and 1000; ten times the sizes, 100 and 630.
    layer = kp.PositionalEncoding2D(16)
    _, axes = plot.spectrum(layer, (10, 63))
    found = marks(axes)
    assert sorted(found["o"]) == [0, 1, 2, 3, 8, 9, 10, 11, 12, 13]
    assert sorted(found["hollow"]) == [4, 5, 6, 7, 14, 15]
    assert legend(axes) == [
        "along axis 0",
        "along axis 1",
        "size 10 of axis 0",
        "size 63 of axis 1",
        "less than a tenth of a turn: 6 of 16 channels",
    ]
    dashed = [line for line in axes.lines if line.get_linestyle() == "--"]
    assert [line.get_ydata()[0] for line in dashed] == [10, 63]


def test_sizes_that_are_equal_have_one_line_and_a_shade():
    _, axes = plot.spectrum(GRID_OF_6)
    assert "size 2 of axis 0" in legend(axes)
    assert not axes.patches
    _, axes = plot.spectrum(kp.PositionalEncoding2D(16), (10, 10))
    assert "size 10 of axes 0, 1" in legend(axes)
    (shade,) = axes.patches
    assert shade.get_y() == 100


def test_channels_that_are_aliased_are_crosses():
    layer = kp.PositionalEncoding1D(8, frequencies=[1.0, 3.0, -3.2, 7.0])
    _, axes = plot.spectrum(layer, 100)
    found = marks(axes)
    assert sorted(found["o"]) == [0, 1, 2, 3]
    # Negative frequencies turn too.
    wanted = {4: 3.2, 5: 3.2, 6: 7.0, 7: 7.0}
    wanted = {channel: 2 * np.pi / f for channel, f in wanted.items()}
    assert found["x"] == pytest.approx(wanted, rel=1e-14)
    assert "aliased (below 2): 4 of 8 channels" in legend(axes)


def test_values_are_never_aliased():
    layer = kp.CoordinateEncoding(4, frequencies=[1.0, 100.0])
    _, axes = plot.spectrum(layer)
    assert sorted(marks(axes)) == ["o"]
    assert axes.get_ylabel() == "wavelength (values)"


def test_constant_channels_stand_on_the_frame():
    layer = kp.PositionalEncoding1D(7, remainder="pad", frequencies=[0.0, 1.0, 2.0])
    _, axes = plot.spectrum(layer, 30)
    assert marks(axes)["^"] == {0: 1.0, 1: 1.0, 6: 1.0}
    assert sorted(marks(axes)["o"]) == [2, 3, 4, 5]
    assert "constant: 3 of 7 channels" in legend(axes)


def test_a_range_has_wavelengths_once_there_is_a_size():
    layer = kp.PositionalEncoding1D(4, coordinate_range=[0, 2 * np.pi])
    _, axes = plot.spectrum(layer, 50)
    assert marks(axes)["o"][0] == pytest.approx(50, rel=1e-14)
    with pytest.raises(ValueError, match=r"`sizes` must hold .* `coordinate_range`"):
        plot.spectrum(layer)


def test_scale_shortens_waves():
    _, axes = plot.spectrum(kp.PositionalEncoding1D(2, scale=0.5), 50)
    assert marks(axes)["o"][0] == pytest.approx(4 * np.pi, rel=1e-14)


def test_any_number_of_axes():
    _, axes = plot.spectrum("nerf", (5,) * 7, channels=28)
    found = marks(axes)
    assert sum(map(len, found.values())) == 28
    assert legend(axes)[6] == "along axis 6"


@pytest.mark.parametrize(
    ("x", "sizes", "error", "message"),
    [
        (np.zeros((3, 8)), None, TypeError, r"Received: x of shape \(3, 8\)"),
        ("mae", None, ValueError, "`sizes` must hold a size for each axis beside"),
        (kp.PositionalEncoding2D(8), 3, ValueError, "`sizes` must hold a size for"),
        (kp.SinusoidEncoding(8, 20), 21, ValueError, "at most max_len=20"),
    ],
    ids=["table", "preset", "rank", "length"],
)
def test_what_has_no_spectrum(x: Any, sizes: Any, error: type[Exception], message: str):
    with pytest.raises(error, match=message):
        plot.spectrum(x, sizes, channels=8 if isinstance(x, str) else None)


# --- Figures -------------------------------------------------------------------------

ONE_AXIS, TWO_AXES, THREE_AXES = (kp.PositionalEncoding(rank, 12) for rank in (1, 2, 3))
DRAWN = {
    "1": lambda ax: plot.encoding(ONE_AXIS, 9, ax=ax),
    "1 of 1": lambda ax: plot.encoding(ONE_AXIS, 1, channels=1, ax=ax),
    "2": lambda ax: plot.encoding(TWO_AXES, (4, 9), ax=ax),
    "2 of 1": lambda ax: plot.encoding(TWO_AXES, (1, 1), ax=ax),
    "2, tall": lambda ax: plot.encoding(TWO_AXES, (200, 3), ax=ax),
    "2, wide": lambda ax: plot.encoding(TWO_AXES, (3, 200), ax=ax),
    "3": lambda ax: plot.encoding(THREE_AXES, (4, 9, 5), ax=ax),
    "3 of 1": lambda ax: plot.encoding(THREE_AXES, (1, 1, 1), channels=1, ax=ax),
    "curve": lambda ax: plot.similarity(ONE_AXIS, 3, 9, ax=ax),
    "matrix": lambda ax: plot.similarity(ONE_AXIS, None, 9, ax=ax),
    "map": lambda ax: plot.similarity(TWO_AXES, (3, 4), (4, 9), ax=ax),
    "slices": lambda ax: plot.similarity(THREE_AXES, None, (5, 2, 9), ax=ax),
    "spectrum": lambda ax: plot.spectrum(TWO_AXES, (4, 9), ax=ax),
    "constants alone": lambda ax: plot.spectrum(
        kp.PositionalEncoding(1, 2, frequencies=[0.0]), 4, ax=ax
    ),
}
each_drawing = pytest.mark.parametrize("name", DRAWN)


def rendered(figure: Any) -> np.ndarray:
    """RGBA values between 0 and 1. A layout that fails warns here."""
    file = io.BytesIO()
    figure.savefig(file, format="png", dpi=40)
    return plt.imread(io.BytesIO(file.getvalue()))


@functools.cache
def drawn_anew(name: str) -> tuple[Any, np.ndarray]:
    """A drawing in a figure of its own, and what that looks like: slow to find out."""
    before = dict(mpl.rcParams)
    figure, _ = DRAWN[name](None)
    assert dict(mpl.rcParams) == before
    assert figure is plt.gcf()
    return figure, rendered(figure)


@each_drawing
def test_a_new_figure_is_pyplots_and_lets_the_page_through(name: str):
    _, pixels = drawn_anew(name)
    assert pixels[0, 0, 3] == 0
    # At 40 dots an inch lines are thinner than a dot, and so may not quite cover it.
    assert pixels[..., 3].max() > 0.9


@each_drawing
def test_everything_new_can_be_read_on_light_and_dark_pages(name: str):
    figure, _ = drawn_anew(name)
    texts = [text for text in figure.findobj(mpl.text.Text) if text.get_text()]
    assert texts
    assert {to_rgba(text.get_color()) for text in texts} == {to_rgba(plot.TEXT)}


def luminance(color: str) -> float:
    channels = np.array(to_rgb(color))
    linear = np.where(
        channels <= 0.04045, channels / 12.92, ((channels + 0.055) / 1.055) ** 2.4
    )
    return float(linear @ [0.2126, 0.7152, 0.0722])


def contrast(one: str, other: str) -> float:
    """As WCAG 2 defines it, from 1 to 21."""
    dark, light = sorted([luminance(one), luminance(other)])
    return (light + 0.05) / (dark + 0.05)


@pytest.mark.parametrize("page", ["#ffffff", "#0d1117"], ids=["light", "dark"])
@pytest.mark.parametrize("color", [plot.TEXT, *plot.AXIS_COLORS])
def test_colours_stand_out(color: str, page: str):
    # What WCAG 2 asks of graphics and large text.
    assert contrast(color, page) >= 3


# Sizes of one and long ones are laid out in new figures above.
@pytest.mark.parametrize(
    "name", ["1", "2", "3", "curve", "matrix", "map", "slices", "spectrum"]
)
def test_in_given_axes_the_style_is_the_owners(name: str):
    with mpl.rc_context({"axes.labelcolor": "red", "axes.titlecolor": "red"}):
        figure, (left, right) = plt.subplots(
            1, 2, figsize=(16, 8), layout="constrained"
        )
        found, _ = DRAWN[name](right)
    assert found is figure
    assert not left.has_data()
    assert not left.child_axes
    assert rendered(figure)[0, 0, 3] == 1
    labels = [
        text
        for axes in [right, *right.child_axes]
        for text in (axes.title, axes.xaxis.label, axes.yaxis.label)
        if text.get_text()
    ]
    assert labels
    assert {text.get_color() for text in labels} == {"red"}
    assert plt.get_fignums() == [figure.number]


def test_maps_share_the_place_of_given_axes():
    figure, ax = plt.subplots(figsize=(9, 6))
    _, axes = plot.encoding(TWO_AXES, (4, 9), ax=ax)
    figure.canvas.draw()
    place = ax.get_position()
    boxes = [panel.get_position() for panel in axes]
    # A rounding of the fractions of a figure.
    assert min(box.x0 for box in boxes) >= place.x0 - 1e-9
    assert max(box.x1 for box in boxes) <= place.x1 + 1e-9
    assert min(box.y0 for box in boxes) >= place.y0 - 1e-9
    assert max(box.y1 for box in boxes) <= place.y1 + 1e-9


# --- Matplotlib is needed to draw, and not before ------------------------------------


def test_importing_the_package_imports_no_matplotlib():
    code = (
        "import json, sys, keras; before = set(sys.modules); import keras_posenc;"
        "keras_posenc.plot.encoding;"
        "print(json.dumps(sorted(set(sys.modules) - before)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], check=True, capture_output=True, text=True
    )
    new = json.loads(done.stdout.splitlines()[-1])
    assert "keras_posenc.plot" in new
    assert not [name for name in new if name.partition(".")[0] == "matplotlib"]


def test_without_matplotlib_the_error_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch,
):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ImportError, match=r"pip install 'keras-posenc\[plot\]'"):
        plot.spectrum(ONE_AXIS)


# --- Docstrings ----------------------------------------------------------------------

each_function = pytest.mark.parametrize("name", plot.__all__)


@each_function
def test_docstring_lists_every_argument(name: str):
    function = getattr(plot, name)
    assert [*documented(function)] == [*arguments(function)]


@each_function
def test_docstring_defaults_are_those_of_the_code(name: str):
    function = getattr(plot, name)
    defaults = without_required(arguments(function))
    assert documented_defaults(function, defaults) == defaults


@each_function
def test_docstring_has_every_section_in_order(name: str):
    assert sections(getattr(plot, name)) == [
        *("Args", "Returns", "Raises", "Example", "Reference")
    ]
