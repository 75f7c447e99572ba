"""The public surface: names, signatures, docstrings, imports."""

from __future__ import annotations

import ast
import importlib.metadata
import importlib.resources
import inspect
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import keras
import pytest

import keras_posenc
from helpers.internals import WaveArguments, WaveOptions
from helpers.public_names import CLASSES, FUNCTIONS

PACKAGE = Path(keras_posenc.__file__).parent
MODULES = sorted(PACKAGE.glob("**/*.py"))
BACKEND_MODULES = {"jax", "jaxlib", "tensorflow", "torch"}
TAKING_OPTIONS = [
    name
    for name in FUNCTIONS
    if inspect.getfullargspec(getattr(keras_posenc, name)).varkw
]


def test_every_name_exists():
    missing = [name for name in keras_posenc.__all__ if not hasattr(keras_posenc, name)]
    assert missing == []


def test_version_is_that_of_the_installed_distribution():
    assert importlib.metadata.version("keras-posenc") == keras_posenc.__version__


def test_the_package_is_typed():
    assert importlib.resources.files("keras_posenc").joinpath("py.typed").is_file()


def imports(source: str, *, at_import: bool) -> set[str]:
    """The modules that a file imports: anywhere, or as it is imported itself."""
    names: set[str] = set()
    nodes: list[ast.AST] = [ast.parse(source)]
    while nodes:
        node = nodes.pop()
        if isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
        if isinstance(node, ast.ImportFrom) and node.module:
            names.update(f"{node.module}.{alias.name}" for alias in node.names)
        if not (at_import and isinstance(node, (ast.FunctionDef, ast.Lambda))):
            nodes.extend(ast.iter_child_nodes(node))
    return names


def test_the_search_for_imports_finds_what_runs_at_import():
    """Shows that the checks below can fail."""
    source = "try:\n  import torch\nexcept ImportError:\n  import jax.numpy"
    assert imports(source, at_import=True) == {"torch", "jax.numpy"}
    source = "def f():\n  import torch\nclass C:\n  from jax import numpy"
    assert imports(source, at_import=True) == {"jax.numpy"}
    assert imports(source, at_import=False) == {"jax.numpy", "torch"}


@pytest.mark.parametrize("path", MODULES, ids=lambda path: path.stem)
def test_no_private_module_of_keras_is_imported(path: Path):
    assert "keras.src" not in path.read_text()


@pytest.mark.parametrize("path", MODULES, ids=lambda path: path.stem)
def test_no_backend_is_imported_at_module_level(path: Path):
    imported = {
        name.partition(".")[0] for name in imports(path.read_text(), at_import=True)
    }
    assert imported.isdisjoint(BACKEND_MODULES)


def test_one_module_imports_backends():
    importers = {
        path.stem
        for path in MODULES
        for name in imports(path.read_text(), at_import=False)
        if name.partition(".")[0] in BACKEND_MODULES
    }
    assert importers == {"_backend"}


def run(code: str) -> dict[str, object]:
    # Users' Python keeps the bytecode of what it imports.
    environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": ""}
    output = subprocess.run(
        [sys.executable, "-c", code],
        env=environment,
        check=True,
        capture_output=True,
        text=True,
    )
    return json.loads(output.stdout.splitlines()[-1])


def test_importing_pulls_in_no_backend_that_keras_has_not():
    found = run(
        "import json, sys, keras; before = set(sys.modules); import keras_posenc;"
        "print(json.dumps({'new': sorted(set(sys.modules) - before)}))"
    )
    tops = {name.partition(".")[0] for name in found["new"]}
    assert "keras_posenc" in tops
    assert tops.isdisjoint(BACKEND_MODULES)


def test_importing_adds_less_than_30_ms_to_importing_keras():
    code = (
        "import json, time, keras; start = time.process_time(); import keras_posenc;"
        "print(json.dumps({'seconds': time.process_time() - start}))"
    )
    # Work, not waiting for a busy machine; and not the first, which writes bytecode.
    assert min(run(code)["seconds"] for _ in range(3)) < 0.030


def test_every_wave_option_can_be_given():
    """The record of options and the keyword arguments of the layers are one list."""
    fields = [*inspect.signature(WaveOptions).parameters]
    assert fields == ["rank", "channels", *WaveArguments.__annotations__]


USUAL = ["max_wavelength"]


def documented(thing: Any) -> dict[str, str]:
    """Argument -> what its entry under "Args:" says."""
    section = re.search(r"\nArgs:\n(.*?)\n\n", inspect.getdoc(thing), re.DOTALL)[1]
    entries = re.split(r"(?:^|\n) {4}(?=[\w*])", section)
    return dict(entry.split(":", 1) for entry in entries if entry)


def written_arguments(function: Any) -> dict[str, object]:
    """Argument -> default, of those that the signature names."""
    return {
        name: parameter.default
        for name, parameter in inspect.signature(function).parameters.items()
        if name != "self" and parameter.kind is not parameter.VAR_KEYWORD
    }


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


def documented_defaults(thing: Any, names: Iterable[str]) -> dict[str, object]:
    written = {
        name: re.search(r"Defaults\s+to\s+`(.*?)`", documented(thing)[name])
        for name in names
    }
    return {
        name: ast.literal_eval(found[1]) if found else "none"
        for name, found in written.items()
    }


def without_required(arguments: dict[str, object]) -> dict[str, object]:
    return {
        name: default
        for name, default in arguments.items()
        if default is not inspect.Parameter.empty
    }


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


def sections(thing: Any) -> list[str]:
    return re.findall(r"^(\w[\w ]*):$", inspect.getdoc(thing), re.MULTILINE)


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
        "PositionalEncoding": ["self", "rank", "channels", "dtype_override"],
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


def test_public_keras_names_only():
    """`keras.backend` has the few functions that Keras documents for layer authors."""
    used = {
        match
        for path in MODULES
        for match in re.findall(r"\bkeras(?:\.\w+)+", path.read_text())
    }
    assert [name for name in used if not _resolves(name)] == []


def _resolves(name: str) -> bool:
    value: object = keras
    for part in name.split(".")[1:]:
        if not hasattr(value, part):
            return False
        value = getattr(value, part)
    return True
