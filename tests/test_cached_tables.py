"""Eager calls find the table of an earlier one: nothing is built or compiled twice."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import keras_posenc as kp
from helpers import reference
from helpers.internals import cached_bytes
from helpers.layer_cases import BY_NAME, Case, assert_right, each_of_several
from helpers.run_modes import BACKEND
from helpers.tensors import to_numpy, to_tensor, zeros

pytestmark = pytest.mark.usefixtures("empty_cache")


@each_of_several
def test_a_second_call_builds_no_table(case: Case, builds: list):
    layer, x = case.make(), to_tensor(case.inputs())
    first = to_numpy(layer(x))
    assert len(builds) == 1
    np.testing.assert_array_equal(to_numpy(layer(x)), first)
    assert len(builds) == 1


@each_of_several
def test_one_table_serves_every_batch_size(case: Case, builds: list):
    layer, x = case.make(), case.inputs()
    layer(to_tensor(x))
    held = cached_bytes()
    assert_right(layer(to_tensor(x[:1])), case, x[:1])
    three = np.concatenate([x, x[:1]])
    assert_right(layer(to_tensor(three)), case, three)
    assert tuple(layer(to_tensor(x[:0])).shape) == (0, *case.shape[1:])
    assert len(builds) == 1
    assert cached_bytes() == held


def test_layers_of_the_same_options_share_a_table(builds: list):
    x = zeros(1, 6, 8)
    layers = [
        kp.PositionalEncoding1D(8),
        kp.PositionalEncoding(1, 8, max_wavelength=10_000),
        kp.PositionalEncoding1D(8, name="another"),
        kp.Summer(kp.PositionalEncoding1D(8)),
        kp.SinusoidEncoding(8, max_len=7),
    ]
    outputs = [to_numpy(layer(x)) for layer in layers]
    assert len({table.tobytes() for table in outputs}) == 1
    # `SinusoidEncoding` rounds once, the others for themselves and for a sum.
    assert len(builds) <= 2


def test_missing_channels_warn_although_the_table_is_cached(builds: list):
    layer = kp.PositionalEncoding1D(3)
    for _ in range(2):
        with pytest.warns(UserWarning, match="channels=3 makes 4 channels"):
            outputs = layer(zeros(1, 7, 6))
    assert tuple(outputs.shape) == (1, 7, 4)
    assert tuple(layer(zeros(1, 7, 4)).shape) == (1, 7, 4)
    assert np.abs(to_numpy(outputs)[0] - reference.encode_1d(7, 4)).max() <= 1e-7


@pytest.mark.parametrize("name", ["1d", "permute1d", "sum-of-1d", "sinusoid"])
@pytest.mark.parametrize("value", [np.nan, np.inf], ids=str)
def test_values_of_the_input_reach_no_cached_table(name: str, value: float):
    case = BY_NAME[name]
    layer, x = case.make(), case.inputs()
    outputs = to_numpy(layer(to_tensor(np.full_like(x, value))))
    if case.adds:
        np.testing.assert_array_equal(outputs, np.full(x.shape, value))
    else:
        assert_right(outputs, case, x)
    assert_right(layer(to_tensor(x)), case, x)


if BACKEND == "jax":

    def compilations(call: Callable[[], Any], caplog: Any) -> list[str]:
        """What JAX says that it compiles for a call."""
        import jax

        caplog.clear()
        with jax.log_compiles(), caplog.at_level(logging.WARNING, logger="jax"):
            call()
        lines = [record.getMessage() for record in caplog.records]
        return [line for line in lines if line.startswith("Compiling")]

    @each_of_several
    def test_a_second_call_compiles_nothing(case: Case, caplog: Any):
        layer, x = case.make(), to_tensor(case.inputs())
        layer(x)
        assert compilations(lambda: layer(x), caplog) == []

    def test_a_compilation_would_be_seen(caplog: Any):
        import jax

        x = zeros(3)
        assert compilations(lambda: jax.jit(lambda x: x + 1)(x), caplog) != []
