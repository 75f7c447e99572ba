"""Decoding step by step, each with its `start_index`, equals the whole."""

from __future__ import annotations

import numpy as np
import pytest

import keras_posenc as kp
from helpers import reference
from helpers.internals import RECORD_BYTES, cache_limit, cached_bytes, limit_cache
from helpers.position_cases import BATCH, CHANNELS, LENGTH, NAMED, counted_from
from helpers.tensors import scalar, zeros
from helpers.tolerances import assert_close

STEPS = 1000


@pytest.fixture
def small_cache(empty_cache: None) -> None:
    """With room for some 30 steps."""
    limit_cache(30 * (RECORD_BYTES + 4 * CHANNELS))


@pytest.mark.parametrize("tensor", [False, True], ids=["int", "tensor"])
@pytest.mark.parametrize("name", ["1d", "permute1d", "sum-of-1d"])
@pytest.mark.usefixtures("small_cache")
def test_decoding_step_by_step_equals_the_whole(name: str, tensor: bool):
    case = NAMED[name]
    layer, token = case.make(), case.inputs(length=1, batch=1)
    starts = map(scalar, range(STEPS)) if tensor else range(STEPS)
    steps = [case.encoding(layer(token, start_index=start)) for start in starts]
    assert_close(np.concatenate(steps, 1)[0], reference.encode_1d(STEPS, CHANNELS))
    # A start is of one use: no table is cached for it, but one constant for tensors.
    assert cached_bytes() <= cache_limit()
    if not tensor:  # but for that of the start 0
        assert cached_bytes() == RECORD_BYTES + 4 * CHANNELS


def test_decoding_takes_nothing_of_the_cache_of_the_process():
    layer, token = kp.PositionalEncoding1D(CHANNELS), zeros(1, 1, CHANNELS)
    layer(token)
    before = cached_bytes()
    for step in range(1, STEPS):
        layer(token, start_index=step)
    assert cached_bytes() <= before
    # A test of an absence: a long table with a start is cached.
    layer(zeros(1, 2000, CHANNELS), start_index=7)
    assert cached_bytes() > before


@pytest.mark.usefixtures("small_cache")
def test_each_start_finds_its_own_table():
    layer, x = kp.PositionalEncoding1D(CHANNELS), zeros(BATCH, LENGTH, CHANNELS)
    for start in (0, 3, 0, -3, 3):
        assert_close(layer(x, start_index=start), counted_from(start))
