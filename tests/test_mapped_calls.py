"""Layers mapped over several batches, by `vmap` and its like."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from helpers.layer_cases import BY_NAME
from helpers.run_modes import BACKEND, with_known_sizes
from helpers.tensors import normal, to_numpy, to_tensor
from helpers.tolerances import SUM_ROUNDING

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


@pytest.mark.parametrize("name", ["2d", "sum-of-permute2d", "sinusoid"])
@pytest.mark.parametrize("way", MAPPED)
def test_a_mapped_layer_encodes_each_of_several_batches(way: str, name: str):
    case = BY_NAME[name]
    batches = normal(3, *case.shape)
    outputs = to_numpy(MAPPED[way](case.make())(to_tensor(batches)))
    expected = np.stack([case.expected(batch) for batch in batches])
    np.testing.assert_allclose(outputs, expected, rtol=0, atol=SUM_ROUNDING)
