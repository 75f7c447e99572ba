"""A graph has no constant as large as the encoding."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import keras
import pytest

import keras_posenc as kp
from helpers.run_modes import BACKEND, whole_torch_graph
from helpers.tensors import normal, to_tensor

LONG = (1, 65_536, 1024)
# Four tables of 256 positions, which is the square root, take 4 MB; JAX has them once
# more in the hexadecimal digits of its text. All positions would take 268 MB.
MOST = 16e6


def constant_bytes(layer: keras.Layer, shape: tuple[int, ...]) -> int:
    """The size of what a backend makes of a call, which nothing is computed for."""
    if BACKEND == "jax":
        import jax

        traced = jax.jit(layer).trace(jax.ShapeDtypeStruct(shape, "float32"))
        constants = sum(constant.nbytes for constant in traced.jaxpr.consts)
        return constants + len(traced.lower().as_text())
    if BACKEND == "tensorflow":
        import tensorflow as tf

        function = tf.function(layer).get_concrete_function(tf.TensorSpec(shape))
        return function.graph.as_graph_def().ByteSize()
    import torch

    found: list[int] = []

    def note(graph: Any, inputs: list[Any]) -> Callable[..., Any]:
        tensors = [*inputs, *graph.parameters(), *graph.buffers()]
        found.extend(tensor.nbytes for tensor in tensors if tensor.shape != shape)
        return lambda *args: args[:1]

    graph = whole_torch_graph(layer, dynamic=False, backend=note)
    graph(torch.empty(shape))
    return sum(found)


LARGE = {
    "1d": lambda: kp.PositionalEncoding1D(1024),
    "sum-of-1d": lambda: kp.Summer(kp.PositionalEncoding1D(1024)),
    "sinusoid": lambda: kp.SinusoidEncoding(1024, 65_536),
}


@pytest.mark.parametrize("name", LARGE)
def test_no_constant_is_as_large_as_the_table(name: str):
    assert 4e6 < constant_bytes(LARGE[name](), LONG) < MOST


def test_a_plane_needs_no_more_than_its_sides():
    """Of 0.5 MB each, where all of it would take 134 MB."""
    layer = kp.Summer(kp.PositionalEncoding2D(512))
    assert 1e6 < constant_bytes(layer, (1, 256, 256, 512)) < MOST / 4


def test_a_large_constant_would_be_seen():
    table = normal(5_000, 1024)
    # TensorFlow would not write a tensor of outside into a graph, but refer to it.
    table = to_tensor(table) if BACKEND == "torch" else table

    class Stored(keras.layers.Layer):
        def call(self, x: Any) -> Any:
            return x + table

    assert constant_bytes(Stored(), (1, 5_000, 1024)) > MOST
