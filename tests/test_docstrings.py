"""Docstrings list every argument, default and section."""

from __future__ import annotations

import inspect
import re

import pytest

import keras_posenc
from helpers.docstrings import (
    documented,
    documented_defaults,
    sections,
    without_required,
    written_arguments,
)
from helpers.internals import WaveArguments, WaveOptions
from helpers.public_names import CLASSES, FUNCTIONS

TAKING_OPTIONS = [
    name
    for name in FUNCTIONS
    if inspect.getfullargspec(getattr(keras_posenc, name)).varkw
]

USUAL = ["max_wavelength"]


def arguments(cls: type) -> dict[str, object]:
    """Argument -> default, of the constructor and of the options that it passes on."""
    found = written_arguments(cls.__init__)
    if issubclass(cls, keras_posenc.PositionalEncoding):
        options = written_arguments(WaveOptions)
        # The general class says what each means; the others, of the one most used.
        names = [*options][2:] if cls is keras_posenc.PositionalEncoding else USUAL
        found |= {name: options[name] for name in names}
    if cls is keras_posenc.PositionalEncoding:
        found |= {"grid": None, "prefix_tokens": 0}
    return found


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
        ("CoordinateEncoding", "**kwargs"),
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


@pytest.mark.parametrize(
    "name", [name for name in CLASSES if "PositionalEncoding" in name]
)
def test_docstring_names_every_option(name: str):
    text = inspect.getdoc(getattr(keras_posenc, name)) or ""
    options = [*WaveArguments.__annotations__, "grid", "prefix_tokens"]
    entries = r"`{0}`|^ +{0}: "
    assert [
        option
        for option in options
        if not re.search(entries.format(option), text, re.MULTILINE)
    ] == []
