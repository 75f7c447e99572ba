"""Cached tables go with their layer, and are in no copy and no file of it."""

from __future__ import annotations

import copy
import gc
import json
import pickle
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import keras
import numpy as np
import pytest

import keras_posenc as kp
from helpers import reference
from helpers.internals import cached_bytes
from helpers.layer_cases import BY_NAME, Case, each_of_several
from helpers.run_modes import BACKEND
from helpers.tensors import to_numpy, to_tensor, zeros
from helpers.tolerances import ROUNDING

pytestmark = pytest.mark.usefixtures("empty_cache")


@each_of_several
def test_tables_go_with_their_layer(case: Case):
    layer = case.make()
    layer(to_tensor(case.inputs()))
    assert cached_bytes() > 0
    del layer
    gc.collect()
    assert cached_bytes() == 0


def test_tables_of_another_layer_stay():
    layer, other = kp.PositionalEncoding1D(8), kp.PositionalEncoding1D(10)
    layer(zeros(1, 5, 8))
    held = cached_bytes()
    other(zeros(1, 5, 10))
    del other
    gc.collect()
    assert cached_bytes() == held


def test_a_copy_outlives_the_layer_it_was_copied_from():
    layer = kp.PositionalEncoding1D(8)
    layer(zeros(1, 5, 8))
    twin = copy.deepcopy(layer)
    del layer
    gc.collect()
    outputs = to_numpy(twin(zeros(1, 5, 8)))
    assert np.abs(outputs[0] - reference.encode_1d(5, 8)).max() <= ROUNDING["float32"]
    assert cached_bytes() > 0


def members(path: Path) -> dict[str, int]:
    """What is in a `.keras` file, and how many bytes of it."""
    with zipfile.ZipFile(path) as archive:
        return {info.filename: info.file_size for info in archive.infolist()}


def saved(model: keras.Model, path: Path) -> dict[str, int]:
    model.save(path / "model.keras")
    return members(path / "model.keras")


LEFTOVERS: dict[str, Callable[[keras.Model, Path], Any]] = {
    "pickle": lambda model, path: len(pickle.dumps(model.layers[0])),
    "deepcopy": lambda model, path: len(pickle.dumps(copy.deepcopy(model.layers[0]))),
    "get_config": lambda model, path: json.dumps(model.get_config()),
    "weights": lambda model, path: [*model.weights, *model.non_trainable_variables],
    "attributes": lambda model, path: sorted(vars(model.layers[0])),
    "file": saved,
}
if BACKEND == "torch":
    LEFTOVERS["state_dict"] = lambda model, path: [*model.state_dict()]


@pytest.mark.parametrize("name", ["1d", "sum-of-1d"])
@pytest.mark.parametrize("kind", LEFTOVERS)
def test_cached_tables_are_in_no_copy_and_no_file(kind: str, name: str, tmp_path: Path):
    layer = BY_NAME[name].make()
    model = keras.Sequential([keras.Input((None, 10)), layer])
    layer(zeros(1, 1, 10))
    before = LEFTOVERS[kind](model, tmp_path)
    layer(zeros(1, 5000, 10))
    assert cached_bytes() > 200_000
    assert LEFTOVERS[kind](model, tmp_path) == before
