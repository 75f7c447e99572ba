"""What `Summer` is compared with: two yardsticks, and the peers where they run."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import keras
import numpy as np
from measure import BACKEND

import keras_posenc as kp

Call = Callable[[Any], Any]

SHAPES = [
    (8, 1024, 512),
    (1, 4096, 1024),
    (8, 32, 32, 256),
    (1, 64, 64, 256),
    (2, 16, 16, 16, 192),
    (1, 32, 32, 32, 96),
]
QUICK_SHAPES = [(2, 16, 8), (2, 4, 4, 8), (2, 3, 3, 3, 12)]

PLUS_ONE = "x + 1"
STORED = "stored table"
SUMMER = "Summer"
KERAS_HUB = "keras-hub"
PEER = "positional-encodings"


class StoredTable(keras.layers.Layer):
    """Adds a table that lies on the device: no stored encoding can do less."""

    def __init__(self, table: Any):
        super().__init__()
        self.table = table

    def call(self, x: Any) -> Any:
        return x + self.table


class SlicedTable(StoredTable):
    """Adds as much of its table as the input is long."""

    def call(self, x: Any) -> Any:
        return x + self.table[:, : x.shape[1]]


def plus_one(x: Any) -> Any:
    """One read and one write: no addition can do less."""
    return x + 1


def random_tensor(shape: tuple[int, ...]) -> Any:
    values = np.random.default_rng(0).random(shape, "float32")
    if BACKEND == "jax":
        import jax

        return jax.device_put(values)  # Keras's way compiles a copy for each shape.
    return keras.ops.convert_to_tensor(values)


def random_table(shape: tuple[int, ...]) -> Any:
    """What a stored encoding has on the device. Adding does not mind the values."""
    return random_tensor((1, *shape[1:]))


def encoding_class(shape: tuple[int, ...]) -> type[kp.PositionalEncoding]:
    classes = kp.PositionalEncoding1D, kp.PositionalEncoding2D, kp.PositionalEncoding3D
    return classes[len(shape) - 3]


def encoding_of(shape: tuple[int, ...]) -> keras.layers.Layer:
    return encoding_class(shape)(shape[-1])


MAKERS: dict[str, Callable[[tuple[int, ...]], Call]] = {
    PLUS_ONE: lambda shape: plus_one,
    STORED: lambda shape: StoredTable(random_table(shape)),
    SUMMER: lambda shape: kp.Summer(encoding_of(shape)),
}


def yardsticks_and_summer(shape: tuple[int, ...]) -> dict[str, Call]:
    return {name: make(shape) for name, make in MAKERS.items()}


def peer_encodings(shape: tuple[int, ...]) -> dict[str, Call]:
    """The encodings of other packages for inputs of this rank."""
    found: dict[str, Call] = {}
    rank = len(shape) - 2
    if rank == 1:
        import keras_hub

        found[KERAS_HUB] = keras_hub.layers.SinePositionEncoding()
    if BACKEND != "jax":
        found[PEER] = of_peer(f"PositionalEncoding{rank}D")(shape[-1])
    if BACKEND == "torch":
        # A torch module stays on the CPU until told; Keras puts inputs on a GPU.
        found[PEER].to(random_tensor(()).device)
    return found


def peers(shape: tuple[int, ...]) -> dict[str, Call]:
    """The ways in which other packages add an encoding to inputs of this rank."""
    found = peer_encodings(shape)
    if KERAS_HUB in found:
        sine = found[KERAS_HUB]
        found[KERAS_HUB] = lambda x: x + sine(x)
    if PEER in found:
        found[PEER] = of_peer("Summer")(found[PEER])
    return found


def of_peer(name: str) -> Any:
    """A class of `positional-encodings`, for torch or TensorFlow."""
    if BACKEND == "torch":
        import positional_encodings.torch_encodings

        return getattr(positional_encodings.torch_encodings, name)
    import positional_encodings.tf_encodings

    return getattr(positional_encodings.tf_encodings, f"TF{name}")


def compiled(candidates: dict[str, Call], x: Any) -> dict[str, Call]:
    """The candidates as compiled functions, each called, and seen to be compiled."""
    for call in candidates.values():
        call(x)  # Builds a layer, which would change what was compiled.
    forget_compiled()
    functions = {name: to_compile(call) for name, call in candidates.items()}
    for function in functions.values():
        function(x)
    if BACKEND == "torch":
        import torch

        # An error where it would otherwise compile again, or run eagerly, in silence.
        with torch.compiler.set_stance("fail_on_recompile"):
            for function in functions.values():
                function(x)
    return functions


def to_compile(call: Call) -> Call:
    """A function that is compiled when it is first called."""
    if BACKEND == "jax":
        import jax

        return jax.jit(lambda x: call(x))
    if BACKEND == "torch":
        import torch

        return torch.compile(call, fullgraph=True)
    import tensorflow as tf

    return tf.function(lambda x: call(x), jit_compile=True)


def forget_compiled() -> None:
    """All Keras layers share one code object, which dynamo compiles 8 times at most."""
    if BACKEND == "torch":
        import torch

        torch._dynamo.reset()
