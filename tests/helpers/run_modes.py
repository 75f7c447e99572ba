"""The ways in which a backend runs a function: at once, or as a graph of some kind."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import keras
from packaging.version import Version

BACKEND = keras.backend.backend()
Function = Callable[[Any], Any]
Signature = tuple[int | None, ...]

# Two of torch.compile: "dynamo" runs what was traced as it is, and "inductor" makes
# fused code of it: slowly, but an optimiser could undo an exact product there.
_GRAPHS = {"jax": ["jit"], "tensorflow": ["graph", "xla"], "torch": ["dynamo"]}
_OPEN = {"jax": ["export"], "tensorflow": ["graph", "xla"], "torch": ["dynamo"]}
KNOWN = ["eager", *_GRAPHS.get(BACKEND, [])]
UNKNOWN = _OPEN.get(BACKEND, [])
# Whether torch.compile meets calls of Keras that it cannot follow, whatever the layer.
BREAKS_GRAPHS = BACKEND == "torch" and Version(keras.__version__) < Version("3.15")
TORCH_BACKENDS = {"dynamo": "eager", "inductor": "inductor"}


def with_known_sizes(function: Function, mode: str) -> Function:
    """The function of one tensor as `mode` runs it, which sees the sizes."""
    if mode == "eager":
        return function
    if mode == "jit":
        import jax

        return jax.jit(function)
    if mode in ("graph", "xla"):
        import tensorflow as tf

        return tf.function(function, jit_compile=mode == "xla")
    return whole_torch_graph(function, dynamic=False, backend=TORCH_BACKENDS[mode])


def with_unknown_sizes(
    function: Function, mode: str, signature: Signature, dtype: str = "float32"
) -> Function:
    """The function of one tensor as a graph to which the sizes None are not known."""
    if mode == "export":
        import jax
        from jax import export

        return export.export(jax.jit(function))(symbolic(signature, dtype)).call
    if mode in ("graph", "xla"):
        import tensorflow as tf

        spec = tf.TensorSpec(signature, dtype)
        graph = tf.function(function, jit_compile=mode == "xla")
        return graph.get_concrete_function(spec)
    return whole_torch_graph(function, dynamic=True, backend=TORCH_BACKENDS[mode])


def open_graph(layer: keras.layers.Layer, signature: Signature, mode: str) -> Function:
    """The same of a layer, which torch cannot build in a graph."""
    layer.build(signature)
    return with_unknown_sizes(layer, mode, signature)


def symbolic(signature: Signature, dtype: str) -> Any:
    """What JAX exports a function for: a shape with names for what is None."""
    import jax
    from jax import export

    names = [str(size or f"n{dim}") for dim, size in enumerate(signature)]
    # The comma makes a tuple of a single size too.
    shape = export.symbolic_shape(f"({', '.join(names)},)")
    return jax.ShapeDtypeStruct(shape, dtype)


def whole_torch_graph(
    function: Callable[..., Any],
    dynamic: bool | None = None,
    backend: str | Callable[..., Any] = "eager",
) -> Callable[..., Any]:
    """The function as one graph of torch.compile, with nothing left to Python."""
    import torch

    if BREAKS_GRAPHS:
        import pytest  # the benchmarks do without

        pytest.skip("torch.compile(fullgraph=True) cannot follow Keras before 3.15.")
    # It gives up after eight layers: all of them share one line of Keras.
    torch._dynamo.reset()
    return torch.compile(function, fullgraph=True, dynamic=dynamic, backend=backend)
