"""`encode` in graphs, of positions that are known and of those that are not."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import keras_posenc as kp
from helpers import reference
from helpers.position_cases import sample
from helpers.reference import exact_1d
from helpers.run_modes import (
    BACKEND,
    KNOWN,
    UNKNOWN,
    whole_torch_graph,
    with_known_sizes,
    with_unknown_sizes,
)
from helpers.tensors import to_numpy, to_tensor
from helpers.tolerances import COUNTING


@pytest.mark.parametrize("rank", [1, 3])
@pytest.mark.parametrize("mode", KNOWN)
def test_a_graph_encodes_positions(mode: str, rank: int):
    positions = sample((5, rank) if rank > 1 else (5,), "float32")
    graph = with_known_sizes(lambda p: kp.encode(p, 12, rank=rank), mode)
    expected = reference.exact(positions.reshape(5, rank), 12)
    np.testing.assert_allclose(
        to_numpy(graph(to_tensor(positions))), expected, rtol=0, atol=COUNTING
    )


@pytest.mark.parametrize("dtype", ["int32", "float32"])
@pytest.mark.parametrize("mode", UNKNOWN)
def test_a_graph_that_knows_no_size_encodes_positions(mode: str, dtype: str):
    graph = with_unknown_sizes(lambda p: kp.encode(p, 12), mode, (None, None), dtype)
    given = [sample(shape, dtype) for shape in ((2, 5), (3, 7))]
    errors = [
        np.abs(to_numpy(graph(to_tensor(p))) - exact_1d(p, 12)).max() for p in given
    ]
    assert max(errors) <= COUNTING


def errors_for_values(graph: Any, dtype: str) -> list[float]:
    """For three calls with positions of the same shape."""
    given = [sample((6,), dtype) + 1000 * number for number in range(3)]
    outputs = [to_numpy(graph(to_tensor(positions))) for positions in given]
    expected = [exact_1d(positions, 12) for positions in given]
    return [np.abs(a - b).max() for a, b in zip(outputs, expected, strict=True)]


if BACKEND == "torch":

    @pytest.mark.parametrize("dtype", ["int32", "float32"])
    def test_other_values_need_no_other_graph(dtype: str):
        graphs: list[Any] = []

        def note(graph: Any, inputs: Any) -> Any:
            graphs.append(graph)
            return graph.forward

        graph = whole_torch_graph(
            lambda positions: kp.encode(positions, 12), backend=note
        )
        assert max(errors_for_values(graph, dtype)) <= COUNTING
        assert len(graphs) == 1

else:

    @pytest.mark.parametrize("dtype", ["int32", "float32"])
    @pytest.mark.parametrize("mode", KNOWN[1:])
    def test_other_values_need_no_other_trace(mode: str, dtype: str):
        traces: list[Any] = []

        def encode(positions: Any) -> Any:
            traces.append(positions)
            return kp.encode(positions, 12)

        graph = with_known_sizes(encode, mode)
        assert max(errors_for_values(graph, dtype)) <= COUNTING
        assert len(traces) == 1


CONSTANTS = {
    "integer": 3,
    "real": 2.5,
    "list": [0, 1, -2],
    "timestamps": [1.7e9, 1.7e9 + 0.5],
    "array": np.array([0.5, -1.25]),
}


if BACKEND != "torch":  # torch.compile cannot follow what NumPy knows of an array

    @pytest.mark.parametrize("name", CONSTANTS)
    @pytest.mark.parametrize("mode", KNOWN[1:])
    def test_a_graph_has_positions_of_the_host_as_constants(mode: str, name: str):
        positions = CONSTANTS[name]
        graph = with_known_sizes(lambda x: x + kp.encode(positions, 8), mode)
        outputs = to_numpy(graph(to_tensor(np.zeros(8, "float32"))))
        expected = to_numpy(kp.encode(positions, 8))
        np.testing.assert_allclose(outputs, expected, rtol=0, atol=COUNTING)
