"""Constructor arguments are attributes that cannot be set: nothing else would follow.

Tables, shapes and saved files come from one record; a second copy could differ from it.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import keras
import numpy as np
import pytest

import keras_posenc as kp
from helpers.internals import OPTION_NAMES
from helpers.tensors import dtype_of, to_numpy, zeros

CHANNELS = 12


def _last(rank: int) -> Callable[..., keras.layers.Layer]:
    return lambda **kwargs: getattr(kp, f"PositionalEncoding{rank}D")(
        CHANNELS, **kwargs
    )


def _first(rank: int) -> Callable[..., keras.layers.Layer]:
    return lambda **kwargs: getattr(kp, f"PositionalEncodingPermute{rank}D")(
        CHANNELS, **kwargs
    )


# What makes a layer, and the shape of an input.
CASES: dict[str, tuple[Callable[..., keras.layers.Layer], tuple[int, ...]]] = {
    "1d": (_last(1), (2, 4, CHANNELS)),
    "2d": (_last(2), (2, 3, 4, CHANNELS)),
    "3d": (_last(3), (2, 2, 3, 4, CHANNELS)),
    "permute1d": (_first(1), (2, CHANNELS, 4)),
    "permute2d": (_first(2), (2, CHANNELS, 3, 4)),
    "permute3d": (_first(3), (2, CHANNELS, 2, 3, 4)),
    "rank2": (
        lambda **kwargs: kp.PositionalEncoding(2, CHANNELS, **kwargs),
        (2, 3, 4, CHANNELS),
    ),
    "values": (lambda **kwargs: kp.CoordinateEncoding(CHANNELS, **kwargs), (2, 3)),
    "values-of-a-plane": (
        lambda **kwargs: kp.CoordinateEncoding(CHANNELS, 2, **kwargs),
        (5, 2),
    ),
    "sinusoid": (
        lambda **kwargs: kp.SinusoidEncoding(CHANNELS, 50, **kwargs),
        (2, 4, CHANNELS),
    ),
}
ENCODERS = [name for name in CASES if name != "sinusoid"]
GRIDS = [name for name in ENCODERS if not name.startswith("values")]
OTHER_VALUES: dict[str, Any] = {
    "max_wavelength": 77.0,
    "endpoint": True,
    "frequencies": [1.0] * (CHANNELS // 2),
    "layout": "concatenated",
    "cos_first": True,
    "axis_order": [0],
    "split": [CHANNELS],
    "remainder": "pad",
    "offset": 2.0,
    "scale": 2.0,
    "coordinate_range": (0.0, 1.0),
    "align_corners": True,
    "eps": 1e-6,
    "channels": 2,
    "rank": 5,
    "data_format": "channels_first",
    "grid": (2, 2),
    "prefix_tokens": 1,
    "hidden_dim": 4,
    "max_len": 5,
}
# Beside those, values that compare as arrays do: without one answer.
ARRAYS = {name: np.array([3.0, 5.0]) for name in OTHER_VALUES}


def attributes_of(name: str) -> list[str]:
    if name == "sinusoid":
        return ["hidden_dim", "max_len"]
    attributes = [*OPTION_NAMES, "channels", "rank"]
    return attributes + (["grid", "prefix_tokens"] if name in GRIDS else [])


EACH = [(name, attribute) for name in CASES for attribute in attributes_of(name)]
EACH += [(name, "data_format") for name in GRIDS if "permute" not in name]
each_attribute = pytest.mark.parametrize(("name", "attribute"), EACH)
each_state = pytest.mark.parametrize("built", [False, True], ids=["new", "built"])
each_case = pytest.mark.parametrize("name", CASES)


def make(name: str, built: bool = True, **kwargs: Any) -> keras.layers.Layer:
    maker, shape = CASES[name]
    layer = maker(**kwargs)
    if built:
        layer(zeros(*shape))
    return layer


@each_state
@each_attribute
def test_setting_an_option_is_refused(name: str, attribute: str, built: bool):
    layer = make(name, built)
    before = layer.get_config()
    for value in (OTHER_VALUES[attribute], ARRAYS[attribute], None, object()):
        if value is None and getattr(layer, attribute) is None:
            continue
        with pytest.raises(AttributeError, match=rf"`?{attribute}`?.*Received: "):
            setattr(layer, attribute, value)
    assert layer.get_config() == before


@each_state
@each_attribute
def test_setting_what_there_is_changes_nothing(name: str, attribute: str, built: bool):
    layer = make(name, built)
    before = layer.get_config()
    setattr(layer, attribute, getattr(layer, attribute))
    assert layer.get_config() == before


@each_attribute
def test_an_option_cannot_be_deleted(name: str, attribute: str):
    layer = make(name)
    with pytest.raises(AttributeError):
        delattr(layer, attribute)


@each_attribute
def test_an_option_is_what_the_config_has(name: str, attribute: str):
    layer = make(name)
    config, value = layer.get_config(), getattr(layer, attribute)
    if attribute in config:
        assert config[attribute] == (list(value) if type(value) is tuple else value)


@each_case
def test_the_error_says_to_make_a_new_layer(name: str):
    attribute = attributes_of(name)[0]
    layer = make(name)
    with pytest.raises(AttributeError, match=f"new {type(layer).__name__}"):
        setattr(layer, attribute, OTHER_VALUES[attribute])


@each_case
def test_a_refused_setting_leaves_the_layer_as_it_was(name: str, tmp_path: Any):
    layer, shape = make(name), CASES[name][1]
    before = to_numpy(layer(zeros(*shape)))
    for attribute in attributes_of(name):
        with pytest.raises(AttributeError):
            setattr(layer, attribute, object())
    np.testing.assert_array_equal(to_numpy(layer(zeros(*shape))), before)
    inputs = keras.Input(batch_shape=shape)
    keras.Model(inputs, layer(inputs)).save(tmp_path / "model.keras")
    loaded = keras.models.load_model(tmp_path / "model.keras")
    np.testing.assert_array_equal(to_numpy(loaded(zeros(*shape))), before)


def test_the_other_name_of_channels_cannot_be_set():
    with pytest.raises(AttributeError):
        kp.PositionalEncoding1D(8).org_channels = 4


def test_a_subclass_may_repeat_what_it_has_passed_on():
    class Own(kp.PositionalEncoding1D):
        def __init__(self, channels: int, scale: float = 2.0):
            super().__init__(channels, scale=scale)
            self.channels, self.scale = channels, scale

    layer = Own(8)
    assert (layer.channels, layer.scale) == (8, 2.0)
    with pytest.raises(AttributeError, match="new Own"):
        layer.scale = 3.0


def test_an_attribute_of_no_argument_can_be_set():
    layer = make("1d")
    layer.note = "mine"
    assert layer.note == "mine"


# The arguments of a base layer, after it was made.

POLICIES = ["int32", "bool", "string", "complex64"]


@each_state
@pytest.mark.parametrize("form", ["policy", "name"])
@pytest.mark.parametrize("dtype", ["int32", "uint8", "bool"])
@each_case
def test_a_policy_of_no_real_numbers_is_refused(
    name: str, dtype: str, form: str, built: bool
):
    layer = make(name, built)
    before = layer.dtype_policy
    value = keras.DTypePolicy(dtype) if form == "policy" else dtype
    with pytest.raises(ValueError, match=r"dtype.*float") as at_once:
        layer.dtype_policy = value
    with pytest.raises(ValueError, match=r"dtype.*float") as constructor:
        make(name, built=False, dtype=value)
    assert str(at_once.value) == str(constructor.value)
    assert layer.dtype_policy == before
    assert dtype_of(layer(zeros(*CASES[name][1]))) == "float32"


@each_state
def test_a_policy_of_no_real_numbers_is_refused_by_a_sum(built: bool):
    layer = kp.Summer(kp.PositionalEncoding1D(8))
    if built:
        layer(zeros(1, 4, 8))
    with pytest.raises(ValueError, match=r"dtype.*float"):
        layer.dtype_policy = keras.DTypePolicy("int32")
    with pytest.raises(ValueError, match=r"dtype.*float"):
        layer.penc.dtype_policy = keras.DTypePolicy("int32")
    assert dtype_of(layer(zeros(1, 4, 8))) == "float32"


@each_state
@pytest.mark.parametrize("policy", ["bfloat16", "mixed_float16"])
@each_case
def test_another_policy_holds_from_then_on(name: str, policy: str, built: bool):
    layer = make(name, built)
    layer.dtype_policy = policy
    x = zeros(*CASES[name][1])
    assert dtype_of(layer(x)) == policy.removeprefix("mixed_")
    assert dtype_of(layer(keras.Input(batch_shape=x.shape))) == layer.compute_dtype


BAD_PENCS: dict[str, Any] = {
    "None": None,
    "str": "1d",
    "function": lambda x: x,
    "class": kp.PositionalEncoding1D,
    "list": [],
}


@each_state
@pytest.mark.parametrize("bad", BAD_PENCS)
def test_a_sum_of_no_layer_is_refused_at_once(bad: str, built: bool):
    layer = kp.Summer(kp.PositionalEncoding1D(8))
    if built:
        layer(zeros(1, 4, 8))
    before = layer.penc
    with pytest.raises(TypeError) as at_once:
        layer.penc = BAD_PENCS[bad]
    with pytest.raises(TypeError) as constructor:
        kp.Summer(BAD_PENCS[bad])
    assert str(at_once.value) == str(constructor.value)
    assert str(at_once.value).startswith("`penc` must be a Keras layer")
    assert layer.penc is before
    layer(zeros(1, 4, 8))


# `autocast`.


MAKERS = {
    **{name: CASES[name][0] for name in CASES},
    "sum": lambda **kwargs: kp.Summer(kp.PositionalEncoding1D(8), **kwargs),
}


@pytest.mark.parametrize("name", MAKERS)
def test_autocast_is_refused(name: str):
    with pytest.raises(ValueError, match=r"^`autocast` must be .*False.*autocast=True"):
        MAKERS[name](autocast=True)


@pytest.mark.parametrize("name", MAKERS)
def test_autocast_may_be_left_off(name: str):
    assert MAKERS[name](autocast=False).autocast is False


@pytest.mark.parametrize("name", MAKERS)
def test_dtype_override_belongs_to_the_classes_that_had_it(name: str):
    if name in ("rank2", "values", "values-of-a-plane", "sinusoid"):
        with pytest.raises((TypeError, ValueError), match="dtype_override"):
            MAKERS[name](dtype_override="float16")
    else:
        layer = MAKERS[name](dtype_override="float16")
        assert layer.compute_dtype == "float16"
        assert "dtype_override" not in layer.get_config()


def test_every_option_is_tried():
    signature = inspect.signature(kp.PositionalEncoding)
    ours = set(OTHER_VALUES) - {"hidden_dim", "max_len"}
    assert ours == set(signature.parameters) - {"kwargs"}
