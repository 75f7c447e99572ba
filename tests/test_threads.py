"""Layers that several threads, or several models, share.

tests/test_cache.py has what threads do to the cache; this has what they get of layers.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import keras
import numpy as np
import pytest
from helpers.gradients import gradient
from helpers.layer_cases import (
    COUNTING,
    LAYERS,
    ROUNDING,
    SUM_ROUNDING,
    Case,
    each_layer,
    to_numpy,
    to_tensor,
)
from helpers.run_modes import BACKEND, KNOWN, with_known_sizes

import keras_posenc as kp
from keras_posenc import _evaluate
from keras_posenc._cache import TensorCache

THREADS = 8
KINDS = {case.name: case for case in LAYERS}


@pytest.fixture(autouse=True)
def impatient() -> Iterator[None]:
    """Threads that take turns as often as they can."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


@pytest.fixture
def kept(monkeypatch: pytest.MonkeyPatch) -> TensorCache:
    """An empty cache in the place of that of the process, as large."""
    cache = TensorCache(_evaluate._kept.max_bytes)
    monkeypatch.setattr(_evaluate, "_kept", cache)
    return cache


def together(calls: list[Callable[[], Any]]) -> list[Any]:
    """The results of calls that start at the same time, each in a thread of its own."""
    barrier = threading.Barrier(len(calls))

    def start(call: Callable[[], Any]) -> Any:
        barrier.wait(timeout=60)
        return call()

    with ThreadPoolExecutor(len(calls)) as pool:
        return list(pool.map(start, calls))


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
@each_layer
def test_threads_call_one_layer_with_different_shapes(
    case: Case, max_bytes: int, kept: TensorCache
):
    kept.max_bytes = max_bytes
    layer = case.make()
    layer(to_tensor(case.inputs()))  # Keras builds a layer in one thread
    sizes = [sized(case, extra) for extra in range(THREADS)]
    errors = together([lambda c=c: largest_error(layer, c, 10) for c in sizes])
    assert max(errors) <= tolerance(case)
    assert kept.nbytes <= max_bytes


@pytest.mark.parametrize("name", ["1d", "sum-of-1d", "sinusoid"])
def test_threads_call_a_layer_that_is_not_built(name: str, kept: TensorCache):
    """All of them find it without the shape that Keras builds it for."""
    case = KINDS[name]
    sizes = [sized(case, extra % 2) for extra in range(THREADS)]
    rounds = [case.make() for _ in range(10)]
    errors = [
        together([lambda c=c, f=layer: largest_error(f, c, 1) for c in sizes])
        for layer in rounds
    ]
    assert np.max(errors) <= tolerance(case)


def test_eight_tables_overflow_the_small_cache(kept: TensorCache):
    """Eight tables are more than it has room for, those of the smallest kind too."""
    kept.max_bytes = 9000
    layer = KINDS["1d"].make()
    shapes = [sized(KINDS["1d"], extra) for extra in range(THREADS)]
    [layer(to_tensor(case.inputs())) for case in shapes]
    kept.max_bytes, held = 2**28, kept.nbytes
    [layer(to_tensor(case.inputs())) for case in shapes]
    assert held <= 9000 < kept.nbytes


def test_threads_call_different_layers_and_functions(kept: TensorCache):
    kept.max_bytes = 4000
    names = ["1d", "permute1d", "2d", "sum-of-1d", "sum-of-permute2d", "sinusoid"]
    layers = [(KINDS[name], KINDS[name].make()) for name in names]
    [layer(to_tensor(case.inputs())) for case, layer in layers]
    case = KINDS["1d"]
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


