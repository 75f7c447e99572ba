"""Docstrings list every argument, default and section."""

from __future__ import annotations

import inspect

import pytest

import keras_posenc
from helpers.docstrings import (
    documented,
    documented_defaults,
    sections,
    without_required,
    written_arguments,
)
from helpers.internals import OPTION_NAMES, WaveOptions
from helpers.public_names import CLASSES, FUNCTIONS

TAKING_OPTIONS = [
    name
    for name in FUNCTIONS
    if inspect.getfullargspec(getattr(keras_posenc, name)).varkw
]

# Classes that take the options, and those of them that explain none.
TAKING_ARGUMENTS = [
    name
    for name in CLASSES
    if "PositionalEncoding" in name or name == "CoordinateEncoding"
]
POINTING = [name for name in TAKING_ARGUMENTS if name != "PositionalEncoding"]


def arguments(cls: type) -> dict[str, object]:
    """Argument -> default, of those that the docstring of a class explains."""
    found = written_arguments(cls.__init__)
    if cls is keras_posenc.PositionalEncoding:
        return found
    # The options are explained there alone.
    general = written_arguments(keras_posenc.PositionalEncoding.__init__)
    own = {"rank", "channels"}
    return {k: v for k, v in found.items() if k in own or k not in general}


@pytest.mark.parametrize("name", CLASSES)
def test_docstring_lists_every_argument(name: str):
    cls = getattr(keras_posenc, name)
    assert [*documented(cls)] == [*arguments(cls), "**kwargs"]


@pytest.mark.parametrize("name", FUNCTIONS)
def test_docstring_of_a_function_lists_every_argument(name: str):
    function = getattr(keras_posenc, name)
    rest = ["**options"] if name in TAKING_OPTIONS else []
    assert [*documented(function)] == [*written_arguments(function), *rest]


@pytest.mark.parametrize(
    ("name", "rest"),
    [
        *((name, "**options") for name in TAKING_OPTIONS),
        *((name, "**kwargs") for name in POINTING),
    ],
)
def test_docstring_says_where_the_options_are_explained(name: str, rest: str):
    assert "`PositionalEncoding`" in documented(getattr(keras_posenc, name))[rest]


@pytest.mark.parametrize("name", CLASSES)
def test_docstring_defaults_are_those_of_the_code(name: str):
    cls = getattr(keras_posenc, name)
    defaults = without_required(arguments(cls))
    assert documented_defaults(cls, defaults) == defaults


@pytest.mark.parametrize("name", FUNCTIONS)
def test_docstring_defaults_of_a_function_are_those_of_the_code(name: str):
    function = getattr(keras_posenc, name)
    defaults = without_required(written_arguments(function))
    assert documented_defaults(function, defaults) == defaults


@pytest.mark.parametrize("name", CLASSES)
def test_docstring_has_every_section_in_order(name: str):
    assert sections(getattr(keras_posenc, name)) == [
        *("Args", "Call arguments", "Returns", "Raises", "Example", "Reference")
    ]


@pytest.mark.parametrize("name", FUNCTIONS)
def test_docstring_of_a_function_has_every_section_in_order(name: str):
    assert sections(getattr(keras_posenc, name)) == [
        *("Args", "Returns", "Raises", "Example", "Reference")
    ]


@pytest.mark.parametrize("name", TAKING_ARGUMENTS)
def test_the_signature_of_a_class_shows_every_option(name: str):
    cls = getattr(keras_posenc, name)
    for signature in (inspect.signature(cls), inspect.signature(cls.__init__)):
        shown = {k: parameter.default for k, parameter in signature.parameters.items()}
        assert {option: shown[option] for option in OPTION_NAMES} == {
            option: written_arguments(WaveOptions)[option] for option in OPTION_NAMES
        }
