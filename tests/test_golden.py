"""Tables that other projects' own code produced, at the default options."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import keras_posenc as kp
from helpers.tensors import to_numpy

GOLDEN = json.loads((Path(__file__).parent / "golden/defaults.json").read_text())
each_table = pytest.mark.parametrize("golden", GOLDEN, ids=lambda item: item["name"])


def expected(golden: dict[str, Any]) -> np.ndarray:
    return np.reshape(golden["table"], (*golden["shape"], golden["channels"]))


def tolerance(golden: dict[str, Any]) -> float:
    """The original's own float32 error, ours, and the seven decimals of the file."""
    return golden["original_error"] + 1e-7 + 0.5e-7


@each_table
def test_layer_equals_the_original(golden: dict[str, Any]):
    shape, channels = golden["shape"], golden["channels"]
    layer = kp.PositionalEncoding(len(shape), channels)
    outputs = to_numpy(layer(np.zeros((1, *shape, channels), "float32")))[0]
    np.testing.assert_allclose(
        outputs, expected(golden), rtol=0, atol=tolerance(golden)
    )


@each_table
def test_table_equals_the_original(golden: dict[str, Any]):
    table = kp.sinusoidal_table(golden["shape"], golden["channels"])
    np.testing.assert_allclose(table, expected(golden), rtol=0, atol=tolerance(golden))
