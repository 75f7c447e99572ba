"""Masks pass through; sparse, ragged and ill-shaped tensors are refused."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import keras
import numpy as np
import pytest
from keras import layers, ops

import keras_posenc as kp
from helpers import reference
from helpers.layer_cases import Case, each_layer
from helpers.run_modes import BACKEND
from helpers.tensors import to_numpy, to_tensor
from helpers.tolerances import SUM_ROUNDING

MASKED: dict[str, Callable[[], keras.Layer]] = {
    "1d": lambda: kp.PositionalEncoding1D(16),
    "sum-of-1d": lambda: kp.Summer(kp.PositionalEncoding1D(16)),
    "sum-of-sum-of-1d": lambda: kp.Summer(kp.Summer(kp.PositionalEncoding1D(16))),
    "sum-of-sinusoid": lambda: kp.Summer(kp.SinusoidEncoding(16)),
    "sinusoid": lambda: kp.SinusoidEncoding(16),
}
each_masked = pytest.mark.parametrize("name", MASKED)


def lstm(x: Any) -> Any:
    return layers.LSTM(8)(x)


def attention(x: Any) -> Any:
    return layers.MultiHeadAttention(2, 8)(x, x)[:, 0]


def masked_model(name: str, head: Callable[[Any], Any]) -> keras.Model:
    keras.utils.set_random_seed(0)
    tokens = keras.Input((None,), dtype="int32")
    x = layers.Embedding(20, 16, mask_zero=True)(tokens)
    x = head(MASKED[name]()(x))
    return keras.Model(tokens, layers.Dense(1)(x))


@each_masked
@pytest.mark.parametrize("head", [lstm, attention], ids=["lstm", "attention"])
def test_padding_is_masked_eagerly(name: str, head: Callable[[Any], Any]):
    model = masked_model(name, head)
    padded = to_numpy(model(np.array([[5, 6, 7, 0, 0]])))
    bare = to_numpy(model(np.array([[5, 6, 7]])))
    # The same sums in another order of addition: a few roundings of float32.
    np.testing.assert_allclose(padded, bare, rtol=0, atol=1e-6)


@each_masked
def test_without_the_mask_padding_would_count(name: str):
    """Shows that the check above can fail."""
    keras.utils.set_random_seed(0)
    tokens = keras.Input((None,), dtype="int32")
    x = layers.Embedding(20, 16, mask_zero=False)(tokens)
    model = keras.Model(tokens, lstm(MASKED[name]()(x)))
    padded = to_numpy(model(np.array([[5, 6, 7, 0, 0]])))
    assert np.abs(padded - to_numpy(model(np.array([[5, 6, 7]])))).max() > 1e-3


# An encoding does not depend on the numbers of its input, so that alone passes no
# gradient on to the embedding, and Keras says so.
@pytest.mark.filterwarnings("ignore:.*[Gg]radients do(es)? not exist:UserWarning")
@each_masked
@pytest.mark.parametrize("head", [lstm, attention], ids=["lstm", "attention"])
def test_a_masked_model_is_trained(name: str, head: Callable[[Any], Any]):
    model = masked_model(name, head)
    # Keras compiles with XLA on JAX and TensorFlow, and runs torch eagerly.
    model.compile("sgd", "mse", jit_compile="auto")
    tokens = np.array([[5, 6, 7, 0, 0], [1, 2, 0, 0, 0]])
    losses = model.fit(tokens, np.ones((2, 1)), epochs=2, verbose=0).history["loss"]
    assert np.isfinite(losses).all()
    assert losses[1] < losses[0]


@each_layer
def test_the_mask_of_the_input_is_that_of_the_output(case: Case):
    mask = to_tensor(np.arange(case.shape[0]) > 0)
    seen = []

    class Masks(keras.layers.Layer):
        def call(self, inputs: Any) -> Any:
            return inputs

        def compute_mask(self, inputs: Any, previous_mask: Any) -> Any:
            return mask

    class Sees(keras.layers.Layer):
        supports_masking = True

        def call(self, inputs: Any, mask: Any = None) -> Any:
            seen.append(mask)
            return inputs

    Sees()(case.make()(Masks()(np.zeros(case.shape, "float32"))))
    assert len(seen) == 1
    assert seen[0] is mask


def sparse_tensor(shape: tuple[int, ...]) -> Any:
    if BACKEND == "tensorflow":
        import tensorflow as tf

        return tf.sparse.from_dense(np.ones(shape, "float32"))
    if BACKEND == "torch":
        import torch

        return torch.ones(shape).to_sparse()
    from jax.experimental import sparse

    return sparse.BCOO.fromdense(np.ones(shape, "float32"))


def ragged_tensor(shape: tuple[int, ...]) -> Any:
    """A tensor whose rows differ in length, as the backend has it."""
    rows = [np.ones(shape[1:], "float32"), np.ones((1, *shape[2:]), "float32")]
    if BACKEND == "tensorflow":
        import tensorflow as tf

        return tf.ragged.stack(rows)
    import torch

    return torch.nested.nested_tensor([torch.tensor(row) for row in rows])


DENSIFY = r"^\w+ expects a dense tensor; make sparse and ragged tensors dense first\. "


@each_layer
def test_sparse_tensors_are_refused(case: Case):
    with pytest.raises(ValueError, match=DENSIFY):
        case.make()(sparse_tensor(case.shape))


if BACKEND != "jax":  # which has no ragged tensors
    # torch says so of every tensor of a kind that it may still change.
    @pytest.mark.filterwarnings("ignore:The PyTorch API of nested tensors:UserWarning")
    @each_layer
    def test_ragged_tensors_are_refused(case: Case):
        with pytest.raises(ValueError, match=DENSIFY):
            case.make()(ragged_tensor(case.shape))


if BACKEND != "torch":  # on which Keras has no sparse inputs

    @each_layer
    def test_sparse_inputs_of_a_model_are_refused(case: Case):
        with pytest.raises(ValueError, match=DENSIFY):
            case.make()(keras.Input(case.shape[1:], sparse=True))


if BACKEND == "tensorflow":  # the only one on which Keras has ragged inputs

    @each_layer
    def test_ragged_inputs_of_a_model_are_refused(case: Case):
        with pytest.raises(ValueError, match=DENSIFY):
            case.make()(keras.Input((None, *case.shape[2:]), ragged=True))


if BACKEND == "tensorflow":  # the only one with tensors of unknown rank

    @each_layer
    def test_a_tensor_of_unknown_rank_is_refused(case: Case):
        import tensorflow as tf

        graph = tf.function(case.make(), input_signature=[tf.TensorSpec(None)])
        with pytest.raises(ValueError, match=r"expects a tensor of known rank"):
            graph(np.zeros(case.shape, "float32"))


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
