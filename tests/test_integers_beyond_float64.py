"""Integers that float64 does not hold: each keeps a row of its own, or is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import keras_posenc as kp
from helpers.entry_points import CHANNELS, ENTRIES, TENSOR_ENTRIES, entered, entry_point
from helpers.run_modes import BACKEND, KNOWN, with_known_sizes
from helpers.tensors import scalar, to_numpy, to_tensor, zeros

# The sine of the fastest wave moves by a tenth at least between neighbours: by
# 2 * sin(1/2) along the circle, as sine and cosine together.
STEP = 2 * np.sin(0.5)
# Angles that large are known to less than this; rows that are equal are off by all.
NEAR = 1e-2
FIRST = [2**53, 2**60, 2**62, -(2**53) - 1, -(2**62) - 1]


def steps(rows: np.ndarray) -> np.ndarray:
    """How far each row is from the next on the circle of the fastest wave."""
    return np.hypot(*np.diff(rows[:, :2], axis=0).T)


@pytest.mark.parametrize("form", ["list", "array"])
@pytest.mark.parametrize("first", FIRST)
@pytest.mark.parametrize("entry", ENTRIES)
def test_neighbours_get_different_rows_or_are_refused(
    entry: str, first: int, form: str
):
    positions: Any = first + np.arange(2)
    positions = positions.tolist() if form == "list" else positions
    try:
        found = entered(entry, positions)
    except ValueError as error:
        assert "must be" in str(error)  # noqa: PT017
        assert "2**53" in str(error) or str(2**53) in str(error)  # noqa: PT017
        return
    np.testing.assert_allclose(steps(found), STEP, atol=NEAR)


def test_unsigned_neighbours_get_different_rows():
    positions = np.array([2**64 - 2, 2**64 - 1], "uint64")
    np.testing.assert_allclose(steps(entered("encode", positions)), STEP, atol=NEAR)


if BACKEND != "jax":  # which has 32 bits

    @pytest.mark.parametrize("mode", KNOWN)
    @pytest.mark.parametrize("first", FIRST)
    @pytest.mark.parametrize("entry", TENSOR_ENTRIES)
    def test_neighbours_in_a_tensor_get_different_rows(
        entry: str, first: int, mode: str
    ):
        function = with_known_sizes(entry_point(entry), mode)
        found = to_numpy(function(to_tensor(first + np.arange(2), "int64")))
        np.testing.assert_allclose(steps(found), STEP, atol=NEAR)


@pytest.mark.parametrize("first", FIRST)
@pytest.mark.parametrize("name", ["1d", "sum-of-1d"])
def test_neighbouring_starts_get_different_rows(name: str, first: int):
    layer: Any = kp.PositionalEncoding1D(CHANNELS)
    layer = kp.Summer(layer) if name == "sum-of-1d" else layer
    x = zeros(1, 1, CHANNELS)
    rows = [to_numpy(layer(x, start_index=first + i))[0, 0] for i in range(2)]
    np.testing.assert_allclose(steps(np.stack(rows)), STEP, atol=NEAR)


@pytest.mark.parametrize("first", FIRST)
def test_elements_after_a_large_start_get_different_rows(first: int):
    layer = kp.PositionalEncoding1D(CHANNELS)
    found = to_numpy(layer(zeros(1, 6, CHANNELS), start_index=first))[0]
    np.testing.assert_allclose(steps(found), STEP, atol=NEAR)


@pytest.mark.parametrize("first", FIRST)
def test_tiles_after_a_large_start_get_different_rows(first: int):
    layer = kp.PositionalEncoding2D(2 * CHANNELS)
    found = to_numpy(layer(zeros(1, 6, 1, 2 * CHANNELS), start_index=(first, 0)))
    np.testing.assert_allclose(steps(found[0, :, 0]), STEP, atol=NEAR)


# The range of a start, and of what is counted from there.

STARTS = [2**31 - 1, 2**31 - 2]
EXPECTED = np.array(STARTS)[:, None] + np.arange(5)


def one_of_each(positions: np.ndarray) -> np.ndarray:
    return kp.sinusoidal_table(None, CHANNELS, positions=positions[..., None])


LARGE_STARTS = {
    "list": lambda: STARTS,
    "array": lambda: np.array(STARTS),
    "array-of-32-bits": lambda: np.array(STARTS, "int32"),
    "tensor": lambda: to_tensor(np.array(STARTS, "int32"), "int32"),
    "tensors": lambda: [scalar(start) for start in STARTS],
}
LAYERS = {
    "1d": lambda: kp.PositionalEncoding1D(CHANNELS),
    "sum-of-1d": lambda: kp.Summer(kp.PositionalEncoding1D(CHANNELS)),
    "sinusoid": lambda: kp.SinusoidEncoding(CHANNELS, 2**33),
}
# Turns that float64 knows to 2**-21, and a table of float64 angles to as much.
ERROR = 2e-7 + 2.0**-20


@pytest.mark.parametrize("form", LARGE_STARTS)
@pytest.mark.parametrize("name", LAYERS)
def test_a_start_does_not_wrap_at_the_end_of_its_type(name: str, form: str):
    layer, x = LAYERS[name](), zeros(2, 5, CHANNELS)
    for _ in range(2):
        found = to_numpy(layer(x, start_index=LARGE_STARTS[form]()))
        np.testing.assert_allclose(found, one_of_each(EXPECTED), atol=ERROR)


@pytest.mark.parametrize("mode", KNOWN)
@pytest.mark.parametrize("name", LAYERS)
def test_a_start_in_a_graph_does_not_wrap(name: str, mode: str):
    layer, x = LAYERS[name](), zeros(2, 5, CHANNELS)
    layer(x)
    function = with_known_sizes(lambda start: layer(x, start_index=start), mode)
    found = to_numpy(function(to_tensor(np.array(STARTS, "int32"), "int32")))
    np.testing.assert_allclose(found, one_of_each(EXPECTED), atol=ERROR)


NARROW = {"int8": 127, "uint8": 255, "int16": 2**15 - 1}


@pytest.mark.parametrize("mode", KNOWN)
@pytest.mark.parametrize("dtype", NARROW)
@pytest.mark.parametrize("rank", [1, 2])
def test_a_start_of_a_narrow_type_does_not_wrap(rank: int, dtype: str, mode: str):
    layer = kp.PositionalEncoding(rank, rank * CHANNELS)
    x = zeros(1, *(5, 1)[:rank], rank * CHANNELS)
    layer(x)

    def function(start: Any) -> Any:
        return layer(x, start_index=start if rank == 1 else (start, 0))

    compiled = with_known_sizes(function, mode)
    found = to_numpy(compiled(scalar(NARROW[dtype], dtype))).reshape(5, -1)
    expected = one_of_each(NARROW[dtype] + np.arange(5))
    np.testing.assert_allclose(found[:, :CHANNELS], expected, atol=1e-6)


@pytest.mark.parametrize("start", [2**63 - 1, -(2**63)])
@pytest.mark.parametrize("length", [1, 5])
def test_the_last_start_of_64_bits_stays_on_the_circle(length: int, start: int):
    layer = kp.PositionalEncoding1D(CHANNELS)
    found = to_numpy(layer(zeros(1, length, CHANNELS), start_index=start))[0]
    np.testing.assert_allclose(found[:, 0] ** 2 + found[:, 1] ** 2, 1, atol=1e-6)
    np.testing.assert_allclose(steps(found), STEP, atol=NEAR)


BEYOND = {
    "int": 2**63,
    "negative": -(2**63) - 1,
    "huge": 10**400,
    "among-others": [0, 10**400],
    "negative-huge": -(10**400),
}


@pytest.mark.parametrize("built", [False, True], ids=["first-call", "later-call"])
@pytest.mark.parametrize("beyond", BEYOND)
@pytest.mark.parametrize("name", ["1d", "sum-of-1d"])
def test_a_start_beyond_64_bits_is_refused(name: str, beyond: str, built: bool):
    layer, x = LAYERS[name](), zeros(2, 5, CHANNELS)
    if built:
        layer(x)
    with pytest.raises(
        ValueError, match=r"`start_index`.* (bits|between|at most|must)"
    ):
        layer(x, start_index=BEYOND[beyond])


@pytest.mark.parametrize("built", [False, True], ids=["first-call", "later-call"])
def test_a_start_beyond_64_bits_of_a_limited_layer_has_a_short_message(built: bool):
    layer, x = kp.SinusoidEncoding(CHANNELS), zeros(2, 5, CHANNELS)
    if built:
        layer(x)
    with pytest.raises(ValueError, match="start_index") as raised:
        layer(x, start_index=10**400)
    assert len(str(raised.value)) < 600


@pytest.mark.parametrize("built", [False, True], ids=["first-call", "later-call"])
def test_a_tile_beyond_64_bits_is_refused(built: bool):
    layer, x = kp.PositionalEncoding2D(CHANNELS), zeros(2, 3, 4, CHANNELS)
    if built:
        layer(x)
    with pytest.raises(ValueError, match=r"`start_index`.*64 bits"):
        layer(x, start_index=(0, 10**400))
