"""Arguments of constructors: what is taken, what is refused, and in which words."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import keras
import numpy as np
import pytest

import keras_posenc as kp

TAKE_CHANNELS: dict[str, Callable[[Any], Any]] = {
    "1d": kp.PositionalEncoding1D,
    "2d": kp.PositionalEncoding2D,
    "3d": kp.PositionalEncoding3D,
    "permute1d": kp.PositionalEncodingPermute1D,
    "permute2d": kp.PositionalEncodingPermute2D,
    "permute3d": kp.PositionalEncodingPermute3D,
    "rank2": lambda channels: kp.PositionalEncoding(2, channels),
    "table": lambda channels: kp.sinusoidal_table(3, channels),
}
BAD_INTEGERS = [
    (0, ValueError),
    (-1, ValueError),
    (np.int64(-3), ValueError),
    (2.5, TypeError),
    (8.0, TypeError),
    ("8", TypeError),
    (True, TypeError),
    ([8], TypeError),
]
each_bad_integer = pytest.mark.parametrize(
    ("value", "error"), BAD_INTEGERS, ids=[repr(value) for value, _ in BAD_INTEGERS]
)


def message(name: str, value: Any) -> str:
    return (
        rf"^`{name}` must be a positive integer( or None)?\. "
        rf"Received: {name}={re.escape(repr(value))}$"
    )


@each_bad_integer
@pytest.mark.parametrize("taker", TAKE_CHANNELS)
def test_bad_channels_are_refused(taker: str, value: Any, error: type[Exception]):
    with pytest.raises(error, match=message("channels", value)):
        TAKE_CHANNELS[taker](value)


@each_bad_integer
def test_a_bad_rank_is_refused(value: Any, error: type[Exception]):
    with pytest.raises(error, match=message("rank", value)):
        kp.PositionalEncoding(value)


@each_bad_integer
def test_a_bad_hidden_dim_is_refused(value: Any, error: type[Exception]):
    with pytest.raises(error, match=message("hidden_dim", value)):
        kp.SinusoidEncoding(value)


@each_bad_integer
def test_a_bad_max_len_is_refused(value: Any, error: type[Exception]):
    with pytest.raises(error, match=message("max_len", value)):
        kp.SinusoidEncoding(8, max_len=value)


def test_numpy_integers_become_plain_ones():
    layer = kp.PositionalEncoding(np.int32(2), np.int64(8))
    assert [type(layer.get_config()[key]) for key in ("rank", "channels")] == [int, int]
    assert type(kp.SinusoidEncoding(np.int64(8)).get_config()["hidden_dim"]) is int


def shown(value: Any) -> str:
    """What a message has of `value`: not all of what would fill a page."""
    huge = isinstance(value, int) and value > 2**256
    return f"<integer of {value.bit_length()} bits>" if huge else repr(value)


BAD_WAVELENGTHS = [
    (0, ValueError, "positive finite number"),
    (-1.0, ValueError, "positive finite number"),
    (float("inf"), ValueError, "positive finite number"),
    (float("nan"), ValueError, "positive finite number"),
    ("10000", TypeError, "positive finite number"),
    (b"ab", TypeError, "positive finite number"),
    (np.bool_(True), TypeError, "positive finite number"),
    (10**400, ValueError, "positive finite number"),
    (True, TypeError, "positive finite number"),
    (None, TypeError, "positive finite number"),
    ([10.0, 0.0], ValueError, "positive finite number"),
    ([10.0, "x"], TypeError, "positive finite number"),
    ([10.0], ValueError, "one for each of the 2 axes"),
    ([10.0, 20.0, 30.0], ValueError, "one for each of the 2 axes"),
]


@pytest.mark.parametrize(
    ("value", "error", "words"),
    BAD_WAVELENGTHS,
    ids=[shown(value) for value, _, _ in BAD_WAVELENGTHS],
)
def test_a_bad_max_wavelength_is_refused(
    value: Any, error: type[Exception], words: str
):
    received = re.escape(f"Received: max_wavelength={shown(value)}")
    with pytest.raises(error, match=f"^`max_wavelength` must .*{words}.*{received}"):
        kp.PositionalEncoding2D(8, max_wavelength=value)


@pytest.mark.parametrize(
    "value",
    [100, 100.0, np.float32(100), np.int64(100)],
    ids=lambda v: type(v).__name__,
)
def test_max_wavelength_is_kept_as_a_plain_float(value: Any):
    kept = kp.PositionalEncoding2D(8, max_wavelength=value).get_config()
    assert kept["max_wavelength"] == 100.0
    assert type(kept["max_wavelength"]) is float


@pytest.mark.parametrize(
    "value",
    [[10, 20], (10.0, 20.0), np.array([10, 20])],
    ids=lambda v: type(v).__name__,
)
def test_max_wavelength_per_axis_is_kept_as_a_plain_list(value: Any):
    kept = kp.PositionalEncoding2D(8, max_wavelength=value).get_config()
    assert kept["max_wavelength"] == [10.0, 20.0]


@pytest.mark.parametrize(
    ("value", "error"),
    [("last", ValueError), (None, TypeError), (["channels_last"], TypeError)],
    ids=repr,
)
def test_an_unknown_data_format_is_refused(value: Any, error: type[Exception]):
    valid = r"'channels_last', 'channels_first'\. "
    received = re.escape(f"Received: data_format={value!r}")
    with pytest.raises(error, match=f"^`data_format` must be one of {valid}{received}"):
        kp.PositionalEncoding2D(8, data_format=value)


@pytest.mark.parametrize(
    "layer", [kp.PositionalEncoding1D, kp.PositionalEncodingPermute3D]
)
def test_an_unknown_option_is_refused(layer: type):
    with pytest.raises(
        ValueError, match=r"Unrecognized keyword arguments.*max_wave_le"
    ):
        layer(8, max_wave_length=100.0)


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("max_wave_length", "max_wavelength"),
        ("temperature", "max_wavelength"),
        ("num_pos_feats", "channels"),
        ("cosfirst", "cos_first"),
    ],
)
@pytest.mark.parametrize(
    "make",
    [
        lambda **given: kp.PositionalEncoding1D(8, **given),
        lambda **given: kp.CoordinateEncoding(8, **given),
        lambda **given: kp.encode([1, 2], 8, **given),
        lambda **given: kp.sinusoidal_table(4, 8, **given),
    ],
    ids=["layer", "values", "encode", "table"],
)
def test_the_error_of_an_unknown_option_says_which_may_be_meant(
    make: Any, name: str, meant: str
):
    with pytest.raises(ValueError, match=rf"^Unrec.* Perhaps `{meant}` for `{name}`\."):
        make(**{name: 3})


@pytest.mark.parametrize("name", ["max_len", "length", "max_position_embeddings"])
def test_a_length_of_a_layer_without_one_is_refused(name: str):
    with pytest.raises(ValueError, match=rf" No `{name}` is needed: any length is t"):
        kp.PositionalEncoding1D(8, **{name: 100})
    with pytest.raises(ValueError, match=r"Perhaps `max_len` for `max_length`\."):
        kp.SinusoidEncoding(8, max_length=100)  # type: ignore[call-arg]


def test_two_numbers_are_not_taken_for_length_and_channels():
    with pytest.raises(ValueError, match=r"There is no length to give: .*_override=64"):
        kp.PositionalEncoding1D(100, 64)  # type: ignore[arg-type]
    with pytest.raises(
        ValueError, match=r"`channels` are the second argument\. .*=64$"
    ):
        kp.PositionalEncoding(64, 2)


def test_a_summer_refuses_the_options_of_its_inner_layer():
    penc = kp.PositionalEncoding1D(8)
    with pytest.raises(ValueError, match=r" `scale` is an option of `Positional"):
        kp.Summer(penc, scale=2)  # type: ignore[call-arg]
    with pytest.raises(ValueError, match=r" `from_preset` of `PositionalEnc"):
        kp.PositionalEncoding1D(8, preset="mae")


@pytest.mark.parametrize("built", [False, True])
def test_a_mask_is_refused_as_an_argument(built: bool):
    layer, x = kp.PositionalEncoding1D(8), np.zeros((1, 3, 8))
    if built:
        layer(x)
    with pytest.raises(TypeError, match=r"^PositionalEncoding1D takes no `mask`: mask"):
        layer(x, mask=np.ones((1, 3), "bool"))


def test_a_second_input_is_refused():
    x = np.zeros((2, 3, 8))
    with pytest.raises(
        TypeError, match=r"start_index of shape \(2, 3, 8\) and dtype f"
    ):
        kp.Summer(kp.PositionalEncoding1D(8))(x, x)


@pytest.mark.parametrize("name", ["colour", "batch_first", "shape"])
def test_an_unknown_option_that_is_like_no_other_gets_no_hint(name: str):
    with pytest.raises(ValueError, match=r"^Unrecognized [^.]*$"):
        kp.PositionalEncoding1D(8, **{name: 1})


@pytest.mark.parametrize("name", ["dtype", "dtype_override"])
def test_only_a_number_may_be_meant_as_a_length(name: str):
    with pytest.raises(ValueError, match=r"not quantized\. Received: "):
        kp.PositionalEncoding1D(8, **{name: "x"})
    with pytest.raises(ValueError, match=r"not quantized\. Received: "):
        kp.PositionalEncoding1D(8, dtype=3)


def test_a_subclass_may_take_a_mask():
    class Masked(kp.PositionalEncoding1D):
        def call(self, inputs: Any, mask: Any = None) -> Any:
            raise RuntimeError("of my own")

    with pytest.raises(RuntimeError, match="of my own"):
        Masked(8)(np.zeros((1, 3, 8)), mask=np.ones((1, 3), "bool"))


def test_the_permute_layers_fix_their_data_format():
    message = (
        r"^PositionalEncodingPermute2D has `data_format` fixed .*='channels_last'$"
    )
    with pytest.raises(TypeError, match=message):
        kp.PositionalEncodingPermute2D(8, data_format="channels_last")


def test_options_are_keyword_only():
    with pytest.raises(TypeError, match="positional argument"):
        kp.PositionalEncoding1D(8, None, "channels_last")


def test_attributes_read_what_was_written():
    layer = kp.PositionalEncoding2D(7, max_wavelength=[10.0, 20.0], name="places")
    assert (layer.rank, layer.channels, layer.org_channels) == (2, 7, 7)
    assert layer.max_wavelength == (10.0, 20.0)
    assert (layer.data_format, layer.name) == ("channels_last", "places")


@pytest.mark.parametrize("penc", [None, "1d", np.sin, kp.PositionalEncoding1D])
def test_summer_takes_layers_only(penc: Any):
    with pytest.raises(TypeError, match=r"^`penc` must be a Keras layer .* Received: "):
        kp.Summer(penc)


BAD_SHAPES = [
    (-1, ValueError),
    (True, TypeError),
    ((True, 3), TypeError),
    ([[1], [1, 2]], TypeError),
    ((3, -1), ValueError),
    ((), ValueError),
    (2.5, TypeError),
    ("3", TypeError),
    (None, TypeError),
]


@pytest.mark.parametrize(
    ("shape", "error"), BAD_SHAPES, ids=[repr(shape) for shape, _ in BAD_SHAPES]
)
def test_a_bad_shape_of_a_table_is_refused(shape: Any, error: type[Exception]):
    with pytest.raises(error, match=r"^`shape` must be a non-negative integer, or a "):
        kp.sinusoidal_table(shape, 8)


@pytest.mark.parametrize("inputs", [None, 3.0, "text", {"a": 1}, [[1.0, 2.0]]])
def test_what_is_no_tensor_is_refused(inputs: Any):
    received = re.escape(f"Received: inputs={inputs!r}")
    with pytest.raises(TypeError, match=f"PositionalEncoding1D expects.*{received}"):
        kp.PositionalEncoding1D(8)(inputs)


@pytest.mark.parametrize("name", ["max_wave_length", "rank", "dtype_override"])
def test_an_unknown_option_of_a_table_is_refused(name: str):
    with pytest.raises(ValueError, match=rf"Expected: max_wavelength.*'{name}': 1"):
        kp.sinusoidal_table(3, 8, **{name: 1})


def test_a_subclass_may_set_what_it_was_given():
    class Scaled(kp.PositionalEncoding2D):
        def __init__(self, channels: int, factor: float = 2.0, **kwargs: Any):
            super().__init__(channels, **kwargs)
            self.channels = channels
            self.factor = factor

    assert Scaled(8).channels == 8


def test_a_subclass_may_name_its_input():
    class Named(kp.PositionalEncoding1D):
        def call(self, x: Any) -> Any:
            return super().call(x)

    assert tuple(Named(8)(x=np.zeros((1, 3, 8), "float32")).shape) == (1, 3, 8)


@pytest.mark.parametrize("others", [{}, {"training": False}], ids=["alone", "second"])
def test_inputs_may_be_named(others: dict[str, Any]):
    layer = kp.PositionalEncoding1D(8)
    outputs = layer(**others, inputs=np.zeros((1, 3, 8), "float32"))
    assert tuple(outputs.shape) == (1, 3, 8)


def test_a_layer_may_be_passed_on_its_own_name_and_policy():
    summer = kp.Summer(kp.PositionalEncoding1D(8), name="sum", dtype="float16")
    assert (summer.name, summer.compute_dtype) == ("sum", "float16")
    assert isinstance(summer, keras.layers.Layer)
