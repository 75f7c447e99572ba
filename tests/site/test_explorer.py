"""The page that explores encodings: its numbers are those of the package."""

from __future__ import annotations

import itertools
import json
import random
from typing import Any

import keras
import numpy as np
import pytest

from helpers.browser import Browser
from helpers.internals import WaveOptions
from keras_posenc import presets, sinusoidal_table

# Each option with values that make a difference. Some contradict each other.
VALUES: dict[str, list[Any]] = {
    "max_wavelength": [20.0, 10000.0, 0.01],
    "endpoint": [True],
    "layout": [
        "concatenated",
        *(
            " ".join(words)
            for words in itertools.permutations(["axis", "freq", "phase"])
        ),
    ],
    "cos_first": [True],
    "remainder": ["pad", "error", "truncate"],
    "offset": [1.0, -0.5],
    "scale": [np.pi, 0.25],
    "coordinate_range": [[0.0, 2 * np.pi], [-1.0, 1.0]],
    "align_corners": [True],
    "eps": [1e-6],
}
# The same for two axes alone.
OF_TWO: dict[str, list[Any]] = {
    "axis_order": [[1, 0], [0, 1]],
    "max_wavelength": [[20.0, 100.0]],
    "offset": [[0.0, 1.0]],
    "scale": [[2.0, 1.0]],
}
SHAPES = [(1,), (7,), (40,), (5, 7), (1, 3), (16, 16)]
CHANNELS = [2, 5, 6, 8, 10, 16, 32]


def of_options(count: int) -> list[dict[str, Any]]:
    """Cases of several options each, the same ones every time."""
    choose = random.Random(0)
    cases = []
    while len(cases) < count:
        shape, channels = choose.choice(SHAPES), choose.choice(CHANNELS)
        values = {name: [*found] for name, found in VALUES.items()}
        if len(shape) == 2:
            for name, found in OF_TWO.items():
                values[name] = values.get(name, []) + found
        names = choose.sample(sorted(values), choose.randint(0, 4))
        options = {name: choose.choice(values[name]) for name in names}
        try:
            WaveOptions(len(shape), channels, **options)
        except ValueError:  # they contradict each other
            continue
        cases.append({"shape": shape, "channels": channels, **options})
    return cases


def of_lists() -> list[dict[str, Any]]:
    """Cases of options that follow from the number of channels."""
    return [
        {"shape": (9,), "channels": 4, "frequencies": [1.0, 0.3]},
        {"shape": (4, 5), "channels": 8, "frequencies": [2.0, 0.5]},
        {"shape": (4, 5), "channels": 8, "frequencies": [[2.0, 0.5], [1.0, 0.1]]},
        {"shape": (4, 5), "channels": 10, "split": [4, 6]},
        {"shape": (4, 5), "channels": 10, "split": [10, 0]},
        {"shape": (4, 5), "channels": 10, "split": [2, 8], "axis_order": [1, 0]},
    ]


def of_presets() -> list[dict[str, Any]]:
    return [
        {"shape": shape, "channels": channels, "preset": name}
        for shape in [(12,), (5, 7)]
        for name in presets(rank=len(shape))
        for channels in CHANNELS
        if has_table(shape, channels, name)
    ]


def has_table(shape: tuple[int, ...], channels: int, name: str) -> bool:
    try:
        sinusoidal_table(shape, channels, preset=name)
    except ValueError:  # no encoding for so many channels
        return False
    return True


def of_presets_with_options() -> list[dict[str, Any]]:
    """What is given wins, also over what then has no meaning."""
    return [
        {"shape": (5, 7), "channels": 16, "preset": "detr", "coordinate_range": None},
        {
            "shape": (5, 7),
            "channels": 16,
            "preset": "perceiver",
            "max_wavelength": 50.0,
        },
        {"shape": (5, 7), "channels": 16, "preset": "mae", "layout": "phase axis freq"},
        {"shape": (9,), "channels": 4, "preset": "whisper", "frequencies": [1.0, 0.1]},
    ]


CASES = {
    "options": of_options(400),
    "lists": of_lists(),
    "presets": of_presets(),
    "presets-with-options": of_presets_with_options(),
}


@pytest.fixture
def page(browser: Browser, address: str) -> Browser:
    browser.screen(1280)
    browser.open(f"{address}/explore.html")
    return browser


def package_table(case: dict[str, Any]) -> np.ndarray:
    return sinusoidal_table(**case, dtype="float64")


