"""Inputs with other numbers of channels than the one that is written."""

from __future__ import annotations

import re
import warnings
from typing import Any

import keras
import numpy as np
import pytest

import keras_posenc as kp
from helpers import reference
from helpers.run_modes import BACKEND, whole_torch_graph
from helpers.tensors import to_numpy, zeros
from helpers.tolerances import ROUNDING, SINGLE


@pytest.mark.parametrize("summed", [False, True])
@pytest.mark.parametrize("symbolic", [False, True])
@pytest.mark.parametrize(
    ("make", "shape", "dims"),
    [
        (lambda: kp.PositionalEncoding2D(64), (64, 20, 32), (3, 1)),
        (lambda: kp.PositionalEncodingPermute2D(64), (5, 6, 64), (1, 3)),
        (lambda: kp.PositionalEncoding1D(64), (64, 9), (2, 1)),
    ],
    ids=["last", "first", "one axis"],
)
def test_channels_that_the_input_has_elsewhere_warn(
    make: Any,
    shape: tuple[int, ...],
    dims: tuple[int, int],
    symbolic: bool,
    summed: bool,
):
    layer = kp.Summer(make()) if summed else make()
    inputs = keras.Input(shape) if symbolic else np.zeros((2, *shape))
    dim, other = dims
    to = "first" if other == 1 else "last"
    message = (
        rf"with channels=64 found {shape[dim - 1]} channels in dimension {dim}, and 64 "
        rf"in dimension {other}, which data_format='channels_{to}' is for\. Received:"
    )
    with pytest.warns(UserWarning, match=message):
        layer(inputs)


def test_more_channels_than_there_are_elsewhere_warn():
    message = r"makes 4 channels, .* 8 channels, and 3 in dimension 1, which data_f"
    with pytest.warns(UserWarning, match=message):
        kp.PositionalEncoding2D(3)(np.zeros((1, 3, 8, 8)))


@pytest.mark.parametrize("shape", [(2, 5, 20, 33), (2, 8, 6, 2), (2, 64, 64, 64)])
def test_inputs_with_fewer_channels_do_not_warn(shape: tuple[int, ...]):
    outputs = kp.PositionalEncoding2D(64)(np.zeros(shape))
    assert tuple(outputs.shape) == shape


def test_fewer_channels_than_the_input_has_warn():
    layer = kp.PositionalEncoding2D(5)
    with pytest.warns(
        UserWarning, match=r"channels=5 makes 8 .* Received: inputs of 10 "
    ):
        outputs = layer(np.zeros((1, 4, 3, 10), "float32"))
    assert tuple(outputs.shape) == (1, 4, 3, 8)
    error = np.abs(to_numpy(outputs)[0] - reference.encode_2d(4, 3, 8)).max()
    assert error <= ROUNDING["float32"]


def test_fewer_channels_than_the_input_has_warn_channels_first():
    layer = kp.PositionalEncodingPermute1D(3)
    with pytest.warns(UserWarning, match=r"channels=3 makes 4 channels"):
        outputs = layer(np.zeros((2, 9, 5), "float32"))
    expected = reference.encode_1d(5, 4).T
    assert tuple(outputs.shape) == (2, 4, 5)
    assert np.abs(to_numpy(outputs)[1] - expected).max() <= ROUNDING["float32"]


def test_fewer_channels_in_a_model_warn():
    inputs = keras.Input((None, 3, 10))
    with pytest.warns(UserWarning, match="makes 8 channels"):
        outputs = kp.PositionalEncoding2D(5)(inputs)
    assert outputs.shape == (None, None, 3, 8)


SHAPE_ERROR = r"input's shape {}; .* Received: an encoding of shape {} from penc="


def test_a_summer_refuses_fewer_channels():
    message = SHAPE_ERROR.format(r"\(1, 4, 3, 10\)", r"\(1, 4, 3, 8\)")
    with pytest.raises(ValueError, match=f"^`Summer` expects an encoding.*{message}"):
        kp.Summer(kp.PositionalEncoding2D(5))(np.zeros((1, 4, 3, 10), "float32"))


