"""What the README, the guides and the docstrings show is run, on every backend."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

import keras_posenc

BACKENDS = ("jax", "tensorflow", "torch")
ROOT = Path(__file__).parents[2]
# A block of Python, and the output where one is shown right below it.
BLOCK = re.compile(r"```python\n(.*?)```(?:\n\n```text\n(.*?)```)?", re.DOTALL)
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
BLOCKS = {
    str(path.relative_to(ROOT)): blocks
    for path in PAGES
    if (blocks := BLOCK.findall(path.read_text()))
}


def meant_for(code: str) -> tuple[str, ...]:
    """The backends of a block: all of them, unless it imports one."""
    found = re.findall(r"^import (jax|tensorflow|torch)\b", code, re.MULTILINE)
    return tuple(found) or BACKENDS


RUNS = [
    pytest.param(code, output, backend, id=f"{name}-block{number}-{backend}")
    for name, blocks in BLOCKS.items()
    for number, (code, output) in enumerate(blocks, start=1)
    for backend in meant_for(code)
]


def run(backend: str, *arguments: str, cwd: Path) -> str:
    done = subprocess.run(
        [sys.executable, *arguments],
        env={**os.environ, "KERAS_BACKEND": backend},
        cwd=cwd,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert done.returncode == 0, done.stdout
    return done.stdout


@pytest.mark.parametrize(("code", "output", "backend"), RUNS)
def test_code_of_a_page_runs_and_prints_what_is_shown(
    code: str, output: str, backend: str, tmp_path: Path
):
    printed = run(backend, "-c", code, cwd=tmp_path)
    if output:
        assert printed.splitlines() == output.splitlines()


@pytest.mark.parametrize("name", BLOCKS)
def test_there_are_blocks_with_outputs(name: str):
    assert len([output for _, output in BLOCKS[name] if output]) >= 2


def test_pages_with_code_are_found():
    assert {"README.md", "docs/porting.md", "docs/quickstart.md"} < set(BLOCKS)


@pytest.mark.parametrize("backend", BACKENDS)
def test_examples_in_docstrings_run(backend: str, tmp_path: Path):
    package = str(Path(keras_posenc.__file__).parent)
    options = ["-q", "--doctest-modules", "-p", "no:cacheprovider", "-o", "addopts="]
    printed = run(
        backend,
        "-m",
        "pytest",
        *options,
        "-c",
        str(ROOT / "pyproject.toml"),
        package,
        cwd=tmp_path,
    )
    # Every public class and function that is not an alias shows an example.
    shown = [
        name
        for name in keras_posenc.__all__
        if not name.startswith("TF") and callable(getattr(keras_posenc, name))
    ]
    shown += keras_posenc.plot.__all__
    assert f"{len(shown)} passed" in printed


COMMANDS = re.findall(
    r"^    python -m (keras_posenc.*)$", (ROOT / "README.md").read_text(), re.MULTILINE
)


@pytest.mark.parametrize("command", COMMANDS)
def test_commands_of_the_readme(command: str, tmp_path: Path):
    arguments = shlex.split(command)
    printed = run("jax", "-m", *arguments, cwd=tmp_path)
    if "-o" in arguments:
        assert (tmp_path / arguments[-1]).is_file()
    elif len(arguments) > 1:
        shown = "".join(f"    {line}\n" for line in printed.splitlines())
        assert shown in (ROOT / "README.md").read_text()


def test_the_readme_shows_commands():
    assert len(COMMANDS) >= 5
