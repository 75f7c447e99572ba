"""Layers that several threads call at once get the same numbers as in one."""

from __future__ import annotations

import gc
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import keras
import numpy as np
import pytest

import keras_posenc as kp
from helpers import reference
from helpers.gradients import gradient
from helpers.internals import RECORD_BYTES, cached_bytes, limit_cache
from helpers.layer_cases import BY_NAME, Case, each_of_several
from helpers.run_modes import BACKEND, KNOWN, with_known_sizes
from helpers.tensors import to_numpy, to_tensor, zeros
from helpers.threads import together
from helpers.tolerances import COUNTING, ROUNDING, SUM_ROUNDING

THREADS = 8
pytestmark = pytest.mark.usefixtures("impatient", "empty_cache")


def sized(case: Case, extra: int) -> Case:
    """The case with each axis longer by this many."""
    shape = [size + extra for size in case.shape]
    shape[0], shape[case.channel_dim] = 2, case.shape[case.channel_dim]
    return replace(case, shape=tuple(shape))


def error_of(outputs: Any, case: Case, x: np.ndarray) -> float:
    """How far it is off; without a number, where it has another shape."""
    assert tuple(outputs.shape) == case.shape
    return float(np.abs(to_numpy(outputs) - case.expected(x)).max())


def largest_error(call: Callable[[Any], Any], case: Case, times: int) -> float:
    """Of so many calls; what each returns is looked at as soon as it is there."""
    x = case.inputs()
    tensor = to_tensor(x)
    return max(error_of(call(tensor), case, x) for _ in range(times))


def tolerance(case: Case) -> float:
    return SUM_ROUNDING if case.adds else ROUNDING["float32"]


@pytest.mark.parametrize("max_bytes", [2**28, 9000], ids=["roomy", "evicting"])
@each_of_several
def test_threads_call_one_layer_with_different_shapes(case: Case, max_bytes: int):
    limit_cache(max_bytes)
    layer = case.make()
    layer(to_tensor(case.inputs()))  # Keras builds a layer in one thread
    sizes = [sized(case, extra) for extra in range(THREADS)]
    errors = together([lambda c=c: largest_error(layer, c, 10) for c in sizes])
    assert max(errors) <= tolerance(case)
    assert cached_bytes() <= max_bytes


@pytest.mark.parametrize("name", ["1d", "sum-of-1d", "sinusoid"])
def test_threads_call_a_layer_that_is_not_built(name: str):
    """All of them find it without the shape that Keras builds it for."""
    case = BY_NAME[name]
    sizes = [sized(case, extra % 2) for extra in range(THREADS)]
    rounds = [case.make() for _ in range(10)]
    errors = [
        together([lambda c=c, f=layer: largest_error(f, c, 1) for c in sizes])
        for layer in rounds
    ]
    assert np.max(errors) <= tolerance(case)


def test_eight_tables_overflow_the_small_cache():
    """Eight tables are more than it has room for, those of the smallest kind too."""
    limit_cache(9000)
    layer = BY_NAME["1d"].make()
    shapes = [sized(BY_NAME["1d"], extra) for extra in range(THREADS)]
    [layer(to_tensor(case.inputs())) for case in shapes]
    held = cached_bytes()
    limit_cache(2**28)
    [layer(to_tensor(case.inputs())) for case in shapes]
    assert held <= 9000 < cached_bytes()


def test_threads_call_different_layers_and_functions():
    limit_cache(4000)
    names = ["1d", "permute1d", "2d", "sum-of-1d", "sum-of-permute2d", "sinusoid"]
    layers = [(BY_NAME[name], BY_NAME[name].make()) for name in names]
    [layer(to_tensor(case.inputs())) for case, layer in layers]
    case = BY_NAME["1d"]
    calls = [lambda c=c, f=f: largest_error(f, c, 10) for c, f in layers]
    calls += [
        lambda: largest_error(
            lambda x: np.stack([kp.sinusoidal_table(6, 10)] * 2), case, 10
        ),
        lambda: largest_error(
            lambda x: kp.encode(np.stack([np.arange(6)] * 2), 10), case, 10
        ),
    ]
    assert len(calls) == THREADS
    # `encode` counts what the host computes for the others.
    assert max(together(calls)) <= SUM_ROUNDING + COUNTING