@pytest.mark.parametrize("kind", CASES)
def test_numbers(kind: str, page: Browser):
    cases = CASES[kind]
    tables = page.value(f"{json.dumps(cases)}.map(window.table)")
    assert len(tables) == len(cases) > 3
    errors = {
        json.dumps(case): np.abs(package_table(case).ravel() - numbers).max()
        for case, numbers in zip(cases, tables, strict=True)
    }
    # Frequencies differ by a unit or two of the last place, as `pow` does, and angles
    # are below 32,768 * 40, the frequency 2**15 being NeRF's with 32 channels: 6e-10.
    assert {case: error for case, error in errors.items() if error > 1e-9} == {}


def test_other_options_have_other_numbers(page: Browser):
    # So that a table of anything would not pass the test above.
    case = {"shape": (5, 7), "channels": 16, "preset": "mae"}
    (numbers,) = page.value(f"{json.dumps([case])}.map(window.table)")
    other = package_table({**case, "layout": "interleaved"})
    assert np.abs(other.ravel() - numbers).max() > 0.1


def choose(page: Browser, name: str, value: Any) -> None:
    """What a reader does with a control: moves it to a value, as its form has it."""
    page.value(
        f"""(() => {{
          const control = document.getElementById({json.dumps(name)});
          if (control.type === "checkbox") control.checked = {json.dumps(value)};
          else control.value = {json.dumps(value)};
          control.dispatchEvent(new Event("input", {{ bubbles: true }}));
        }})()"""
    )


def text(page: Browser, name: str) -> str:
    shown = f"document.getElementById({json.dumps(name)})"
    return page.value(f"{shown}.value ?? {shown}.textContent")


def python(page: Browser) -> str:
    """What makes the table in the lines that are shown."""
    *_, line = text(page, "code").splitlines()
    return line.removeprefix("table = ").removesuffix("  # the same numbers")


def of_pasted(code: str) -> tuple[np.ndarray, np.ndarray]:
    """What the layer and the table of the lines of a page are, where they run alone."""
    names: dict[str, Any] = {}
    exec(code, names)
    layer, table = names["layer"], names["table"]
    encoding = layer(np.zeros((1, *table.shape), "float32"))
    return keras.ops.convert_to_numpy(encoding)[0], table


def check_code(page: Browser) -> None:
    """The lines of Python run as pasted, and make the numbers of the pictures."""
    layer, table = of_pasted(text(page, "code"))
    shown = np.reshape(page.value("window.explorer.values()"), table.shape)
    # The table of the package is rounded to float32, half a unit of which is 6e-8, and
    # its layers are within 2e-7 of the formula.
    assert np.abs(table - shown).max() < 1e-7
    assert np.abs(layer - shown).max() < 2.1e-7


