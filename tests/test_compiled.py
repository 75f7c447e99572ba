"""Graphs: traced once, compiled whole, short, and right at sizes yet unknown."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

import keras
import numpy as np
import pytest

import keras_posenc as kp
from helpers import reference
from helpers.gradients import gradient
from helpers.layer_cases import BY_NAME, Case, open_shape
from helpers.run_modes import (
    BACKEND,
    KNOWN,
    UNKNOWN,
    whole_torch_graph,
    with_known_sizes,
    with_unknown_sizes,
)
from helpers.tensors import normal, to_numpy, to_tensor
from helpers.tolerances import COUNTING, SUM_ROUNDING

# Gradients, and functions of functions.


def gradient_in(mode: str, case: Case, known: bool) -> Any:
    layer, x = case.make(), to_tensor(case.inputs())
    signature = None if known else open_shape(case)

    def graph_of(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
        if signature is None:
            return with_known_sizes(function, mode)
        return with_unknown_sizes(function, mode, signature)

    if BACKEND == "torch":  # whose graphs are of functions, not of their gradients
        return gradient(graph_of(layer), x)
    return graph_of(lambda x: gradient(layer, x))(x)


each_summer = pytest.mark.parametrize(
    "case",
    [
        BY_NAME[name]
        for name in ("sum-of-1d", "sum-of-3d", "sum-of-permute2d", "sinusoid")
    ],
    ids=lambda case: case.name,
)


@each_summer
@pytest.mark.parametrize("mode", KNOWN)
def test_the_gradient_of_a_summer_is_one(case: Case, mode: str):
    np.testing.assert_array_equal(to_numpy(gradient_in(mode, case, known=True)), 1)


@each_summer
@pytest.mark.parametrize("mode", UNKNOWN)
def test_the_gradient_of_a_summer_is_one_at_unknown_sizes(case: Case, mode: str):
    np.testing.assert_array_equal(to_numpy(gradient_in(mode, case, known=False)), 1)


Transform = Callable[[Callable[[Any], Any]], Callable[[Any], Any]]


def mapped() -> dict[str, Transform]:
    """Ways to run a function for each of several batches."""
    if BACKEND == "tensorflow":
        import tensorflow as tf

        def vectorized(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
            return lambda x: tf.vectorized_map(function, x)

        return {
            "vectorized_map": vectorized,
            "graph-of-vectorized_map": lambda f: tf.function(vectorized(f)),
            "map_fn": lambda f: lambda x: tf.map_fn(f, x),
        }
    if BACKEND == "torch":
        from torch.func import vmap

        return {
            "vmap": vmap,
            "vmap-of-vmap": lambda f: lambda x: vmap(vmap(f))(x[None])[0],
            "compiled-vmap": lambda f: with_known_sizes(vmap(f), "dynamo"),
        }
    import jax

    return {
        "vmap": jax.vmap,
        "vmap-of-jit": lambda f: jax.vmap(jax.jit(f)),
        "jit-of-vmap": lambda f: jax.jit(jax.vmap(f)),
        "vmap-of-vmap": lambda f: lambda x: jax.vmap(jax.vmap(f))(x[None])[0],
        "map": lambda f: lambda x: jax.lax.map(f, x),
    }


MAPPED = mapped()


@pytest.mark.parametrize(
    "name", ["2d", "permute1d", "sum-of-1d", "sum-of-permute2d", "sinusoid"]
)
@pytest.mark.parametrize("way", MAPPED)
def test_for_each_of_several_batches(way: str, name: str):
    case = BY_NAME[name]
    batches = normal(3, *case.shape)
    outputs = to_numpy(MAPPED[way](case.make())(to_tensor(batches)))
    expected = np.stack([case.expected(batch) for batch in batches])
    np.testing.assert_allclose(outputs, expected, rtol=0, atol=SUM_ROUNDING)


# What a graph has in it.

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


# JAX: sides that are not known, and not taken to be equal.

if BACKEND == "jax":

    def model_of(layer: keras.Layer) -> keras.Model:
        inputs = keras.Input((None, None, 8))
        return keras.Model(inputs, layer(keras.layers.Identity()(inputs)))

    PLANES: dict[str, Callable[[], Any]] = {
        "2d": lambda: kp.PositionalEncoding2D(8),
        "sum-of-2d": lambda: kp.Summer(kp.PositionalEncoding2D(8)),
        "model": lambda: model_of(kp.PositionalEncoding2D(8)),
        "model-of-sum": lambda: model_of(kp.Summer(kp.PositionalEncoding2D(8))),
    }
    PERMUTED: dict[str, Callable[[], Any]] = {
        "permute2d": lambda: kp.PositionalEncodingPermute2D(8),
        "sum-of-permute2d": lambda: kp.Summer(kp.PositionalEncodingPermute2D(8)),
    }

    @pytest.mark.parametrize("name", PLANES)
    def test_one_export_serves_planes_of_any_sides(name: str):
        graph = with_unknown_sizes(PLANES[name](), "export", (None, None, None, 8))
        expected = {(2, 4, 6, 8): (4, 6), (3, 9, 5, 8): (9, 5)}
        outputs = [to_numpy(graph(to_tensor(np.zeros(s, "float32")))) for s in expected]
        assert [output.shape for output in outputs] == [*expected]
        tables = [reference.encode_2d(*sides, 8) for sides in expected.values()]
        errors = [np.abs(a - b).max() for a, b in zip(outputs, tables, strict=True)]
        assert max(errors) <= COUNTING

    @pytest.mark.parametrize("name", PERMUTED)
    def test_one_export_serves_planes_of_any_sides_channels_first(name: str):
        graph = with_unknown_sizes(PERMUTED[name](), "export", (None, 8, None, None))
        expected = {(2, 8, 4, 6): (4, 6), (3, 8, 9, 5): (9, 5)}
        outputs = [to_numpy(graph(to_tensor(np.zeros(s, "float32")))) for s in expected]
        assert [output.shape for output in outputs] == [*expected]
        tables = [
            np.moveaxis(reference.encode_2d(*sides, 8), -1, 0)
            for sides in expected.values()
        ]
        errors = [np.abs(a - b).max() for a, b in zip(outputs, tables, strict=True)]
        assert max(errors) <= COUNTING

    def test_an_export_may_know_one_of_two_sides():
        layer = kp.PositionalEncoding2D(8)
        graph = with_unknown_sizes(layer, "export", (None, 4, None, 8))
        outputs = to_numpy(graph(to_tensor(np.zeros((2, 4, 7, 8), "float32"))))
        assert np.abs(outputs - reference.encode_2d(4, 7, 8)).max() <= COUNTING


# torch: one graph, without a break.

if BACKEND == "torch":
    import torch

    @pytest.mark.parametrize("dynamic", [False, True], ids=["static", "dynamic"])
    def test_torch_compiles_a_layer_whole_at_two_sizes(dynamic: bool):
        layer = kp.Summer(kp.PositionalEncoding2D(64))
        graph = whole_torch_graph(layer, dynamic=dynamic)
        for x, y in ((7, 5), (300, 4)):
            outputs = to_numpy(graph(torch.zeros(2, x, y, 64)))[1]
            expected = reference.encode_2d(x, y, 64)
            np.testing.assert_allclose(outputs, expected, rtol=0, atol=COUNTING)

    def test_torch_compiles_unknown_sizes_once():
        layer = kp.Summer(kp.PositionalEncoding1D(8))
        layer(torch.zeros(1, 3, 8))
        graph = whole_torch_graph(layer, dynamic=True)
        graph(torch.zeros(2, 40, 8))
        with torch.compiler.set_stance("fail_on_recompile"):
            outputs = to_numpy(graph(torch.zeros(3, 300, 8)))[2]
        expected = reference.encode_1d(300, 8)
        np.testing.assert_allclose(outputs, expected, rtol=0, atol=COUNTING)

    def test_layers_of_different_waves_share_one_torch_graph():
        first = kp.Summer(kp.PositionalEncoding1D(8))
        second = kp.Summer(kp.PositionalEncoding1D(8, max_wavelength=20.0))
        second(first(torch.zeros(1, 3, 8)))  # torch cannot build a layer in a graph
        graph = whole_torch_graph(lambda x: second(first(x)))
        expected = reference.encode_1d(50, 8) + reference.encode_1d(50, 8, 20.0)
        outputs = to_numpy(graph(torch.zeros(1, 50, 8)))[0]
        tolerance = 2 * COUNTING + 2.0**-24  # two encodings, and a sum below 2
        np.testing.assert_allclose(outputs, expected, rtol=0, atol=tolerance)


# TensorFlow: one trace for all lengths.

if BACKEND == "tensorflow":
    import tensorflow as tf

    @pytest.fixture
    def retracing(caplog: pytest.LogCaptureFixture):
        """What TensorFlow says about functions that it traces again and again."""
        logger = tf.get_logger()
        logger.addHandler(caplog.handler)
        with caplog.at_level(logging.WARNING, logger=logger.name):
            yield lambda: [text for text in caplog.messages if "retracing" in text]
        logger.removeHandler(caplog.handler)

    LENGTHS = [*range(3, 12), 300]

    @pytest.mark.parametrize("jit_compile", [False, True], ids=["graph", "xla"])
    @pytest.mark.parametrize("name", ["1d", "permute1d", "sum-of-1d", "sinusoid"])
    def test_ten_lengths_take_one_trace(name: str, jit_compile: bool, retracing: Any):
        case = BY_NAME[name]
        if name == "sinusoid":
            case = Case(name, lambda: kp.SinusoidEncoding(10), (2, 6, 10), adds=True)
        spec = tf.TensorSpec(open_shape(case))
        function = tf.function(
            case.make(), input_signature=[spec], jit_compile=jit_compile
        )
        errors = [error_at(function, case, length) for length in LENGTHS]
        assert max(errors) <= COUNTING
        assert function.experimental_get_tracing_count() == 1
        assert retracing() == []

    def error_at(function: Callable[[Any], Any], case: Case, length: int) -> float:
        shape = (2, length, 10) if case.channel_dim == -1 else (2, 10, length)
        table = reference.encode_1d(length, 10)
        expected = table if case.channel_dim == -1 else table.T
        outputs = to_numpy(function(to_tensor(np.zeros(shape, "float32"))))
        return np.abs(outputs - expected).max()

    def test_retracing_would_be_seen(retracing: Any):
        function = tf.function(kp.PositionalEncoding1D(10))
        for length in LENGTHS:
            function(tf.zeros((2, length, 10)))
        assert function.experimental_get_tracing_count() == len(LENGTHS)
        assert retracing() != []

    def test_two_unknown_sides_take_one_trace():
        spec = tf.TensorSpec((None, None, None, 8))
        function = tf.function(
            kp.Summer(kp.PositionalEncoding2D(8)), input_signature=[spec]
        )
        outputs = [
            to_numpy(function(tf.zeros((2, *sides, 8)))) for sides in ((4, 6), (9, 5))
        ]
        assert np.abs(outputs[0] - reference.encode_2d(4, 6, 8)).max() <= COUNTING
        assert np.abs(outputs[1] - reference.encode_2d(9, 5, 8)).max() <= COUNTING
        assert function.experimental_get_tracing_count() == 1


if BACKEND == "jax":

    def test_jit_traces_each_shape_once():
        import jax

        layer = kp.Summer(kp.PositionalEncoding1D(8))
        traced: list[Any] = []
        function = jax.jit(lambda x: traced.append(x.shape) or layer(x))
        for batch in (2, 2, 3, 2, 3):
            function(to_tensor(normal(batch, 5, 8)))
        assert traced == [(2, 5, 8), (3, 5, 8)]
