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


def assert_close(found: Any, expected: np.ndarray, atol: float = COUNTING) -> None:
    """`found`, a tensor or an array, is `expected` for every element of the batch."""
    found = found if isinstance(found, np.ndarray) else to_numpy(found)
    np.testing.assert_allclose(
        found, np.broadcast_to(expected, found.shape), rtol=0, atol=atol
    )
