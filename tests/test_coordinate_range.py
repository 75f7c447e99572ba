"""A range of coordinates, over sizes that only the running graph knows."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import pytest

import keras_posenc as kp
from helpers import reference
from helpers.option_combinations import TWO_PI
from helpers.run_modes import (
    BACKEND,
    KNOWN,
    UNKNOWN,
    open_graph,
    with_known_sizes,
)
from helpers.tensors import to_numpy, zeros
from helpers.tolerances import DIVIDED

# A range of coordinates, over sizes that only the running graph knows.

RANGES: dict[str, dict[str, Any]] = {
    "plain": {},
    "offset-below-zero": {"offset": -2.3},
    "detr": {"offset": 1.0, "eps": 1e-6},
    "deformable-detr": {"offset": 0.5, "eps": 1e-6},
    "eps-above-one": {"eps": 2.75, "offset": 0.1},
    "corners": {"align_corners": True},
    "corners-offset": {"align_corners": True, "offset": 0.5},
    "not-from-zero": {"coordinate_range": [-3.0, 5.0], "offset": 0.5},
    "many-turns": {"coordinate_range": [0.0, 500.0], "scale": -2.0},
    "short-waves": {"max_wavelength": 0.01, "endpoint": True, "offset": 1.0},
}
# One position, one more; as many as a range has parts; a text. (torch.compile
# takes 1 for known, and compiles anew.)
LENGTHS = (*([] if BACKEND == "torch" else [1]), 2, 33, 4096)
# Those that differ in how a range is divided; the reference takes a second for each.
OF_A_LONG_TEXT = ("plain", "eps-above-one", "corners-offset", "many-turns")


def lengths_for(name: str) -> tuple[int, ...]:
    return (*LENGTHS, 20_000) if name in OF_A_LONG_TEXT else LENGTHS


@functools.cache
def range_options(name: str) -> tuple[dict[str, Any], list[np.ndarray]]:
    """Options, and what they give at each length: slow, and needed by two modes."""
    options = {"coordinate_range": [0.0, TWO_PI], **RANGES[name]}
    return options, [
        reference.encode_options((length,), 4, **options)
        for length in lengths_for(name)
    ]


@pytest.mark.parametrize("name", RANGES)
@pytest.mark.parametrize("mode", UNKNOWN)
def test_a_range_spreads_over_unknown_lengths(name: str, mode: str):
    options, tables = range_options(name)
    layer = kp.PositionalEncoding1D(4, **options)
    graph = open_graph(layer, (None, None, 4), mode)  # one, for all lengths
    lengths = lengths_for(name)
    outputs = [to_numpy(graph(zeros(1, length, 4)))[0] for length in lengths]
    errors = [np.abs(a - b).max() for a, b in zip(outputs, tables, strict=True)]
    assert max(errors) <= DIVIDED, dict(zip(lengths, errors, strict=True))


@pytest.mark.parametrize("mode", UNKNOWN)
def test_a_range_spreads_where_one_side_is_known(mode: str):
    options = {"coordinate_range": [0.0, TWO_PI], "offset": 0.5, "eps": 1e-6}
    layer = kp.PositionalEncoding2D(8, **options)
    graph = open_graph(layer, (None, 3, None, 8), mode)
    outputs = to_numpy(graph(zeros(2, 3, 37, 8)))[1]
    expected = reference.encode_options((3, 37), 8, **options)
    assert np.abs(outputs - expected).max() <= DIVIDED


# A size of JAX's exports is 1 at least.
@pytest.mark.parametrize("mode", sorted({*KNOWN, *UNKNOWN} - {"export"}))
def test_a_range_of_no_positions_is_empty(mode: str):
    layer = kp.PositionalEncoding1D(4, coordinate_range=[0, 1], align_corners=True)
    if mode in UNKNOWN:
        graph = open_graph(layer, (None, None, 4), mode)
    else:
        graph = with_known_sizes(layer, mode)
    assert tuple(graph(zeros(2, 0, 4)).shape) == (2, 0, 4)


def test_start_index_contradicts_a_range():
    layer = kp.PositionalEncoding1D(4, coordinate_range=[0, 1])
    layer.build(
        (None, None, 4)
    )  # Keras puts more text around what the first call raises
    with pytest.raises(
        ValueError, match=r"^`start_index` must be 0 with .*start_index=2$"
    ):
        layer(zeros(1, 3, 4), start_index=2)


# Values that are no values, and values that contradict each other.


@pytest.mark.parametrize("option", ["offset", "eps"])
def test_a_range_beyond_the_integers_of_a_graph_is_refused(option: str):
    with pytest.raises(ValueError, match=f"must be below {2**24} with `coordinate_"):
        kp.PositionalEncoding1D(8, coordinate_range=(0.0, 1.0), **{option: 1e9})
