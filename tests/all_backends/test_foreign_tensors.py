"""A tensor of another backend: the right numbers, and a warning that says so."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

RUN = """
import json, warnings
import keras, numpy as np
import keras_posenc as kp
import jax.numpy, tensorflow, torch

make = {
    "jax": jax.numpy.asarray,
    "tensorflow": tensorflow.convert_to_tensor,
    "torch": torch.from_numpy,
}
x = np.random.default_rng(0).random((2, 3, 8), "float32")
layers = {
    "layer": kp.PositionalEncoding1D(8),
    "sum": kp.Summer(kp.PositionalEncoding1D(8)),
    "values": kp.CoordinateEncoding(8),
}
found = {}
for owner, tensor in make.items():
    for name, layer in layers.items():
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            y = layer(tensor(x))
        assert keras.ops.is_tensor(y)
        # Tensors and arrays of values are not computed in the same way.
        pair = map(keras.ops.convert_to_numpy, (y, layer(x)))
        same = np.allclose(*pair, rtol=0, atol=4e-7)
        lines = [(str(w.message), w.filename) for w in caught]
        found[f"{owner} {name}"] = [same, lines]
print(json.dumps(found))
"""


@pytest.mark.parametrize("backend", ["jax", "tensorflow", "torch"])
def test_a_tensor_of_another_backend_is_encoded_with_a_warning(backend: str):
    output = subprocess.run(
        [sys.executable, "-c", RUN],
        env={**os.environ, "KERAS_BACKEND": backend},
        check=True,
        stdout=subprocess.PIPE,
        text=True,
    )
    found = json.loads(output.stdout.splitlines()[-1])
    assert len(found) == 9
    for name, (same, warned) in found.items():
        owner, _ = name.split()
        assert same, name
        if owner == backend:
            assert not warned, name
        else:
            ((message, file),) = warned
            assert f"got a tensor of {owner}, and returns one of {backend}" in message
            assert f"KERAS_BACKEND={owner} before" in message
            assert file == "<string>"  # the caller's line
