"""Before Keras is imported: the backend of `python -m keras_posenc`.

Keras takes TensorFlow unless told otherwise, even where another backend is installed
and TensorFlow is not. To a library that is its user's business: its import changes
nothing. A command should do its job with what there is. Python imports the package
before its `__main__`, and Keras with it, so that here is the last place to choose.
"""

from __future__ import annotations

import os
import sys
from importlib.util import find_spec


def _is_command() -> bool:
    # While Python looks for the module of `-m`, that flag is the first of `argv`.
    if sys.argv[:1] != ["-m"]:
        return False
    return sys.orig_argv[-len(sys.argv)].removeprefix("-m") == __package__


def _installed() -> list[str]:
    found = {name: find_spec(name) for name in ("jax", "tensorflow", "torch")}
    # A folder that happens to have such a name has no origin.
    return [name for name, spec in found.items() if spec and spec.origin]


if _is_command() and not os.environ.get("KERAS_BACKEND"):
    installed = _installed()
    if len(installed) == 1:  # among several, the file of Keras may choose
        os.environ["KERAS_BACKEND"] = installed[0]

try:
    import keras  # noqa: F401
except (ImportError, ValueError) as error:
    others = ", ".join(_installed())
    hint = (
        f"KERAS_BACKEND must name a backend that is installed: {others}"
        if others
        else "Keras needs a backend: pip install 'keras-posenc[jax]', or another"
    )
    if _is_command():
        sys.exit(f"python -m keras_posenc: error: {error}. {hint}")
    error.add_note(hint)
    raise
