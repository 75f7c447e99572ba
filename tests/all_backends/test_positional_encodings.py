"""The numbers of `positional-encodings` 6.0.3, on the backends that it has."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

# One process for each backend: ours runs on the one that theirs is written for.
COMPARE = """
import importlib, json, sys
import numpy as np

backend, prefix = sys.argv[1:]
theirs = importlib.import_module(f"positional_encodings.{prefix}_encodings")
ours = importlib.import_module(f"keras_posenc.{prefix}_encodings")
mark = "TF" if prefix == "tf" else ""
tensor = importlib.import_module(backend).zeros

differences = {}
for name, channels, shape in [
    ("PositionalEncoding1D", 10, (1, 6, 10)),
    ("PositionalEncoding1D", 64, (2, 1000, 64)),
    ("PositionalEncoding2D", 8, (1, 6, 2, 8)),
    ("PositionalEncoding2D", 170, (1, 8, 6, 2)),
    ("PositionalEncoding2D", 123, (1, 100, 3, 124)),
    ("PositionalEncoding3D", 11, (1, 5, 6, 4, 11)),
    ("PositionalEncodingPermute1D", 9, (2, 9, 300)),
    ("PositionalEncodingPermute2D", 169, (1, 169, 1, 1000)),
    ("PositionalEncodingPermute3D", 11, (1, 11, 5, 6, 4)),
]:
    if not hasattr(theirs, mark + name):
        continue  # the Permute layers of TensorFlow, which only their README has
    x = tensor(shape)
    encodings = [getattr(module, mark + name)(channels)(x) for module in (theirs, ours)]
    assert type(encodings[0]) is type(encodings[1])
    encodings = [np.asarray(encoding, "float64") for encoding in encodings]
    assert encodings[0].shape == encodings[1].shape
    difference = np.abs(encodings[0] - encodings[1]).max()
    differences[f"{name}({channels}) on {shape}"] = float(difference)

public = {
    name for name in dir(theirs)
    if getattr(getattr(theirs, name), "__module__", None) == theirs.__name__
}
missing = sorted(public - set(dir(ours)))
print(json.dumps({"differences": differences, "missing": missing}))
"""


@pytest.fixture(scope="module", params=[("torch", "torch"), ("tensorflow", "tf")])
def compared(request: pytest.FixtureRequest) -> dict:
    backend, prefix = request.param
    output = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", COMPARE, backend, prefix],
        env={**os.environ, "KERAS_BACKEND": backend},
        check=True,
        stdout=subprocess.PIPE,
        text=True,
    )
    return json.loads(output.stdout.splitlines()[-1])


def test_same_shapes_and_numbers(compared: dict):
    assert len(compared["differences"]) >= 6
    # Their angles are float32, which at position 1,000 is off by this much.
    assert {k: v for k, v in compared["differences"].items() if v > 1e-4} == {}


def test_same_names(compared: dict):
    assert compared["missing"] == []
