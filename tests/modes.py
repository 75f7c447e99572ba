"""The ways in which a backend runs a function: at once, or as a graph of some kind."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import keras

BACKEND = keras.backend.backend()
Function = Callable[[Any], Any]
Signature = tuple[int | None, ...]

# Two of torch.compile: "dynamo" runs what was traced as it is, and "inductor" makes
# fused code of it: slowly, but an optimiser could undo an exact product there.
_GRAPHS = {"jax": ["jit"], "tensorflow": ["graph", "xla"], "torch": ["dynamo"]}
_OPEN = {"jax": ["export"], "tensorflow": ["graph", "xla"], "torch": ["dynamo"]}
KNOWN = ["eager", *_GRAPHS[BACKEND]]
UNKNOWN = _OPEN[BACKEND]


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
    return _torch_compile(function, mode, dynamic=False)


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
    return _torch_compile(function, mode, dynamic=True)


def symbolic(signature: Signature, dtype: str) -> Any:
    """What JAX exports a function for: a shape with names for what is None."""
    import jax
    from jax import export

    names = [str(size or f"n{dim}") for dim, size in enumerate(signature)]
    # The comma makes a tuple of a single size too.
    shape = export.symbolic_shape(f"({', '.join(names)},)")
    return jax.ShapeDtypeStruct(shape, dtype)


def _torch_compile(function: Function, mode: str, dynamic: bool) -> Function:
    import torch

    # It gives up after eight layers: all of them share one line of Keras.
    torch._dynamo.reset()
    backend = "eager" if mode == "dynamo" else mode
    return torch.compile(function, fullgraph=True, dynamic=dynamic, backend=backend)
