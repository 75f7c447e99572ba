"""Values of options that are no values, or that contradict each other."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import keras_posenc as kp
from helpers.option_combinations import by_what_differs

INF, NAN = float("inf"), float("nan")
HUGE = 10**400  # more than a float
NUMBER_PER_AXIS = "must be a finite number, or one for each of the 2 axes"
TRUE_OR_FALSE = "must be True or False"
LAYOUT = "must be 'interleaved', 'concatenated', or the words axis, freq and phase"
REMAINDER = "must be one of 'truncate', 'pad', 'error'"
FREQUENCIES = "must be a list of finite numbers, or one list for each of the 2 axes"
ORDER = "must be a list of the axes 0 to 1, each of them once, or None"
SPLIT = "must be a list of even numbers, not negative, one for each of the 2 axes"
RANGE = "must be a pair of finite numbers, the lower one first, or None"
EPS = "must be a finite number, not negative"

BAD: list[tuple[str, Any, type[Exception], str]] = [
    *[
        (name, value, error, NUMBER_PER_AXIS)
        for name in ("offset", "scale")
        for value, error in [
            (INF, ValueError),
            (-INF, ValueError),
            (NAN, ValueError),
            (HUGE, ValueError),
            (True, TypeError),
            (np.True_, TypeError),
            ("1", TypeError),
            (b"1", TypeError),
            (None, TypeError),
            (1j, TypeError),
            ({"a": 1}, TypeError),
            ([1.0, NAN], ValueError),
            ([1.0, False], TypeError),
            ([1.0, None], TypeError),
            ([[1.0], [2.0]], TypeError),
        ]
    ],
    *[
        (name, value, ValueError, NUMBER_PER_AXIS)
        for name in ("offset", "scale")
        for value in ([], [1.0], [1.0, 2.0, 3.0])
    ],
    *[
        (name, value, TypeError, TRUE_OR_FALSE)
        for name in ("endpoint", "cos_first", "align_corners")
        for value in (1, 0, None, "True", [True])
    ],
    *[
        ("layout", value, ValueError, LAYOUT)
        for value in (
            *("", "lienar", "Interleaved", "axis", "axis freq", "axis freq freq"),
            *("axis freq phase axis", "axis,freq,phase", "interleaved phase"),
        )
    ],
    *[
        ("layout", value, TypeError, LAYOUT)
        for value in (None, 1, True, ["axis", "freq", "phase"], b"interleaved")
    ],
    *[
        ("remainder", value, ValueError, REMAINDER)
        for value in ("", "cut", "Pad", "pad ", "raise")
    ],
    *[("remainder", value, TypeError, REMAINDER) for value in (None, 0, ["pad"])],
    *[
        ("frequencies", value, TypeError, FREQUENCIES)
        for value in (
            1.0,
            "12",
            b"12",
            {1.0, 0.5},
            [1.0, "x"],
            [1.0, True],
            [1.0, None],
        )
    ],
    ("frequencies", [[1.0, 0.5], ["x", 0.5]], TypeError, FREQUENCIES),
    ("frequencies", [[[1.0, 0.5]], [[1.0, 0.5]]], TypeError, FREQUENCIES),
    *[
        ("frequencies", value, ValueError, FREQUENCIES)
        for value in (
            *([1.0, INF], [1.0, NAN], [1.0, HUGE], [[1.0, 0.5]], [[1.0, 0.5]] * 3),
            *([[1.0, 0.5], 0.5], [1.0, [0.5]], [[1.0, NAN], [1.0, 0.5]]),
        )
    ],
    *[
        (
            "frequencies",
            value,
            ValueError,
            f"must hold 2 numbers for axis {axis}, since",
        )
        for value, axis in (
            ([], 0),
            ([1.0], 0),
            ([1.0, 0.5, 0.25], 0),
            ([[1.0], [1.0, 0.5]], 0),
            ([[1.0, 0.5], [1.0]], 1),
            ([[1.0, 0.5], []], 1),
        )
    ],
    *[
        ("axis_order", value, ValueError, ORDER)
        for value in ([], [0], [0, 0], [1, 2], [0, -1], [-1, 0], [0, 1, 2])
    ],
    *[
        ("axis_order", value, TypeError, ORDER)
        for value in (0, "10", {0, 1}, [0.0, 1.0], [False, True], [None, 0], [[0], [1]])
    ],
    *[
        ("split", value, ValueError, SPLIT)
        for value in ([], [8], [4, 2, 2], [5, 3], [10, -2], [-4, 12], [4, 3])
    ],
    *[
        ("split", value, TypeError, SPLIT)
        for value in (8, "44", {8, 0}, [4.0, 4.0], [True, 7], [None, 8], [[4], [4]])
    ],
    *[
        ("split", value, ValueError, "must add up to the number of channels, 8")
        for value in ([4, 2], [8, 8], [0, 0])
    ],
    *[
        ("coordinate_range", value, ValueError, RANGE)
        for value in (
            *([], [0.0], [0.0, 1.0, 2.0], [1.0, 0.0], [1.0, 1.0], [0.0, -0.0]),
            *([0.0, INF], [NAN, 1.0], [0.0, HUGE]),
        )
    ],
    *[
        ("coordinate_range", value, TypeError, RANGE)
        for value in (
            *(1.0, "01", {0.0, 1.0}, [0.0, "1"], [0.0, True], [0.0, None]),
            [[0.0, 1.0], [0.0, 1.0]],
        )
    ],
    *[("eps", value, ValueError, EPS) for value in (-1e-6, INF, NAN, HUGE)],
    *[("eps", value, TypeError, EPS) for value in (None, "0", True, [1e-6], 1j)],
]


def short(value: Any) -> str:
    return repr(value)[:30]


@pytest.mark.parametrize(("name", "value", "error", "words"), BAD, ids=short)
def test_a_bad_value_is_refused(
    name: str, value: Any, error: type[Exception], words: str
):
    options = {"coordinate_range": [0, 1], name: value}  # that eps has what it is about
    with pytest.raises(
        error, match=f"^`{name}` {re.escape(words)}.* Received: {name}="
    ):
        kp.PositionalEncoding2D(8, **options)


TAKERS = {
    "general": lambda **options: kp.PositionalEncoding(2, 8, **options),
    "Permute2D": lambda **options: kp.PositionalEncodingPermute2D(8, **options),
    "no number": lambda **options: kp.PositionalEncoding2D(**options),
    "values": lambda **options: kp.CoordinateEncoding(8, 2, **options),
    "table": lambda **options: kp.sinusoidal_table((3, 4), 8, **options),
    "encode": lambda **options: kp.encode([[1, 2]], 8, rank=2, **options),
}
CONTRADICTIONS: list[tuple[dict[str, Any], str]] = [
    (
        {"frequencies": [1.0, 0.5], "max_wavelength": 20.0},
        "`max_wavelength` must be left out beside `frequencies`. "
        "Received: max_wavelength=20.0",
    ),
    (
        {"frequencies": [[1.0, 0.5], [1.0, 0.5]], "max_wavelength": [20.0, 30.0]},
        "`max_wavelength` must be left out beside `frequencies`. "
        "Received: max_wavelength=(20.0, 30.0)",
    ),
    (
        {"frequencies": [1.0, 0.5], "endpoint": True},
        "`endpoint` must be left out beside `frequencies`. Received: endpoint=True",
    ),
    (
        {"align_corners": True},
        "`align_corners` needs `coordinate_range`. Received: align_corners=True",
    ),
    (
        {"eps": 1e-6},
        "`eps` needs `coordinate_range`. Received: eps=1e-06",
    ),
    (
        {"coordinate_range": [0, 1], "align_corners": True, "eps": 1e-6},
        "`eps` must be left out beside `align_corners=True`. Received: eps=1e-06",
    ),
]


@pytest.mark.parametrize("taker", TAKERS)
@pytest.mark.parametrize(("options", "message"), CONTRADICTIONS, ids=by_what_differs)
def test_contradicting_options_are_refused(
    taker: str, options: dict[str, Any], message: str
):
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        TAKERS[taker](**options)


@pytest.mark.parametrize("taker", TAKERS)
def test_everything_that_takes_options_checks_them(taker: str):
    with pytest.raises(ValueError, match=r"^`layout` must be .*layout='lienar'$"):
        TAKERS[taker](layout="lienar")


def test_a_remainder_is_refused_where_it_is_an_error():
    message = (
        "`channels` must be divisible by 6 with remainder='error'. Received: channels=8"
    )
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        kp.PositionalEncoding3D(8, remainder="error")