# What a reader does, and the table that it comes to.
JOURNEYS = [
    pytest.param([], "sinusoidal_table(64, 64)", id="nothing"),
    pytest.param(
        [("size0", 20), ("channels", 4), ("layout", '"concatenated"')],
        'sinusoidal_table(20, 8, layout="concatenated")',
        id="a-sequence",
    ),
    pytest.param(
        [("rank", 2), ("preset", '"mae"'), ("size1", 9), ("cos_first", True)],
        'sinusoidal_table((16, 9), 64, preset="mae", cos_first=True)',
        id="a-preset-and-an-option",
    ),
    pytest.param(
        [("rank", 2), ("preset", '"mae"'), ("axis_order", False)],
        'sinusoidal_table((16, 16), 64, preset="mae", axis_order=None)',
        id="against-the-preset",
    ),
    pytest.param(
        [("rank", 2), ("preset", '"perceiver"'), ("max_wavelength", 5)],
        'sinusoidal_table((16, 16), 64, preset="perceiver", max_wavelength=50)',
        id="in-place-of-frequencies",
    ),
    pytest.param(
        [("coordinate_range", "[0,1]"), ("align_corners", True), ("scale", 6)],
        "sinusoidal_table(64, 64, coordinate_range=[0, 1], align_corners=True, "
        "scale=3.141592653589793)",
        id="a-range",
    ),
    pytest.param(
        [
            ("coordinate_range", "[0,1]"),
            ("align_corners", True),
            ("coordinate_range", "null"),
        ],
        "sinusoidal_table(64, 64)",
        id="a-range-and-back",
    ),
    pytest.param(
        [("offset", 0), ("max_wavelength", 0), ("endpoint", True), ("offset", 3)],
        "sinusoidal_table(64, 64, max_wavelength=1, endpoint=True)",
        id="an-option-and-back",
    ),
    pytest.param(
        [("rank", 2), ("preset", '"detr"'), ("rank", 1)],
        "sinusoidal_table(64, 64)",
        id="a-preset-of-another-rank",
    ),
    pytest.param(
        [
            *[("max_wavelength", 14), ("endpoint", True), ("cos_first", True)],
            *[("layout", '"freq phase axis"'), ("remainder", '"pad"')],
            *[("offset", 5), ("scale", 2), ("channels", 1), ("rank", 2)],
        ],
        "sinusoidal_table((16, 16), 4, max_wavelength=50000, endpoint=True, "
        'cos_first=True, layout="freq phase axis", remainder="pad", offset=1, '
        "scale=0.25)",
        id="options-of-another-rank",
    ),
    pytest.param(
        [
            *[("size0", 20), ("coordinate_range", "[0,1]"), ("align_corners", True)],
            *[("rank", 2), ("size0", 9), ("axis_order", True), ("rank", 1)],
        ],
        "sinusoidal_table(20, 64, coordinate_range=[0, 1], align_corners=True)",
        id="there-and-back",
    ),
    pytest.param(
        # The range is the preset's, and so the corners are left out with it.
        [
            *[("rank", 2), ("preset", '"pixart"'), ("align_corners", True)],
            *[("cos_first", True), ("rank", 1)],
        ],
        "sinusoidal_table(64, 64, cos_first=True)",
        id="without-the-preset",
    ),
    pytest.param(
        # Against the preset, and the default without it.
        [("rank", 2), ("preset", '"dab-detr"'), ("max_wavelength", 12), ("rank", 1)],
        "sinusoidal_table(64, 64)",
        id="the-default-without-the-preset",
    ),
    pytest.param(
        [("preset", '"mae"'), ("cos_first", True), ("rank", 2)],
        'sinusoidal_table((16, 16), 64, preset="mae", cos_first=True)',
        id="a-preset-of-both-ranks",
    ),
    pytest.param(
        [("max_wavelength", 5), ("cos_first", True), ("preset", '"whisper"')],
        'sinusoidal_table(64, 64, preset="whisper")',
        id="a-preset-sets-all",
    ),
]


@pytest.mark.parametrize(("moves", "code"), JOURNEYS)
def test_journey(moves: list[tuple[str, Any]], code: str, page: Browser):
    for name, value in moves:
        choose(page, name, value)
    assert python(page) == code
    check_code(page)
    assert page.complaints() == []
    assert page.value("document.getElementById('refusal').hidden") is True


def test_code_of_options(page: Browser):
    for name, value in [("rank", 2), ("max_wavelength", 5)]:
        choose(page, name, value)
    assert text(page, "code") == (
        "from keras_posenc import PositionalEncoding2D, sinusoidal_table\n"
        "\n"
        "layer = PositionalEncoding2D(64, max_wavelength=50)\n"
        "table = sinusoidal_table((16, 16), 64, max_wavelength=50)"
        "  # the same numbers"
    )


def test_code_of_a_preset(page: Browser):
    for name, value in [("preset", '"whisper"'), ("cos_first", True)]:
        choose(page, name, value)
    assert text(page, "code") == (
        "from keras_posenc import PositionalEncoding1D, sinusoidal_table\n"
        "\n"
        'layer = PositionalEncoding1D.from_preset("whisper", 64, cos_first=True)\n'
        'table = sinusoidal_table(64, 64, preset="whisper", cos_first=True)'
        "  # the same numbers"
    )


def controls(page: Browser) -> dict[str, Any]:
    """The values of the options that a reader sees."""
    seen = page.value(
        """Object.fromEntries(
          [...document.querySelectorAll("#explorer select, #explorer input")]
            .map((c) => [c.id, c.type === "checkbox" ? c.checked : c.value]))"""
    )
    for name in ("max_wavelength", "offset", "scale"):
        seen[name] = text(page, f"{name}-text")
    return seen


def test_controls_keep_what_another_rank_has_too(page: Browser):
    moved = {"endpoint": True, "cos_first": True, "layout": '"concatenated"'}
    for name, value in [*moved.items(), ("max_wavelength", 14), ("rank", 2)]:
        choose(page, name, value)
    expected = {**moved, "max_wavelength": "50000", "rank": "2"}
    assert expected.items() <= controls(page).items()
    assert text(page, "left-out") == ""


