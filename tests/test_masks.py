"""Masks pass through every layer, and padding stays masked."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import keras
import numpy as np
import pytest
from keras import layers

import keras_posenc as kp
from helpers.layer_cases import Case, each_layer
from helpers.tensors import to_numpy, to_tensor

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


def by_name(value: Any) -> str:
    return value if isinstance(value, str) else value.__name__


def masked_model(name: str, head: Callable[[Any], Any]) -> keras.Model:
    keras.utils.set_random_seed(0)
    tokens = keras.Input((None,), dtype="int32")
    x = layers.Embedding(20, 16, mask_zero=True)(tokens)
    x = head(MASKED[name]()(x))
    return keras.Model(tokens, layers.Dense(1)(x))


@pytest.mark.parametrize(
    ("name", "head"),
    [*((name, lstm) for name in MASKED), ("1d", attention), ("sum-of-1d", attention)],
    ids=by_name,
)
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
@pytest.mark.parametrize(
    ("name", "head"),
    [("1d", attention), ("sum-of-1d", lstm), ("sinusoid", lstm)],
    ids=by_name,
)
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
