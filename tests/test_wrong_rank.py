"""Inputs of another rank, or with an unknown number of channels, are refused."""

from __future__ import annotations

import re
from collections.abc import Callable

import keras
import numpy as np
import pytest

import keras_posenc as kp
from helpers.layer_cases import LAYERS, Case, each_layer
from helpers.run_modes import BACKEND

if BACKEND == "tensorflow":  # the only one with tensors of unknown rank

    @each_layer
    def test_a_tensor_of_unknown_rank_is_refused(case: Case):
        import tensorflow as tf

        graph = tf.function(case.make(), input_signature=[tf.TensorSpec(None)])
        with pytest.raises(ValueError, match=r"expects a tensor of known rank"):
            graph(np.zeros(case.shape, "float32"))


WRONG_RANKS = [
    (case, rank) for case in LAYERS for rank in range(1, 7) if rank != len(case.shape)
]
each_wrong_rank = pytest.mark.parametrize(
    ("case", "rank"),
    WRONG_RANKS,
    ids=[f"{case.name}-ndim{rank}" for case, rank in WRONG_RANKS],
)


def wrong_rank_message(case: Case, shape: tuple[int | None, ...]) -> str:
    return (
        rf"expected ndim={len(case.shape)}, found ndim={len(shape)}\. "
        rf"Received: inputs of shape {re.escape(str(shape))}$"
    )


@pytest.mark.parametrize(
    "make",
    [lambda: kp.PositionalEncoding2D(8), lambda: kp.Summer(kp.PositionalEncoding2D(8))],
    ids=["2d", "sum-of-2d"],
)
@pytest.mark.parametrize("shape", [(), (3,), (2, 8), (2, 5, 8), (1, 2, 2, 2, 8)])
def test_a_built_layer_refuses_tensors_of_another_rank(
    make: Callable[[], keras.layers.Layer], shape: tuple[int, ...]
):
    layer = make()
    layer(keras.ops.zeros((1, 2, 2, 8)))
    message = f"expected ndim=4, found ndim={len(shape)}"
    with pytest.raises(ValueError, match=message):
        layer(keras.ops.zeros(shape))


@each_wrong_rank
def test_a_wrong_rank_is_refused_eagerly(case: Case, rank: int):
    shape = (2,) * rank
    with pytest.raises(ValueError, match=wrong_rank_message(case, shape)) as caught:
        case.make()(np.zeros(shape, "float32"))
    assert "\x1b" not in str(caught.value)


@each_wrong_rank
def test_a_wrong_rank_is_refused_in_a_model(case: Case, rank: int):
    shape = (None, *(2,) * (rank - 1))
    with pytest.raises(ValueError, match=wrong_rank_message(case, shape)) as caught:
        case.make()(keras.Input(shape[1:]))
    assert "\x1b" not in str(caught.value)


@each_layer
def test_a_wrong_rank_is_refused_inside_time_distributed(case: Case):
    with pytest.raises(ValueError, match=r"expected ndim=\d, found ndim=2\."):
        keras.layers.TimeDistributed(case.make())(keras.Input((5, 8)))


@each_layer
def test_an_unknown_number_of_channels_is_refused(case: Case):
    shape = [None, *case.shape[1:]]
    shape[case.channel_dim] = None
    with pytest.raises(ValueError, match=r"number of channels is known when the model"):
        case.make()(keras.Input(shape[1:]))


@each_layer
def test_another_rank_is_refused_on_a_later_call_inside_time_distributed(case: Case):
    """`TimeDistributed` calls `call` directly, past what `__call__` checks."""
    layer = keras.layers.TimeDistributed(case.make())
    layer(np.zeros((2, 3, *case.shape[1:]), "float32"))
    with pytest.raises(ValueError, match=r"expected ndim=\d, found ndim=\d\."):
        layer(np.zeros((2, 3, *case.shape[1:], 2), "float32"))


@each_layer
def test_another_rank_is_refused_on_a_later_call(case: Case):
    layer = case.make()
    layer(np.zeros(case.shape, "float32"))
    shape = (2,) * (len(case.shape) + 1)
    with pytest.raises(ValueError, match=wrong_rank_message(case, shape)):
        layer(np.zeros(shape, "float32"))
