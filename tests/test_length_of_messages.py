"""Error messages fit on a screen, whatever was received, and name what is wrong."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import keras
import numpy as np
import pytest

import keras_posenc as kp
from helpers.layer_cases import SEVERAL, Case
from helpers.tensors import to_tensor, zeros

LONGEST = 600
NESTED = [[0.0] * 8] * 20_000
STRING = "x" * 10**5
X = np.zeros((2, 6, 8), "float32")

INPUTS: dict[str, Any] = {
    "nested-list": NESTED,
    "list-of-lists-of-lists": [NESTED, NESTED],
    "long-list": list(range(10**5)),
    "tuple": tuple(range(10**5)),
    "string": STRING,
    "bytes": STRING.encode(),
    "dict": {i: i for i in range(10**4)},
    "set": set(range(10**4)),
    "keys-of-a-dict": {STRING: 1},
    "objects": np.array([object()] * 10**4),
    "array-of-strings": np.array([STRING] * 10),
    "deep-list": None,  # made below
    "huge-integers": [10**5000] * 3,
}
deep: Any = []
for _ in range(500):
    deep = [deep, deep]
INPUTS["deep-list"] = deep


def short(error: BaseException) -> str:
    """The message, which is short and has no words of Keras around it."""
    text = str(error)
    assert len(text) < LONGEST, text[:LONGEST]
    assert "\x1b" not in text
    return text


@pytest.mark.parametrize("built", [False, True], ids=["first-call", "later-call"])
@pytest.mark.parametrize("given", INPUTS)
@pytest.mark.parametrize("case", SEVERAL, ids=lambda case: case.name)
def test_inputs_are_shortened(case: Case, given: str, built: bool):
    layer = case.make()
    if built:
        layer(zeros(*case.shape))
    with pytest.raises((TypeError, ValueError)) as raised:
        layer(INPUTS[given])
    short(raised.value)


VALUES = {**INPUTS, "uneven": [[1.0] * 8, [1.0]] * 10**4}
del VALUES["nested-list"], VALUES["long-list"], VALUES["tuple"]
del VALUES["list-of-lists-of-lists"], VALUES["deep-list"]


@pytest.mark.parametrize("given", VALUES)
@pytest.mark.parametrize("name", ["values", "values-of-a-plane", "encode", "table"])
def test_values_are_shortened(name: str, given: str):
    call: Any = {
        "values": kp.CoordinateEncoding(8),
        "values-of-a-plane": kp.CoordinateEncoding(8, 2),
        "encode": lambda value: kp.encode(value, 8),
        "table": lambda value: kp.sinusoidal_table(None, 8, positions=value),
    }[name]
    with pytest.raises((TypeError, ValueError)) as raised:
        call(VALUES[given])
    short(raised.value)


PLACES: dict[str, dict[str, Any]] = {
    "positions-nested": {"positions": NESTED},
    "positions-uneven": {"positions": [[1.0] * 8, [1.0]] * 10**4},
    "positions-objects": {"positions": [object()] * 10**4},
    "positions-strings": {"positions": [STRING] * 6},
    "positions-array": {"positions": np.zeros((3, 200, 200))},
    "start-list": {"start_index": list(range(10**4))},
    "start-nested": {"start_index": NESTED},
    "start-array": {"start_index": np.zeros(10**4, "int32")},
    "start-matrix": {"start_index": np.zeros((100, 100), "int32")},
    "start-string": {"start_index": STRING},
    "start-reals": {"start_index": [0.5] * 10**4},
    "start-huge": {"start_index": 10**5000},
    "start-and-positions": {"start_index": [5] * 10**4, "positions": [0] * 6},
    "grid-list": {"grid": list(range(1, 10**4))},
    "grid-nested": {"grid": NESTED},
    "grid-array": {"grid": np.ones(10**4, "int32")},
    "grid-string": {"grid": STRING},
    "grid-huge": {"grid": [10**5000]},
    "grid-and-positions": {"grid": [1] * 10**4, "positions": [0] * 6},
}


@pytest.mark.parametrize("built", [False, True], ids=["first-call", "later-call"])
@pytest.mark.parametrize("given", PLACES)
@pytest.mark.parametrize("name", ["1d", "sum"])
def test_places_are_shortened(name: str, given: str, built: bool):
    layer: Any = kp.PositionalEncoding1D(8)
    layer = kp.Summer(layer) if name == "sum" else layer
    if built:
        layer(X)
    with pytest.raises((TypeError, ValueError), match="Received: ") as raised:
        layer(X, **PLACES[given])
    text = short(raised.value)
    assert f"`{given.partition('-')[0].replace('start', 'start_index')}`" in text


TENSORS: dict[str, dict[str, Any]] = {
    "start-matrix": {"start_index": np.zeros((100, 100), "int32")},
    "start-vector": {"start_index": np.zeros(10**4, "int32")},
    "start-reals": {"start_index": np.zeros(10**4, "float32")},
    "positions-bool": {"positions": np.zeros((100, 100), "bool")},
    "positions-shape": {"positions": np.zeros((100, 100), "float32")},
    "grid-reals": {"grid": np.ones(10**4, "float32")},
    "grid-long": {"grid": np.ones(10**3, "int32")},
}


@pytest.mark.parametrize("built", [False, True], ids=["first-call", "later-call"])
@pytest.mark.parametrize("given", TENSORS)
def test_places_in_tensors_are_shortened(given: str, built: bool):
    layer = kp.PositionalEncoding1D(8)
    if built:
        layer(X)
    places = {name: to_tensor(value) for name, value in TENSORS[given].items()}
    with pytest.raises((TypeError, ValueError), match="Received: ") as raised:
        layer(to_tensor(X), **places)
    short(raised.value)


LONG: dict[str, Any] = {
    "nested": NESTED,
    "strings": [STRING] * 100,
    "string": STRING,
    "numbers": [0.5] * 10**5,
    "array": np.zeros(10**5),
    "dict": {str(i): i for i in range(10**4)},
    "huge": [10**5000] * 2,
}
ARGUMENTS = [
    "channels",
    "max_wavelength",
    "endpoint",
    "frequencies",
    "layout",
    "cos_first",
    "axis_order",
    "split",
    "remainder",
    "offset",
    "scale",
    "coordinate_range",
    "align_corners",
    "eps",
    "data_format",
    "grid",
    "prefix_tokens",
    "dtype",
    "dtype_override",
    "autocast",
]
# Each argument with one kind of value, and some with each kind: all messages are made
# in one place.
PAIRS = [
    *((argument, "nested") for argument in ARGUMENTS),
    *((argument, given) for argument in ("channels", "scale") for given in LONG),
]
NOT_OF_VALUES = {"data_format", "grid", "prefix_tokens", "dtype_override"}


@pytest.mark.parametrize(("argument", "given"), PAIRS)
def test_arguments_of_layers_are_shortened(argument: str, given: str):
    arguments = {"channels": 8, argument: LONG[given]}
    with pytest.raises((TypeError, ValueError)) as raised:
        kp.PositionalEncoding2D(**arguments)
    short(raised.value)


@pytest.mark.parametrize(
    ("argument", "given"), [pair for pair in PAIRS if pair[0] not in NOT_OF_VALUES]
)
def test_arguments_of_encodings_of_values_are_shortened(argument: str, given: str):
    arguments = {"channels": 8, argument: LONG[given]}
    with pytest.raises((TypeError, ValueError)) as raised:
        kp.CoordinateEncoding(**arguments)
    short(raised.value)


@pytest.mark.parametrize(
    ("argument", "given"),
    [pair for pair in PAIRS if pair[0] not in {*NOT_OF_VALUES, "autocast"}],
)
@pytest.mark.parametrize("name", ["encode", "table"])
def test_arguments_of_functions_are_shortened(name: str, argument: str, given: str):
    arguments = {"channels": 8, argument: LONG[given]}
    function = kp.encode if name == "encode" else kp.sinusoidal_table
    with pytest.raises((TypeError, ValueError)) as raised:
        function([1, 2], **arguments)
    short(raised.value)


OTHERS: dict[str, Callable[[Any], Any]] = {
    "rank": lambda value: kp.PositionalEncoding(value, 8),
    "rank-of-values": lambda value: kp.CoordinateEncoding(8, value),
    "hidden_dim": kp.SinusoidEncoding,
    "max_len": lambda value: kp.SinusoidEncoding(8, max_len=value),
    "penc": kp.Summer,
    "table-shape": lambda value: kp.sinusoidal_table(value, 8),
    "table-shape-and-positions": lambda value: kp.sinusoidal_table(
        value, 8, positions=[1, 2]
    ),
    "preset": lambda value: kp.encode([1], 8, preset=value),
    "from_preset": lambda value: kp.PositionalEncoding1D.from_preset(value, 8),
    "presets": lambda value: kp.presets(value),
    "mask-start": lambda value: kp.positions_from_mask([[True]], start=value),
    "mask-masked": lambda value: kp.positions_from_mask([[True]], masked=value),
    "mask-normalize": lambda value: kp.positions_from_mask([[True]], normalize=value),
    "unknown-option": lambda value: kp.encode([1], 8, temperatur=value),
    "unknown-option-of-a-layer": lambda value: kp.PositionalEncoding1D(
        8, temperatur=value
    ),
    "no-rank": lambda value: kp.PositionalEncoding(d_model=value),
}


@pytest.mark.parametrize("given", LONG)
@pytest.mark.parametrize("taker", OTHERS)
def test_other_arguments_are_shortened(taker: str, given: str):
    with pytest.raises((TypeError, ValueError)) as raised:
        OTHERS[taker](LONG[given])
    short(raised.value)


def test_many_unknown_options_are_shortened():
    options = {f"option_{i}": i for i in range(10**3)}
    with pytest.raises((TypeError, ValueError)) as raised:
        kp.encode([1], 8, **options)
    short(raised.value)


@pytest.mark.parametrize("given", ["nested", "strings", "string", "dict"])
@pytest.mark.parametrize("name", ["scale", "grid", "channels"])
def test_settings_are_shortened(name: str, given: str):
    with pytest.raises(AttributeError) as raised:
        setattr(kp.PositionalEncoding2D(8), name, LONG[given])
    short(raised.value)


def test_a_long_value_would_be_seen():
    """A test of an absence: these values do have long texts."""
    assert len(repr(NESTED)) > 100 * LONGEST


# What is missing, and under which name.

MISSING: dict[str, Callable[[], keras.layers.Layer]] = {
    **{case.name: case.make for case in SEVERAL},
    "values": lambda: kp.CoordinateEncoding(8),
    "values-of-a-plane": lambda: kp.CoordinateEncoding(8, 2),
}
each_missing = pytest.mark.parametrize("name", MISSING)
each_state = pytest.mark.parametrize("built", [False, True], ids=["new", "built"])
SHAPES = {
    **{case.name: case.shape for case in SEVERAL},
    "values": (3,),
    "values-of-a-plane": (3, 2),
}


def layer_of(name: str, built: bool) -> keras.layers.Layer:
    layer = MISSING[name]()
    if built:
        layer(zeros(*SHAPES[name]))
    return layer


@each_state
@pytest.mark.parametrize("keyword", ["x", "input", "tokens", "timesteps"])
@each_missing
def test_an_input_under_another_name_is_named(name: str, keyword: str, built: bool):
    layer = layer_of(name, built)
    words = rf"`inputs`.*Received: .*{re.escape(keyword)}"
    with pytest.raises(TypeError, match=words) as raised:
        layer(**{keyword: zeros(*SHAPES[name])})
    assert "inputs=None" not in short(raised.value)


@each_state
@each_missing
def test_no_argument_at_all_is_named(name: str, built: bool):
    with pytest.raises(TypeError, match="`inputs`") as raised:
        layer_of(name, built)()
    short(raised.value)


@each_state
@pytest.mark.parametrize("by_name", [False, True], ids=["positional", "keyword"])
@each_missing
def test_none_as_the_input_is_a_missing_value(name: str, by_name: bool, built: bool):
    layer = layer_of(name, built)
    with pytest.raises(TypeError, match=r"inputs.*None") as raised:
        layer(inputs=None) if by_name else layer(None)
    text = short(raised.value)
    assert "dtype" not in text
    assert "object" not in text


def test_none_as_positions_of_a_function_is_a_missing_value():
    with pytest.raises(TypeError, match=r"`positions`.*None") as raised:
        kp.encode(None, 8)
    assert "dtype" not in short(raised.value)


def test_none_among_positions_is_a_missing_value():
    for call in (
        lambda: kp.encode([1.0, None], 8),
        lambda: kp.CoordinateEncoding(8)([1.0, None]),
        lambda: kp.PositionalEncoding1D(8)(X, positions=[None] * 6),
    ):
        with pytest.raises(TypeError, match=r"must be integers or real numbers"):
            call()


@each_state
@each_missing
def test_an_input_by_name_is_taken(name: str, built: bool):
    layer = layer_of(name, built)
    outputs = layer(inputs=zeros(*SHAPES[name]))
    assert outputs.shape[0] == SHAPES[name][0]
