"""Precision and dtypes: numbers do not depend on the policy, the output dtype does."""

from __future__ import annotations

from typing import Any

import keras
import ml_dtypes
import numpy as np
import pytest

import keras_posenc as kp
from helpers import reference
from helpers.layer_cases import Case, each_encoder, each_layer
from helpers.run_modes import BACKEND
from helpers.tensors import available, dtype_of, to_numpy
from helpers.tolerances import COUNTING, ROUNDING

INTEGERS = ["int8", "int32", "int64", "uint8", "bool"]
POLICIES = {
    "mixed_bfloat16": "bfloat16",
    "mixed_float16": "float16",
    "bfloat16": "bfloat16",
    "float16": "float16",
    "float32": "float32",
}


def backend_dtype(name: str) -> Any:
    """The dtype object of the backend that runs."""
    if BACKEND == "tensorflow":
        import tensorflow as tf

        return getattr(tf, name)
    if BACKEND == "torch":
        import torch

        return getattr(torch, name)
    import jax.numpy as jnp

    return getattr(jnp, name)


@pytest.mark.parametrize("policy", POLICIES)
def test_long_sequences_have_distinct_positions_in_every_policy(policy: str):
    outputs = kp.PositionalEncoding1D(64, dtype=policy)(np.zeros((1, 4096, 64)))
    dtype = POLICIES[policy]
    assert dtype_of(outputs) == dtype
    table = to_numpy(outputs)[0]
    assert len(np.unique(table, axis=0)) == 4096
    error = np.abs(table - reference.encode_1d(4096, 64)).max()
    assert error <= ROUNDING[dtype]
    assert error <= {"bfloat16": 0.002, "float16": 2.5e-4, "float32": 1e-6}[dtype]


@pytest.mark.parametrize("policy", POLICIES)
def test_long_sequences_are_exact_where_the_length_is_unknown(policy: str):
    inputs = keras.Input((None, 64))
    model = keras.Model(inputs, kp.PositionalEncoding1D(64, dtype=policy)(inputs))
    table = model.predict(np.zeros((1, 4096, 64), "float32"), verbose=0)[0]
    dtype = POLICIES[policy]
    error = np.abs(table.astype("float64") - reference.encode_1d(4096, 64)).max()
    assert error <= max(ROUNDING[dtype], COUNTING)


@each_layer
@pytest.mark.parametrize("policy", [*POLICIES, "float64"])
def test_error_and_dtype_under_every_policy(case: Case, policy: str):
    dtype = available(POLICIES.get(policy, policy))
    inputs = np.zeros(case.shape, "float32")
    outputs = case.make(dtype=policy)(inputs)
    assert dtype_of(outputs) == dtype
    error = np.abs(to_numpy(outputs) - case.expected(inputs)).max()
    assert error <= ROUNDING[dtype]


@each_encoder
@pytest.mark.parametrize("dtype", INTEGERS)
def test_integer_inputs_get_a_floating_encoding(case: Case, dtype: str):
    inputs = np.ones(case.shape, dtype)
    outputs = case.make()(inputs)
    assert dtype_of(outputs) == "float32"
    error = np.abs(to_numpy(outputs) - case.encoding()).max()
    assert error <= ROUNDING["float32"]


@pytest.mark.parametrize("dtype", INTEGERS)
def test_a_summer_makes_integers_floats_eagerly(dtype: str):
    outputs = kp.Summer(kp.PositionalEncoding1D(8))(np.ones((2, 6, 8), dtype))
    assert dtype_of(outputs) == "float32"
    error = np.abs(to_numpy(outputs) - 1 - reference.encode_1d(6, 8)).max()
    assert error <= 2.0**-23  # half a unit of a sum up to 2, and of the encoding


@pytest.mark.parametrize(
    # JAX has no int64 unless told to, and warns when Keras makes one for a model.
    "dtype",
    [dtype for dtype in INTEGERS if (BACKEND, dtype) != ("jax", "int64")],
)
def test_a_summer_makes_integers_floats_in_a_model(dtype: str):
    inputs = keras.Input((6, 8), dtype=dtype)
    outputs = kp.Summer(kp.PositionalEncoding1D(8))(inputs)
    assert dtype_of(outputs) == "float32"
    got = keras.Model(inputs, outputs)(np.ones((2, 6, 8), dtype))
    assert dtype_of(got) == "float32"
    error = np.abs(to_numpy(got) - 1 - reference.encode_1d(6, 8)).max()
    assert error <= 2.0**-23


@pytest.mark.parametrize("dtype", INTEGERS)
def test_sinusoid_encoding_makes_integers_floats(dtype: str):
    outputs = kp.SinusoidEncoding(8)(np.zeros((2, 6, 8), dtype))
    assert dtype_of(outputs) == "float32"
    error = np.abs(to_numpy(outputs) - reference.encode_1d(6, 8)).max()
    assert error <= ROUNDING["float32"]


def test_a_float32_encoding_is_rounded_once_in_a_bfloat16_sum(global_policy: Any):
    global_policy("mixed_bfloat16")
    outputs = kp.Summer(kp.PositionalEncoding1D(64, dtype="float32"))(
        np.zeros((1, 600, 64), "float32")
    )
    assert dtype_of(outputs) == "bfloat16"
    error = np.abs(to_numpy(outputs)[0] - reference.encode_1d(600, 64)).max()
    assert error <= ROUNDING["bfloat16"]


