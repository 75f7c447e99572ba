"""Quantized models: the layers have nothing to quantize."""

from __future__ import annotations

from pathlib import Path

import keras
import numpy as np
import pytest
from packaging.version import Version

import keras_posenc as kp
from helpers.layer_cases import LAYERS, SUMMERS, Case

# Keras says so of each layer that it leaves as it is, its own `InputLayer` too.
leaves_some = pytest.mark.filterwarnings(
    "ignore:Layer .* does not have a `quantize` method implemented:UserWarning"
)


def two_outputs(case: Case) -> keras.Model:
    """What the layer under test returns, and what a `Dense` makes of that."""
    keras.utils.set_random_seed(0)
    inputs = keras.Input(case.shape[1:])
    encoded = case.make(name="places")(inputs)
    return keras.Model(inputs, [encoded, keras.layers.Dense(4)(encoded)])


@leaves_some
@pytest.mark.parametrize(
    "name", ["2d", "permute1d", "sum-of-1d", "sum-of-permute2d", "sinusoid"]
)
def test_a_quantized_model_leaves_the_layers(name: str):
    case = next(case for case in LAYERS if case.name == name)
    model, x = two_outputs(case), case.inputs()
    layer, (kernel, bias) = model.get_layer("places"), model.get_weights()
    config = layer.get_config()
    encoded, outputs = model.predict(x, verbose=0)
    model.quantize("int8")
    encoded_then, outputs_then = model.predict(x, verbose=0)
    np.testing.assert_array_equal(encoded_then, encoded)
    assert layer.get_config() == config
    assert layer.quantization_mode is None
    assert model.layers[-1].quantization_mode == "int8"
    # 127 steps up to the largest weight of a column and the largest input of a row:
    # each is off by half a step at most.
    kernel_off = np.abs(kernel).max(axis=0) / 254
    inputs_off = np.abs(encoded).max(axis=-1, keepdims=True) / 254
    bounds = (
        np.abs(encoded).sum(axis=-1, keepdims=True) * kernel_off
        + inputs_off * np.abs(kernel).sum(axis=0)
        + len(kernel) * inputs_off * kernel_off
    )
    difference = np.abs(outputs_then - outputs)
    assert difference.max() > 0  # something was quantized
    # Keras scales in float32, and divides by a number that it adds 1e-7 to.
    assert (difference <= bounds * 1.001 + 1e-5).all()
    assert (np.abs(outputs - encoded @ kernel - bias) <= 1e-5).all()


INT4 = pytest.mark.skipif(
    Version(keras.__version__) < Version("3.11"), reason="Keras 3.11 brought int4."
)


@leaves_some
@pytest.mark.parametrize("mode", [pytest.param("int4", marks=INT4), "float8"])
def test_other_quantizations_leave_the_layers(mode: str):
    case = next(case for case in SUMMERS if case.name == "sum-of-2d")
    model, x = two_outputs(case), case.inputs()
    encoded = model.predict(x, verbose=0)[0]
    model.quantize(mode)
    np.testing.assert_array_equal(model.predict(x, verbose=0)[0], encoded)
    assert model.get_layer("places").quantization_mode is None


@leaves_some
def test_a_quantized_model_comes_back_from_a_file(tmp_path: Path):
    case = next(case for case in SUMMERS if case.name == "sum-of-permute2d")
    model = two_outputs(case)
    model.quantize("int8")
    model.save(tmp_path / "model.keras")
    loaded = keras.models.load_model(tmp_path / "model.keras")
    found, expected = (m.predict(case.inputs(), verbose=0) for m in (loaded, model))
    np.testing.assert_array_equal(found[0], expected[0])
    np.testing.assert_array_equal(found[1], expected[1])


@leaves_some
def test_a_foreign_layer_in_a_summer_is_quantized():
    inputs = keras.Input((6, 16))
    summer = kp.Summer(keras.layers.Dense(16))
    model = keras.Model(inputs, summer(inputs))
    x = np.random.default_rng(0).normal(size=(3, 6, 16)).astype("float32")
    before = model.predict(x, verbose=0)
    model.quantize("int8")
    assert summer.penc.quantization_mode == "int8"
    difference = np.abs(model.predict(x, verbose=0) - before)
    assert 0 < difference.max() < 0.1  # of 16 products of some 0.25 * 127 / 254
