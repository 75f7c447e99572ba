"""A decoded step: a start not met before, of one element, leaves nothing behind."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import keras_posenc as kp
from helpers import reference
from helpers.internals import cached_bytes
from helpers.run_modes import BACKEND
from helpers.tensors import scalar, to_numpy, to_tensor, zeros

CHANNELS = 512
STEPS = 100


def _sequence(**kwargs: Any) -> Any:
    return kp.PositionalEncoding1D(CHANNELS, **kwargs)


LAYERS: dict[str, Callable[[], Any]] = {
    "1d": _sequence,
    "sum": lambda: kp.Summer(_sequence()),
    "sum-of-sum": lambda: kp.Summer(kp.Summer(_sequence())),
    "sinusoid": lambda: kp.SinusoidEncoding(CHANNELS),
    "half": lambda: _sequence(dtype="bfloat16"),
    "scaled": lambda: _sequence(scale=0.5, offset=1.0),
}
STARTS: dict[str, Callable[[int], Any]] = {
    "int": int,
    "NumPy-int": np.int64,
    "tensor": scalar,
    "list": lambda step: [step],
}
each_layer = pytest.mark.parametrize("name", LAYERS)
each_start = pytest.mark.parametrize("kind", STARTS)
in_an_empty_cache = pytest.mark.usefixtures("empty_cache")


@in_an_empty_cache
@each_start
@each_layer
def test_decoded_steps_cache_nothing(name: str, kind: str):
    layer, token = LAYERS[name](), zeros(1, 1, CHANNELS)
    for step in range(1, 4):
        layer(token, start_index=STARTS[kind](step))
    before = cached_bytes()
    for step in range(4, STEPS):
        layer(token, start_index=STARTS[kind](step))
    assert cached_bytes() == before


@in_an_empty_cache
@pytest.mark.parametrize("batch", [1, 4])
def test_decoded_steps_of_permuted_channels_cache_nothing(batch: int):
    layer = kp.PositionalEncodingPermute1D(CHANNELS)
    token = zeros(batch, CHANNELS, 1)
    layer(token, start_index=1)
    before = cached_bytes()
    for step in range(2, STEPS):
        layer(token, start_index=step)
    assert cached_bytes() == before


@in_an_empty_cache
def test_tiles_of_one_place_cache_nothing():
    layer, place = kp.PositionalEncoding2D(CHANNELS), zeros(1, 1, 1, CHANNELS)
    layer(place, start_index=(1, 1))
    before = cached_bytes()
    for step in range(2, STEPS):
        layer(place, start_index=(step, 3 * step))
    assert cached_bytes() == before


@in_an_empty_cache
@pytest.mark.parametrize("form", ["list", "array", "tensor"])
@pytest.mark.parametrize("name", ["encode", "values", "positions"])
def test_few_values_cache_nothing(name: str, form: str):
    layer, x = _sequence(), zeros(1, 4, CHANNELS)
    values = kp.CoordinateEncoding(CHANNELS)
    call: Any = {
        "encode": lambda given: kp.encode(given, CHANNELS),
        "values": values,
        "positions": lambda given: layer(x, positions=given),
    }[name]

    def given(step: int) -> Any:
        array = np.arange(4, dtype="int32") + step
        return {"list": array.tolist, "array": lambda: array}.get(
            form, lambda: to_tensor(array)
        )()

    call(given(0))
    call(given(1))
    before = cached_bytes()
    for step in range(2, STEPS):
        call(given(step))
    # `encode` has nothing that would outlive a call of it.
    assert cached_bytes() == before


@in_an_empty_cache
def test_positions_that_count_from_0_are_cached():
    """A test of an absence: what calls do cache is seen."""
    layer = _sequence()
    before = cached_bytes()
    layer(zeros(1, 4, CHANNELS))
    assert cached_bytes() > before


@each_start
@each_layer
def test_decoded_steps_are_rows_of_the_whole(name: str, kind: str):
    layer, token = LAYERS[name](), zeros(1, 1, CHANNELS)
    steps = [1, 2, 17, 99]
    found = [to_numpy(layer(token, start_index=STARTS[kind](s)))[0, 0] for s in steps]
    positions = np.array(steps) * 0.5 + 0.5 if name == "scaled" else np.array(steps)
    error = 2.0**-9 + 2e-7 if name == "half" else 2e-7
    expected = reference.exact_1d(positions, CHANNELS)
    np.testing.assert_allclose(np.stack(found), expected, rtol=0, atol=error)


# Generous, for a machine that does other work: the benchmarks have the figures. A step
# that compiled anew would take a hundred times as long.
SECONDS = 0.01


@each_start
@each_layer
def test_a_decoded_step_compiles_nothing(name: str, kind: str):
    layer, token = LAYERS[name](), zeros(1, 1, CHANNELS)
    for step in range(1, 4):
        layer(token, start_index=STARTS[kind](step))
    spent = []
    for step in range(4, 40):
        start = STARTS[kind](step)
        begin = time.perf_counter()
        layer(token, start_index=start)
        spent.append(time.perf_counter() - begin)
    assert np.median(spent) < SECONDS


if BACKEND == "jax":

    @each_start
    @each_layer
    def test_a_decoded_step_traces_nothing(name: str, kind: str):
        import jax

        layer, token = LAYERS[name](), zeros(1, 1, CHANNELS)
        starts = [STARTS[kind](step) for step in range(1, 10)]
        for start in starts[:3]:
            layer(token, start_index=start)
        with jax.log_compiles(False):
            compiled: list[str] = []
            jax.monitoring.register_event_duration_secs_listener(
                lambda event, seconds, **_: compiled.append(event)
            )
            for start in starts[3:]:
                layer(token, start_index=start)
        assert not [event for event in compiled if "compile" in event]


# Layers that are alive: one more costs what the first one cost.


def _median_of_new(layers: list[Any], x: Any, count: int) -> float:
    spent = []
    for _ in range(count):
        layer = kp.PositionalEncoding1D(4)
        layer.build((1, 3, 4))
        begin = time.perf_counter()
        layer(x)
        spent.append(time.perf_counter() - begin)
        layers.append(layer)
    return float(np.median(spent))


@in_an_empty_cache
def test_a_new_table_costs_the_same_however_many_there_are():
    x, layers = zeros(1, 3, 4), [kp.PositionalEncoding1D(4)]
    layers[0](x)
    few = _median_of_new(layers, x, 50)
    for i in range(4000):
        # Options of their own, so that each has a table of its own.
        layer = kp.PositionalEncoding1D(4, offset=1.0 + i)
        layers.append(layer)
        layer(x)
    many = _median_of_new(layers, x, 50)
    assert many < 3 * few + 1e-4
