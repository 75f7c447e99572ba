"""A file saved under one backend gives the same outputs under the others."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from helpers import saved_models
from helpers.processes import run_helper
from helpers.tolerances import COUNTING

BACKENDS = ("jax", "tensorflow", "torch")


def load(backend: str, *folders: str) -> None:
    env = {**os.environ, "KERAS_BACKEND": backend}
    command = [sys.executable, "-c", saved_models.LOAD, *folders]
    subprocess.run(command, env=env, check=True)


@pytest.fixture(scope="session")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """By backend, what it saved, and what each of the three made of that."""
    saved = {backend: tmp_path_factory.mktemp(backend) for backend in BACKENDS}
    for backend, folder in saved.items():
        run_helper("saved_models", str(folder), KERAS_BACKEND=backend)
    for backend in BACKENDS:
        load(backend, *map(str, saved.values()))
    return saved


@pytest.mark.parametrize("loader", BACKENDS)
@pytest.mark.parametrize("saver", BACKENDS)
@pytest.mark.parametrize("extension", ["keras", "h5", "json"])
@pytest.mark.parametrize("name", saved_models.SAVED)
def test_a_file_loads_on_every_backend_with_the_outputs_it_was_saved_with(
    folders: dict[str, Path], name: str, extension: str, saver: str, loader: str
):
    folder = folders[saver]
    outputs = np.load(folder / f"{name}.npz")["outputs"]
    loaded = np.load(folder / f"{name}.{extension}-{loader}.npy")
    # TensorFlow's graph counts what the others compute on the host; then at most two
    # sums and a normalisation of two steps round numbers below 32, in another order.
    # bfloat16 may round the other way.
    tolerance = 2.0**-8 if name == "bfloat16" else COUNTING + 4 * 2.0**-20
    np.testing.assert_allclose(loaded, outputs, rtol=0, atol=tolerance)
