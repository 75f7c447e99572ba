"""Graphs: traced once, compiled whole, and right for what they are not made of."""

from __future__ import annotations

import logging
import shutil
from collections.abc import Callable
from typing import Any

import keras
import numpy as np
import pytest
import reference
from cases import (
    COUNTING,
    LAYERS,
    SUM_ROUNDING,
    SUMMERS,
    Case,
    to_numpy,
    to_tensor,
)
from gradients import gradient
from modes import BACKEND, KNOWN, UNKNOWN, with_known_sizes, with_unknown_sizes

import keras_posenc as kp

KINDS = {case.name: case for case in LAYERS}


def normal(*shape: int) -> np.ndarray:
    return np.random.default_rng(1).normal(size=shape).astype("float32")


def open_signature(case: Case) -> tuple[int | None, ...]:
    """The shape of the case with everything unknown but the channels."""
    signature: list[int | None] = [None] * len(case.shape)
    signature[case.channel_dim] = case.shape[case.channel_dim]
    return tuple(signature)


# Gradients, and functions of functions.


def gradient_in(mode: str, case: Case, known: bool) -> Any:
    layer, x = case.make(), to_tensor(case.inputs())
    signature = None if known else open_signature(case)

    def graph_of(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
        if signature is None:
            return with_known_sizes(function, mode)
        return with_unknown_sizes(function, mode, signature)

    if BACKEND == "torch":  # whose graphs are of functions, not of their gradients
        return gradient(graph_of(layer), x)
    return graph_of(lambda x: gradient(layer, x))(x)


each_summer = pytest.mark.parametrize("case", SUMMERS, ids=lambda case: case.name)


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


@pytest.mark.parametrize("name", ["P2", "Pm1", "S(P1)", "S(Pm2)", "Sinusoid"])
@pytest.mark.parametrize("way", MAPPED)
def test_for_each_of_several_batches(way: str, name: str):
    case = KINDS[name]
    batches = normal(3, *case.shape)
    outputs = to_numpy(MAPPED[way](case.make())(to_tensor(batches)))
    expected = np.stack([case.expected(batch) for batch in batches])
    np.testing.assert_allclose(outputs, expected, rtol=0, atol=SUM_ROUNDING)


# U2, JAX: sides that are not known, and not taken to be equal.

if BACKEND == "jax":

    def model_of(layer: keras.Layer) -> keras.Model:
        inputs = keras.Input((None, None, 8))
        return keras.Model(inputs, layer(keras.layers.Identity()(inputs)))

    PLANES: dict[str, Callable[[], Any]] = {
        "P2": lambda: kp.PositionalEncoding2D(8),
        "S(P2)": lambda: kp.Summer(kp.PositionalEncoding2D(8)),
        "model": lambda: model_of(kp.PositionalEncoding2D(8)),
        "model-S": lambda: model_of(kp.Summer(kp.PositionalEncoding2D(8))),
    }
    PERMUTED: dict[str, Callable[[], Any]] = {
        "Pm2": lambda: kp.PositionalEncodingPermute2D(8),
        "S(Pm2)": lambda: kp.Summer(kp.PositionalEncodingPermute2D(8)),
    }

    @pytest.mark.parametrize("name", PLANES)
    def test_U2_one_export_for_all_sides(name: str):
        graph = with_unknown_sizes(PLANES[name](), "export", (None, None, None, 8))
        expected = {(2, 4, 6, 8): (4, 6), (3, 9, 5, 8): (9, 5)}
        outputs = [to_numpy(graph(to_tensor(np.zeros(s, "float32")))) for s in expected]
        assert [output.shape for output in outputs] == [*expected]
        tables = [reference.encode_2d(*sides, 8) for sides in expected.values()]
        errors = [np.abs(a - b).max() for a, b in zip(outputs, tables, strict=True)]
        assert max(errors) <= COUNTING

    @pytest.mark.parametrize("name", PERMUTED)
    def test_U2_one_export_for_all_sides_channels_first(name: str):
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

    def test_U2_one_side_is_known():
        layer = kp.PositionalEncoding2D(8)
        graph = with_unknown_sizes(layer, "export", (None, 4, None, 8))
        outputs = to_numpy(graph(to_tensor(np.zeros((2, 4, 7, 8), "float32"))))
        assert np.abs(outputs - reference.encode_2d(4, 7, 8)).max() <= COUNTING


# U6, torch: one graph, without a break, for as much as it can serve.

if BACKEND == "torch":
    import torch

    class Graphs(list):
        """A backend that runs graphs as they are, and counts them."""

        def __call__(self, graph: Any, inputs: Any) -> Any:
            self.append(graph)
            return graph.forward

    def compiled(function: Any, backend: Any, **options: Any) -> Callable[[Any], Any]:
        torch._dynamo.reset()
        return torch.compile(function, fullgraph=True, backend=backend, **options)

    def plane(channels: int = 64, **options: Any) -> keras.Layer:
        return kp.Summer(kp.PositionalEncoding2D(channels, **options))

    def plane_error(outputs: Any, x: np.ndarray) -> float:
        expected = x + reference.encode_2d(*x.shape[1:])
        return np.abs(to_numpy(outputs) - expected).max()

    @pytest.mark.parametrize("case", LAYERS, ids=lambda case: case.name)
    @pytest.mark.parametrize("dynamic", [False, True, None])
    def test_U6_one_graph(case: Case, dynamic: bool | None):
        graphs, x = Graphs(), case.inputs()
        graph = compiled(case.make(), graphs, dynamic=dynamic)
        outputs = [to_numpy(graph(to_tensor(x))) for _ in range(3)]
        assert len(graphs) == 1
        errors = [np.abs(output - case.expected(x)).max() for output in outputs]
        assert max(errors) <= COUNTING + SUM_ROUNDING

    needs_compiler = pytest.mark.skipif(
        shutil.which("g++") is None, reason="torch.compile needs a C++ compiler"
    )
    # torch 2.13 uses what it has itself deprecated.
    uses_inductor = pytest.mark.filterwarnings(
        "ignore:`torch.jit.script:DeprecationWarning"
    )

    @needs_compiler
    @uses_inductor
    def test_U6_in_fused_code():
        x = normal(2, 33, 20, 64)
        graph = compiled(plane(), "inductor", dynamic=False)
        assert plane_error(graph(to_tensor(x)), x) <= SUM_ROUNDING

    @needs_compiler
    @uses_inductor
    def test_U6_in_fused_code_at_two_sizes():
        first, second = normal(2, 4, 6, 64), normal(3, 9, 5, 64)
        graph = compiled(plane(), "inductor", dynamic=True)
        assert plane_error(graph(to_tensor(first)), first) <= COUNTING + SUM_ROUNDING
        assert plane_error(graph(to_tensor(second)), second) <= COUNTING + SUM_ROUNDING

    def test_U6_two_sizes():
        graphs = Graphs()
        first, second = normal(2, 4, 6, 64), normal(3, 9, 5, 64)
        graph = compiled(plane(), graphs, dynamic=True)
        assert plane_error(graph(to_tensor(first)), first) <= COUNTING + SUM_ROUNDING
        assert plane_error(graph(to_tensor(second)), second) <= COUNTING + SUM_ROUNDING
        assert len(graphs) == 1

    @pytest.mark.parametrize(("dynamic", "most"), [(True, 1), (None, 2)], ids=str)
    def test_U6_other_batches_need_no_other_graph(dynamic: bool | None, most: int):
        """Without `dynamic`, torch finds out at the second batch that it changes."""
        graphs = Graphs()
        graph = compiled(plane(), graphs, dynamic=dynamic)
        inputs = [normal(batch, 7, 6, 64) for batch in (2, 5, 3, 8)]
        errors = [plane_error(graph(to_tensor(x)), x) for x in inputs]
        assert len(graphs) == most
        assert max(errors) <= COUNTING + SUM_ROUNDING

    def test_U6_layers_of_different_options_in_one_graph():
        """Constants of one function, with other values, must not be one constant."""
        layers = [
            kp.PositionalEncoding1D(16),
            kp.PositionalEncoding1D(16, max_wavelength=20.0),
            kp.PositionalEncoding1D(16, dtype="bfloat16"),
            kp.PositionalEncoding1D(20),
            kp.SinusoidEncoding(16),
        ]
        graphs, x = Graphs(), to_tensor(normal(2, 9, 16))
        graph = compiled(lambda x: [layer(x) for layer in layers], graphs)
        outputs = [to_numpy(output) for output in graph(x)]
        assert len(graphs) == 1
        expected = [to_numpy(layer(x)) for layer in layers]
        errors = [np.abs(a - b).max() for a, b in zip(outputs, expected, strict=True)]
        assert max(errors) <= SUM_ROUNDING

    @pytest.mark.parametrize("dynamic", [False, True])
    def test_U6_more_layers_than_torch_compiles_one_by_one(dynamic: bool):
        wavelengths = [10.0 * 2**number for number in range(12)]
        model = keras.Sequential(
            [
                kp.Summer(kp.PositionalEncoding1D(16, max_wavelength=wavelength))
                for wavelength in wavelengths
            ]
        )
        graphs, x = Graphs(), normal(2, 9, 16)
        outputs = to_numpy(compiled(model, graphs, dynamic=dynamic)(to_tensor(x)))
        assert len(graphs) == 1
        tables = [reference.encode_1d(9, 16, wavelength) for wavelength in wavelengths]
        # Twelve sums, each of which is rounded.
        atol = 12 * (COUNTING + SUM_ROUNDING)
        np.testing.assert_allclose(outputs, x + sum(tables), rtol=0, atol=atol)

    def test_U6_training():
        inputs = keras.Input((None, 16))
        x = kp.Summer(kp.PositionalEncoding1D(16))(inputs)
        model = keras.Model(inputs, keras.layers.Dense(1)(x))
        graph = compiled(model, "aot_eager", dynamic=False)
        x = to_tensor(normal(2, 9, 16))
        weights = model.layers[-1].kernel.value
        np.testing.assert_allclose(
            to_numpy(gradient(graph, x)),
            np.broadcast_to(to_numpy(weights)[:, 0], x.shape),
            rtol=1e-6,  # roundings of a product with one
        )

    def test_U6_an_exported_program_at_two_lengths():
        module = torch.nn.Sequential(kp.Summer(kp.PositionalEncoding1D(16)))
        sizes = {0: torch.export.Dim.DYNAMIC, 1: torch.export.Dim.DYNAMIC}
        example = (to_tensor(normal(2, 5, 16)),)
        program = torch.export.export(module, example, dynamic_shapes=(sizes,))
        x = normal(3, 700, 16)
        outputs = to_numpy(program.module()(to_tensor(x)))
        np.testing.assert_allclose(
            outputs,
            x + reference.encode_1d(700, 16),
            rtol=0,
            atol=COUNTING + SUM_ROUNDING,
        )


# U7, TensorFlow: one trace for all lengths.

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
    @pytest.mark.parametrize("name", ["P1", "Pm1", "S(P1)", "Sinusoid"])
    def test_U7_ten_lengths_one_trace(name: str, jit_compile: bool, retracing: Any):
        case = KINDS[name]
        if name == "Sinusoid":
            case = Case(name, lambda: kp.SinusoidEncoding(10), (2, 6, 10), adds=True)
        spec = tf.TensorSpec(open_signature(case))
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

    def test_U7_retracing_would_be_seen(retracing: Any):
        function = tf.function(kp.PositionalEncoding1D(10))
        for length in LENGTHS:
            function(tf.zeros((2, length, 10)))
        assert function.experimental_get_tracing_count() == len(LENGTHS)
        assert retracing() != []

    def test_U7_two_unknown_sides_one_trace():
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

    def test_U7_one_trace_for_each_shape():
        import jax

        layer = kp.Summer(kp.PositionalEncoding1D(8))
        traced: list[Any] = []
        function = jax.jit(lambda x: traced.append(x.shape) or layer(x))
        for batch in (2, 2, 3, 2, 3):
            function(to_tensor(normal(batch, 5, 8)))
        assert traced == [(2, 5, 8), (3, 5, 8)]
