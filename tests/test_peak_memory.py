"""A sum takes no memory for a copy of the encoding for each element of a batch."""

from __future__ import annotations

import math

import pytest

from helpers import peak_memory
from helpers.processes import run_helper
from helpers.run_modes import BACKEND, BREAKS_GRAPHS, KNOWN

each_measured_mode = pytest.mark.parametrize(
    # TensorFlow holds on to what it needed to make a graph; of some there is none.
    "mode",
    ["eager"] if BACKEND == "tensorflow" or BREAKS_GRAPHS else KNOWN,
)
needs_linux = pytest.mark.skipif(
    not peak_memory.AVAILABLE, reason="only Linux shows the peak since a moment"
)
WHOLE = 4 * math.prod(peak_memory.SHAPE)
TABLE = WHOLE // peak_memory.SHAPE[0]
# Input, output, one table without a batch, and 20 MB for what a process does besides:
# 1 to 7 MB were measured, while a copy of the encoding would take 50.
MOST = 2 * WHOLE + TABLE + 20e6


def peak(function: str, mode: str) -> float:
    return float(run_helper("peak_memory", function, mode).splitlines()[-1])


@needs_linux
@each_measured_mode
def test_a_sum_takes_no_memory_for_a_copy_of_the_encoding(mode: str):
    assert 2 * WHOLE < peak("summer", mode) < MOST


@needs_linux
def test_a_copy_would_be_seen():
    assert peak("with-a-copy", "eager") > MOST + 20e6


if BACKEND == "tensorflow":

    @pytest.mark.parametrize(
        ("name", "made"),
        [("summer", ["AddV2"]), ("with_a_copy", ["BroadcastTo", "AddV2"])],
    )
    def test_a_graph_of_a_sum_makes_nothing_as_large_but_the_sum(
        name: str, made: list[str]
    ):
        import tensorflow as tf

        spec = tf.TensorSpec(peak_memory.SHAPE)
        function = tf.function(getattr(peak_memory, name))
        operations = function.get_concrete_function(spec).graph.get_operations()
        large = [
            operation.type
            for operation in operations
            for output in operation.outputs
            if output.shape == peak_memory.SHAPE
        ]
        assert [kind for kind in large if kind not in ("Placeholder", "Identity")] == (
            made
        )