def test_what_another_rank_does_not_have_is_said(page: Browser):
    for name, value in [("rank", 2), ("preset", '"detr"'), ("axis_order", True)]:
        choose(page, name, value)
    choose(page, "rank", 1)
    assert text(page, "left-out") == "Left out for one axis: preset detr, axis_order."
    choose(page, "cos_first", True)
    assert text(page, "left-out") == ""


def test_controls_show_the_preset(page: Browser):
    for name, value in [("rank", 2), ("layout", '"concatenated"'), ("scale", 0)]:
        choose(page, name, value)
    choose(page, "preset", '"dab-detr"')
    of_detr = {
        **{"max_wavelength": "20", "endpoint": False, "layout": '"interleaved"'},
        **{"offset": "1", "scale": "1", "axis_order": False, "align_corners": False},
        "coordinate_range": json.dumps([0, 2 * np.pi], separators=(",", ":")),
    }
    assert of_detr.items() <= controls(page).items()
    choose(page, "preset", '"perceiver"')
    assert text(page, "max_wavelength-text") == "none: frequencies are given"
    assert text(page, "scale-text") == "3.14159"


@pytest.mark.parametrize("rank", [1, 2])
def test_every_preset_can_be_chosen(rank: int, page: Browser):
    choose(page, "rank", rank)
    # Few, since NeRF's frequencies double with each: angles stay below 128 * 64, where
    # a unit of the last place in float64 says nothing.
    choose(page, "channels", 8)  # sixteen of them
    listed = page.value(
        "[...document.getElementById('preset').options].map(o => o.value)"
    )
    names = [json.loads(value) for value in listed]
    assert names == ["", *presets(rank=rank)]
    for name in names[1:]:
        choose(page, "preset", json.dumps(name))
        assert f'preset="{name}"' in python(page)
        assert text(page, "sentence") == presets()[name].replace("`", "")
        check_code(page)
    assert page.complaints() == []


def test_what_the_package_refuses_is_refused(page: Browser):
    choose(page, "channels", 3)  # six of them
    choose(page, "rank", 2)
    choose(page, "remainder", '"error"')
    assert page.value("document.getElementById('refusal').hidden") is False
    assert "divisible by 4" in text(page, "refusal")
    code = text(page, "code")
    assert code.startswith("# This raises a ValueError.\n")
    assert "same numbers" not in code
    with pytest.raises(ValueError, match="divisible by 4"):
        of_pasted(code)
    choose(page, "remainder", '"pad"')
    assert page.value("document.getElementById('refusal').hidden") is True
    check_code(page)


def seen(page: Browser, name: str) -> bool:
    return page.value(
        f"""document.getElementById({json.dumps(name)})
          .checkVisibility({{ visibilityProperty: true }})"""
    )


def box_of(page: Browser, name: str) -> dict[str, float]:
    element = f"document.getElementById({json.dumps(name)})"
    return page.value(f"{element}.getBoundingClientRect().toJSON()")


ANSWER = ("table", "table-caption", "similarity", "similarity-caption", "readout")


@pytest.mark.parametrize("width", [360, 1280])
def test_no_answer_is_seen_beside_a_refusal(width: int, page: Browser):
    page.screen(width)
    choose(page, "channels", 2)  # five of them
    assert all(seen(page, name) for name in ANSWER)
    room, code = box_of(page, "drawn"), box_of(page, "code")
    choose(page, "remainder", '"error"')
    assert seen(page, "refusal")
    assert [name for name in ANSWER if seen(page, name)] == []
    assert page.value("window.explorer.values()") is None
    # The error is where the pictures were, and the page does not jump.
    refusal = box_of(page, "refusal")
    assert room["top"] <= refusal["top"] < refusal["bottom"] <= room["bottom"]
    refused = "document.getElementById('refusal')"
    assert page.value(f"{refused}.scrollHeight <= {refused}.clientHeight") is True
    assert box_of(page, "drawn") == room
    assert box_of(page, "code")["top"] == code["top"]
    choose(page, "remainder", '"truncate"')
    assert all(seen(page, name) for name in ANSWER)
    check_code(page)


