"""What docstrings say of arguments and defaults, and what signatures say of them."""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Iterable
from typing import Any


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


def sections(thing: Any) -> list[str]:
    return re.findall(r"^(\w[\w ]*):$", inspect.getdoc(thing), re.MULTILINE)
