"""Backends of Keras that only run models: the numbers of the formula, and files.

Keras imports JAX and SciPy for its NumPy backend, SciPy for OpenVINO's.
"""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import pytest

from helpers import saved_models
from helpers.processes import environment
from helpers.tolerances import COUNTING, ROUNDING, SUM_ROUNDING

BACKENDS = ("numpy", "openvino")

RUN = """
import json, sys, tempfile
from pathlib import Path
import keras, numpy as np
from helpers.layer_cases import LAYERS
from helpers.tensors import to_numpy
from helpers.saved_models import model_with
import keras_posenc as kp
from helpers import reference

found = {"backend": keras.backend.backend(), "called": {}, "saved": {}, "half": {}}
for case in LAYERS:
    x = case.inputs()
    found["called"][case.name] = np.abs(to_numpy(case.make()(x)) - case.expected(x))
    model = model_with(case)
    path = Path(tempfile.mkdtemp()) / "model.keras"
    model.save(path)
    loaded = keras.models.load_model(path)
    outputs = [to_numpy(m(x)) for m in (model, loaded)]
    predicted = loaded.predict(x, verbose=0)
    found["saved"][case.name] = np.abs(outputs[1] - outputs[0])
    found["saved"][case.name + "-predict"] = np.abs(predicted - outputs[0])
table = reference.encode_1d(2000, 16)
for dtype in ("float16", "bfloat16"):
    encoding = kp.PositionalEncoding1D(16, dtype=dtype)(np.zeros((1, 2000, 16)))
    assert keras.backend.standardize_dtype(encoding.dtype) == dtype
    found["half"][dtype] = np.abs(to_numpy(encoding)[0] - table)
integers = np.array([0, 1, -5, 65_536, 10**6])
reals = np.array([0.5, -3.25, 1_700_000_000.5])
found["encode"] = {
    "integers": np.abs(to_numpy(kp.encode(integers, 16))
        - reference.exact_1d(integers, 16)),
    "reals": np.abs(to_numpy(kp.encode(reals, 16)) - reference.exact_1d(reals, 16)),
    "plane": np.abs(to_numpy(kp.encode(np.stack([integers, integers[::-1]], -1), 16,
        rank=2)) - reference.exact(np.stack([integers, integers[::-1]], -1), 16)),
}
found["table"] = {"table": np.abs(kp.sinusoidal_table(2000, 16) - table)}
print(json.dumps(found, default=lambda array: float(array.max())))
"""


@pytest.fixture(scope="module", params=BACKENDS)
def found(request: pytest.FixtureRequest) -> dict[str, Any]:
    output = subprocess.run(
        [sys.executable, "-c", RUN],
        env=environment(KERAS_BACKEND=request.param),
        check=True,
        stdout=subprocess.PIPE,
        text=True,
    )
    found = json.loads(output.stdout.splitlines()[-1])
    assert found["backend"] == request.param
    return found


def test_every_layer_has_the_numbers_of_the_formula(found: dict[str, Any]):
    assert found["called"].keys() == {case.name for case in saved_models.LAYERS}
    assert max(found["called"].values()) <= SUM_ROUNDING


def test_saved_models_load_with_the_same_outputs(found: dict[str, Any]):
    assert found["saved"]
    # OpenVINO computes in another order in the graph that `predict` compiles. Which one
    # depends on the processor, so this is what any model that is shipped is held to.
    allowed = 1e-5 if found["backend"] == "openvino" else 0.0
    assert max(found["saved"].values()) <= allowed


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_half_precision_is_rounded_once(found: dict[str, Any], dtype: str):
    # OpenVINO cuts the digits that bfloat16 has not, instead of rounding them.
    cuts = found["backend"] == "openvino" and dtype == "bfloat16"
    assert found["half"][dtype] <= ROUNDING[dtype] * (2 if cuts else 1)


def test_encode_equals_the_formula(found: dict[str, Any]):
    # Timestamps are off by 2^-52 of themselves more.
    assert max(found["encode"].values()) <= COUNTING + 2e9 * 2.0**-52


def test_tables_equal_the_formula(found: dict[str, Any]):
    assert found["table"]["table"] <= ROUNDING["float32"]