def test_a_summer_refuses_fewer_channels_in_a_model():
    message = SHAPE_ERROR.format(r"\(None, None, 3, 10\)", r"\(None, None, 3, 8\)")
    with pytest.raises(ValueError, match=f"^`Summer` expects an encoding.*{message}"):
        kp.Summer(kp.PositionalEncoding2D(5))(keras.Input((None, 3, 10)))


def test_too_many_channels_are_refused_inside_time_distributed():
    layer = keras.layers.TimeDistributed(kp.Summer(kp.PositionalEncoding2D(5)))
    layer(np.zeros((2, 3, 5, 4, 8), "float32"))
    with pytest.raises(ValueError, match="it never broadcasts"):
        layer(np.zeros((2, 3, 5, 4, 10), "float32"))


@pytest.mark.parametrize(
    "inputs", [np.zeros((2, 3, 5, 4, 10)), None], ids=["eager", "model"]
)
def test_fewer_channels_inside_time_distributed_warn(inputs: np.ndarray | None):
    layer = keras.layers.TimeDistributed(kp.PositionalEncoding2D(5))
    with pytest.warns(UserWarning, match="channels=5 makes 8 channels"):
        layer(keras.Input((3, 5, 4, 10)) if inputs is None else inputs)


def test_fewer_channels_warn_with_one_text_for_all_lengths():
    """Python shows a text once at one line: a loop over lengths is not flooded."""
    layer = kp.PositionalEncoding1D(3)
    with pytest.warns(UserWarning, match="channels=3 makes 4 channels") as caught:
        [layer(np.zeros((2, length, 5), "float32")) for length in (7, 8, 9)]
    assert len({str(warning.message) for warning in caught}) == 1


def test_fewer_channels_give_one_warning_a_call():
    layer = kp.PositionalEncoding1D(3)
    with pytest.warns(UserWarning, match="channels=3 makes 4 channels") as caught:
        layer(np.zeros((2, 9, 5), "float32"))
    assert [warning.filename for warning in caught] == [__file__]


def test_a_summer_refuses_too_many_channels_on_a_later_call():
    summer = kp.Summer(kp.PositionalEncoding1D(8))
    summer(np.zeros((2, 5, 8), "float32"))
    message = SHAPE_ERROR.format(r"\(2, 5, 12\)", r"\(2, 5, 8\)")
    with pytest.raises(ValueError, match=message):
        summer(np.zeros((2, 5, 12), "float32"))


def test_an_encoding_warns_of_too_many_channels_on_each_call():
    layer = kp.PositionalEncoding1D(8)
    layer(np.zeros((2, 5, 8), "float32"))
    for _ in range(2):
        with pytest.warns(UserWarning, match="makes 8 channels"):
            layer(np.zeros((2, 5, 12), "float32"))


if BACKEND == "torch":

    @pytest.mark.parametrize("dynamic", [False, True], ids=["static", "dynamic"])
    def test_fewer_channels_under_torch_compile_warn(dynamic: bool):
        import torch

        layer = kp.PositionalEncoding1D(3)
        graph = whole_torch_graph(layer, dynamic=dynamic)
        with pytest.warns(UserWarning, match="channels=3 makes 4 channels"):
            outputs = graph(torch.zeros(2, 9, 5))
        assert tuple(outputs.shape) == (2, 9, 4)


# A number of channels that each input brings.

NO_NUMBER: list[tuple[dict[str, Any], int, str]] = [
    ({"remainder": "error"}, 10, r"`channels` must be divisible by 4 .* channels=10"),
    ({"split": [4, 2]}, 8, r"`split` must add up to the number of channels, 8\."),
    ({"frequencies": [1.0]}, 8, r"`frequencies` must hold 2 numbers for axis 0, "),
    ({"frequencies": [[1.0], []]}, 4, r"`frequencies` must hold 1 numbers for axis 1"),
]
each_misfit = pytest.mark.parametrize(
    ("options", "channels", "message"), NO_NUMBER, ids=lambda value: str(value)
)


