"""Dtype policies, casts and quantization of whole models: what reaches the encoding."""

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
from packaging.version import Version

import keras_posenc as kp
from helpers import reference
from helpers.layer_cases import LAYERS, SUMMERS, Case, bound, each_layer, each_summer
from helpers.run_modes import BACKEND, with_known_sizes, with_unknown_sizes
from helpers.tensors import available, dtype_of, to_numpy, to_tensor
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


@each_layer
@pytest.mark.parametrize("policy", POLICIES)
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
@each_layer
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


# Quantized models: the layers have nothing to quantize.

# Keras says so of each layer that it leaves as it is, its own `InputLayer` too.
leaves_some = pytest.mark.filterwarnings(
    "ignore:Layer .* does not have a `quantize` method implemented:UserWarning"
)


def two_outputs(case: Case) -> keras.Model:
    """What the layer under test returns, and what a `Dense` makes of that."""
    keras.utils.set_random_seed(0)
    inputs = keras.Input(case.shape[1:])
    encoded = case.make(name="places")(inputs)
    return keras.Model(inputs, [encoded, keras.layers.Dense(4)(encoded)])


@leaves_some
@pytest.mark.parametrize(
    "name", ["2d", "permute1d", "sum-of-1d", "sum-of-permute2d", "sinusoid"]
)
def test_a_quantized_model_leaves_the_layers(name: str):
    case = next(case for case in LAYERS if case.name == name)
    model, x = two_outputs(case), case.inputs()
    layer, (kernel, bias) = model.get_layer("places"), model.get_weights()
    config = layer.get_config()
    encoded, outputs = model.predict(x, verbose=0)
    model.quantize("int8")
    encoded_then, outputs_then = model.predict(x, verbose=0)
    np.testing.assert_array_equal(encoded_then, encoded)
    assert layer.get_config() == config
    assert layer.quantization_mode is None
    assert model.layers[-1].quantization_mode == "int8"
    # 127 steps up to the largest weight of a column and the largest input of a row:
    # each is off by half a step at most.
    kernel_off = np.abs(kernel).max(axis=0) / 254
    inputs_off = np.abs(encoded).max(axis=-1, keepdims=True) / 254
    bounds = (
        np.abs(encoded).sum(axis=-1, keepdims=True) * kernel_off
        + inputs_off * np.abs(kernel).sum(axis=0)
        + len(kernel) * inputs_off * kernel_off
    )
    difference = np.abs(outputs_then - outputs)
    assert difference.max() > 0  # something was quantized
    # Keras scales in float32, and divides by a number that it adds 1e-7 to.
    assert (difference <= bounds * 1.001 + 1e-5).all()
    assert (np.abs(outputs - encoded @ kernel - bias) <= 1e-5).all()


INT4 = pytest.mark.skipif(
    Version(keras.__version__) < Version("3.11"), reason="Keras 3.11 brought int4."
)


@leaves_some
@pytest.mark.parametrize("mode", [pytest.param("int4", marks=INT4), "float8"])
def test_other_quantizations_leave_the_layers(mode: str):
    case = next(case for case in SUMMERS if case.name == "sum-of-2d")
    model, x = two_outputs(case), case.inputs()
    encoded = model.predict(x, verbose=0)[0]
    model.quantize(mode)
    np.testing.assert_array_equal(model.predict(x, verbose=0)[0], encoded)
    assert model.get_layer("places").quantization_mode is None


@leaves_some
def test_a_quantized_model_comes_back_from_a_file(tmp_path: Path):
    case = next(case for case in SUMMERS if case.name == "sum-of-permute2d")
    model = two_outputs(case)
    model.quantize("int8")
    model.save(tmp_path / "model.keras")
    loaded = keras.models.load_model(tmp_path / "model.keras")
    found, expected = (m.predict(case.inputs(), verbose=0) for m in (loaded, model))
    np.testing.assert_array_equal(found[0], expected[0])
    np.testing.assert_array_equal(found[1], expected[1])


