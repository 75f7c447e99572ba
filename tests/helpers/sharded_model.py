"""One model and its data, to train on one device and on several: the losses agree.

The target depends on where numbers are in a sequence, which the model learns from
encodings alone: averages over the sequence are all that it makes of it.
"""

from __future__ import annotations

import keras
import numpy as np
from keras import layers

import keras_posenc as kp

LENGTH, CHANNELS = 16, 8
BATCH, EPOCHS = 32, 3
STEPS = 4


def build(max_wavelength: float = 100.0) -> keras.Model:
    """The same weights each time, whatever has been made before."""
    keras.utils.set_random_seed(0)
    inputs = keras.Input((LENGTH, CHANNELS))
    x = layers.Dense(16, name="embed")(inputs)
    penc = kp.PositionalEncoding1D(16, max_wavelength=max_wavelength)
    x = kp.Summer(penc, name="summer")(x)
    x = layers.Dense(32, activation="relu", name="hidden")(x)
    x = layers.Multiply()([x, kp.PositionalEncoding1D(32, name="encoding")(x)])
    x = layers.GlobalAveragePooling1D()(x)
    return keras.Model(inputs, layers.Dense(1, name="head")(x))


def data() -> tuple[np.ndarray, np.ndarray]:
    x = np.random.default_rng(0).normal(size=(STEPS * BATCH, LENGTH, CHANNELS))
    y = np.sum(x[..., 0] * np.linspace(-1, 1, LENGTH), axis=1, keepdims=True)
    return x.astype("float32"), (y / np.std(y)).astype("float32")


def fitted(max_wavelength: float = 100.0) -> list[float]:
    """The loss of each epoch, on the devices that Keras is set to."""
    model = build(max_wavelength)
    model.compile(keras.optimizers.Adam(0.01), "mse")
    history = model.fit(
        *data(), batch_size=BATCH, epochs=EPOCHS, shuffle=False, verbose=0
    )
    return history.history["loss"]
