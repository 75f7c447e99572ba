"""Derivatives of sums, with respect to the input, in every way to run."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import keras
import numpy as np
import pytest

from helpers.gradients import gradient
from helpers.layer_cases import BY_NAME, Case, open_shape
from helpers.run_modes import (
    BACKEND,
    KNOWN,
    UNKNOWN,
    with_known_sizes,
    with_unknown_sizes,
)
from helpers.tensors import to_numpy, to_tensor

each_summer = pytest.mark.parametrize(
    "case",
    [
        BY_NAME[name]
        for name in ("sum-of-1d", "sum-of-3d", "sum-of-permute2d", "sinusoid")
    ],
    ids=lambda case: case.name,
)


@each_summer
def test_the_gradient_is_taken_where_the_encoding_is_added(case: Case):
    """Of a square: twice the sum of input and encoding."""
    x, layer = case.inputs(), case.make()
    found = to_numpy(gradient(lambda x: layer(x) ** 2, to_tensor(x)))
    # A sum below 16 is rounded by 2^-21, and doubled.
    np.testing.assert_allclose(found, 2 * case.expected(x), rtol=0, atol=2.0**-19)


def gradients_of_each(layer: keras.Layer, x: Any) -> Any:
    """Of the square, for each example of `x` on its own."""

    def one(x: Any) -> Any:
        return (layer(x[None]) ** 2).sum()

    if BACKEND == "jax":
        import jax

        return jax.jit(jax.vmap(jax.grad(one)))(x)
    if BACKEND == "torch":
        from torch.func import grad, vmap

        return vmap(grad(one))(x)
    import tensorflow as tf

    with tf.GradientTape() as tape:
        tape.watch(x)
        squares = tf.reduce_sum(layer(x) ** 2, axis=range(1, len(x.shape)))
    return tf.stack([row[i] for i, row in enumerate(tape.jacobian(squares, x))])


@each_summer
def test_the_gradient_of_each_example(case: Case):
    x = case.inputs()
    found = to_numpy(gradients_of_each(case.make(), to_tensor(x)))
    np.testing.assert_allclose(found, 2 * case.expected(x), rtol=0, atol=2.0**-19)


def forward_derivative(layer: keras.Layer, x: Any, tangent: Any) -> Any:
    if BACKEND == "jax":
        import jax

        return jax.jit(lambda *at: jax.jvp(layer, at[:1], at[1:])[1])(x, tangent)
    if BACKEND == "torch":
        import torch

        return torch.func.jvp(layer, (x,), (tangent,))[1]
    import tensorflow as tf

    with tf.autodiff.ForwardAccumulator(x, tangent) as forward:
        outputs = layer(x)
    return forward.jvp(outputs)


# torch 2.13 scripts some derivatives of its own when it first needs any.
@pytest.mark.filterwarnings(
    "ignore:`torch.jit.script` is deprecated:DeprecationWarning"
)
@each_summer
def test_the_forward_derivative_of_a_sum_is_its_tangent(case: Case):
    tangent = np.random.default_rng(8).normal(size=case.shape).astype("float32")
    found = forward_derivative(
        case.make(), to_tensor(case.inputs()), to_tensor(tangent)
    )
    np.testing.assert_array_equal(to_numpy(found), tangent)


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


@each_summer
@pytest.mark.parametrize("mode", KNOWN)
def test_the_gradient_of_a_summer_is_one(case: Case, mode: str):
    np.testing.assert_array_equal(to_numpy(gradient_in(mode, case, known=True)), 1)


@pytest.mark.parametrize("name", ["sum-of-1d", "sum-of-permute2d"])
@pytest.mark.parametrize("mode", UNKNOWN)
def test_the_gradient_of_a_summer_is_one_at_unknown_sizes(name: str, mode: str):
    case = BY_NAME[name]
    np.testing.assert_array_equal(to_numpy(gradient_in(mode, case, known=False)), 1)