@leaves_some
def test_a_foreign_layer_in_a_summer_is_quantized():
    inputs = keras.Input((6, 16))
    summer = kp.Summer(keras.layers.Dense(16))
    model = keras.Model(inputs, summer(inputs))
    x = np.random.default_rng(0).normal(size=(3, 6, 16)).astype("float32")
    before = model.predict(x, verbose=0)
    model.quantize("int8")
    assert summer.penc.quantization_mode == "int8"
    difference = np.abs(model.predict(x, verbose=0) - before)
    assert 0 < difference.max() < 0.1  # of 16 products of some 0.25 * 127 / 254


if BACKEND == "torch":
    import torch

    CASTS = {
        "to": lambda model: model.to(torch.bfloat16),
        "half": lambda model: model.half(),
        "bfloat16": lambda model: model.bfloat16(),
        "double": lambda model: model.double(),
    }

    @each_layer
    @pytest.mark.parametrize("cast", CASTS)
    @pytest.mark.parametrize("called", [False, True], ids=["new", "called"])
    def test_a_cast_of_a_torch_model_changes_no_layer(
        case: Case, cast: str, called: bool
    ):
        """Nothing of the layers can be cast: neither their numbers nor their dtype."""
        model = torch.nn.Sequential(case.make())
        x = to_tensor(case.inputs())
        if called:
            model(x)
        CASTS[cast](model)
        outputs = model(x)
        assert outputs.dtype == torch.float32
        expected = case.expected(case.inputs())
        assert_within(outputs, expected, bound(case, case.inputs(), "float32"))
        assert list(model.state_dict()) == []

    @pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float64])
    @each_summer
    def test_inputs_of_a_model_that_was_cast_are_added_in_float32(
        case: Case, dtype: torch.dtype
    ):
        model = torch.nn.Sequential(case.make()).to(dtype)
        x = to_tensor(case.inputs()).to(dtype)
        outputs = model(x)
        assert outputs.dtype == torch.float32
        given = to_numpy(x)
        assert_within(outputs, case.expected(given), bound(case, given, "float32"))

    def test_a_keras_model_that_was_cast_keeps_its_encoding():
        inputs = keras.Input((6, 16))
        dense = keras.layers.Dense(16, name="dense")
        summer = kp.Summer(kp.PositionalEncoding1D(16))
        model = keras.Model(inputs, [dense(inputs), summer(inputs)])
        model.to(torch.bfloat16)
        assert {weight.dtype for weight in model.parameters()} == {torch.bfloat16}
        _, outputs = model(torch.zeros(1, 6, 16))
        table = reference.encode_1d(6, 16)
        np.testing.assert_allclose(to_numpy(outputs)[0], table, rtol=0, atol=2e-7)

    # What torch casts by itself are products of matrices and the like, before a layer
    # and in it: the latter has none.
    @pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16], ids=str)
    @pytest.mark.parametrize("mode", ["eager", "dynamo", "unknown"])
    @pytest.mark.parametrize("name", ["1d", "sum-of-permute2d"])
    def test_autocast_leaves_layers_as_they_are(
        name: str, mode: str, dtype: torch.dtype
    ):
        case = next(case for case in LAYERS if case.name == name)
        layer, last = case.make(), case.shape[-1]
        linear = torch.nn.Linear(last, last)
        layer(to_tensor(case.inputs()))  # torch cannot build a layer in a graph

        def function(x: Any) -> Any:
            product = linear(x)
            return product, layer(product)

        graph = (
            with_unknown_sizes(function, "dynamo", ())
            if mode == "unknown"
            else with_known_sizes(function, mode)
        )
        with torch.autocast("cpu", dtype):
            product, outputs = graph(to_tensor(case.inputs()))
        assert product.dtype == dtype
        assert outputs.dtype == torch.float32
        given = to_numpy(product.detach())
        bounds = bound(case, given, "float32")
        assert_within(outputs.detach(), case.expected(given), bounds)

    def test_gradients_under_autocast_are_one():
        layer = kp.Summer(kp.PositionalEncoding1D(16))
        x = torch.randn(2, 6, 16, requires_grad=True)
        with torch.autocast("cpu", torch.bfloat16):
            layer(x).sum().backward()
        assert x.grad is not None
        assert (x.grad == 1).all()
