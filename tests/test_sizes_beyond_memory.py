"""Sizes that no machine has room for are refused at once, or cost nothing."""

from __future__ import annotations

import json
import sys
from typing import Any

import keras
import numpy as np
import pytest

import keras_posenc as kp
from helpers.tensors import to_numpy, zeros

if sys.platform == "linux":  # the only one that keeps a process to its limit
    from helpers import out_of_memory
    from helpers.processes import run_helper

    @pytest.fixture(scope="module")
    def outcomes() -> dict[str, dict[str, Any]]:
        """What comes of each of those calls, one after another in one process."""
        printed = run_helper("out_of_memory", *out_of_memory.TOO_MUCH, timeout=300)
        return json.loads(printed.splitlines()[-1])

    @pytest.mark.parametrize("name", out_of_memory.TOO_MUCH)
    def test_sizes_beyond_the_memory_are_refused_at_once(
        name: str, outcomes: dict[str, Any]
    ):
        outcome = outcomes[name]
        assert {"MemoryError", "ValueError"} & set(outcome["error"]), outcome
        # Less than 0.2 s of work was measured; to fill that memory takes a minute.
        assert outcome["seconds"] < 5
        assert outcome["kept"] == 0


@pytest.mark.parametrize("channels", [2**24 + 1, 2**40, 10**400])
def test_more_channels_than_make_sense_are_refused(channels: int):
    with pytest.raises(ValueError, match=r"^`channels` must be at most 16777216\. "):
        kp.PositionalEncoding1D(channels)


@pytest.mark.parametrize("shape", [(2**40, 8), (2**33, 2**33, 8)], ids=str)
def test_a_model_may_be_built_for_huge_sizes(shape: tuple[int, ...]):
    """Which costs nothing as long as nobody runs it."""
    summer = kp.Summer(kp.PositionalEncoding(len(shape) - 1, 8))
    assert summer(keras.Input(shape)).shape == (None, *shape)


@pytest.mark.parametrize("rank", [63, 1000, 10**9])
def test_a_rank_that_no_array_has_is_refused(rank: int):
    """Refused before there is a warning for each of its axes without a channel."""
    with pytest.raises(ValueError, match=rf"^`rank` must be .*62.*rank={rank}$"):
        kp.PositionalEncoding(rank, 8)


def test_the_highest_rank_is_accepted():
    layer = kp.PositionalEncoding(62, 2 * 62)
    assert tuple(layer(zeros(*(1,) * 64)).shape) == (1,) * 64


@pytest.mark.parametrize("rank", [63, 1000])
def test_a_table_of_a_rank_that_no_array_has_is_refused(rank: int):
    with pytest.raises(ValueError, match=rf"^`len\(shape\)` must .*62.*={rank}$"):
        kp.sinusoidal_table((1,) * rank, 8)


def test_encode_takes_coordinates_on_more_axes_than_an_array_has():
    outputs = kp.encode(np.zeros((2, 1000)), 2000, rank=1000)
    # A sine and a cosine of 0 for each.
    np.testing.assert_array_equal(to_numpy(outputs), np.tile([0, 1], (2, 1000)))
