"""Every way of Keras to keep a layer, and what comes back."""

from __future__ import annotations

import copy
import json
import pickle
import subprocess
import sys
from pathlib import Path

import keras
import numpy as np
import pytest
from keras import ops

import keras_posenc as kp
from helpers import saved_models
from helpers.layer_cases import Case, each_layer
from helpers.run_modes import BACKEND
from helpers.tensors import dtype_of, to_numpy


@keras.saving.register_keras_serializable(package="tests")
class Halves(keras.layers.Layer):
    """Anyone's registered layer."""

    def call(self, inputs):
        return ops.full_like(inputs, 0.5)


def copies_equal(layer: keras.layers.Layer, other: keras.layers.Layer, shape) -> None:
    inputs = np.random.default_rng(0).normal(size=shape).astype("float32")
    np.testing.assert_array_equal(to_numpy(layer(inputs)), to_numpy(other(inputs)))
    assert dtype_of(layer(inputs)) == dtype_of(other(inputs))


@pytest.fixture(scope="session")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Files that this process wrote and that a fresh one loaded."""
    folder = tmp_path_factory.mktemp("saved")
    saved_models.save(folder)
    subprocess.run([sys.executable, "-c", saved_models.LOAD, str(folder)], check=True)
    return folder


@pytest.mark.parametrize("extension", ["keras", "h5", "json"])
@pytest.mark.parametrize("name", saved_models.SAVED)
def test_a_file_loads_in_a_fresh_process(saved: Path, name: str, extension: str):
    outputs = np.load(saved / f"{name}.npz")["outputs"]
    loaded = np.load(saved / f"{name}.{extension}-{BACKEND}.npy")
    np.testing.assert_array_equal(loaded, outputs)


REBUILT = {
    "json": lambda model: keras.models.model_from_json(model.to_json()),
    "clone": keras.models.clone_model,
}


@pytest.mark.parametrize("way", REBUILT)
@pytest.mark.parametrize("name", saved_models.SAVED)
def test_json_and_clone_model_rebuild_a_model(name: str, way: str):
    case = saved_models.SAVED[name]
    model = saved_models.model_with(case)
    inputs = case.inputs()
    rebuilt = REBUILT[way](model)
    rebuilt.set_weights(model.get_weights())
    np.testing.assert_array_equal(
        rebuilt.predict(inputs, verbose=0), model.predict(inputs, verbose=0)
    )


@pytest.mark.parametrize("extension", ["keras", "h5"])
def test_a_summer_of_anyones_registered_layer_is_loaded(tmp_path: Path, extension: str):
    inputs = keras.Input((None, 8))
    model = keras.Model(inputs, kp.Summer(Halves())(inputs))
    model.save(tmp_path / f"model.{extension}")
    loaded = keras.models.load_model(tmp_path / f"model.{extension}")
    outputs = loaded.predict(np.ones((2, 3, 8), "float32"), verbose=0)
    np.testing.assert_array_equal(outputs, np.full((2, 3, 8), 1.5))


POLICIES = {
    "1d": lambda policy: kp.PositionalEncoding1D(8, dtype=policy),
    "in-a-sum": lambda policy: kp.Summer(kp.PositionalEncoding1D(8, dtype=policy)).penc,
    "sum": lambda policy: kp.Summer(kp.PositionalEncoding1D(8), dtype=policy),
    "sinusoid": lambda policy: kp.SinusoidEncoding(8, dtype=policy),
}


@pytest.mark.parametrize("name", POLICIES)
def test_the_policy_comes_back(name: str):
    layer = POLICIES[name](keras.DTypePolicy("mixed_bfloat16"))
    again = type(layer).from_config(layer.get_config())
    assert again.dtype_policy == layer.dtype_policy
    assert again.dtype_policy.name == "mixed_bfloat16"


def test_the_policy_of_the_inner_layer_comes_back(tmp_path: Path):
    policy = keras.DTypePolicy("mixed_bfloat16")
    inputs = keras.Input((None, 8))
    summer = kp.Summer(kp.PositionalEncoding1D(8, dtype=policy))
    keras.Model(inputs, summer(inputs)).save(tmp_path / "model.keras")
    loaded = keras.models.load_model(tmp_path / "model.keras").layers[-1]
    assert loaded.penc.dtype_policy.name == "mixed_bfloat16"
    assert loaded.dtype_policy.name == "float32"


@each_layer
@pytest.mark.parametrize("built", [False, True], ids=["before-build", "after-build"])
def test_from_config_leaves_the_config_as_it_is_and_rebuilds_the_layer(
    case: Case, built: bool
):
    layer = case.make(name="places")
    if built:
        layer(case.inputs())
    config = layer.get_config()
    before = copy.deepcopy(config)
    first, second = (type(layer).from_config(config) for _ in range(2))
    assert config == before
    assert first.get_config() == second.get_config() == config
    assert json.loads(json.dumps(config)) == config
    copies_equal(layer, first, case.shape)


@each_layer
def test_the_config_does_not_change_when_built(case: Case):
    layer = case.make()
    before = layer.get_config()
    layer(case.inputs())
    assert layer.get_config() == before


@each_layer
@pytest.mark.parametrize("called", [False, True], ids=["before-call", "after-call"])
@pytest.mark.parametrize(
    "duplicate",
    [lambda layer: pickle.loads(pickle.dumps(layer)), copy.deepcopy],
    ids=["pickle", "deepcopy"],
)
def test_a_pickled_or_copied_layer_returns_the_same(
    case: Case, duplicate, called: bool
):
    layer = case.make()
    if called:
        layer(case.inputs())
    copies_equal(layer, duplicate(layer), case.shape)


PENCS = {
    "TimeDistributed": lambda: keras.layers.TimeDistributed(keras.layers.Dense(8)),
    "RNN": lambda: keras.layers.RNN(keras.layers.GRUCell(8), return_sequences=True),
    "Bidirectional": lambda: keras.layers.Bidirectional(
        keras.layers.LSTM(4, return_sequences=True)
    ),
    "Sequential": lambda: keras.Sequential([keras.layers.Dense(8)]),
}


@pytest.mark.parametrize("name", PENCS)
def test_from_config_leaves_the_config_of_a_layer_of_layers_as_it_is(name: str):
    """Several of them take their config apart as they read it."""
    config = kp.Summer(PENCS[name]()).get_config()
    before = copy.deepcopy(config)
    for _ in range(2):
        kp.Summer.from_config(config)
    assert config == before


def test_a_clone_has_an_inner_layer_of_its_own():
    inputs = keras.Input((None, 8))
    model = keras.Model(inputs, kp.Summer(kp.PositionalEncoding1D(8))(inputs))
    clone = keras.models.clone_model(model)
    assert clone.layers[-1].penc is not model.layers[-1].penc


@each_layer
def test_layers_have_no_weights_and_no_state(case: Case):
    layer = case.make()
    layer(case.inputs())
    assert layer.weights == []
    assert layer.variables == []
    if BACKEND == "torch":
        assert dict(layer.state_dict()) == {}
        assert list(layer.buffers()) == []


@each_layer
def test_layers_are_registered_under_the_package(case: Case):
    cls = type(case.make())
    assert keras.saving.get_registered_name(cls) == f"keras_posenc>{cls.__name__}"


def test_subclasses_of_fixed_rank_have_no_rank_in_their_config():
    assert "rank" not in kp.PositionalEncoding2D(8).get_config()
    assert "data_format" not in kp.PositionalEncodingPermute2D(8).get_config()
    assert kp.PositionalEncoding(2, 8).get_config()["rank"] == 2
