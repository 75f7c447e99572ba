"""What a layer says before it is called: shape and dtype, and never a warning."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import keras
import pytest

import keras_posenc as kp
from helpers.layer_cases import Case, each_layer
from helpers.tensors import available, dtype_of, zeros

DTYPES = ["float16", "bfloat16", "float32", "float64"]
POLICIES = [*DTYPES, "mixed_float16", "mixed_bfloat16"]
each_policy = pytest.mark.parametrize("policy", POLICIES)
INPUTS = ["float32", "float64", "float16", "bfloat16", "int32", "bool"]


def compute_dtype(policy: str) -> str:
    return available(policy.removeprefix("mixed_"))


@each_policy
@pytest.mark.parametrize("dtype", INPUTS)
@each_layer
def test_a_symbolic_output_has_the_dtype_of_the_real_one(
    case: Case, dtype: str, policy: str
):
    layer = case.make(dtype=policy)
    symbolic = layer(keras.Input(case.shape[1:], dtype=dtype))
    x = zeros(*case.shape, dtype="float32")
    eager = layer(keras.ops.cast(x, available(dtype)))
    assert dtype_of(eager) == dtype_of(symbolic) == compute_dtype(policy)
    assert layer.compute_output_spec(keras.Input(case.shape[1:])).dtype == dtype_of(
        eager
    )


@each_policy
@pytest.mark.parametrize("rank", [1, 2])
def test_the_encoding_of_values_has_the_dtype_of_the_symbol(rank: int, policy: str):
    layer = kp.CoordinateEncoding(8, rank, dtype=policy)
    symbolic = layer(keras.Input((rank,)))
    assert dtype_of(layer(zeros(3, rank))) == dtype_of(symbolic)
    assert dtype_of(symbolic) == compute_dtype(policy)


@each_policy
def test_a_sum_has_the_dtype_of_the_symbol_whatever_is_inside(policy: str):
    for inner in POLICIES:
        layer = kp.Summer(kp.PositionalEncoding1D(8, dtype=inner), dtype=policy)
        symbolic = layer(keras.Input((4, 8)))
        assert dtype_of(layer(zeros(1, 4, 8))) == dtype_of(symbolic)
        assert dtype_of(symbolic) == compute_dtype(policy)


@each_policy
def test_a_sum_of_a_foreign_layer_has_the_dtype_of_the_symbol(policy: str):
    layer = kp.Summer(keras.layers.Identity(dtype="float32"), dtype=policy)
    symbolic = layer(keras.Input((4, 8)))
    assert dtype_of(layer(zeros(1, 4, 8))) == dtype_of(symbolic)
    assert dtype_of(symbolic) == compute_dtype(policy)


@each_policy
@each_layer
def test_a_model_returns_the_dtype_that_it_shows(case: Case, policy: str):
    inputs = keras.Input(case.shape[1:])
    outputs = case.make(dtype=policy)(inputs)
    model = keras.Model(inputs, outputs)
    assert dtype_of(model(zeros(*case.shape))) == dtype_of(outputs)


@each_layer
def test_a_symbolic_output_has_the_shape_of_the_real_one(case: Case):
    layer = case.make()
    assert layer.compute_output_shape(case.shape) == case.shape
    assert tuple(layer(zeros(*case.shape)).shape) == case.shape


# Shape inference runs often, and for others: it has nothing to warn of.

FEWER = {
    "1d": (lambda: kp.PositionalEncoding1D(4), (2, 5, 10), (2, 5, 4)),
    "2d": (lambda: kp.PositionalEncoding2D(8), (2, 3, 4, 20), (2, 3, 4, 8)),
    "permute2d": (
        lambda: kp.PositionalEncodingPermute2D(8),
        (2, 20, 3, 4),
        (2, 8, 3, 4),
    ),
    "elsewhere": (lambda: kp.PositionalEncoding1D(4), (2, 4, 10), (2, 4, 4)),
    "fewer-than-given": (lambda: kp.PositionalEncoding1D(10), (2, 10, 4), (2, 10, 4)),
    "unencoded": (lambda: kp.PositionalEncoding3D(), (1, 2, 3, 4, 2), (1, 2, 3, 4, 2)),
    "unencoded-plane": (lambda: kp.PositionalEncoding2D(), (1, 2, 3, 1), (1, 2, 3, 1)),
}


@pytest.mark.parametrize("batched", [False, True], ids=["unknown", "known"])
@pytest.mark.parametrize("name", FEWER)
def test_shape_inference_never_warns(name: str, batched: bool):
    make, given, expected = FEWER[name]
    layer: Any = make()
    batch = given[:1] if batched else (None,)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = layer.compute_output_shape((*batch, *given[1:]))
        spec = layer.compute_output_spec(keras.KerasTensor((*batch, *given[1:])))
    assert found == spec.shape == (*batch, *expected[1:])


@pytest.mark.parametrize("name", FEWER)
def test_the_call_is_what_warns(name: str):
    make, given, expected = FEWER[name]
    layer: Any = make()
    with pytest.warns(UserWarning, match="channel"):
        outputs = layer(zeros(*given))
    assert tuple(outputs.shape) == expected


@pytest.mark.parametrize("name", FEWER)
def test_time_distributed_infers_without_a_word(name: str):
    make, given, expected = FEWER[name]
    layer: Any = keras.layers.TimeDistributed(make())
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = layer.compute_output_shape((2, 7, *given[1:]))
    assert tuple(found) == (2, 7, *expected[1:])


# One warning names every axis without a channel.

UNENCODED: dict[str, tuple[Callable[[], Any], str]] = {
    "one": (lambda: kp.PositionalEncoding2D(2), r"axis 1 of its 2"),
    "two": (lambda: kp.PositionalEncoding3D(2), r"axis 1 and axis 2 of|axes 1, 2 of"),
    "values": (
        lambda: kp.CoordinateEncoding(2, 3),
        r"axis 1 and axis 2 of|axes 1, 2 of",
    ),
    "split": (
        lambda: kp.PositionalEncoding3D(4, split=[0, 4, 0]),
        r"axis 0 and axis 2 of|axes 0, 2 of",
    ),
    "many": (
        lambda: kp.CoordinateEncoding(2, 62),
        r"axis.* 1\b.* 2\b.* 3\b.* 61 of its 62",
    ),
}


@pytest.mark.parametrize("name", UNENCODED)
def test_one_warning_names_all_axes_without_a_channel(name: str):
    make, words = UNENCODED[name]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        make()
    (found,) = caught
    assert issubclass(found.category, UserWarning)
    assert len(str(found.message)) < 1000  # with 61 axes
    with pytest.warns(UserWarning, match=words):
        make()
