"""The map in CONTRIBUTING.md is that of the code: its modules, limits and names."""

from __future__ import annotations

import ast
import inspect
import io
import re
import tokenize
from pathlib import Path

import pytest

import keras_posenc

ROOT = Path(__file__).parents[1]
PACKAGE = Path(keras_posenc.__file__).parent
TEXT = (ROOT / "CONTRIBUTING.md").read_text()
MODULES = {
    path.relative_to(PACKAGE).with_suffix("").as_posix(): path
    for path in sorted(PACKAGE.glob("**/*.py"))
}
ENGINE = {name for name in MODULES if name.startswith("_engine/")}

LAYERS = {"_base", "_coordinates", "_encoding", "_grid_layer", "_sinusoid", "_summer"}
# What the words in the last column of the table mean: what is not imported.
WORDS = {
    "the engine": ENGINE,
    "layers": LAYERS,
    "options": {"_sinusoidal"},
    "the rest of the package": {*MODULES, "keras_posenc"},
    "Keras": {"keras"},
    "matplotlib": {"matplotlib"},
}

# The options of an encoding, and what else says how an input lies. `grid` is not among
# them: the engine has grids of its own.
NAMES = set(inspect.signature(keras_posenc.PositionalEncoding).parameters) - {
    "rank",
    "channels",
    "grid",
    "kwargs",
}
# Positions are split into digits, which is no option where it is no name.
VERBS = {"split"}


def rows() -> dict[str, list[str]]:
    """For each module in the table what it must not know."""
    _, _, table = TEXT.partition("| module | knows | must not know |\n|---|---|---|\n")
    found = {}
    for line in table.partition("\n\n")[0].splitlines():
        modules, _, limits = line.strip("| ").split(" | ")
        for module in re.findall(r"`([^`]+)`", modules):
            assert module not in found
            found[module] = limits.split(", ")
    return found


def imports(source: str, package: str = "keras_posenc") -> set[str]:
    """The modules that a file imports anywhere: of the package, as in `MODULES`."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
        if isinstance(node, ast.ImportFrom) and node.module:
            names.add(node.module)
            names.update(f"{node.module}.{alias.name}" for alias in node.names)
    inside = {
        name.removeprefix(f"{package}.").replace(".", "/")
        for name in names
        if name.startswith(f"{package}.")
    }
    return (inside & MODULES.keys()) | {name.partition(".")[0] for name in names}


def identifiers(source: str) -> set[str]:
    """All names, attributes, arguments, keywords and strings that are one word."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(source)):
        found.update(
            value
            for field in ("id", "attr", "arg", "name", "asname", "value")
            if isinstance(value := getattr(node, field, None), str)
        )
    return found


def prose(source: str) -> set[str]:
    """The words of comments and strings."""
    words: set[str] = set()
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type in (tokenize.COMMENT, tokenize.STRING):
            words.update(re.findall(r"\w+", token.string))
    return words


def test_the_search_finds_what_it_looks_for():
    """Shows that the checks below can fail."""
    source = "def f(scale):\n  from keras_posenc import _base\n  import keras.ops"
    assert imports(source) == {"_base", "keras_posenc", "keras"}
    source = "from keras_posenc._engine import waves\nfrom keras_posenc import __main__"
    assert imports(source) == {"_engine/waves", "__main__", "keras_posenc"}
    for code in (
        "def f(scale): pass",
        "x.scale",
        "scale = 1",
        "f(scale=1)",
        "getattr(x, 'scale')",
        "def scale(): pass",
        "class A:\n  scale: int",
        "import a as scale",
    ):
        assert "scale" in identifiers(code)
        assert "scale" not in identifiers(code.replace("scale", "scaled"))
    assert {"scale", "eps"} <= prose('"""The scale."""\nx = 1  # as `eps` says')


def test_every_module_is_in_the_table():
    assert rows().keys() == MODULES.keys() - {"_engine/__init__"}


@pytest.mark.parametrize("module", rows())
def test_a_module_does_not_know_what_the_table_says(module: str):
    imported = imports(MODULES[module].read_text())
    for limit in rows()[module]:
        forbidden = {limit.strip("`")} if limit[0] == "`" else WORDS[limit]
        assert forbidden <= MODULES.keys() | {"keras", "keras_posenc", "matplotlib"}
        assert imported.isdisjoint(forbidden), limit


def test_no_module_of_the_table_is_without_a_limit():
    assert all(limits and limits[0] for limits in rows().values())


@pytest.mark.parametrize("module", sorted(ENGINE))
def test_the_engine_imports_itself_and_the_backend_alone(module: str):
    inside = imports(MODULES[module].read_text()) & MODULES.keys()
    assert inside <= ENGINE | {"_backend", "_engine/__init__"}


@pytest.mark.parametrize("module", sorted(ENGINE))
def test_the_engine_knows_no_option(module: str):
    source = MODULES[module].read_text()
    assert identifiers(source) & NAMES == set()
    assert prose(source) & (NAMES - VERBS) == set()


def test_the_options_are_those_of_the_signature():
    assert {"max_wavelength", "layout", "eps", "data_format", "prefix_tokens"} < NAMES
    assert VERBS < NAMES


@pytest.mark.parametrize(
    "path", re.findall(r"`((?:tests|keras_posenc)/[\w/.]+)`", TEXT)
)
def test_files_that_are_named_exist(path: str):
    assert (ROOT / path).exists()


@pytest.mark.parametrize("name", re.findall(r"`(test_\w+)`", TEXT))
def test_tests_that_are_named_exist(name: str):
    defined = f"\ndef {name}("
    assert any(defined in path.read_text() for path in ROOT.glob("tests/**/test_*.py"))


@pytest.mark.parametrize("name", re.findall(r"`(_[a-z]\w*\.\w+)`", TEXT))
def test_names_in_modules_that_are_named_exist(name: str):
    """As in `_backend.aligned`, also of the engine."""
    module, _, wanted = name.partition(".")
    path = MODULES.get(module) or MODULES[f"_engine/{module.strip('_')}"]
    tree = ast.parse(path.read_text())
    assert wanted in {getattr(node, "name", None) for node in tree.body}
