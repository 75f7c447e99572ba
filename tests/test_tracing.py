"""A graph is traced once for all sizes that it leaves open, and compiled whole."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import keras_posenc as kp
from helpers import reference
from helpers.layer_cases import BY_NAME, Case, open_shape
from helpers.run_modes import BACKEND, whole_torch_graph
from helpers.tensors import normal, to_numpy, to_tensor
from helpers.tolerances import COUNTING

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