def test_controls_answer_in_a_refusal(page: Browser):
    choose(page, "channels", 2)  # five of them
    choose(page, "remainder", '"error"')
    choose(page, "max_wavelength", 5)
    assert text(page, "max_wavelength-text") == "50"
    # There is nothing to draw again.
    page.value("document.body.dataset.theme = 'dark'")
    assert page.value("document.body.dataset.theme") == "dark"
    assert page.complaints() == []


def focus(page: Browser, name: str) -> None:
    page.value(f"document.getElementById({json.dumps(name)}).focus()")


def focused(page: Browser) -> str:
    return page.value("document.activeElement.id")


def test_keys_reach_and_move_everything(page: Browser):
    focus(page, "table")
    reached = ["table"]
    for _ in range(20):
        page.press("Tab", 9)
        reached.append(focused(page))
    # What is hidden for one axis, and disabled without a range, is not among them.
    assert [name for name in reached if name] == [
        *("table", "similarity", "code", "rank", "size0", "channels", "preset"),
        *("max_wavelength", "endpoint", "layout", "remainder", "cos_first"),
        *("offset", "scale", "coordinate_range"),
    ]

    focus(page, "max_wavelength")
    page.press("ArrowLeft", 37)
    assert python(page) == "sinusoidal_table(64, 64, max_wavelength=5000)"
    assert text(page, "max_wavelength-text") == "5000"


def test_keys_move_the_mark(page: Browser):
    table = sinusoidal_table(64, 64)
    focus(page, "table")
    for key, code in [("ArrowRight", 39)] * 3 + [("PageDown", 34)] * 2:
        page.press(key, code)
    assert text(page, "readout").startswith(
        f"Position 3, channel 2: {table[3, 2]:.4f}."
    )
    # It stops at the edge.
    for _ in range(5):
        page.press("ArrowLeft", 37)
    assert text(page, "readout").startswith("Position 0, channel 2: 0.0000.")


@pytest.mark.parametrize("picture", ["table", "similarity"])
@pytest.mark.parametrize(("rank", "last"), [(1, "63"), (2, "(15, 15)")])
def test_home_and_end(rank: int, last: str, picture: str, page: Browser):
    choose(page, "rank", rank)
    focus(page, picture)
    page.press("PageDown", 34)
    page.press("End", 35)
    assert text(page, "readout").startswith(f"Position {last}, channel 1:")
    page.press("Home", 36)
    first = "0" if rank == 1 else "(0, 0)"
    assert text(page, "readout").startswith(f"Position {first}, channel 1:")


def test_a_tap_chooses_a_position(page: Browser):
    choose(page, "rank", 2)
    box = box_of(page, "similarity")
    # The middle of the place (4, 9) of 16 by 16.
    x, y = box["x"] + box["width"] * 9.5 / 16, box["y"] + box["height"] * 4.5 / 16
    for kind in ("mousePressed", "mouseReleased"):
        page.send(
            "Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1
        )
    assert text(page, "readout").startswith("Position (4, 9), channel 0:")
    assert text(page, "similarity-caption").endswith("to position (4, 9)")


def test_back_to_the_defaults(page: Browser):
    for name, value in [("rank", 2), ("preset", '"mae"'), ("channels", 2)]:
        choose(page, name, value)
    page.value("document.querySelector('#explorer [type=reset]').click()")
    assert python(page) == "sinusoidal_table(64, 64)"


def pixels(page: Browser, name: str) -> list[int]:
    return page.value(
        f"""(() => {{
          const canvas = document.getElementById({json.dumps(name)});
          const {{ width, height }} = canvas;
          return [...canvas.getContext("2d").getImageData(0, 0, width, height).data];
        }})()"""
    )


def test_pictures_show_the_numbers(page: Browser):
    choose(page, "size0", 8)
    choose(page, "channels", 4)  # eight of them
    dots = np.array(pixels(page, "table")).reshape(8, 8, 4)  # channels by positions
    table = sinusoidal_table(8, 8).T
    opaque = dots[..., 3] == 255
    assert opaque.all()
    red_less_blue = dots[..., 0].astype(int) - dots[..., 2]
    # Off the mark, red is positive and blue is negative. Paler numbers are left out.
    strong = np.abs(table) > 0.1
    strong[0, 0] = False
    assert strong.sum() > 30
    assert (np.sign(red_less_blue) == np.sign(table))[strong].all()


def test_pictures_follow_the_theme(page: Browser):
    picture = "document.getElementById('table').toDataURL()"
    page.value(f"window.byDay = {picture}")
    page.screen(1280, dark=True)
    page.wait(f"{picture} !== window.byDay")
