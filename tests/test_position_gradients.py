"""Gradients flow to `positions`, which can be learned."""

from __future__ import annotations

from typing import Any

import keras
import numpy as np
import pytest

import keras_posenc as kp
from helpers.gradients import gradient
from helpers.position_cases import (
    BATCH,
    CHANNELS,
    GIVEN,
    LENGTH,
    PLANE_SIZES,
    PLANES,
    Sequence,
    each_sequence,
)
from helpers.reference import exact_gradient_1d
from helpers.run_modes import KNOWN, with_known_sizes
from helpers.tensors import to_numpy, to_tensor, zeros
from helpers.tolerances import COUNTING, assert_close

# Frequencies of 1, 1/10, 1/100, 1/1000, each for a sine and a cosine, both of which are
# off by COUNTING; and sums of numbers below 2 are rounded.
SLOPE_ERROR = 2.222 * COUNTING + 2.0**-21


@pytest.mark.parametrize("mode", KNOWN)
@each_sequence
def test_gradients_flow_to_positions(case: Sequence, mode: str):
    layer, x = case.make(), case.inputs()
    layer(x)
    function = with_known_sizes(lambda p: layer(x, positions=p), mode)
    given = GIVEN["real-for-each"].astype("float32")
    found = gradient(function, to_tensor(given))
    assert_close(found, exact_gradient_1d(given, CHANNELS), SLOPE_ERROR)


def test_gradients_of_shared_positions_add_up_over_the_batch():
    layer = kp.PositionalEncoding1D(CHANNELS)
    given, x = GIVEN["real"].astype("float32"), zeros(BATCH, LENGTH, CHANNELS)
    found = gradient(lambda p: layer(x, positions=p), to_tensor(given))
    assert_close(found, BATCH * exact_gradient_1d(given, CHANNELS), BATCH * SLOPE_ERROR)


def test_gradients_flow_to_positions_of_a_plane():
    layer = kp.PositionalEncoding2D(2 * CHANNELS)  # as many for each axis as above
    given, x = (
        PLANES["real-for-each"].astype("float32"),
        zeros(2, *PLANE_SIZES, 2 * CHANNELS),
    )
    found = gradient(lambda p: layer(x, positions=p), to_tensor(given))
    assert_close(found, exact_gradient_1d(given, CHANNELS), SLOPE_ERROR)


def test_positions_can_be_learned():
    class Places(keras.layers.Layer):
        def build(self, input_shape: Any) -> None:
            self.places = self.add_weight(shape=(LENGTH,), initializer="ones")
            self.encoding = kp.PositionalEncoding1D(CHANNELS)

        def call(self, inputs: Any) -> Any:
            return self.encoding(inputs, positions=self.places)

    layer = Places()
    model = keras.Sequential([keras.Input((LENGTH, CHANNELS)), layer])
    model.compile("sgd", "mse")
    x = np.zeros((BATCH, LENGTH, CHANNELS), "float32")
    # Not towards 0, from which sine and cosine are as far at every position.
    model.fit(x, x + 1, verbose=0)
    assert np.isfinite(to_numpy(layer.places)).all()
    assert (to_numpy(layer.places) != 1).all()
