"""What Keras and torch do around a call: training mode, regularizers, hooks."""

from __future__ import annotations

from typing import Any

import keras
import numpy as np
import pytest

import keras_posenc as kp
from helpers.run_modes import BACKEND
from helpers.tensors import to_numpy


@pytest.mark.parametrize("summed", [False, True])
def test_a_subclass_gets_the_mode_of_training(summed: bool):
    class Louder(kp.PositionalEncoding1D):
        def call(self, inputs: Any, training: bool = False) -> Any:
            return super().call(inputs) * (2 if training else 1)

    class Model(keras.Model):
        def __init__(self):
            super().__init__()
            self.encoding = kp.Summer(Louder(4)) if summed else Louder(4)

        def call(self, inputs: Any, training: bool = False) -> Any:
            return self.encoding(inputs)

    model, x = Model(), keras.ops.zeros((1, 3, 4))
    model(x)  # builds it
    quiet, loud = (to_numpy(model(x, training=mode)) for mode in (False, True))
    np.testing.assert_array_equal(loud, 2 * quiet)
    assert quiet.any()


def test_summer_heeds_the_regularizer_of_its_encoding():
    layer = kp.Summer(kp.PositionalEncoding1D(4, activity_regularizer="l2"))
    for _ in range(2):
        layer(keras.ops.zeros((1, 3, 4)))
        assert len(layer.losses) == 1  # those of the last call


if BACKEND == "torch":

    @pytest.mark.parametrize("summed", [False, True])
    def test_hooks_of_torch_are_called_each_time(summed: bool):
        layer = kp.PositionalEncoding1D(4)
        outer = kp.Summer(layer) if summed else layer
        called: list[str] = []
        x = keras.ops.zeros((1, 3, 4))
        expected = to_numpy(outer(x))
        layer.register_forward_hook(lambda *_: called.append("inner"))
        outer.register_forward_pre_hook(lambda *_: called.append("outer"))
        for _ in range(3):
            np.testing.assert_array_equal(to_numpy(outer(x)), expected)
        assert called == ["outer", "inner"] * 3

    def test_hooks_of_torch_are_called_for_arrays():
        layer = kp.CoordinateEncoding(4)
        given: list[Any] = []
        layer.register_forward_hook(lambda _, args, __: given.append(args[0]))
        stamps = np.array([1_700_000_000.5, 2.5])
        for _ in range(2):
            outputs = layer(stamps)
        expected = to_numpy(kp.encode(stamps, 4))
        np.testing.assert_allclose(to_numpy(outputs), expected, atol=1e-6)
        for values in given:
            np.testing.assert_array_equal(to_numpy(values), stamps)
        assert len(given) == 2
