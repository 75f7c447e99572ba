"""What the tests of `start_index`, `positions` and `grid` share."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import keras
import numpy as np
import pytest
from keras import ops

import keras_posenc as kp
from helpers import reference
from helpers.run_modes import BACKEND, Function, whole_torch_graph
from helpers.tensors import to_numpy, to_tensor, zeros

# One shape for all, since JAX compiles every operation for each.
BATCH, LENGTH, CHANNELS = 3, 6, 8


@dataclass(frozen=True)
class Sequence:
    """A layer of sequences, which makes of zeros the encoding of their positions."""

    name: str
    make: Callable[..., keras.layers.Layer]
    channels_first: bool = False

    def inputs(self, length: int = LENGTH, batch: int = BATCH) -> Any:
        shape = (batch, CHANNELS, length) if self.channels_first else ()
        return zeros(*(shape or (batch, length, CHANNELS)))

    def encoding(self, outputs: Any) -> np.ndarray:
        """With channels last."""
        outputs = to_numpy(outputs)
        return np.swapaxes(outputs, 1, 2) if self.channels_first else outputs


def _p1(**kwargs: Any) -> keras.layers.Layer:
    return kp.PositionalEncoding1D(CHANNELS, **kwargs)


def _summer(**kwargs: Any) -> keras.layers.Layer:
    return kp.Summer(_p1(**kwargs), **kwargs)


SEQUENCES = [
    Sequence("1d", _p1),
    Sequence(
        "permute1d",
        lambda **kwargs: kp.PositionalEncodingPermute1D(CHANNELS, **kwargs),
        channels_first=True,
    ),
    Sequence("sum-of-1d", _summer),
    Sequence(
        "sum-of-sum-of-1d", lambda **kwargs: kp.Summer(_summer(**kwargs), **kwargs)
    ),
    Sequence("sinusoid", lambda **kwargs: kp.SinusoidEncoding(CHANNELS, **kwargs)),
]
NAMED = {case.name: case for case in SEQUENCES}
each_sequence = pytest.mark.parametrize("case", SEQUENCES, ids=lambda case: case.name)


def counted_from(starts: Any) -> np.ndarray:
    """The encoding of sequences that start there, one for each of `starts`."""
    positions = np.asarray(starts)[..., None] + np.arange(LENGTH)
    return reference.exact_1d(positions, CHANNELS)


# How a function of several tensors can be compiled.
COMPILERS = {"jax": ["jit"], "tensorflow": ["graph", "xla"], "torch": ["dynamo"]}
each_compiler = pytest.mark.parametrize("compiler", COMPILERS[BACKEND])


def compiled(
    function: Callable[..., Any], compiler: str
) -> tuple[Function, Callable[[], int]]:
    """The compiled function, and how many graphs there are of it by now."""
    traces: list[None] = []

    def traced(*args: Any) -> Any:
        traces.append(None)
        return function(*args)

    if compiler == "jit":
        import jax

        return jax.jit(traced), lambda: len(traces)
    if compiler in ("graph", "xla"):
        import tensorflow as tf

        graph = tf.function(traced, jit_compile=compiler == "xla")
        return graph, lambda: len(traces)
    from torch._dynamo.testing import CompileCounter

    # In the first call Keras takes note of a device, and torch compiles once more.
    ops.zeros(())
    counter = CompileCounter()
    # Not `traced`: torch.compile runs what it does to a list in every call.
    graph = whole_torch_graph(function, backend=counter)
    return graph, lambda: counter.frame_count


# Starts, one for each element of the batch, and positions.

STARTS = [0, 7, -20]
REVERSED = np.arange(LENGTH)[::-1].copy()
GIVEN = {
    "integer": REVERSED,
    "negative": REVERSED - 1000,
    "repeated": np.array([5, 5, 5, 0, 0, -5]),
    "real": REVERSED / 4 - 100,
    "for-each": np.stack([REVERSED, REVERSED + 1, REVERSED - 500]),
    "real-for-each": np.stack([REVERSED / 8, REVERSED + 0.5, REVERSED - 500.25]),
}


def as_tensor(values: np.ndarray) -> Any:
    return to_tensor(values, "int32" if values.dtype.kind == "i" else "float32")


def encoding_at(positions: Any) -> np.ndarray:
    return reference.exact_1d(positions, CHANNELS)


def grid_positions(*sizes: int) -> np.ndarray:
    return np.stack(np.meshgrid(*map(np.arange, sizes), indexing="ij"), axis=-1)


def tile_positions(sizes: tuple[int, ...], starts: tuple[int, ...]) -> np.ndarray:
    ranges = [
        start + np.arange(size) for size, start in zip(sizes, starts, strict=True)
    ]
    return np.stack(np.meshgrid(*ranges, indexing="ij"), axis=-1)


def sample(shape: tuple[int, ...], dtype: str = "float32") -> np.ndarray:
    """Positions below 900 or so, the same ones every time."""
    return np.random.default_rng(0).uniform(-900, 900, shape).astype(dtype)


# Positions on two axes, and layers that take them; True where channels are first.

PLANE, PLANE_SIZES = grid_positions(3, 4), (3, 4)
PLANES = {
    "integer": PLANE * [1, -7],
    "real": PLANE / 4 - [100, 0],
    "for-each": np.stack([PLANE, PLANE[::-1] + 900]),
    "real-for-each": np.stack([PLANE / 8, PLANE * 0.5]),
    "repeated": np.zeros_like(PLANE) + np.array([3, 5]),
}
OF_PLANES = {
    "2d": (lambda: kp.PositionalEncoding2D(CHANNELS), False),
    "rank2": (lambda: kp.PositionalEncoding(2, CHANNELS), False),
    "permute2d": (lambda: kp.PositionalEncodingPermute2D(CHANNELS), True),
    "sum-of-permute2d": (
        lambda: kp.Summer(kp.PositionalEncodingPermute2D(CHANNELS)),
        True,
    ),
    "2d-channels-first": (
        lambda: kp.PositionalEncoding2D(CHANNELS, data_format="channels_first"),
        True,
    ),
}


# Inputs of zeros, and rows of the encoding of a sequence and of a plane.

X = np.zeros((BATCH, LENGTH, CHANNELS), "float32")
IMAGE = np.zeros((2, 3, 4, CHANNELS), "float32")
TABLE = reference.encode_1d(1100, CHANNELS)
PLANE_TABLE = reference.encode_2d(40, 40, CHANNELS)
