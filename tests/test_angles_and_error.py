"""The angle decides how exact an encoding is, not the number that was written.

A timestamp in nanoseconds that is scaled to seconds is as exact as one in seconds.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import keras_posenc as kp
from helpers.entry_points import CHANNELS, ENTRIES, TENSOR_ENTRIES, entered, entry_point
from helpers.exact_angles import angle_error, exact_encoding
from helpers.run_modes import BACKEND, KNOWN, with_known_sizes
from helpers.tensors import scalar, to_numpy, to_tensor, zeros

NANOSECONDS = 1_700_000_000_123_456_789 + 333_333_333 * np.arange(6)
# The same moment in several units, each with what makes seconds of it.
UNITS: dict[str, tuple[np.ndarray, float]] = {
    "nanoseconds": (NANOSECONDS, 1e-9),
    "microseconds": (NANOSECONDS // 10**3, 1e-6),
    "milliseconds": (NANOSECONDS // 10**6, 1e-3),
    "seconds": (NANOSECONDS // 10**9, 1.0),
    "small-angles": (NANOSECONDS, 2.0**-60),
    "negative": (-NANOSECONDS, 1e-9),
}
each_unit = pytest.mark.parametrize("unit", UNITS)
each_entry = pytest.mark.parametrize("entry", ENTRIES)


def excess(found: np.ndarray, positions: Any, **options: float) -> float:
    """By how much the worst number is beyond its bound."""
    numbers = [number.item() for number in np.asarray(positions)]
    error = np.abs(found - exact_encoding(numbers, CHANNELS, **options))
    return float((error - angle_error(numbers, **options)).max())


@each_entry
@each_unit
@pytest.mark.parametrize("form", ["list", "array", "float64"])
def test_large_numbers_are_as_exact_as_their_angles(form: str, unit: str, entry: str):
    positions, scale = UNITS[unit]
    if form == "float64":
        positions = positions.astype("float64")
    given = positions.tolist() if form == "list" else positions
    assert excess(entered(entry, given, scale=scale), positions, scale=scale) <= 0


@each_entry
@pytest.mark.parametrize("offset", [0.5, -1.7e18])
def test_an_offset_of_large_numbers_is_as_exact(offset: float, entry: str):
    found = entered(entry, NANOSECONDS, scale=1e-9, offset=offset)
    numbers = NANOSECONDS.tolist()
    error = np.abs(found - exact_encoding(numbers, CHANNELS, scale=1e-9, offset=offset))
    # The two parts of the angle are rounded each, before the rest of them is left.
    parts = 2.0**-52 * 1e-9 * (NANOSECONDS[:, None] + abs(offset))
    assert (error - 2e-7 - parts).max() <= 0


@pytest.mark.parametrize("entry", ENTRIES)
def test_frequencies_make_small_angles_of_large_numbers(entry: str):
    frequencies = [1e-9 * 10.0**-k for k in range(CHANNELS // 2)]
    if entry in ("encode-pairs", "tokens-of-a-plane"):
        pytest.skip("The first axis of a plane has as many frequencies: as encode.")
    found = entered(entry, NANOSECONDS, frequencies=frequencies)
    for k, frequency in enumerate(frequencies):
        single = exact_encoding(NANOSECONDS.tolist(), 2, scale=frequency)
        error = np.abs(found[:, 2 * k : 2 * k + 2] - single)
        assert (error - angle_error(NANOSECONDS.tolist(), frequency)).max() <= 0


@pytest.mark.parametrize("scale", [1e-9, 1e-6, 1e-3])
def test_all_entry_points_agree(scale: float):
    positions = (NANOSECONDS * (1e-9 / scale)).astype("int64")
    found = np.stack([entered(entry, positions, scale=scale) for entry in ENTRIES])
    # Each is off by its bound at most, on either side.
    bound = 2 * angle_error(positions.tolist(), scale)
    assert (np.ptp(found, axis=0) - bound).max() <= 0


SAFE_INTEGERS = {
    "int32": np.array([2**31 - 1, -(2**31), 2**30 + 1, 12_345_678]),
    "uint32": np.array([2**32 - 1, 2**31, 2**31 + 1, 7]),
    "int64": NANOSECONDS[:4],
    "uint64": np.array([2**63 + 1025, 2**64 - 1, 2**63, 3], "uint64"),
}
HAVE_64_BITS = BACKEND != "jax"
DTYPES = [d for d in SAFE_INTEGERS if HAVE_64_BITS or not d.endswith("64")]
# torch does no arithmetic with these.
TENSOR_DTYPES = [d for d in DTYPES if BACKEND != "torch" or not d.startswith("u")]


@pytest.mark.parametrize("mode", KNOWN)
@pytest.mark.parametrize("entry", TENSOR_ENTRIES)
@pytest.mark.parametrize("dtype", TENSOR_DTYPES)
def test_tensors_are_as_exact_as_their_angles(dtype: str, entry: str, mode: str):
    positions = SAFE_INTEGERS[dtype].astype(dtype)
    scale = 1e-9 if dtype.endswith("64") else 2.0**-7
    function = with_known_sizes(entry_point(entry, scale=scale), mode)
    given = to_tensor(positions, dtype)
    # The second call may find what the first one left.
    for _ in range(2):
        found = to_numpy(function(given))
        assert excess(found, positions, scale=scale) <= 0


if HAVE_64_BITS:

    @pytest.mark.parametrize("mode", KNOWN)
    @pytest.mark.parametrize("entry", TENSOR_ENTRIES)
    def test_float64_tensors_are_as_exact_as_their_angles(entry: str, mode: str):
        positions = NANOSECONDS.astype("float64")
        function = with_known_sizes(entry_point(entry, scale=1e-9), mode)
        found = to_numpy(function(to_tensor(positions, "float64")))
        assert excess(found, positions, scale=1e-9) <= 0


# Starts.

STARTING = {
    "1d": lambda **options: kp.PositionalEncoding1D(CHANNELS, **options),
    "sum-of-1d": lambda **options: kp.Summer(
        kp.PositionalEncoding1D(CHANNELS, **options)
    ),
}


@pytest.mark.parametrize("length", [1, 6, 3000])
@pytest.mark.parametrize("form", ["int", "tensor", "list", "tensors"])
@pytest.mark.parametrize("name", STARTING)
def test_a_large_start_is_as_exact_as_its_angles(name: str, form: str, length: int):
    dtype = "int64" if HAVE_64_BITS else "int32"
    start, scale = (int(NANOSECONDS[0]), 1e-9) if HAVE_64_BITS else (2**31 - 9999, 1e-3)
    given = {
        "int": lambda: start,
        "tensor": lambda: scalar(start, dtype),
        "list": lambda: [start],
        "tensors": lambda: to_tensor(np.array([start], dtype), dtype),
    }[form]()
    layer, x = STARTING[name](scale=scale), zeros(1, length, CHANNELS)
    positions = start + np.arange(length)
    seen = slice(None, None, max(length // 6, 1))
    for _ in range(2):
        found = to_numpy(layer(x, start_index=given))[0]
        assert excess(found[seen], positions[seen], scale=scale) <= 0
