"""Inputs without a batch, without positions or without channels."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import keras
import numpy as np
import pytest

import keras_posenc as kp
from helpers.layer_cases import BY_NAME, Case, each_layer, each_of_several, open_shape
from helpers.run_modes import (
    BACKEND,
    KNOWN,
    UNKNOWN,
    with_known_sizes,
    with_unknown_sizes,
)
from helpers.tensors import dtype_of, to_numpy, to_tensor, zeros

each_graph = pytest.mark.parametrize("mode", KNOWN[1:])


def without_batch(case: Case) -> tuple[int, ...]:
    return (0, *case.shape[1:])


def without_positions(case: Case) -> tuple[int, ...]:
    """The shape of the case with its last axis empty."""
    shape = list(case.shape)
    shape[-1 if case.channel_dim == 1 else -2] = 0
    return tuple(shape)


def without_anything(case: Case) -> tuple[int, ...]:
    shape = [0] * len(case.shape)
    shape[case.channel_dim] = case.shape[case.channel_dim]
    return tuple(shape)


each_empty = pytest.mark.parametrize(
    "empty", [without_batch, without_positions, without_anything]
)


def assert_empty(outputs: Any, shape: tuple[int | None, ...]) -> None:
    assert tuple(outputs.shape) == shape
    # That of the layer, which is not that of the input.
    assert dtype_of(outputs) == "bfloat16"


@each_of_several
@each_empty
def test_an_empty_input_gives_an_empty_output(
    empty: Callable[[Case], tuple[int, ...]], case: Case
):
    layer, shape = case.make(dtype="bfloat16"), empty(case)
    assert_empty(layer(zeros(*shape)), shape)
    # What an empty call keeps is of no consequence to another.
    full = to_numpy(layer(to_tensor(case.inputs())))
    np.testing.assert_array_equal(
        full, to_numpy(case.make(dtype="bfloat16")(to_tensor(case.inputs())))
    )


# One of each kind in graphs, which are compiled for every shape.
@pytest.mark.parametrize(
    ("name", "empty"),
    [
        ("1d", without_batch),
        ("permute2d", without_positions),
        ("sum-of-2d", without_anything),
        ("sum-of-2d", without_positions),
        ("sinusoid", without_batch),
        ("sinusoid", without_positions),
    ],
)
@each_graph
def test_an_empty_input_gives_an_empty_output_in_a_graph(
    mode: str, empty: Callable[[Case], tuple[int, ...]], name: str
):
    case = BY_NAME[name]
    graph, shape = with_known_sizes(case.make(dtype="bfloat16"), mode), empty(case)
    assert_empty(graph(zeros(*shape)), shape)


if BACKEND != "jax":  # whose symbols stand for sizes from 1 on

    @pytest.mark.parametrize(
        ("name", "empty"),
        [("1d", without_batch), ("sum-of-permute2d", without_positions)],
    )
    @pytest.mark.parametrize("mode", UNKNOWN)
    def test_an_empty_input_gives_an_empty_output_where_no_size_is_known(
        mode: str, empty: Callable[[Case], tuple[int, ...]], name: str
    ):
        case = BY_NAME[name]
        layer, shape = case.make(dtype="bfloat16"), empty(case)
        graph = with_unknown_sizes(layer, mode, open_shape(case))
        # torch would make a graph for the empty input alone, were it the first.
        graph(to_tensor(case.inputs()))
        assert_empty(graph(zeros(*shape)), shape)


@each_layer
def test_an_empty_input_gives_an_empty_output_in_a_model(case: Case):
    _, *sizes = without_positions(case)
    inputs = keras.Input(sizes)
    outputs = case.make(dtype="bfloat16")(inputs)
    assert_empty(outputs, (None, *sizes))
    model = keras.Model(inputs, outputs)
    assert_empty(model(zeros(2, *sizes)), (2, *sizes))


@pytest.mark.parametrize("shape", [(0,), (0, 3), (3, 0, 2)], ids=str)
@pytest.mark.parametrize("rank", [1, 2])
def test_encode_of_no_positions_is_empty(rank: int, shape: tuple[int, ...]):
    coordinates = () if rank == 1 else (rank,)
    positions = np.zeros((*shape, *coordinates), "int32")
    outputs = kp.encode(to_tensor(positions), 8, rank=rank, dtype="bfloat16")
    assert_empty(outputs, (*shape, 8))


NO_CHANNELS = {
    "1d": (lambda: kp.PositionalEncoding1D(8), (2, 3, 0)),
    "2d": (lambda: kp.PositionalEncoding2D(8), (2, 3, 4, 0)),
    "permute2d": (lambda: kp.PositionalEncodingPermute2D(8), (2, 0, 3, 4)),
    "sum-of-1d": (lambda: kp.Summer(kp.PositionalEncoding1D(8)), (2, 3, 0)),
}


@pytest.mark.parametrize("name", NO_CHANNELS)
def test_an_input_without_channels_gives_an_output_without(name: str):
    make, shape = NO_CHANNELS[name]
    assert tuple(make()(zeros(*shape)).shape) == shape


def test_an_input_without_channels_warns_where_its_channels_count():
    layer = kp.PositionalEncoding1D()
    with pytest.warns(UserWarning, match=r"no channel for axis 0 of its 1: .*=0$"):
        outputs = layer(zeros(2, 3, 0))
    assert tuple(outputs.shape) == (2, 3, 0)