def test_threads_call_layers_of_different_dtypes():
    names = ["float32", "float16", "bfloat16", "mixed_float16"] * 2
    case = BY_NAME["1d"]
    layers = [case.make(dtype=name) for name in names]
    calls = [lambda layer=layer: largest_error(layer, case, 10) for layer in layers]
    errors = dict(zip(names, together(calls), strict=True))
    assert errors["float32"] <= ROUNDING["float32"]
    assert errors["float32"] < errors["float16"] <= ROUNDING["float16"]
    assert errors["mixed_float16"] == errors["float16"]
    assert errors["float16"] < errors["bfloat16"] <= ROUNDING["bfloat16"]


@pytest.mark.parametrize("name", ["1d", "sum-of-1d", "sum-of-permute2d"])
def test_threads_take_gradients(name: str):
    limit_cache(3000)
    case = BY_NAME[name]
    layer = case.make()
    layer(to_tensor(case.inputs()))

    def gradients(case: Case) -> set[float]:
        x = to_tensor(case.inputs())
        slopes = [gradient(lambda x: layer(x) + x, x) for _ in range(3)]
        return {float(slope) for found in slopes for slope in to_numpy(found).flat}

    sizes = [sized(case, extra) for extra in range(THREADS)]
    assert together([lambda c=c: gradients(c) for c in sizes]) == (
        [{1.0 + case.adds}] * THREADS
    )


def repeated(layer: keras.Layer, x: Any, times: int = 20) -> Callable[[], np.ndarray]:
    """A call many times over, which returns all the different results."""
    return lambda: np.unique([to_numpy(layer(x)) for _ in range(times)], axis=0)


@pytest.mark.parametrize("max_bytes", [2**28, 3000], ids=["roomy", "for-two"])
@pytest.mark.parametrize("name", ["1d", "sum-of-1d"])
def test_threads_repeat_calls_of_one_layer_with_different_shapes(
    name: str, max_bytes: int
):
    limit_cache(max_bytes)
    layer = kp.PositionalEncoding1D(8)
    layer = kp.Summer(layer) if name == "sum-of-1d" else layer
    layer(zeros(1, 1, 8))  # Keras builds a layer in one thread
    lengths = range(10, 18)
    results = together([repeated(layer, zeros(1, length, 8)) for length in lengths])
    expected = [reference.encode_1d(length, 8)[None, None] for length in lengths]
    assert [found.shape for found in results] == [table.shape for table in expected]
    errors = [np.abs(a - b).max() for a, b in zip(results, expected, strict=True)]
    assert max(errors) <= ROUNDING["float32"]
    assert cached_bytes() <= max_bytes


def test_threads_call_layers_of_the_same_options():
    layers = [kp.PositionalEncoding1D(8) for _ in range(8)]
    x = zeros(1, 23, 8)
    results = together([repeated(layer, x) for layer in layers])
    assert {found.tobytes() for found in results} == {results[0].tobytes()}
    error = np.abs(results[0][0, 0] - reference.encode_1d(23, 8)).max()
    assert error <= ROUNDING["float32"]
    assert cached_bytes() == 4 * 23 * 8 + RECORD_BYTES


def test_threads_make_and_drop_layers():
    x = zeros(1, 23, 8)

    def call() -> float:
        outputs = [to_numpy(kp.PositionalEncoding1D(8)(x)) for _ in range(20)]
        return np.abs(np.array(outputs) - reference.encode_1d(23, 8)).max()

    assert max(together([call] * 8)) <= ROUNDING["float32"]
    gc.collect()
    assert cached_bytes() == 0


# Graphs.


@pytest.mark.parametrize("name", ["1d", "sum-of-permute2d", "sinusoid"])
@pytest.mark.parametrize("mode", KNOWN[1:])
def test_threads_run_graphs_beside_eager_calls(mode: str, name: str):
    limit_cache(4000)
    case = BY_NAME[name]
    layer = case.make()
    layer(to_tensor(case.inputs()))
    graph = with_known_sizes(layer, mode)
    sizes = [sized(case, extra) for extra in range(THREADS // 2)]
    if BACKEND == "torch":
        # It compiles in one thread; the graphs run in all of them.
        [graph(to_tensor(case.inputs())) for case in sizes]
    calls = [lambda c=c: largest_error(graph, c, 5) for c in sizes]
    calls += [lambda c=c: largest_error(layer, c, 5) for c in sizes]
    assert max(together(calls)) <= SUM_ROUNDING + COUNTING
