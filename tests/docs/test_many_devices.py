"""The example of several devices is run, on every backend."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLE = Path(__file__).parents[2] / "examples" / "many_devices.py"


@pytest.mark.parametrize("backend", ["jax", "tensorflow", "torch"])
def test_the_example_finds_the_same_loss(backend: str, tmp_path: Path):
    # Its devices are made of a CPU, also where there is a GPU.
    cpu = {"CUDA_VISIBLE_DEVICES": "-1", "JAX_PLATFORMS": "cpu"}
    done = subprocess.run(
        [sys.executable, str(EXAMPLE)],
        env={**os.environ, **cpu, "KERAS_BACKEND": backend},
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert done.returncode == 0, done.stdout
    printed = re.findall(r"loss on (\d) devices? +(\d+\.\d+)$", done.stdout, re.M)
    (one, alone), (two, together) = printed
    assert (one, two) == ("1", "2")
    # Gradients are added in another order: 2e-6 was measured.
    assert abs(float(alone) - float(together)) <= 1e-5
    assert list(tmp_path.iterdir()) == []
