"""How far numbers may be from the formula, each with its reason."""

from __future__ import annotations

from typing import Any

import numpy as np

from helpers.tensors import to_numpy

# Half a unit of the last place near 1, and the rounding of float32 that comes first.
ROUNDING = {
    "float16": 2.0**-12 + 2e-7,
    "bfloat16": 2.0**-9 + 2e-7,
    "float32": 2.0**-25 + 1e-11,  # float64 angles up to 10,000 are right to 2e-12
    "float64": 1e-12,  # and those up to 2,000 to this
}
# One rounding of a float32 sum below 16, beside that of the encoding in it.
SUM_ROUNDING = 2.0**-21 + ROUNDING["float32"]
# What a graph computes from tables of float32, or counts where only it knows a length:
# the largest error measured below 2^24 was 1.5e-7 (tests/test_exactness.py).
COUNTING = 2e-7
# A few roundings in float32 (tests/test_exactness.py).
SINGLE = 2e-7
# Where a graph divides by a size that it alone knows, the rest of a quotient is one of
# float32, which as a part of `coordinate_range` is off by 2^-24 / 4096 only: 1.5e-8 if
# that is 1,000 radians. The largest error here was 1.4e-7, most of it roundings.
DIVIDED = 3e-7
# Half a unit of the last of the digits, of a number between 1 and 2.
HALF_UNIT = {
    "float16": 2.0**-11,
    "bfloat16": 2.0**-8,
    "float32": 2.0**-24,
    "float64": 2.0**-53,
}
# What the encoding is off by before it is rounded; the last is for the smallest numbers
# of float16, which have fewer digits.
COMPUTED = {"float64": 1e-12, "float32": 2e-7, "bfloat16": 2e-7, "float16": 3e-7}


def assert_close(found: Any, expected: np.ndarray, atol: float = COUNTING) -> None:
    """`found`, a tensor or an array, is `expected` for every element of the batch."""
    found = found if isinstance(found, np.ndarray) else to_numpy(found)
    np.testing.assert_allclose(
        found, np.broadcast_to(expected, found.shape), rtol=0, atol=atol
    )


def assert_within(outputs: Any, expected: np.ndarray, bounds: Any) -> None:
    excess = np.abs(to_numpy(outputs) - expected) - bounds
    assert excess.max() <= 0
