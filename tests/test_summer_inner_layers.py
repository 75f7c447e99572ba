"""`Summer` of anyone's layer: what it returns is added, or refused for its shape."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import keras
import numpy as np
import pytest
from keras import layers, ops

import keras_posenc as kp
from helpers import reference
from helpers.run_modes import BACKEND
from helpers.tensors import to_numpy
from helpers.tolerances import SUM_ROUNDING


class Foreign(keras.layers.Layer):
    """Returns whatever its function makes of the input."""

    def __init__(self, function: Callable[[Any], Any], **kwargs: Any):
        super().__init__(**kwargs)
        self.function = function

    def call(self, inputs: Any) -> Any:
        return self.function(inputs)


WRONG_SHAPES = {
    "one-channel": (lambda x: x[..., :1], (2, 5, 1)),
    "one-position": (lambda x: x[:, :1], (2, 1, 8)),
    "one-batch": (lambda x: x[:1], (1, 5, 8)),
    "no-batch": (lambda x: x[0], (5, 8)),
    "longer": (lambda x: ops.concatenate([x, x], axis=1), (2, 10, 8)),
}


@pytest.mark.parametrize("name", WRONG_SHAPES)
def test_an_inner_layer_of_another_shape_is_refused(name: str):
    function, shape = WRONG_SHAPES[name]
    summer = kp.Summer(Foreign(function))
    with pytest.raises(ValueError, match="it never broadcasts") as caught:
        summer(np.ones((2, 5, 8), "float32"))
    assert "(2, 5, 8)" in str(caught.value)
    assert str(shape) in str(caught.value)


@pytest.mark.parametrize("name", WRONG_SHAPES)
def test_an_inner_layer_of_another_shape_is_refused_on_a_later_call(name: str):
    function, _ = WRONG_SHAPES[name]
    calls: list[bool] = []
    summer = kp.Summer(Foreign(lambda x: function(x) if calls else x))
    summer(np.ones((2, 5, 8), "float32"))
    calls.append(True)
    with pytest.raises(ValueError, match="it never broadcasts"):
        summer(np.ones((2, 5, 8), "float32"))


def test_a_subclass_of_another_shape_is_refused_in_a_model():
    class OnePosition(kp.PositionalEncoding1D):
        def call(self, inputs: Any) -> Any:
            return super().call(inputs)[:, :1]

        def compute_output_shape(self, input_shape: Any) -> Any:
            return (input_shape[0], 1, input_shape[2])

    with pytest.raises(ValueError, match="it never broadcasts"):
        kp.Summer(OnePosition(8))(keras.Input((5, 8)))


@pytest.mark.parametrize("name", ["one-channel", "no-batch"])
def test_an_inner_layer_of_another_shape_is_refused_in_a_model(name: str):
    function, _ = WRONG_SHAPES[name]
    with pytest.raises(ValueError, match="it never broadcasts"):
        kp.Summer(Foreign(function))(keras.Input((None, 8)))


WRONG_WHEN_RUN = {
    "one-position": lambda x: x[:, :1],
    "one-batch": lambda x: x[:1],
    "one-batch-known": lambda x: ops.ones((1, 1, 8)),
    "other-length": lambda x: ops.concatenate([x, x], axis=1),
    "swapped": lambda x: ops.transpose(x, (1, 0, 2)),
}


@pytest.mark.parametrize("name", WRONG_WHEN_RUN)
def test_an_inner_layer_of_another_shape_is_refused_when_a_model_runs(name: str):
    """Sizes that no model knows before it runs neither broadcast nor rearrange."""
    inputs = keras.Input((None, 8))
    summed = kp.Summer(Foreign(WRONG_WHEN_RUN[name]))(inputs)
    model = keras.Model(inputs, summed)
    # TensorFlow's graph finds out when it runs, the others when they trace.
    with pytest.raises(Exception, match=r"it never broadcasts|Shapes of all inputs"):
        model.predict(np.ones((2, 5, 8), "float32"), verbose=0)


if BACKEND == "tensorflow":  # the only one whose graphs have unknown sizes

    @pytest.mark.parametrize("compiled", [False, True], ids=["graph", "xla"])
    @pytest.mark.parametrize("name", WRONG_WHEN_RUN)
    def test_an_inner_layer_of_another_shape_is_refused_in_a_graph(
        name: str, compiled: bool
    ):
        import tensorflow as tf

        summer = kp.Summer(Foreign(WRONG_WHEN_RUN[name]))
        spec = tf.TensorSpec((None, None, 8), "float32")
        graph = tf.function(summer, input_signature=[spec], jit_compile=compiled)
        with pytest.raises(Exception, match=r"(?i)shapes? .*(match|same)"):
            graph(np.ones((2, 5, 8), "float32"))

    def test_an_inner_layer_of_the_right_shape_is_added_in_a_graph():
        import tensorflow as tf

        summer = kp.Summer(Foreign(lambda x: x * 0.5))
        spec = tf.TensorSpec((None, None, 8), "float32")
        graph = tf.function(summer, input_signature=[spec])
        outputs = to_numpy(graph(np.ones((2, 5, 8), "float32")))
        np.testing.assert_array_equal(outputs, np.full((2, 5, 8), 1.5))


def test_an_inner_layer_that_returns_no_tensor_is_refused():
    with pytest.raises(ValueError, match=r"`penc` must return one tensor.*Received: "):
        kp.Summer(Foreign(lambda x: [x, x]))(np.ones((2, 5, 8), "float32"))


def test_an_inner_layer_is_added_and_built_before_the_first_call():
    summer = kp.Summer(layers.Dense(8))
    summer.build((None, 5, 8))
    assert len(summer.weights) == 2
    inputs = np.ones((2, 5, 8), "float32")
    expected = inputs + to_numpy(summer.penc(inputs))
    np.testing.assert_allclose(
        to_numpy(summer(inputs)), expected, rtol=0, atol=SUM_ROUNDING
    )


def test_an_inner_layer_without_a_build_of_its_own_gets_its_weights():
    summer = kp.Summer(keras.Sequential([layers.Dense(4), layers.Dense(8)]))
    summer.build((None, 5, 8))
    assert len(summer.weights) == 4


def test_an_inner_layer_sees_the_mask():
    seen = []

    class Sees(keras.layers.Layer):
        supports_masking = True

        def call(self, inputs: Any, mask: Any = None) -> Any:
            seen.append(mask is not None)
            return inputs

    tokens = np.array([[5, 6, 0]])
    x = layers.Embedding(10, 8, mask_zero=True)(tokens)
    kp.Summer(Sees())(x)
    assert seen[-1]


def test_an_inner_layer_that_knows_no_masks_gives_no_warning():
    """The mask is Summer's to pass on: nothing is lost."""
    tokens = np.array([[5, 6, 0]])
    x = layers.Embedding(10, 8, mask_zero=True)(tokens)
    summed = kp.Summer(Foreign(lambda x: x * 0))(x)
    pooled = to_numpy(layers.GlobalAveragePooling1D()(summed))
    np.testing.assert_allclose(
        pooled, to_numpy(x)[:, :2].mean(axis=1), rtol=0, atol=SUM_ROUNDING
    )


def test_a_subclass_with_a_call_of_its_own_is_called():
    class Doubled(kp.PositionalEncoding1D):
        def call(self, inputs: Any) -> Any:
            return 2 * super().call(inputs)

    outputs = to_numpy(kp.Summer(Doubled(8))(np.zeros((1, 5, 8), "float32")))[0]
    np.testing.assert_allclose(
        outputs, 2 * reference.encode_1d(5, 8), rtol=0, atol=2 * SUM_ROUNDING
    )


def test_a_summer_of_a_summer_adds_the_input_twice():
    summer = kp.Summer(kp.Summer(kp.PositionalEncoding1D(8)))
    outputs = to_numpy(summer(np.ones((1, 5, 8), "float32")))[0]
    np.testing.assert_allclose(
        outputs, 2 + reference.encode_1d(5, 8), rtol=0, atol=2 * SUM_ROUNDING
    )
