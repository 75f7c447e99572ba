"""An axis that no channel is left for: a warning names it."""

from __future__ import annotations

import re
import warnings
from typing import Any

import numpy as np
import pytest

import keras_posenc as kp
from helpers import reference
from helpers.tensors import zeros

NO_ROOM = {
    "2d-of-1": (lambda: kp.PositionalEncoding2D(1), [1]),
    "2d-of-2": (lambda: kp.PositionalEncoding2D(2), [1]),
    "permute2d-of-2": (lambda: kp.PositionalEncodingPermute2D(2), [1]),
    "3d-of-1": (lambda: kp.PositionalEncoding3D(1), [1, 2]),
    "3d-of-2": (lambda: kp.PositionalEncoding3D(2), [1, 2]),
    "3d-of-3": (lambda: kp.PositionalEncoding3D(3), [2]),
    "3d-of-4": (lambda: kp.PositionalEncoding3D(4), [2]),
    "3d-of-7": (lambda: kp.PositionalEncoding3D(7), [2]),
    "3d-of-8": (lambda: kp.PositionalEncoding3D(8), [2]),
    "rank4-of-17": (lambda: kp.PositionalEncoding(4, 17), [3]),
    "rank4-of-18": (lambda: kp.PositionalEncoding(4, 18), [3]),
}


@pytest.mark.parametrize("name", NO_ROOM)
def test_an_axis_without_a_channel_warns_at_construction(name: str):
    make, axes = NO_ROOM[name]
    with pytest.warns(UserWarning, match="has no channel for axis") as caught:
        make()
    (message,) = {str(warning.message) for warning in caught}
    assert [int(axis) for axis in re.findall(r"axis (\d)", message)] == axes
    assert {w.filename for w in caught} == {__file__}


SILENT = {
    1: set(),
    2: {1, 2},
    3: {*range(1, 5), 7, 8},
    4: {*range(1, 7), *range(9, 13), 17, 18},
}


@pytest.mark.parametrize("channels", range(1, 40))
@pytest.mark.parametrize("rank", SILENT)
def test_only_numbers_of_channels_that_leave_an_axis_out_warn(rank: int, channels: int):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        kp.PositionalEncoding(rank, channels)
    assert bool(caught) == (channels in SILENT[rank])


def test_channels_none_warns_when_built():
    layer = kp.PositionalEncoding2D()
    with pytest.warns(UserWarning, match=r"no channel for axis 1 of its 2.*channels=2"):
        layer(np.zeros((1, 4, 3, 2), "float32"))


def warned_of(make: Any) -> list[int]:
    """The axes that warnings name, in their order."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        make()
    if not caught:
        return []
    (message,) = [str(warning.message) for warning in caught]
    pattern = (
        r"has no channel for ((axis \d+( and )?)+) of its \d+: positions there are"
    )
    found = re.search(pattern, message)
    assert found is not None
    return [int(axis) for axis in re.findall(r"\d+", found[1])]


def silent(rank: int, channels: int, **options: Any) -> list[int]:
    heard = {wave.axis for wave in reference.waves(rank, channels, **options)}
    return [axis for axis in range(rank) if axis not in heard]


SILENT_WITH_OPTIONS: list[tuple[int, int, dict[str, Any], list[int]]] = [
    (2, 8, {"split": [8, 0]}, [1]),
    (2, 8, {"split": [0, 8], "axis_order": [1, 0]}, [0]),
    (3, 8, {"split": [0, 8, 0]}, [0, 2]),
    (2, 3, {"remainder": "pad"}, [0, 1]),
    (3, 5, {"remainder": "pad", "layout": "concatenated"}, [0, 1, 2]),
    (2, 2, {}, [1]),
    (2, 2, {"axis_order": [1, 0]}, [0]),
    (2, 2, {"layout": "freq axis phase"}, [1]),
    (2, 2, {"layout": "phase axis freq"}, []),
    (2, 2, {"layout": "freq phase axis"}, []),
    (3, 8, {}, [2]),
    (3, 8, {"layout": "phase freq axis"}, []),
    (2, 8, {"frequencies": [0.0, 1.0]}, []),
]


@pytest.mark.parametrize(("rank", "channels", "options", "axes"), SILENT_WITH_OPTIONS)
def test_axes_without_a_channel_warn(
    rank: int, channels: int, options: dict[str, Any], axes: list[int]
):
    def make() -> None:
        kp.PositionalEncoding(rank, channels, **options)

    assert warned_of(make) == axes == silent(rank, channels, **options)


LAYOUTS = [
    "axis freq phase",
    "axis phase freq",
    "freq axis phase",
    "freq phase axis",
    "phase axis freq",
    "phase freq axis",
]


@pytest.mark.parametrize("remainder", ["truncate", "pad"])
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("rank", [2, 3, 4])
def test_axes_without_a_channel_warn_for_few_channels(
    rank: int, layout: str, remainder: str
):
    options = {"layout": layout, "remainder": remainder}
    options["axis_order"] = [*range(1, rank), 0]  # type: ignore[assignment]
    found = [
        warned_of(lambda c=channels: kp.PositionalEncoding(rank, c, **options))
        for channels in range(1, 20)
    ]
    assert found == [silent(rank, channels, **options) for channels in range(1, 20)]


def test_axes_without_a_channel_warn_where_the_input_says_how_many():
    layer = kp.PositionalEncoding2D(layout="concatenated", remainder="pad")
    assert warned_of(lambda: layer(zeros(1, 2, 3, 3))) == [0, 1]
