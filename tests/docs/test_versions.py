"""The lower bounds of pyproject.toml are those that are tested, and that are told."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.version import Version

import keras_posenc

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
NAMES = {"jax": "JAX", "tensorflow": "TensorFlow", "torch": "PyTorch"}
each_backend = pytest.mark.parametrize("backend", NAMES)


def bounds(requirements: list[str]) -> dict[str, str]:
    """The lower bound of each requirement, which may have no other."""
    parsed = [Requirement(requirement) for requirement in requirements]
    found = {}
    for requirement in parsed:
        (bound,) = requirement.specifier
        assert bound.operator == ">="
        found[requirement.name] = bound.version
    return found


def pins(path: Path) -> dict[str, str]:
    lines = [line for line in path.read_text().splitlines() if "==" in line]
    return dict(line.split(";")[0].strip().split("==") for line in lines)


@each_backend
def test_floors_are_the_lower_bounds(backend: str):
    required = PROJECT["dependencies"] + PROJECT["optional-dependencies"][backend]
    pinned = pins(ROOT / "floors" / f"{backend}.txt")
    found = {name: Version(pinned[name]) for name in bounds(required)}
    assert found == {name: Version(v) for name, v in bounds(required).items()}


def test_pytorch_is_another_name_of_torch():
    extras = PROJECT["optional-dependencies"]
    assert extras["pytorch"] == extras["torch"]


def test_the_readme_names_the_lower_bounds():
    _, _, text = (ROOT / "README.md").read_text().partition("## Compatibility")
    text = " ".join(text.split())
    told = {"keras": "Keras", "numpy": "NumPy"}
    for name, bound in bounds(PROJECT["dependencies"]).items():
        assert f"{told[name]} {bound} or newer" in text
    for backend, name in NAMES.items():
        (bound,) = bounds(PROJECT["optional-dependencies"][backend]).values()
        assert f"{name} {bound}" in text


def test_each_version_of_python_is_named():
    start = "Programming Language :: Python :: 3."
    minors = [line[len(start) :] for line in PROJECT["classifiers"] if start in line]
    assert PROJECT["requires-python"] == f">=3.{minors[0]}"
    text = (ROOT / "README.md").read_text()
    assert f"Python 3.{minors[0]} to 3.{minors[-1]}, " in text


def test_the_citation_names_this_version():
    lines = (ROOT / "CITATION.cff").read_text().splitlines()
    assert f"version: {keras_posenc.__version__}" in lines
    assert f"license: {PROJECT['license']}" in lines
