"""Calls amid some transformation, which must leave nothing of it for the next call.

Each takes a layer and a tensor, and returns what the layer makes of the tensor, or None
where that has no numbers.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

import keras

from helpers.gradients import gradient
from helpers.run_modes import BACKEND

Call = Callable[[keras.Layer, Any], Any]


def _within(make_context: Callable[[], AbstractContextManager[Any]]) -> Call:
    def call(layer: keras.Layer, x: Any) -> Any:
        with make_context():
            return layer(x)

    return call


def _of_gradient(layer: keras.Layer, x: Any) -> None:
    gradient(lambda x: layer(x) + x, x)  # some layers do not depend on `x`


def _jax_calls() -> dict[str, Call]:
    import jax
    import jax.numpy as jnp

    def captured(transform: Callable[..., Any]) -> Call:
        """For an array that is there, though the function around it is traced."""

        def call(layer: keras.Layer, x: Any) -> Any:
            with jax.checking_leaks():
                transform(lambda scale: jnp.sum(scale * layer(x)))(jnp.float32(2))
                return layer(x)

        return call

    def in_scan(layer: keras.Layer, x: Any) -> Any:
        return jax.lax.scan(lambda carry, _: (layer(x), None), x, None, length=2)[0]

    def of_eval_shape(layer: keras.Layer, x: Any) -> None:
        jax.eval_shape(layer, x)

    return {
        "captured-by-jit": captured(jax.jit),
        "captured-by-grad": captured(jax.grad),
        "captured-by-jit-of-grad": captured(lambda f: jax.jit(jax.grad(f))),
        "captured-by-vmap": captured(lambda f: lambda y: jax.vmap(f)(y[None])),
        "captured-by-checkpoint": captured(jax.checkpoint),
        "captured-by-scan": in_scan,
        "disable_jit": _within(jax.disable_jit),
        "eval_shape": of_eval_shape,
        "grad": _of_gradient,
        "vmap": lambda layer, x: jax.vmap(layer)(x[None])[0],
    }


def _tensorflow_calls() -> dict[str, Call]:
    import tensorflow as tf

    def captured(jit_compile: bool) -> Call:
        """For an eager tensor, in a function that builds a graph."""
        return lambda layer, x: tf.function(lambda: layer(x), jit_compile=jit_compile)()

    def in_init_scope(layer: keras.Layer, x: Any) -> Any:
        def function() -> Any:
            with tf.init_scope():
                return layer(x)

        return tf.function(function)()

    def in_dataset(layer: keras.Layer, x: Any) -> Any:
        (outputs,) = tf.data.Dataset.from_tensors(x).map(layer)
        return outputs

    def in_eager_function(layer: keras.Layer, x: Any) -> Any:
        tf.config.run_functions_eagerly(True)
        try:
            return tf.function(layer)(x)
        finally:
            tf.config.run_functions_eagerly(False)

    return {
        "captured-by-graph": captured(jit_compile=False),
        "captured-by-xla": captured(jit_compile=True),
        "init_scope": in_init_scope,
        "dataset": in_dataset,
        "eager-function": in_eager_function,
        "tape": _of_gradient,
        "vectorized_map": lambda layer, x: tf.vectorized_map(layer, x[None])[0],
    }


def _torch_calls() -> dict[str, Call]:
    import torch
    from torch._subclasses.fake_tensor import FakeTensorMode
    from torch.fx.experimental.proxy_tensor import make_fx

    def in_inference_mode(layer: keras.Layer, x: Any) -> Any:
        with torch.inference_mode():
            return layer(x.clone())

    def of_meta(layer: keras.Layer, x: Any) -> None:
        assert layer(x.to("meta")).is_meta

    def of_fake(layer: keras.Layer, x: Any) -> None:
        with FakeTensorMode() as mode:
            layer(mode.from_tensor(x))

    def among_fake(layer: keras.Layer, x: Any) -> None:
        with FakeTensorMode(allow_non_fake_inputs=True):
            layer(x)

    def of_func_grad(layer: keras.Layer, x: Any) -> None:
        torch.func.grad(lambda x: (layer(x) + x).sum())(x)

    def captured_by_func_grad(layer: keras.Layer, x: Any) -> None:
        torch.func.grad(lambda scale: (scale * layer(x)).sum())(torch.tensor(2.0))

    def exported(layer: keras.Layer, x: Any) -> Any:
        return torch.export.export(torch.nn.Sequential(layer), (x,)).module()(x)

    return {
        "inference_mode": in_inference_mode,
        "inference_mode-of-another": _within(torch.inference_mode),
        "no_grad": _within(torch.no_grad),
        "autocast": _within(lambda: torch.autocast("cpu", torch.bfloat16)),
        "backward": _of_gradient,
        "meta": of_meta,
        "default-device-meta": _within(lambda: torch.device("meta")),
        "fake": of_fake,
        "among-fake": among_fake,
        "func.grad": of_func_grad,
        "func.grad-of-another": captured_by_func_grad,
        "func.vmap": lambda layer, x: torch.func.vmap(layer)(x[None])[0],
        "func.jvp": lambda layer, x: torch.func.jvp(layer, (x,), (x,))[0],
        "func.functionalize": lambda layer, x: torch.func.functionalize(layer)(x),
        "make_fx": lambda layer, x: make_fx(layer)(x)(x),
        "make_fx-fake": lambda layer, x: make_fx(layer, tracing_mode="fake")(x)(x),
        "export": exported,
    }


_CALLS = {"jax": _jax_calls, "tensorflow": _tensorflow_calls, "torch": _torch_calls}
FIRST_CALLS = _CALLS[BACKEND]()