def test_an_inner_float32_layer_is_added_in_bfloat16(global_policy: Any):
    global_policy("mixed_bfloat16")
    summer = kp.Summer(keras.layers.Dense(8, dtype="float32"))
    assert dtype_of(summer(np.ones((2, 5, 8), "float32"))) == "bfloat16"


def test_the_dtype_of_the_inner_layer_rounds_its_encoding():
    summer = kp.Summer(kp.PositionalEncoding1D(8, dtype="bfloat16"), dtype="float32")
    outputs = to_numpy(summer(np.zeros((1, 40, 8), "float32")))[0]
    expected = reference.encode_1d(40, 8).astype("float32").astype(ml_dtypes.bfloat16)
    np.testing.assert_array_equal(outputs, expected.astype("float64"))


def test_summer_then_dense_is_trained_under_mixed_float16(global_policy: Any):
    global_policy("mixed_float16")
    inputs = keras.Input((6, 64))
    x = kp.Summer(kp.PositionalEncoding1D(64))(inputs)
    model = keras.Model(inputs, keras.layers.Dense(3)(x))
    outputs = model(np.zeros((2, 6, 64), "float32"))
    assert dtype_of(outputs) == "float16"
    model.compile("sgd", "mse")
    loss = model.fit(np.ones((4, 6, 64)), np.ones((4, 6, 3)), verbose=0).history["loss"]
    assert np.isfinite(loss).all()


WAYS = {
    "str": lambda name: name,
    "numpy-type": lambda name: (
        ml_dtypes.bfloat16 if name == "bfloat16" else getattr(np, name)
    ),
    "numpy-dtype": np.dtype,
    "backend": backend_dtype,
    "policy": keras.DTypePolicy,
}


@pytest.mark.parametrize("argument", ["dtype", "dtype_override"])
@pytest.mark.parametrize("name", ["float16", "bfloat16", "float32", "float64"])
@pytest.mark.parametrize("way", WAYS)
def test_a_dtype_may_be_named_in_every_way(way: str, name: str, argument: str):
    layer = kp.TFPositionalEncoding1D(8, **{argument: WAYS[way](name)})
    assert layer.compute_dtype == name
    assert dtype_of(layer(np.zeros((1, 4, 8), "float32"))) == available(name)
    assert layer.get_config()["dtype"]["config"] == {"name": name}
    assert "dtype_override" not in layer.get_config()


@each_layer
def test_layers_that_positional_encodings_has_take_dtype_override(case: Case):
    if case.name in ("rank2", "rank3-channels-first", "sinusoid"):
        with pytest.raises(ValueError, match=r"dtype_override.*Perhaps `dtype`"):
            case.make(dtype_override="float16")
        return
    layer = case.make(dtype_override=backend_dtype("float16"))
    assert dtype_of(layer(np.zeros(case.shape, "float32"))) == "float16"


def test_dtype_override_is_the_second_positional_argument():
    layer = kp.PositionalEncoding1D(8, "float16")
    assert layer.compute_dtype == "float16"


@pytest.mark.parametrize("name", ["mixed_bfloat16", "float64"])
def test_dtype_and_dtype_override_may_agree(name: str):
    layer = kp.PositionalEncoding1D(8, name, dtype=keras.DTypePolicy(name))
    assert layer.dtype_policy.name == name


def test_dtype_and_dtype_override_may_not_differ():
    with pytest.raises(
        ValueError,
        match=r"`dtype` and `dtype_override` are two names .* "
        r"Received: dtype='float32', dtype_override='float64'",
    ):
        kp.PositionalEncoding1D(8, "float64", dtype="float32")


@each_layer
@pytest.mark.parametrize("dtype", ["int32", np.int64, "bool", "complex64", "flaot32"])
def test_a_dtype_that_is_no_float_is_an_error(case: Case, dtype: Any):
    message = r"`dtype` must be a floating-point dtype .* Received: dtype=.*"
    with pytest.raises(ValueError, match=message):
        case.make(dtype=dtype)


def test_a_quantized_policy_is_an_error():
    with pytest.raises(ValueError, match=r"not quantized\. Received: dtype='int8_from"):
        kp.PositionalEncoding1D(8, dtype="int8_from_float32")


def test_a_policy_map_may_come_under_both_names():
    policies = keras.dtype_policies.DTypePolicyMap(default_policy="mixed_bfloat16")
    layer = kp.PositionalEncoding1D(8, policies, dtype=policies)
    assert dtype_of(layer(np.zeros((1, 4, 8), "float32"))) == "bfloat16"


def test_float64_is_right_to_the_digits_of_float64():
    outputs = kp.PositionalEncoding1D(16, dtype="float64")(np.zeros((1, 2000, 16)))
    error = np.abs(to_numpy(outputs)[0] - reference.encode_1d(2000, 16)).max()
    # On JAX without its 64-bit mode the numbers are float32, as the README says.
    assert dtype_of(outputs) == available("float64")
    assert error <= ROUNDING[available("float64")]


def test_a_bfloat16_layer_leaves_a_float32_layer_exact():
    inputs = np.zeros((1, 300, 16), "float32")
    kp.PositionalEncoding1D(16, dtype="bfloat16")(inputs)
    outputs = to_numpy(kp.PositionalEncoding1D(16, dtype="float32")(inputs))[0]
    assert np.abs(outputs - reference.encode_1d(300, 16)).max() <= ROUNDING["float32"]


def test_complex_inputs_are_refused():
    x = keras.ops.cast(keras.ops.zeros((1, 3, 4)), "complex64")
    with pytest.raises(TypeError, match=r"expects real numbers .* dtype .*complex64"):
        kp.Summer(kp.PositionalEncoding1D(4))(x)
