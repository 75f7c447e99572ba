"""The gradient of a function of one tensor, as each backend has it."""

from __future__ import annotations

from typing import Any

from keras import ops

from helpers.run_modes import BACKEND, Function


def gradient(function: Function, x: Any) -> Any:
    """Of the sum of `function(x)`, with respect to `x`."""
    return {"jax": _jax, "tensorflow": _tensorflow, "torch": _torch}[BACKEND](
        function, x
    )


def _jax(function: Function, x: Any) -> Any:
    import jax

    return jax.grad(lambda x: ops.sum(function(x)))(x)


def _tensorflow(function: Function, x: Any) -> Any:
    import tensorflow as tf

    with tf.GradientTape() as tape:
        tape.watch(x)
        total = ops.sum(function(x))
    return tape.gradient(total, x)


def _torch(function: Function, x: Any) -> Any:
    x = x.detach().clone().requires_grad_()
    function(x).sum().backward()
    return x.grad
