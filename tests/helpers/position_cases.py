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
from helpers.tensors import to_numpy, zeros

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
