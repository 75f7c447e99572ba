"""Policies of Keras, global, of a layer and of a map, decide the precision."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import keras
import numpy as np
import pytest

import keras_posenc as kp
from helpers import reference
from helpers.layer_cases import LAYERS, SEVERAL, Case, bound, each_of_several
from helpers.tensors import available, dtype_of, to_numpy
from helpers.tolerances import COMPUTED, HALF_UNIT, assert_within

POLICIES = {
    "float16": "float16",
    "bfloat16": "bfloat16",
    "float32": "float32",
    "float64": "float64",
    "mixed_float16": "float16",
    "mixed_bfloat16": "bfloat16",
}


# Policies, of everything and of a layer.


@pytest.mark.parametrize(
    ("case", "policy"),
    [(case, "mixed_bfloat16") for case in LAYERS]
    + [
        (case, policy)
        for policy in POLICIES
        for case in SEVERAL
        if policy != "mixed_bfloat16"
    ],
    ids=lambda value: value if isinstance(value, str) else value.name,
)
def test_a_global_policy_decides_the_precision(
    case: Case, policy: str, global_policy: Callable[[Any], None]
):
    global_policy(policy)
    layer, inputs = case.make(), case.inputs()
    assert layer.dtype_policy.name == policy
    dtype = available(POLICIES[policy])
    outputs = layer(inputs)
    assert dtype_of(outputs) == dtype
    assert_within(outputs, case.expected(inputs), bound(case, inputs, dtype, dtype))


@pytest.mark.parametrize("global_", ["mixed_bfloat16", "float16"])
@each_of_several
def test_a_layer_keeps_its_own_precision_in_a_model(
    case: Case, global_: str, global_policy: Callable[[Any], None]
):
    global_policy(global_)
    # Without a dtype of its own, the input of a model would be rounded before.
    inputs = keras.Input(case.shape[1:], dtype="float32")
    model = keras.Model(inputs, case.make(dtype="float32")(inputs))
    outputs = model(case.inputs())
    assert dtype_of(outputs) == model.output.dtype == "float32"
    expected = case.expected(case.inputs())
    assert_within(outputs, expected, bound(case, case.inputs(), "float32", "float32"))


PAIRS = [(inner, outer) for inner in HALF_UNIT for outer in HALF_UNIT if inner != outer]


@pytest.mark.parametrize(("inner", "outer"), PAIRS)
def test_a_sum_may_have_another_precision_than_its_encoding(inner: str, outer: str):
    case = Case("sum-of-2d", lambda: None, (2, 40, 3, 8), adds=True)
    layer = kp.Summer(kp.PositionalEncoding2D(8, dtype=inner), dtype=outer)
    outputs = layer(case.inputs())
    dtype, rounded = available(outer), available(inner)
    assert dtype_of(outputs) == dtype
    expected = case.expected(case.inputs())
    assert_within(outputs, expected, bound(case, case.inputs(), dtype, rounded))


@pytest.mark.parametrize("policy", POLICIES)
def test_a_global_policy_decides_the_precision_of_encode(
    policy: str, global_policy: Callable[[Any], None]
):
    global_policy(policy)
    outputs = kp.encode(np.arange(3000), channels=16)
    dtype = available(POLICIES[policy])
    assert dtype_of(outputs) == dtype
    expected = reference.exact_1d(np.arange(3000), 16)
    # Counted positions, of which float64 has 52 bits.
    computed = 3000 * 2.0**-52 if dtype == "float64" else COMPUTED[dtype]
    assert_within(outputs, expected, computed + np.abs(expected) * HALF_UNIT[dtype])


@pytest.mark.parametrize("policy", POLICIES)
def test_a_global_policy_leaves_tables_as_they_are(
    policy: str, global_policy: Callable[[Any], None]
):
    """They are arrays of a dtype that the call names, or float32."""
    global_policy(policy)
    assert kp.sinusoidal_table(5, 8).dtype == "float32"
    assert kp.sinusoidal_table(5, 8, dtype=None).dtype.name == POLICIES[policy]


def map_of(**entries: str) -> keras.dtype_policies.DTypePolicyMap:
    policies = keras.dtype_policies.DTypePolicyMap(default_policy="mixed_bfloat16")
    for path, policy in entries.items():
        policies[path.replace("__", "/")] = policy
    return policies


@pytest.mark.parametrize("way", ["argument", "global"])
@pytest.mark.parametrize("policy", [*POLICIES])
def test_a_layer_finds_its_entry_of_a_policy_map(
    policy: str, way: str, global_policy: Callable[[Any], None]
):
    policies = map_of(places=policy)
    if way == "global":
        global_policy(policies)
    named = {"dtype": policies} if way == "argument" else {}
    layer = kp.PositionalEncoding1D(8, name="places", **named)
    other = kp.PositionalEncoding1D(8, name="others", **named)
    x = np.zeros((1, 40, 8), "float32")
    dtype = available(POLICIES[policy])
    assert (dtype_of(layer(x)), dtype_of(other(x))) == (dtype, "bfloat16")
    table = reference.encode_1d(40, 8)
    assert_within(layer(x), table, COMPUTED[dtype] + np.abs(table) * HALF_UNIT[dtype])


@pytest.mark.parametrize("policy", ["float16", "float32"])
def test_the_layer_in_a_summer_finds_its_entry_of_a_policy_map(
    policy: str, global_policy: Callable[[Any], None]
):
    global_policy(map_of(sum="float32", sum__places=policy))
    layer = kp.Summer(kp.PositionalEncoding1D(8, name="places"), name="sum")
    outputs = layer(np.zeros((1, 40, 8), "float32"))
    assert dtype_of(outputs) == "float32"
    table = reference.encode_1d(40, 8)
    rounded = np.abs(table) * HALF_UNIT[policy] + COMPUTED[policy]
    assert_within(outputs, table, rounded)
    # The table is not in more digits than the entry for it has.
    digits = to_numpy(outputs).astype(policy).astype("float64")
    assert (digits == to_numpy(outputs)).all()


def test_a_policy_map_comes_back_from_a_file(
    tmp_path: Path, global_policy: Callable[[Any], None]
):
    global_policy(map_of(sum="float16"))
    inputs = keras.Input((None, 8))
    summer = kp.Summer(kp.PositionalEncoding1D(8, name="places"), name="sum")
    model = keras.Model(inputs, summer(inputs))
    model.save(tmp_path / "model.keras")
    global_policy("float32")
    loaded = keras.models.load_model(tmp_path / "model.keras")
    x = np.zeros((1, 40, 8), "float32")
    assert dtype_of(loaded(x)) == dtype_of(model(x)) == "float16"
    np.testing.assert_array_equal(to_numpy(loaded(x)), to_numpy(model(x)))


# `keras.config.set_floatx`, which Keras reads before anything is made.

FLOATX = """
import json, sys
import keras, numpy as np

