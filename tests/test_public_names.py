"""The public names, and which of their arguments may be given by place."""

from __future__ import annotations

import importlib.metadata
import importlib.resources
import inspect

import pytest

import keras_posenc
from helpers.internals import WaveArguments, WaveOptions
from helpers.public_names import CLASSES, FUNCTIONS


def test_every_name_exists():
    missing = [name for name in keras_posenc.__all__ if not hasattr(keras_posenc, name)]
    assert missing == []


def test_version_is_that_of_the_installed_distribution():
    assert importlib.metadata.version("keras-posenc") == keras_posenc.__version__


def test_the_package_is_typed():
    assert importlib.resources.files("keras_posenc").joinpath("py.typed").is_file()


def test_every_wave_option_can_be_given():
    """The record of options and the keyword arguments of the layers are one list."""
    fields = [*inspect.signature(WaveOptions).parameters]
    assert fields == ["rank", "channels", *WaveArguments.__annotations__]


def test_plot_completes_to_what_is_for_users():
    assert dir(keras_posenc.plot) == [
        *("AXIS_COLORS", "STYLE", "TEXT", "encoding", "similarity", "spectrum")
    ]


@pytest.mark.parametrize("name", CLASSES)
def test_only_leading_arguments_are_positional(name: str):
    """What follows them cannot be given by place, and so by mistake."""
    spec = inspect.getfullargspec(getattr(keras_posenc, name).__init__)
    leading = {
        "CoordinateEncoding": ["self", "channels", "rank"],
        "PositionalEncoding": ["self", "rank", "channels"],
        "SinusoidEncoding": ["self", "hidden_dim", "max_len"],
        "Summer": ["self", "penc"],
    }
    assert spec.args == leading.get(name, ["self", "channels", "dtype_override"])


LEADING = {
    "encode": ["positions", "channels"],
    "positions_from_mask": ["mask", "rank"],
    "presets": ["rank"],
    "sinusoidal_table": ["shape", "channels"],
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_only_leading_arguments_of_a_function_are_positional(name: str):
    assert inspect.getfullargspec(getattr(keras_posenc, name)).args == LEADING[name]
