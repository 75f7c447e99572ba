"""An error while a table is made leaves the cache as it was."""

from __future__ import annotations

import numpy as np
import pytest

import keras_posenc as kp
from helpers import reference
from helpers.internals import STEPS, cached_bytes, failing_at
from helpers.tensors import to_numpy, zeros
from helpers.tolerances import ROUNDING

pytestmark = pytest.mark.usefixtures("empty_cache")


@pytest.mark.parametrize("step", STEPS)
def test_an_error_while_a_table_is_made_leaves_the_cache_as_it_was(
    step: str, builds: list
):
    layer = kp.PositionalEncoding1D(8)
    layer(zeros(1, 5, 8))
    held = cached_bytes()
    error = MemoryError("no more of it")
    with failing_at(step, error), pytest.raises(MemoryError, match="no more of it"):
        layer(zeros(1, 6, 8))
    assert cached_bytes() == held
    builds.clear()
    layer(zeros(1, 5, 8))
    assert builds == []
    outputs = to_numpy(layer(zeros(1, 6, 8)))
    assert builds == [(6,)]
    assert np.abs(outputs[0] - reference.encode_1d(6, 8)).max() <= ROUNDING["float32"]
