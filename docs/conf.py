"""The settings of Sphinx. `docs/build.py` puts the pages together, then runs it."""

from __future__ import annotations

import inspect
import re
from typing import Any

import keras_posenc

project = "keras-posenc"
author = "The keras-posenc authors"
release = keras_posenc.__version__

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
nitpicky = True
highlight_language = "text"
templates_path = ["_templates"]

myst_heading_anchors = 3
myst_enable_extensions = ["attrs_inline", "dollarmath"]

# The docstrings have Markdown's `code`, and describe types in words.
default_role = "code"
autodoc_typehints = "none"
napoleon_numpy_docstring = False
napoleon_custom_sections = [("Call arguments", "params_style"), "Reference"]

html_theme = "furo"
html_title = f"keras-posenc {release}"
html_favicon = "_static/icon.svg"
html_css_files = ["site.css"]
html_copy_source = False
html_show_sphinx = False
html_show_copyright = False

# What Markdown takes for code: an indent and an empty line before it.
FORMULA = re.compile(r"(?<=\n\n)((?: {4,}.*\n+)+)")
# Sentences, of which napoleon would take what precedes a colon for a type.
RETURNS = re.compile(r"^Returns:\n {4}", re.MULTILINE)

ARXIV = re.compile(r"(?<!`)(arXiv:(\d{4}\.\d{5}))")


def as_rest(docstring: str) -> str:
    """A docstring of ours in what napoleon and docutils understand."""
    docstring = ARXIV.sub(r"`\1 <https://arxiv.org/abs/\2>`__", docstring)
    docstring = FORMULA.sub(lambda block: f"::\n\n{block[1]}\n", docstring)
    return RETURNS.sub(":returns: ", docstring)


def on_docstring(
    app: Any, what: str, name: str, obj: Any, options: Any, lines: list[str]
) -> None:
    lines[:] = as_rest("\n".join(lines)).split("\n")


def on_signature(
    app: Any, what: str, name: str, obj: Any, options: Any, shown: str, returns: Any
) -> tuple[str, None] | None:
    """The arguments of a layer, which Keras hides behind `__new__`."""
    if what != "class":
        return None
    signature = inspect.signature(obj.__init__)
    _, *parameters = (
        parameter.replace(annotation=inspect.Parameter.empty)
        for parameter in signature.parameters.values()
    )
    return str(inspect.Signature(parameters)), None


def setup(app: Any) -> None:
    app.connect("autodoc-process-signature", on_signature)
    # Before napoleon, which has the priority 500 and would indent its own output.
    app.connect("autodoc-process-docstring", on_docstring, priority=400)
