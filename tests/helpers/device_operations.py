"""The operations that a call runs on the device, and the dtypes that they work on."""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import keras

from helpers.run_modes import (
    BACKEND,
    Signature,
    symbolic,
    whole_torch_graph,
    with_known_sizes,
    with_unknown_sizes,
)

Function = Callable[[Any], Any]
_PRODUCTS = re.compile(r"(batch)?mat_?mul|einsum|tensordot|dot|(add|b|badd)?mm|linear")


@dataclass
class Operations:
    """Names as the backend has them, in lower case, and names of dtypes."""

    names: set[str] = field(default_factory=set)
    dtypes: set[str] = field(default_factory=set)

    @property
    def products(self) -> set[str]:
        """Those that TF32 rounds on a GPU, and autocast to half precision."""
        return {name for name in self.names if _PRODUCTS.match(name)}


def operations(
    function: Function, x: Any, mode: str, signature: Signature | None = None
) -> Operations:
    """What `function(x)` runs in a mode of `run_modes`.

    With a signature: what its graph has in it, traced for sizes of which those that
    are None there are not known.
    """
    return {"jax": _of_jax, "tensorflow": _of_tensorflow, "torch": _of_torch}[BACKEND](
        function, x, mode, signature
    )


def _of_jax(
    function: Function, x: Any, mode: str, signature: Signature | None
) -> Operations:
    import jax

    if mode == "eager":
        return _of_jax_eager(function, x)
    if signature:
        from jax import export

        struct = symbolic(signature, x.dtype.name)
        text = export.export(jax.jit(function))(struct).mlir_module()
    else:
        text = jax.jit(function).lower(x).as_text()
    dtypes = set(re.findall(r"tensor<(?:[\d?]+x)*(\w+)>", text))
    return Operations(
        names=set(re.findall(r"stablehlo\.(\w+)", text)),
        dtypes={re.sub(r"^(b?)f(?=\d)", r"\1float", dtype) for dtype in dtypes},
    )


def _of_jax_eager(function: Function, x: Any) -> Operations:
    """JAX says what it compiles, which is each operation once that it has forgotten.

    It names the dtypes that go in; those that are kept come from the living arrays.
    """
    import jax

    jax.clear_caches()
    before = jax.live_arrays()
    with _jax_log() as lines:
        outputs = function(x)
    text = "\n".join(line for line in lines if line.startswith("Compiling "))
    # A Python number goes in as a double that JAX calls weak: it decides nothing.
    arrays = re.findall(r"ShapedArray\((\w+)\[[\d,]*\](?!, weak_type=True)", text)
    known = set(map(id, before))
    kept = [array for array in jax.live_arrays() if id(array) not in known]
    return Operations(
        # "Compiling jit(name)" from JAX 0.7 on, "Compiling name" before.
        names=set(re.findall(r"Compiling (?:jit\()?_?(\w+)", text)),
        dtypes={*arrays, *(array.dtype.name for array in (outputs, *kept))},
    )


@contextmanager
def _jax_log() -> Iterator[list[str]]:
    import jax

    lines: list[str] = []

    class Note(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            lines.append(record.getMessage())

    handler = Note()
    logging.getLogger("jax").addHandler(handler)
    try:
        with jax.log_compiles(True):
            yield lines
    finally:
        logging.getLogger("jax").removeHandler(handler)


def _of_tensorflow(
    function: Function, x: Any, mode: str, signature: Signature | None
) -> Operations:
    with _tensorflow_record() as found:
        if signature:
            with_unknown_sizes(function, mode, signature, x.dtype.name)
        else:
            with_known_sizes(function, mode)(x)
    return found


@contextmanager
def _tensorflow_record() -> Iterator[Operations]:
    """Operations as they run eagerly, or enter a graph, from TensorFlow's debugger."""
    import tensorflow as tf
    from tensorflow.python.framework import op_callbacks

    found = Operations()

    def note(name: str, inputs: Any, attrs: Any, outputs: Any, *_: Any, **__: Any):
        found.names.add(tf.compat.as_str(name).lower())  # at times it is bytes
        found.dtypes.update(tensor.dtype.name for tensor in (*inputs, *outputs))

    op_callbacks.add_op_callback(note)
    try:
        yield found
    finally:
        op_callbacks.remove_op_callback(note)


def _of_torch(
    function: Function, x: Any, mode: str, signature: Signature | None
) -> Operations:
    if mode == "eager":
        with _torch_record() as found:
            function(x)
        return found
    found = Operations()

    def note(graph: Any, inputs: Any) -> Any:
        for node in graph.graph.nodes:
            found.names.add(getattr(node.target, "__name__", str(node.target)).lower())
            _add_torch_dtypes(found, node.meta.get("example_value"))
        return graph

    whole_torch_graph(function, dynamic=signature is not None, backend=note)(x)
    return found


@contextmanager
def _torch_record() -> Iterator[Operations]:
    from torch.utils._python_dispatch import TorchDispatchMode

    found = Operations()

    class Note(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            outputs = func(*args, **(kwargs or {}))
            found.names.add(func.overloadpacket.__name__.lower())
            _add_torch_dtypes(found, (args, kwargs, outputs))
            return outputs

    with Note():
        yield found


def _add_torch_dtypes(found: Operations, values: Any) -> None:
    import torch

    found.dtypes.update(
        keras.backend.standardize_dtype(value.dtype)
        for value in torch.utils._pytree.tree_leaves(values)
        if isinstance(value, torch.Tensor)
    )
