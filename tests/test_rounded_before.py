"""Real numbers that arrive in half precision under a mixed policy: a warning.

Keras casts what a layer before this one gets, so that 1001 arrives as 1000.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import keras
import numpy as np
import pytest
from keras import ops

import keras_posenc as kp
from helpers.position_cases import OF_PLANES, each_sequence
from helpers.tensors import to_numpy, to_tensor, zeros

POLICIES = ["mixed_bfloat16", "mixed_float16"]
each_mixed_policy = pytest.mark.parametrize("policy", POLICIES)
each_half = pytest.mark.parametrize("dtype", ["bfloat16", "float16"])

BEFORE: dict[str, Callable[..., keras.layers.Layer]] = {
    "Flatten": keras.layers.Flatten,
    "Reshape": lambda **kwargs: keras.layers.Reshape((-1,), **kwargs),
    "Rescaling": lambda **kwargs: keras.layers.Rescaling(1.0, **kwargs),
    "Identity": keras.layers.Identity,
    "Dropout": lambda **kwargs: keras.layers.Dropout(0.0, **kwargs),
    "Activation": lambda **kwargs: keras.layers.Activation("linear", **kwargs),
    "Lambda": lambda **kwargs: keras.layers.Lambda(lambda x: x, **kwargs),
}
each_layer_before = pytest.mark.parametrize("before", BEFORE)

VALUES: dict[str, Callable[[], keras.layers.Layer]] = {
    "values": lambda: kp.CoordinateEncoding(64),
    "values-of-a-preset": lambda: kp.CoordinateEncoding.from_preset("ddpm", 64),
    "values-of-a-plane": lambda: kp.CoordinateEncoding(64, rank=2),
}


def message(cls: type, name: str, policy: str) -> str:
    """It says what got them rounded, and the two ways out."""
    dtype = policy.removeprefix("mixed_")
    return (
        rf"^{cls.__name__} got `{name}` in {dtype}.*{policy}.*layer before.*"
        r"dtype='float32'.*(to this layer first|this layer first)"
    )


@each_mixed_policy
@each_layer_before
@pytest.mark.parametrize("name", VALUES)
def test_values_that_a_layer_has_rounded_warn(
    name: str, before: str, policy: str, global_policy: Any
):
    global_policy(policy)
    layer, inputs = VALUES[name](), keras.Input((2,))
    rounded = BEFORE[before]()(inputs)
    words = message(kp.CoordinateEncoding, "inputs", policy)
    with pytest.warns(UserWarning, match=words):
        layer(rounded)
    # A built layer, too.
    with pytest.warns(UserWarning, match=words):
        layer(rounded)


@each_mixed_policy
@each_layer_before
@each_sequence
def test_positions_that_a_layer_has_rounded_warn(
    case: Any, before: str, policy: str, global_policy: Any
):
    global_policy(policy)
    layer = case.make()
    inputs = keras.Input(case.inputs().shape[1:])
    positions = BEFORE[before]()(keras.Input((6,)))
    with pytest.warns(UserWarning, match=rf"got `positions` in .*{policy}"):
        layer(inputs, positions=positions)


@each_mixed_policy
@pytest.mark.parametrize("name", OF_PLANES)
def test_positions_of_a_plane_that_a_layer_has_rounded_warn(
    name: str, policy: str, global_policy: Any
):
    global_policy(policy)
    make, first = OF_PLANES[name]
    inputs = keras.Input((8, 3, 4) if first else (3, 4, 8))
    positions = keras.layers.Identity()(keras.Input((3, 4, 2)))
    with pytest.warns(UserWarning, match=r"got `positions` in .*dtype='float32'"):
        make()(inputs, positions=positions)


@each_mixed_policy
@pytest.mark.parametrize("built", [False, True], ids=["first-call", "later-call"])
def test_rounded_tensors_of_an_eager_call_warn(
    built: bool, policy: str, global_policy: Any
):
    global_policy(policy)
    rounded = keras.layers.Identity()(to_tensor(np.arange(6), "float32"))
    values, places = kp.CoordinateEncoding(8), kp.PositionalEncoding1D(8)
    if built:
        values(np.arange(3))
        places(zeros(1, 6, 8))
    with pytest.warns(UserWarning, match=message(type(values), "inputs", policy)):
        values(rounded)
    with pytest.warns(UserWarning, match=message(type(places), "positions", policy)):
        places(zeros(1, 6, 8), positions=rounded)


@each_half
def test_the_policy_of_the_layer_counts_as_well(dtype: str):
    rounded = ops.cast(to_tensor(np.arange(6), "float32"), dtype)
    layer = kp.CoordinateEncoding(8, dtype=f"mixed_{dtype}")
    words = message(type(layer), "inputs", f"mixed_{dtype}")
    with pytest.warns(UserWarning, match=words):
        layer(rounded)


# The two ways out.

TIMESTEPS = np.arange(1000, dtype="float32")[:, None]


def distinct(outputs: Any) -> int:
    return len(np.unique(to_numpy(outputs).reshape(1000, -1), axis=0))


def test_values_in_half_precision_collide(global_policy: Any):
    """A test of an absence: what the warning is about does happen."""
    global_policy("mixed_bfloat16")
    layer = kp.CoordinateEncoding.from_preset("ddpm", 64)
    inputs = keras.Input((1,))
    with pytest.warns(UserWarning, match="rounded"):  # noqa: PT031
        model = keras.Model(inputs, layer(keras.layers.Flatten()(inputs)))
        assert distinct(model(TIMESTEPS)) < 600


@each_mixed_policy
@each_layer_before
def test_a_layer_in_float32_before_it_warns_of_nothing(
    before: str, policy: str, global_policy: Any
):
    global_policy(policy)
    inputs = keras.Input((1,))
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        exact = BEFORE[before](dtype="float32")(inputs)
        layer = kp.CoordinateEncoding.from_preset("ddpm", 64, dtype="float32")
        model = keras.Model(inputs, layer(exact))
        assert distinct(model(TIMESTEPS)) == 1000


@each_mixed_policy
def test_values_that_come_first_warn_of_nothing(policy: str, global_policy: Any):
    global_policy(policy)
    inputs = keras.Input((1,))
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        layer = kp.CoordinateEncoding.from_preset("ddpm", 64)
        model = keras.Model(inputs, layer(inputs))
        model(TIMESTEPS)
        layer(TIMESTEPS)
        layer(to_tensor(TIMESTEPS))


@each_mixed_policy
@each_sequence
def test_positions_that_come_first_warn_of_nothing(
    case: Any, policy: str, global_policy: Any
):
    global_policy(policy)
    layer, x = case.make(), case.inputs()
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        for given in (np.arange(6), np.arange(6.0), list(range(6))):
            layer(x, positions=given)
        layer(x, positions=to_tensor(np.arange(6), "float32"))
        layer(
            keras.Input(case.inputs().shape[1:]),
            positions=keras.Input((6,), dtype="float32"),
        )


# The others say, or see to it, that they make real numbers of integers.
@each_mixed_policy
@pytest.mark.parametrize("before", ["Flatten", "Reshape", "Identity"])
def test_integers_are_not_rounded_and_warn_of_nothing(
    before: str, policy: str, global_policy: Any
):
    global_policy(policy)
    inputs = keras.Input((1,), dtype="int32")
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        layer = kp.CoordinateEncoding(64, dtype="float32")
        model = keras.Model(inputs, layer(BEFORE[before]()(inputs)))
        assert distinct(model(TIMESTEPS.astype("int32"))) == 1000


@each_half
def test_half_precision_that_no_policy_made_warns_of_nothing(dtype: str):
    rounded = ops.cast(to_tensor(np.arange(6), "float32"), dtype)
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        kp.CoordinateEncoding(8)(rounded)
        kp.PositionalEncoding1D(8)(zeros(1, 6, 8), positions=rounded)
