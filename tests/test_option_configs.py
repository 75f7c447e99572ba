"""Options in configs, files and copies, as plain numbers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import keras
import numpy as np
import pytest

import keras_posenc as kp
from helpers import reference
from helpers.internals import OPTION_NAMES
from helpers.option_combinations import (
    TWO_PI,
    Combination,
    each_combination,
    in_silence,
    layer_for,
)
from helpers.tensors import to_numpy, to_tensor, zeros
from helpers.tolerances import SINGLE

# Configs, files and copies.

# All of them: a default that changes one day must change no model that was saved.
ARGUMENTS = {
    *("rank", "channels", "data_format", "grid", "prefix_tokens"),
    *OPTION_NAMES,
}


@in_silence
@each_combination
def test_the_config_has_what_was_given(case: Combination):
    layer = layer_for(case)
    config = layer.get_config()
    assert json.loads(json.dumps(config)) == config
    of_the_base_layer = keras.layers.Layer().get_config().keys()
    assert config.keys() - of_the_base_layer == ARGUMENTS
    # Sequences are lists, and numbers are what the layer works with.
    assert {name: config[name] for name in case.options} == case.options
    again = kp.PositionalEncoding.from_config(config)
    assert again.get_config() == config
    inputs = zeros(*case.shape())
    np.testing.assert_array_equal(to_numpy(again(inputs)), to_numpy(layer(inputs)))


@pytest.mark.parametrize("kind", [tuple, np.array], ids=["tuple", "array"])
def test_sequences_become_lists_of_plain_numbers(kind: Any):
    layer = kp.PositionalEncoding2D(8, axis_order=kind([1, 0]), split=kind([4, 4]))
    config = layer.get_config()
    assert config["axis_order"] == [1, 0]
    assert config["split"] == [4, 4]
    assert {type(number) for number in config["axis_order"] + config["split"]} == {int}


RICH: dict[str, dict[str, Any]] = {
    "waves": {
        "max_wavelength": [10.0, 50.0],
        "endpoint": True,
        "layout": "freq axis phase",
        "cos_first": True,
        "axis_order": [1, 0],
        "split": [4, 6],
    },
    "coordinates": {
        "offset": 0.5,
        "scale": [1.0, 2.0],
        "coordinate_range": [0.0, TWO_PI],
        "eps": 1e-6,
        "remainder": "pad",
    },
    "corners": {
        "frequencies": [[1.0, 0.5, 0.25], [2.0, 0.0, -3.0]],
        "coordinate_range": [-1.0, 1.0],
        "align_corners": True,
    },
}
each_rich = pytest.mark.parametrize("options", RICH.values(), ids=RICH)
KINDS = {
    "general": lambda options: kp.PositionalEncoding(2, 10, **options),
    "2D": lambda options: kp.PositionalEncoding2D(10, **options),
    "Summer": lambda options: kp.Summer(kp.PositionalEncoding2D(10, **options)),
    "Permute2D": lambda options: kp.PositionalEncodingPermute2D(10, **options),
}


def model_of(kind: str, options: dict[str, Any]) -> tuple[keras.Model, Any]:
    shape = (10, 3, 4) if kind == "Permute2D" else (3, 4, 10)
    sides = (10, None, None) if kind == "Permute2D" else (None, None, 10)
    inputs = keras.Input(sides)
    values = np.random.default_rng(0).normal(size=(2, *shape)).astype("float32")
    return keras.Model(inputs, KINDS[kind](options)(inputs)), to_tensor(values)


@each_rich
@pytest.mark.parametrize("kind", KINDS)
def test_a_file_keeps_options(kind: str, options: dict[str, Any], tmp_path: Path):
    model, inputs = model_of(kind, options)
    model.save(tmp_path / "model.keras")
    loaded = keras.models.load_model(tmp_path / "model.keras")
    np.testing.assert_array_equal(to_numpy(loaded(inputs)), to_numpy(model(inputs)))
    assert loaded.layers[-1].get_config() == model.layers[-1].get_config()


@each_rich
@pytest.mark.parametrize("kind", KINDS)
def test_a_clone_keeps_options(kind: str, options: dict[str, Any]):
    model, inputs = model_of(kind, options)
    cloned = keras.models.clone_model(model)
    np.testing.assert_array_equal(to_numpy(cloned(inputs)), to_numpy(model(inputs)))
    assert cloned.layers[-1].get_config() == model.layers[-1].get_config()


@each_rich
def test_options_are_attributes(options: dict[str, Any]):
    layer = kp.PositionalEncoding2D(10, **options)
    read = {name: getattr(layer, name) for name in options}
    assert json.loads(json.dumps(read)) == options


# What comes back: plain numbers, and words about a bad one.


def test_a_config_with_a_bad_option_says_so():
    config = kp.PositionalEncoding2D(8, split=[4, 4]).get_config()
    # Keras makes a TypeError of whatever a constructor raises.
    with pytest.raises(TypeError, match=r"`split` must add up .* split=\(4, 2\)"):
        kp.PositionalEncoding2D.from_config({**config, "split": [4, 2]})


GOOD: list[tuple[dict[str, Any], dict[str, Any]]] = [
    ({"offset": np.float32(0.5)}, {"offset": 0.5}),
    ({"offset": np.int64(2)}, {"offset": 2.0}),
    ({"offset": np.array(2)}, {"offset": 2.0}),
    ({"scale": (1, 2)}, {"scale": [1.0, 2.0]}),
    ({"scale": np.array([1, 2], "float16")}, {"scale": [1.0, 2.0]}),
    ({"endpoint": np.True_}, {"endpoint": True}),
    ({"axis_order": range(1, -1, -1)}, {"axis_order": [1, 0]}),
    ({"split": [np.int32(6), np.uint8(2)]}, {"split": [6, 2]}),
    ({"frequencies": (1, np.float32(0.5))}, {"frequencies": [1.0, 0.5]}),
    (
        {"frequencies": np.array([[1, 2], [3, 4]])},
        {"frequencies": [[1.0, 2.0], [3.0, 4.0]]},
    ),
    (
        {"frequencies": [np.array([1.0, 2.0]), (3, 4)]},
        {"frequencies": [[1.0, 2.0], [3.0, 4.0]]},
    ),
    ({"coordinate_range": np.array([0, 1])}, {"coordinate_range": [0.0, 1.0]}),
    ({"split": None, "axis_order": None, "coordinate_range": None}, {}),
    ({"layout": "interleaved", "eps": 0, "offset": 0}, {}),
]


@pytest.mark.parametrize(("given", "kept"), GOOD, ids=lambda value: str(value)[:40])
def test_numbers_of_any_kind_are_kept_as_plain_ones(
    given: dict[str, Any], kept: dict[str, Any]
):
    config = kp.PositionalEncoding2D(8, **given).get_config()
    default = kp.PositionalEncoding2D(8, name=config["name"]).get_config()
    assert config == {**default, **kept}
    text = json.dumps(config)
    assert json.loads(text) == config
    layer = kp.PositionalEncoding2D.from_config(config)
    expected = reference.encode_options((2, 3), 8, **kept)
    outputs = to_numpy(layer(zeros(1, 2, 3, 8)))[0]
    np.testing.assert_allclose(outputs, expected, rtol=0, atol=SINGLE)
