"""Cached tables take no more bytes than the limit says."""

from __future__ import annotations

from typing import Any

import keras
import numpy as np
import pytest

import keras_posenc as kp
from helpers.internals import (
    RECORD_BYTES,
    cache_has_room_for,
    cache_limit,
    cached_bytes,
    limit_cache,
)
from helpers.layer_cases import Case, assert_right, each_of_several
from helpers.run_modes import BACKEND
from helpers.tensors import to_tensor, zeros

pytestmark = pytest.mark.usefixtures("empty_cache")


def test_cached_bytes_are_those_of_the_tensors_and_a_record():
    layers = [
        kp.PositionalEncoding1D(8, dtype=dtype) for dtype in ("float32", "float16")
    ]
    held = []
    for layer in layers:
        layer(zeros(1, 100, 8))
        held.append(cached_bytes())
    single, both = held
    assert single == 4 * 800 + RECORD_BYTES
    assert both - single == 2 * 800 + RECORD_BYTES


def hold_each(layer: keras.Layer, lengths: range) -> list[int]:
    """The bytes that are held after a call for each length."""
    arrays = [np.zeros((1, length, 4), "float32") for length in lengths]
    held = []

    def call(inputs: list[Any]) -> None:
        for x in inputs:
            layer(x)
            held.append(cached_bytes())

    if BACKEND == "jax":
        import jax

        # The inputs are there, so that all is done but the arithmetic: JAX would
        # compile that for each shape, as it would what `jnp.asarray` does.
        inputs = [jax.device_put(array) for array in arrays]
        jax.eval_shape(lambda: call(inputs))
    else:
        call([to_tensor(array) for array in arrays])
    return held


# JAX would trace a copy for each length, for half a minute.
@pytest.mark.parametrize("adds", [True] if BACKEND == "jax" else [True, False])
def test_tables_of_a_thousand_lengths_stay_within_the_bound(adds: bool, builds: list):
    limit_cache(2**18)
    layer = kp.PositionalEncoding1D(4)
    layer = kp.Summer(layer) if adds else layer
    held = hold_each(layer, range(1, 1001))
    assert len(builds) == 1000
    # Full, but for less than the largest, once that the first had to go.
    assert max(held) <= cache_limit()
    assert min(held[500:]) > cache_limit() - (1000 * 4 * 4 + RECORD_BYTES)
    # The last ones are still there, the first ones are not.
    hold_each(layer, range(1000, 990, -1))
    assert len(builds) == 1000
    hold_each(layer, range(1, 11))
    assert len(builds) == 1010


def test_the_bound_of_a_process_holds_one_large_table_and_no_half_gigabyte():
    """Enough for the largest table of the benchmarks, and no more than half a GB."""
    assert cache_has_room_for(4 * 65_536 * 1024)
    assert cache_limit() < 2**29


@each_of_several
def test_a_table_larger_than_the_bound_is_not_kept(case: Case):
    limit_cache(RECORD_BYTES)
    layer, x = case.make(), case.inputs()
    for _ in range(2):
        assert_right(layer(to_tensor(x)), case, x)
    assert cached_bytes() == 0


def test_a_table_larger_than_the_bound_leaves_the_others(builds: list):
    layer = kp.PositionalEncoding1D(8)
    layer(zeros(1, 5, 8))
    limit_cache(cached_bytes())
    layer(zeros(1, 6, 8))
    layer(zeros(1, 5, 8))
    assert builds == [(5,)]