@each_misfit
def test_an_input_whose_channels_do_not_fit_is_refused(
    options: dict[str, Any], channels: int, message: str
):
    layer = kp.PositionalEncoding2D(**options)
    with pytest.raises(ValueError, match=f"^{message}"):
        layer(zeros(1, 2, 3, channels))


@each_misfit
def test_channels_that_do_not_fit_are_refused_after_an_input_that_fits(
    options: dict[str, Any], channels: int, message: str
):
    layer = kp.PositionalEncoding2D(**options)
    split, frequencies = options.get("split"), options.get("frequencies")
    if frequencies == [[1.0], []]:
        pytest.skip("no input fits")
    fits = sum(split) if split else 4 * len(frequencies) if frequencies else 12
    outputs = to_numpy(layer(zeros(1, 2, 3, fits)))[0]
    expected = reference.encode_options((2, 3), fits, **options)
    assert np.abs(outputs - expected).max() <= SINGLE
    with pytest.raises(ValueError, match=f"^{message}"):
        layer(zeros(1, 2, 3, channels))


@each_misfit
def test_channels_that_do_not_fit_are_refused_when_a_model_is_built(
    options: dict[str, Any], channels: int, message: str
):
    layer = kp.Summer(kp.PositionalEncoding2D(**options))
    with pytest.raises(ValueError, match=f"^{message}"):
        layer(keras.Input((None, None, channels)))


@each_misfit
def test_channels_that_do_not_fit_are_refused_where_they_are_written(
    options: dict[str, Any], channels: int, message: str
):
    with pytest.raises(ValueError, match=f"^{message}"):
        kp.sinusoidal_table((2, 3), channels, **options)


# Inputs with another number of channels than the one that is written.

OTHER_NUMBERS: dict[str, tuple[int, dict[str, Any], int, int]] = {
    # written, options, channels of the input, of the encoding
    "truncate-even": (8, {}, 11, 8),
    "truncate-up-to-the-padded-number": (10, {}, 20, 12),
    "truncate-odd": (7, {"layout": "concatenated"}, 20, 8),
    "pad-exactly": (10, {"remainder": "pad"}, 20, 10),
    "pad-odd": (7, {"remainder": "pad", "layout": "phase axis freq"}, 8, 7),
    "split-exactly": (10, {"split": [6, 4]}, 20, 10),
    "fewer": (12, {"layout": "concatenated", "endpoint": True}, 7, 7),
    "fewer-pad": (10, {"remainder": "pad"}, 9, 9),
}


@pytest.mark.parametrize("name", OTHER_NUMBERS)
def test_inputs_of_more_and_fewer_channels_get_what_there_is(name: str):
    written, options, inputs, channels = OTHER_NUMBERS[name]
    layer = kp.PositionalEncoding2D(written, **options)
    text = rf"channels={written} makes {channels} channels, which are all .* {inputs} "
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        outputs = to_numpy(layer(zeros(1, 2, 3, inputs)))[0]
    # Others are NumPy's, about tensors of torch.
    ours = [str(item.message) for item in caught if item.category is UserWarning]
    assert all(re.search(text, message) for message in ours)
    assert bool(ours) == (inputs > channels)
    assert outputs.shape == (2, 3, channels)
    expected = reference.encode_options((2, 3), written, inputs, **options)
    np.testing.assert_allclose(outputs, expected, rtol=0, atol=SINGLE)


@pytest.mark.filterwarnings("ignore:.* which are all that the encoding:UserWarning")
@pytest.mark.parametrize("name", OTHER_NUMBERS)
def test_compute_output_shape_of_more_and_fewer_channels(name: str):
    written, options, inputs, channels = OTHER_NUMBERS[name]
    layer = kp.PositionalEncoding2D(written, **options)
    assert layer.compute_output_shape((None, 2, None, inputs)) == (
        *(None, 2, None),
        channels,
    )
