"""Graphs and transformations leave nothing in the cache, and change nothing there."""

from __future__ import annotations

import numpy as np
import pytest

from helpers.gradients import gradient
from helpers.internals import cached_bytes
from helpers.layer_cases import BY_NAME, Case, assert_right, each_of_several
from helpers.run_modes import KNOWN, with_known_sizes
from helpers.tensors import to_numpy, to_tensor
from helpers.transformed_calls import FIRST_CALLS

pytestmark = pytest.mark.usefixtures("empty_cache")


@each_of_several
@pytest.mark.parametrize("mode", KNOWN[1:])
def test_a_graph_between_two_eager_calls_changes_neither(case: Case, mode: str):
    layer, x = case.make(), case.inputs()
    first = to_numpy(layer(to_tensor(x)))
    held = cached_bytes()
    assert_right(with_known_sizes(layer, mode)(to_tensor(x)), case, x)
    np.testing.assert_array_equal(to_numpy(layer(to_tensor(x))), first)
    assert_right(layer(to_tensor(x)), case, x)
    assert cached_bytes() == held


@each_of_several
@pytest.mark.parametrize("mode", KNOWN[1:])
def test_a_graph_keeps_nothing(case: Case, mode: str):
    layer, x = case.make(), case.inputs()
    assert_right(with_known_sizes(layer, mode)(to_tensor(x)), case, x)
    assert cached_bytes() == 0
    assert_right(layer(to_tensor(x)), case, x)


@pytest.mark.filterwarnings(
    # torch 2.13 uses these itself, for `torch.func.jvp` too.
    "ignore:`torch.jit.[a-z_]+` is deprecated:DeprecationWarning",
)
@pytest.mark.parametrize("name", ["1d", "permute2d", "sum-of-2d"])
@pytest.mark.parametrize("call", FIRST_CALLS)
def test_a_first_call_amid_a_transformation_leaves_nothing_of_it(call: str, name: str):
    case = BY_NAME[name]
    layer, x = case.make(), case.inputs()
    first = FIRST_CALLS[call](layer, to_tensor(x))
    if first is not None:
        assert_right(first, case, x)
    assert_right(layer(to_tensor(x)), case, x)
    gradients = to_numpy(gradient(lambda x: layer(x) + x, to_tensor(x)))
    assert set(gradients.flat) == {1.0 + case.adds}
