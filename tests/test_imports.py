"""What importing the package imports, and which names of Keras it uses."""

from __future__ import annotations

import ast
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import keras
import pytest

import keras_posenc

PACKAGE = Path(keras_posenc.__file__).parent
MODULES = sorted(PACKAGE.glob("**/*.py"))
BACKEND_MODULES = {"jax", "jaxlib", "tensorflow", "torch"}


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