def test_threads_call_layers_of_different_dtypes(kept: TensorCache):
    names = ["float32", "float16", "bfloat16", "mixed_float16"] * 2
    case = KINDS["1d"]
    layers = [case.make(dtype=name) for name in names]
    calls = [lambda layer=layer: largest_error(layer, case, 10) for layer in layers]
    errors = dict(zip(names, together(calls), strict=True))
    assert errors["float32"] <= ROUNDING["float32"]
    assert errors["float32"] < errors["float16"] <= ROUNDING["float16"]
    assert errors["mixed_float16"] == errors["float16"]
    assert errors["float16"] < errors["bfloat16"] <= ROUNDING["bfloat16"]


@pytest.mark.parametrize("name", ["1d", "sum-of-1d", "sum-of-permute2d"])
def test_threads_take_gradients(name: str, kept: TensorCache):
    kept.max_bytes = 3000
    case = KINDS[name]
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


# Graphs.


@pytest.mark.parametrize("name", ["1d", "sum-of-permute2d", "sinusoid"])
@pytest.mark.parametrize("mode", KNOWN[1:])
def test_threads_run_graphs_beside_eager_calls(mode: str, name: str, kept: TensorCache):
    kept.max_bytes = 4000
    case = KINDS[name]
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


# Models.


def two_models(layer: keras.Layer) -> list[keras.Model]:
    """One that knows its length, and one that does not, of one and the same layer."""
    known, unknown = keras.Input((7, 8)), keras.Input((None, 8))
    return [
        keras.Model(known, layer(known)),
        keras.Model(unknown, layer(keras.layers.Rescaling(2.0)(unknown))),
    ]


SHARED = {
    "1d": lambda: kp.PositionalEncoding1D(8),
    "sum-of-1d": lambda: kp.Summer(kp.PositionalEncoding1D(8)),
    "sinusoid": lambda: kp.SinusoidEncoding(8),
}


@pytest.mark.parametrize("name", SHARED)
def test_two_models_share_a_layer(name: str):
    layer = SHARED[name]()
    first, second = two_models(layer)
    x = np.random.default_rng(0).normal(size=(2, 7, 8)).astype("float32")
    longer = np.concatenate([x, x], axis=1)
    assert first.layers[-1] is second.layers[-1] is layer
    for model, inputs, expected in [
        (first, x, layer(x)),
        (second, longer, layer(2 * longer)),
        (first, x, layer(x)),
    ]:
        np.testing.assert_allclose(
            model.predict(inputs, verbose=0),
            to_numpy(expected),
            rtol=0,
            # A graph that counts, against what the host computes.
            atol=SUM_ROUNDING + COUNTING,
        )


@pytest.mark.parametrize("name", SHARED)
def test_two_models_that_share_a_layer_are_saved(name: str, tmp_path: Path):
    x = np.random.default_rng(0).normal(size=(2, 7, 8)).astype("float32")
    models = two_models(SHARED[name]())
    paths = [tmp_path / "first.keras", tmp_path / "second.keras"]
    [model.save(path) for model, path in zip(models, paths, strict=True)]
    loaded = [keras.models.load_model(path) for path in paths]
    assert loaded[0].layers[-1] is not loaded[1].layers[-1]
    expected = [to_numpy(model(x)) for model in models]
    np.testing.assert_array_equal([to_numpy(model(x)) for model in loaded], expected)


@pytest.mark.parametrize("name", SHARED)
def test_threads_run_two_models_that_share_a_layer(name: str, kept: TensorCache):
    kept.max_bytes = 3000
    layer = SHARED[name]()
    models = two_models(layer)
    rng = np.random.default_rng(0)
    inputs = [rng.normal(size=(2, 7, 8)).astype("float32") for _ in range(THREADS)]
    expected = [
        to_numpy(layer(to_tensor(x * (1 + i % 2)))) for i, x in enumerate(inputs)
    ]
    results = together(
        [
            lambda m=models[i % 2], x=x: [to_numpy(m(to_tensor(x))) for _ in range(5)]
            for i, x in enumerate(inputs)
        ]
    )
    np.testing.assert_array_equal(results, [[table] * 5 for table in expected])
