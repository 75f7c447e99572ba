"""`Summer` passes `start_index` and `positions` on to the layer in it."""

from __future__ import annotations

from typing import Any

import keras
import numpy as np
import pytest
from keras import ops

import keras_posenc as kp
from helpers.position_cases import BATCH, CHANNELS, LENGTH, STARTS, counted_from
from helpers.tensors import scalar, to_numpy, to_tensor, zeros
from helpers.tolerances import COUNTING, assert_close


class KnowsStarts(keras.layers.Layer):
    """With the arguments of the layers of KerasHub; returns what it got."""

    def call(self, inputs: Any, start_index: Any = 0, positions: Any = None) -> Any:
        if positions is None:
            positions = start_index + ops.arange(inputs.shape[1])
        return ops.zeros_like(inputs) + ops.cast(positions, "float32")[:, None]


class KnowsNone(keras.layers.Layer):
    def call(self, inputs: Any) -> Any:
        return inputs


@pytest.mark.parametrize("start", [0, 4, -4])
@pytest.mark.parametrize("tensor", [False, True], ids=["int", "tensor"])
def test_a_summer_passes_the_start_on_to_any_layer(start: int, tensor: bool):
    layer = kp.Summer(KnowsStarts())
    given = scalar(start) if tensor else start
    outputs = layer(zeros(BATCH, LENGTH, CHANNELS), start_index=given)
    expected = (start + np.arange(LENGTH, dtype="float32"))[:, None]
    np.testing.assert_array_equal(
        to_numpy(outputs), np.broadcast_to(expected, outputs.shape)
    )


@pytest.mark.parametrize("tensor", [False, True], ids=["array", "tensor"])
def test_a_summer_passes_positions_on_to_any_layer(tensor: bool):
    positions = np.arange(LENGTH)[::-1].astype("float32")
    given = to_tensor(positions) if tensor else positions
    outputs = kp.Summer(KnowsStarts())(zeros(BATCH, LENGTH, CHANNELS), positions=given)
    np.testing.assert_array_equal(
        to_numpy(outputs), np.broadcast_to(positions[:, None], outputs.shape)
    )


UNKNOWN_TO_IT = {"start_index": 2, "positions": list(range(LENGTH))}


@pytest.mark.parametrize("argument", UNKNOWN_TO_IT)
def test_a_layer_that_takes_no_start_raises_its_own_error(argument: str):
    layer = kp.Summer(KnowsNone())
    with pytest.raises(TypeError, match=argument):
        layer(zeros(BATCH, LENGTH, CHANNELS), **{argument: UNKNOWN_TO_IT[argument]})


def test_a_layer_that_takes_no_start_is_not_given_zero():
    outputs = kp.Summer(KnowsNone())(zeros(BATCH, LENGTH, CHANNELS), start_index=0)
    assert to_numpy(outputs).max() == 0


def test_a_subclass_of_an_encoding_gets_the_start():
    class Doubled(kp.PositionalEncoding1D):
        def call(self, inputs: Any, start_index: Any = 0, positions: Any = None) -> Any:
            return 2 * super().call(inputs, start_index, positions)

    outputs = kp.Summer(Doubled(CHANNELS))(
        zeros(BATCH, LENGTH, CHANNELS), start_index=STARTS
    )
    assert_close(outputs, 2 * counted_from(STARTS), 2 * COUNTING)
