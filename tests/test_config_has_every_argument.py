"""`get_config` holds every constructor argument, and the signature shows each."""

from __future__ import annotations

import inspect
import json
from typing import Any

import keras
import pytest

import keras_posenc as kp
from helpers.internals import OPTION_NAMES
from helpers.tensors import zeros

ENCODERS = [
    kp.PositionalEncoding,
    kp.PositionalEncoding1D,
    kp.PositionalEncoding2D,
    kp.PositionalEncoding3D,
    kp.PositionalEncodingPermute1D,
    kp.PositionalEncodingPermute2D,
    kp.PositionalEncodingPermute3D,
    kp.CoordinateEncoding,
]
CLASSES = [*ENCODERS, kp.Summer, kp.SinusoidEncoding]
each_class = pytest.mark.parametrize("cls", CLASSES, ids=lambda cls: cls.__name__)
each_encoder = pytest.mark.parametrize("cls", ENCODERS, ids=lambda cls: cls.__name__)

FIRST: dict[type, tuple[Any, ...]] = {
    kp.PositionalEncoding: (2, 12),
    kp.Summer: (kp.PositionalEncoding1D(12),),
}
SHAPES: dict[type, tuple[int, ...]] = {
    kp.PositionalEncoding: (1, 2, 3, 12),
    kp.PositionalEncoding1D: (1, 4, 12),
    kp.PositionalEncoding2D: (1, 2, 3, 12),
    kp.PositionalEncoding3D: (1, 2, 3, 4, 12),
    kp.PositionalEncodingPermute1D: (1, 12, 4),
    kp.PositionalEncodingPermute2D: (1, 12, 2, 3),
    kp.PositionalEncodingPermute3D: (1, 12, 2, 3, 4),
    kp.CoordinateEncoding: (3,),
    kp.Summer: (1, 4, 12),
    kp.SinusoidEncoding: (1, 4, 12),
}


def make(cls: type, **kwargs: Any) -> keras.layers.Layer:
    return cls(*FIRST.get(cls, (12,)), **kwargs)


def arguments(cls: type) -> dict[str, inspect.Parameter]:
    """Those of the constructor that are its own, and no other name of one."""
    parameters = inspect.signature(cls).parameters
    return {
        name: parameter
        for name, parameter in parameters.items()
        if parameter.kind is not parameter.VAR_KEYWORD
        and name not in ("dtype_override", "self")
    }


@pytest.mark.parametrize("built", [False, True], ids=["new", "built"])
@each_class
def test_the_config_holds_every_argument(cls: type, built: bool):
    layer = make(cls)
    if built:
        layer(zeros(*SHAPES[cls]))
    config = layer.get_config()
    assert config.keys() >= arguments(cls).keys()
    assert config.keys() - arguments(cls).keys() == {"name", "trainable", "dtype"}
    assert config == json.loads(json.dumps(config))


@each_class
def test_the_config_has_the_defaults_of_the_signature(cls: type):
    config = make(cls).get_config()
    given = {"rank", "channels", "penc", "hidden_dim"}
    assert {name: config[name] for name in arguments(cls) if name not in given} == {
        name: parameter.default
        for name, parameter in arguments(cls).items()
        if name not in given
    }


@each_class
def test_the_config_makes_the_same_layer(cls: type):
    config = make(cls).get_config()
    again = cls.from_config(config).get_config()
    assert again == config


@each_encoder
def test_a_config_of_earlier_versions_makes_a_layer(cls: type):
    """They left out what had its default."""
    whole = make(cls).get_config()
    defaults = {name: p.default for name, p in arguments(cls).items()}
    old = {
        name: value
        for name, value in whole.items()
        if name not in defaults or value != defaults[name]
    }
    assert cls.from_config(old).get_config() == whole


@each_encoder
def test_the_signature_shows_every_option(cls: type):
    parameters = inspect.signature(cls).parameters
    assert parameters.keys() >= set(OPTION_NAMES)
    for name in OPTION_NAMES:
        assert parameters[name].kind is inspect.Parameter.KEYWORD_ONLY


@each_encoder
def test_the_constructor_shows_what_the_class_does(cls: type):
    of_class = list(inspect.signature(cls).parameters)
    of_init = list(inspect.signature(cls.__init__).parameters)
    assert of_init == ["self", *of_class]


@each_encoder
def test_every_option_of_the_signature_is_taken(cls: type):
    for name, parameter in arguments(cls).items():
        if name in ("rank", "channels"):
            continue
        layer = make(cls, **{name: parameter.default})
        assert layer.get_config() == make(cls, name=layer.name).get_config()


# Which layers take what beside the options.
OWN: dict[type, set[str]] = {
    kp.PositionalEncoding: {"rank", "channels", "data_format", "grid", "prefix_tokens"},
    kp.CoordinateEncoding: {"channels", "rank"},
}


@each_encoder
def test_the_signature_has_nothing_else(cls: type):
    grids = {"channels", "data_format", "grid", "prefix_tokens", "dtype_override"}
    permute = cls.__name__.startswith("PositionalEncodingPermute")
    expected = OWN.get(cls, grids - ({"data_format"} if permute else set()))
    assert set(inspect.signature(cls).parameters) == {
        *expected,
        *OPTION_NAMES,
        "kwargs",
    }


FUNCTIONS = {
    "encode": (kp.encode, {"positions", "channels", "rank", "dtype", "preset"}),
    "table": (
        kp.sinusoidal_table,
        {"shape", "channels", "positions", "dtype", "preset"},
    ),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_the_signature_of_a_function_has_its_arguments(name: str):
    function, own = FUNCTIONS[name]
    assert inspect.signature(function).parameters.keys() >= own


PLACES = [
    kp.PositionalEncoding,
    kp.PositionalEncoding1D,
    kp.PositionalEncodingPermute2D,
    kp.Summer,
]


@pytest.mark.parametrize("cls", PLACES, ids=lambda cls: cls.__name__)
def test_a_call_shows_its_places(cls: type):
    assert list(inspect.signature(cls.call).parameters) == [
        "self",
        "inputs",
        "start_index",
        "positions",
        "grid",
    ]
