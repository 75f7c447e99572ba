"""Files that released versions wrote load for ever, with the outputs of then."""

from __future__ import annotations

import functools
import json
import runpy
import zipfile
from pathlib import Path
from typing import Any

import h5py
import keras
import numpy as np
import pytest
from packaging.version import Version

import keras_posenc as kp
from helpers.tensors import to_numpy
from helpers.tolerances import COUNTING

SAVED = Path(__file__).parent / "golden/saved"
FILES = [path for path in sorted(SAVED.glob("*/*")) if path.suffix in (".keras", ".h5")]
each_file = pytest.mark.parametrize(
    "path", FILES, ids=lambda path: str(path.relative_to(SAVED))
)
# One unit of a number below 2, if a rounding went the other way, else of numbers below
# 8 to which an encoding was added.
UNIT = {"float16": 2.0**-10, "bfloat16": 2.0**-5, "float32": 0.0, "float64": 0.0}


def layer_of(model: keras.Model) -> keras.Layer:
    return model.layers[1]


@functools.cache
def load(path: Path) -> keras.Model:
    """The model of a file, or a skip: Keras reads older files than it, not newer."""
    version = written_by(path)
    if Version(version) > Version(keras.__version__):
        pytest.skip(f"Keras {version} wrote it, and Keras {keras.__version__} is older")
    return keras.models.load_model(path)


def written_by(path: Path) -> str:
    """The version of Keras that wrote a file."""
    if path.suffix == ".h5":
        with h5py.File(path) as file:
            return file.attrs["keras_version"]
    with zipfile.ZipFile(path) as file:
        return json.loads(file.read("metadata.json"))["keras_version"]


@each_file
def test_an_old_file_loads_with_the_outputs_of_then(path: Path):
    model = load(path)
    frozen = np.load(path.with_suffix(".npz"))
    encoded, head = (to_numpy(output) for output in model(frozen["inputs"]))
    kernel, _ = model.layers[-1].get_weights()
    layer = layer_of(model)
    policies = {layer.compute_dtype, getattr(layer, "penc", layer).compute_dtype}
    # A sum below 8 and what `Dense` makes of it are in float32, by other kernels.
    tolerance = COUNTING + 2.0**-21 + max(UNIT[name] for name in policies)
    np.testing.assert_allclose(encoded, frozen["encoded"], rtol=0, atol=tolerance)
    most = np.abs(kernel).sum(axis=0).max() * 2 * tolerance
    np.testing.assert_allclose(head, frozen["head"], rtol=0, atol=most)


@each_file
def test_an_old_file_serves_another_size(path: Path):
    """Where the model was built for unknown ones, which the file says."""
    model = load(path)
    sizes = [9 if size is None else size for size in model.input.shape]
    assert len(model(np.zeros(sizes, "float32"))) == 2


def test_old_files_have_every_layer():
    found: set[Any] = set()
    for path in FILES:
        layer = layer_of(load(path))
        found |= {type(layer), type(getattr(layer, "penc", layer))}
    public = {
        value
        for value in vars(kp).values()
        if isinstance(value, type) and issubclass(value, keras.Layer)
    }
    assert public <= found


SCRIPT = runpy.run_path(str(SAVED / "write.py"))


@pytest.mark.parametrize("path", ["1d.keras", "2d-bases.h5"])
def test_an_old_file_is_not_written_again(tmp_path: Path, path: str):
    (tmp_path / path).write_bytes(b"of then")
    with pytest.raises(SystemExit, match=rf"{path} is there, and stays as it is\."):
        SCRIPT["write"](tmp_path)
    assert (tmp_path / path).read_bytes() == b"of then"


def test_a_folder_that_has_all_files_stays_as_it_is(tmp_path: Path):
    names = {f"{name}.npz" for name in SCRIPT["MODELS"]}
    for name in names:
        (tmp_path / name).touch()
    with pytest.raises(SystemExit, match=r"has all of them, and stays as it is\."):
        SCRIPT["write"](tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == names