keras.config.set_floatx(sys.argv[1])
import keras_posenc as kp

x = np.full((1, 2000, 8), 0.25)
found = {
    "layer": kp.PositionalEncoding1D(8)(x),
    "sum": kp.Summer(kp.PositionalEncoding1D(8))(x) - 0.25,
    "encode": kp.encode(np.arange(2000), 8)[None],
}
table = kp.sinusoidal_table(2000, 8, dtype="float64")
errors = {
    name: float(np.abs(keras.ops.convert_to_numpy(y).astype("float64") - table).max())
    for name, y in found.items()
}
dtypes = {keras.backend.standardize_dtype(y.dtype) for y in found.values()}
print(json.dumps({"errors": errors, "dtypes": sorted(dtypes)}))
"""


@pytest.fixture(scope="module", params=["float64", "float16"])
def under_floatx(request: pytest.FixtureRequest) -> tuple[str, dict[str, Any]]:
    output = subprocess.run(
        [sys.executable, "-c", FLOATX, request.param],
        # JAX has no float64 unless it is told to.
        env={**os.environ, "JAX_ENABLE_X64": "1"},
        check=True,
        stdout=subprocess.PIPE,
        text=True,
    )
    return request.param, json.loads(output.stdout.splitlines()[-1])


@pytest.mark.parametrize("name", ["layer", "sum", "encode"])
def test_another_floatx_decides_the_precision(name: str, under_floatx: tuple[str, Any]):
    floatx, found = under_floatx
    assert found["dtypes"] == [floatx]
    # Rounded once; in the sum once more, and once when 0.25 is taken off again.
    assert found["errors"][name] <= COMPUTED[floatx] + 4 * HALF_UNIT[floatx]


@pytest.mark.parametrize("policy", ["int32", "complex64", "int8_from_float32"])
@pytest.mark.parametrize(
    "make",
    [kp.PositionalEncoding1D, kp.SinusoidEncoding],
    ids=lambda make: make.__name__,
)
def test_an_entry_of_a_policy_map_that_is_no_float_is_refused(
    make: Callable[..., keras.Layer], policy: str, global_policy: Callable[[Any], None]
):
    global_policy(map_of(places=policy))
    with pytest.raises(ValueError, match="`dtype` must be a floating-point dtype"):
        make(8, name="places")(np.zeros((1, 4, 8), "float32"))
