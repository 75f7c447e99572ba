"""The functions that run when a layer of Keras is called, and which of them were read.

`keras_posenc` goes around them where they would only pass the input on, and its
`_fast_call` says step by step why that is so. That holds for the sources that were
read: these, by a hash of their text in which all white space is a single space.

`PYTHONPATH=tests python tests/helpers/keras_call_hashes.py` prints those of what is
installed.
"""

from __future__ import annotations

import hashlib
import inspect
from collections.abc import Callable
from typing import Any

import keras

# By the name of the function: the hash of each source, and the versions that have it.
READ: dict[str, dict[str, str]] = {
    "Layer.__call__": {
        "781edfdbd2340f0a183a47cfa8d2e820": "Keras 3.10.0",
        "5fe8d67827484ba400be53804d54eccc": "Keras 3.11.3, 3.12.4, 3.13.2",
        "c72836fe3ea932673318d63f19e0f8ce": "Keras 3.14.1, 3.15.1",
    },
    "Operation.__call__": {
        "68b606b2ec63fac7e4ef9eb4e88fc655": (
            "Keras 3.10.0, 3.11.3, 3.12.4, 3.13.2, 3.14.1"
        ),
        "728934a31be7f895d7bb04fa741fd859": "Keras 3.15.1",
    },
    # Of the backend for torch alone.
    "TorchLayer.forward": {
        "b7695019fbe06b56390ae15773875bfd": (
            "Keras 3.10.0, 3.11.3, 3.12.4, 3.13.2, 3.14.1, 3.15.1"
        ),
    },
    "Module.__call__": {
        "eea05eb2480acc225f8e8a2b44f2a0ab": "torch 2.13.0",
    },
    "Module._call_impl": {
        "a373cda3c0f6976c49fdae2a368ca0b3": "torch 2.13.0",
    },
}


def digest(function: Callable[..., Any]) -> str:
    """A hash of what a function is written as, under its decorators."""
    source = inspect.getsource(inspect.unwrap(function))
    return hashlib.sha256(" ".join(source.split()).encode()).hexdigest()[:32]


def functions() -> dict[str, Callable[..., Any]]:
    """Every function on the way from a call of a layer to its `call`.

    Found by the order in which Python looks for them: a base class that comes to have a
    `__call__` of its own is among them.
    """
    found: dict[str, Callable[..., Any]] = {}
    for cls in keras.layers.Layer.__mro__:
        if "__call__" in vars(cls):
            found[f"{cls.__name__}.__call__"] = vars(cls)["__call__"]
    if keras.backend.backend() == "torch":
        # Where torch's `__call__` goes by way of these to the one of `Operation`.
        found["Module._call_impl"] = keras.layers.Layer._call_impl
        found["TorchLayer.forward"] = keras.layers.Layer.forward
    return found


def unread() -> dict[str, str]:
    """The functions that nobody has read, with their hashes."""
    hashes = {name: digest(function) for name, function in functions().items()}
    return {name: h for name, h in hashes.items() if h not in READ.get(name, {})}


if __name__ == "__main__":
    for name, function in functions().items():
        print(name, digest(function))  # noqa: T201
