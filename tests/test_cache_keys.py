"""A cached table is found by all that its numbers depend on, and by nothing else."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import keras
import numpy as np
import pytest

import keras_posenc as kp
from helpers import reference
from helpers.internals import empty_cache
from helpers.layer_cases import Case, assert_right, each_of_several
from helpers.run_modes import BACKEND
from helpers.tensors import dtype_of, to_numpy, to_tensor, zeros
from helpers.tolerances import ROUNDING

pytestmark = pytest.mark.usefixtures("empty_cache")


def encoding(*args: Any, **kwargs: Any) -> Callable[[], keras.Layer]:
    return lambda: kp.PositionalEncoding(*args, **kwargs)


def summer(dtype: str, inner_dtype: str) -> Callable[[], keras.Layer]:
    return lambda: kp.Summer(kp.PositionalEncoding1D(8, inner_dtype), dtype=dtype)


FLOAT = encoding(1, 8)
PAIRS = {
    "bfloat16": ((2, 300, 8), encoding(1, 8, dtype="bfloat16"), FLOAT),
    "float16": ((2, 300, 8), encoding(1, 8, dtype="mixed_float16"), FLOAT),
    "halves": (
        (2, 300, 8),
        encoding(1, 8, dtype="bfloat16"),
        encoding(1, 8, dtype="float16"),
    ),
    "in-a-summer": (
        (2, 300, 8),
        summer("float32", "bfloat16"),
        summer("float32", "float32"),
    ),
    "of-a-summer": (
        (2, 300, 8),
        summer("bfloat16", "float32"),
        summer("float16", "float32"),
    ),
    "on-the-way-of-a-summer": (
        (2, 300, 8),
        summer("float16", "bfloat16"),
        summer("float16", "float32"),
    ),
    "alone-or-in-a-summer": ((2, 300, 8), FLOAT, summer("float32", "bfloat16")),
    "max_wavelength": ((2, 9, 8), FLOAT, encoding(1, 8, max_wavelength=20.0)),
    "of-axes": (
        (2, 5, 5, 8),
        encoding(2, 8, max_wavelength=[20.0, 300.0]),
        encoding(2, 8, max_wavelength=[300.0, 20.0]),
    ),
    "channels": ((2, 9, 8), FLOAT, encoding(1, 12)),
    "channels-of-the-input": ((2, 9, 8), encoding(1), encoding(1, 12)),
    "data_format": (
        (2, 8, 8, 8),
        encoding(2, 8),
        encoding(2, 8, data_format="channels_first"),
    ),
    "data_format-of-a-sequence": (
        (2, 8, 8),
        FLOAT,
        encoding(1, 8, data_format="channels_first"),
    ),
}
if BACKEND != "jax":
    PAIRS["float64"] = ((2, 300, 8), encoding(1, 8, dtype="float64"), FLOAT)


@pytest.mark.parametrize("pair", PAIRS)
def test_layers_called_in_turn_get_their_own_tables(pair: str):
    shape, *makers = PAIRS[pair]
    x = zeros(*shape)
    alone = [output_alone(make(), x) for make in makers]
    assert alone[0].tobytes() != alone[1].tobytes()
    first, second = (make() for make in makers)
    outputs = [to_numpy(layer(x)) for layer in (first, second, first, second)]
    np.testing.assert_array_equal(outputs, alone * 2)


def output_alone(layer: keras.Layer, x: Any) -> np.ndarray:
    """What a layer returns where no other has been called."""
    with empty_cache():
        return to_numpy(layer(x))


def test_one_layer_gets_a_table_for_each_number_of_channels():
    layer = kp.PositionalEncoding1D()
    outputs = [to_numpy(layer(zeros(1, 7, count))) for count in (8, 6, 8)]
    expected = [reference.encode_1d(7, count) for count in (8, 6, 8)]
    errors = [np.abs(a[0] - b).max() for a, b in zip(outputs, expected, strict=True)]
    assert max(errors) <= ROUNDING["float32"]


@pytest.mark.parametrize("dtype", ["int32", "uint8", "bool", "float16"])
@pytest.mark.parametrize("first", ["this", "float32"])
def test_the_dtype_of_the_input_changes_no_table(dtype: str, first: str):
    layer = kp.PositionalEncoding1D(8)
    inputs = {"this": zeros(1, 60, 8, dtype=dtype), "float32": zeros(1, 60, 8)}
    outputs = [layer(inputs[name]) for name in sorted(inputs, key=first.__ne__)]
    assert {dtype_of(output) for output in outputs} == {"float32"}
    expected = reference.encode_1d(60, 8)
    errors = [np.abs(to_numpy(output)[0] - expected).max() for output in outputs]
    assert max(errors) <= ROUNDING["float32"]


if BACKEND == "torch":

    @each_of_several
    @pytest.mark.parametrize("first", ["cpu", "meta"])
    def test_each_device_gets_its_own_table(case: Case, first: str):
        layer, x = case.make(), case.inputs()
        devices = sorted(["cpu", "meta"], key=first.__ne__)
        outputs = {device: layer(to_tensor(x).to(device)) for device in devices}
        assert [outputs[name].device.type for name in devices] == devices
        assert_right(outputs["cpu"], case, x)


if BACKEND == "jax":
    # JAX makes two of one CPU only as it starts.
    TWO_DEVICES = """
import json, os
os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=2"
import jax, numpy, keras_posenc
layer = keras_posenc.PositionalEncoding1D(8)
layers = [layer, keras_posenc.Summer(layer)]
devices = [*jax.devices(), jax.devices()[0]]
inputs = [jax.device_put(numpy.zeros((1, 5, 8), "float32"), d) for d in devices]
outputs = [[layer(x) for x in inputs] for layer in layers]
print(json.dumps({
    "devices": [[y.device.id for y in of_layer] for of_layer in outputs],
    "rows": [[y[0, 1].tolist() for y in of_layer] for of_layer in outputs],
}))
"""

    def test_a_result_is_on_the_device_of_its_input():
        output = subprocess.run(
            [sys.executable, "-c", TWO_DEVICES],
            check=True,
            capture_output=True,
            text=True,
        )
        found = json.loads(output.stdout.splitlines()[-1])
        assert found["devices"] == [[0, 1, 0]] * 2
        row = reference.encode_1d(2, 8)[1]
        assert np.abs(np.array(found["rows"]) - row).max() <= ROUNDING["float32"]
