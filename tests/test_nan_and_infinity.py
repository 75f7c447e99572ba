"""NaN and infinity stay in their places, and reach no encoding."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from helpers.layer_cases import BY_NAME, Case, each_of_several, open_shape
from helpers.run_modes import KNOWN, UNKNOWN, with_known_sizes, with_unknown_sizes
from helpers.tensors import to_numpy, to_tensor
from helpers.tolerances import COUNTING, SUM_ROUNDING

# One of each kind in graphs, which are compiled for every shape.
each_kind = pytest.mark.parametrize(
    "name", ["1d", "permute2d", "sum-of-2d", "sinusoid"]
)
each_open_kind = pytest.mark.parametrize("name", ["1d", "sum-of-permute2d"])
each_graph = pytest.mark.parametrize("mode", KNOWN[1:])


def with_no_numbers(case: Case) -> np.ndarray:
    """The input of the case, with a NaN and both infinities among its numbers."""
    x = case.inputs()
    x.flat[[1, x.size // 2, x.size - 1]] = [np.nan, np.inf, -np.inf]
    return x


def assert_passed_through(outputs: Any, case: Case, inputs: np.ndarray) -> None:
    """What is no number stays in its place, and nowhere else."""
    # Graphs compute what the host computes for eager calls.
    np.testing.assert_allclose(
        to_numpy(outputs), case.expected(inputs), rtol=0, atol=COUNTING + SUM_ROUNDING
    )


# `Case.expected` adds nothing of the input to an encoding: that is finite throughout.
@each_of_several
def test_nan_and_infinity_stay_in_their_places(case: Case):
    layer, x = case.make(), with_no_numbers(case)
    assert np.isfinite(case.expected(x)).all() != case.adds
    assert_passed_through(layer(to_tensor(x)), case, x)
    assert_passed_through(layer(to_tensor(case.inputs())), case, case.inputs())


@each_kind
@each_graph
def test_nan_and_infinity_stay_in_their_places_in_a_graph(mode: str, name: str):
    case = BY_NAME[name]
    graph, x = with_known_sizes(case.make(), mode), with_no_numbers(case)
    assert_passed_through(graph(to_tensor(x)), case, x)
    assert_passed_through(graph(to_tensor(case.inputs())), case, case.inputs())


@each_open_kind
@pytest.mark.parametrize("mode", UNKNOWN)
def test_nan_and_infinity_stay_in_their_places_where_no_size_is_known(
    mode: str, name: str
):
    case = BY_NAME[name]
    graph = with_unknown_sizes(case.make(), mode, open_shape(case))
    x = with_no_numbers(case)
    assert_passed_through(graph(to_tensor(x)), case, x)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("name", ["1d", "permute2d", "rank2"])
def test_an_encoding_of_inputs_beyond_its_dtype_is_finite(name: str, dtype: str):
    case = BY_NAME[name]
    huge = np.full(case.shape, 1e38, "float32")  # infinite in float16
    outputs = to_numpy(case.make(dtype=dtype)(to_tensor(huge)))
    assert np.abs(outputs).max() <= 1
