"""Sizes that are not known when a model or a graph is built."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import keras
import numpy as np
import pytest

import keras_posenc as kp
from helpers import reference
from helpers.layer_cases import ENCODERS, Case, each_layer, each_of_several, open_shape
from helpers.run_modes import BACKEND, UNKNOWN, with_unknown_sizes
from helpers.tensors import dtype_of, to_numpy, to_tensor
from helpers.tolerances import COUNTING, SUM_ROUNDING


def other_shape(case: Case) -> tuple[int, ...]:
    """Another batch and other sizes than the case has, all distinct."""
    sizes = [3, *(size + 2 * i + 1 for i, size in enumerate(case.shape[1:]))]
    sizes[case.channel_dim] = case.shape[case.channel_dim]
    return tuple(sizes)


@each_layer
def test_a_model_may_leave_sizes_unknown(case: Case):
    inputs = keras.Input(open_shape(case)[1:])
    outputs = case.make()(inputs)
    assert outputs.shape == inputs.shape
    assert dtype_of(outputs) == "float32"
    if case.channel_dim == -1:
        outputs = keras.layers.Dense(3)(outputs)
        assert outputs.shape[-1] == 3


@each_of_several
def test_one_model_predicts_at_two_sizes(case: Case):
    inputs = keras.Input(open_shape(case)[1:])
    model = keras.Model(inputs, case.make()(inputs))
    other = np.random.default_rng(1).normal(size=other_shape(case))
    for x in (case.inputs(), other.astype("float32")):  # this on a traced model
        predicted = model.predict(x, verbose=0)
        eager = to_numpy(case.make()(to_tensor(x)))
        # TensorFlow's graph counts what the host computes.
        np.testing.assert_allclose(
            predicted, eager, rtol=0, atol=COUNTING + SUM_ROUNDING
        )


@each_of_several
def test_a_sequential_model_may_leave_sizes_unknown(case: Case):
    model = keras.Sequential([keras.Input(open_shape(case)[1:]), case.make()])
    inputs = case.inputs()
    predicted = model.predict(inputs, verbose=0)
    np.testing.assert_allclose(
        predicted, case.expected(inputs), rtol=0, atol=COUNTING + SUM_ROUNDING
    )


@each_of_several
@pytest.mark.parametrize("steps", [4, None], ids=["4steps", "unknown-steps"])
def test_time_distributed_encodes_every_step(case: Case, steps: int | None):
    inputs = keras.Input((steps, *open_shape(case)[1:]))
    outputs = keras.layers.TimeDistributed(case.make())(inputs)
    assert outputs.shape == inputs.shape
    model = keras.Model(inputs, outputs)
    x = np.stack([case.inputs()] * 4, axis=1)
    expected = np.stack([case.expected(case.inputs())] * 4, axis=1)
    np.testing.assert_allclose(
        model.predict(x, verbose=0), expected, rtol=0, atol=COUNTING + SUM_ROUNDING
    )


@pytest.mark.parametrize("case", ENCODERS, ids=lambda case: case.name)
def test_compute_output_shape_keeps_unknown_sizes(case: Case):
    assert case.make().compute_output_shape([*open_shape(case)]) == open_shape(case)


def without_known_sizes(layer: keras.Layer, case: Case) -> Callable[[Any], Any]:
    """The layer as one graph of its backend, traced where no size is a number."""
    return with_unknown_sizes(layer, UNKNOWN[0], open_shape(case))


@each_of_several
def test_a_graph_that_knows_no_size_counts_them(case: Case):
    layer = case.make()
    graph = without_known_sizes(layer, case)  # one, for both shapes
    for shape in (case.shape, other_shape(case)):
        x = np.random.default_rng(1).normal(size=shape).astype("float32")
        counted = to_numpy(graph(to_tensor(x)))
        expected = to_numpy(layer(to_tensor(x)))
        np.testing.assert_allclose(
            counted, expected, rtol=0, atol=COUNTING + SUM_ROUNDING
        )


def test_a_graph_that_knows_no_size_counts_a_long_axis():
    case = Case("1d", lambda: kp.PositionalEncoding1D(16), (1, 20_000, 16))
    graph = without_known_sizes(case.make(), case)
    counted = to_numpy(graph(to_tensor(np.zeros(case.shape, "float32"))))[0]
    # Float32 angles would be off by 1e-3 here.
    np.testing.assert_allclose(
        counted, reference.encode_1d(20_000, 16), rtol=0, atol=COUNTING
    )


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
