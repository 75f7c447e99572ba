"""What runs when Keras calls a layer is what was read before it was gone around.

An eager call of these layers leaves `Layer.__call__` out where that would only pass the
input on. A step that a later Keras (or torch) adds would be left out too, in silence:
so a function that is not known word for word fails here.
"""

from __future__ import annotations

from typing import Any

import keras
import pytest

from helpers.keras_call_hashes import READ, functions, unread

BACKEND = keras.backend.backend()
OF_EVERY_BACKEND = {"Layer.__call__", "Operation.__call__"}
OF_TORCH = {"Module.__call__", "Module._call_impl", "TorchLayer.forward"}


def versions() -> str:
    backend = __import__(BACKEND)
    return f"Keras {keras.__version__}, {BACKEND} {backend.__version__}"


def require_read() -> None:
    hashes = unread()
    lines = "".join(f"\n  {name}: {found}" for name, found in hashes.items())
    assert not hashes, (
        f"Installed are {versions()}, of which nobody has read:{lines}\n"
        "Read each of them again against the docstring of keras_posenc/_fast_call.py, "
        "and change `_fast_call` where a step is new. Then add its hash, and the "
        "version, to tests/helpers/keras_call_hashes.py."
    )


def test_every_function_was_read():
    require_read()


def test_the_functions_are_those_that_run():
    """Python finds no other on the way from a call to `call`."""
    of_torch = OF_TORCH if BACKEND == "torch" else set()
    assert functions().keys() == OF_EVERY_BACKEND | of_torch
    assert READ.keys() == OF_EVERY_BACKEND | OF_TORCH


def altered(self: Any, *args: Any, **kwargs: Any) -> Any:
    """A `Layer.__call__` with another step."""
    return self.call(*args, **kwargs) + 0


def test_another_call_is_seen(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(keras.layers.Layer, "__call__", altered)
    assert list(unread()) == ["Layer.__call__"]
    with pytest.raises(AssertionError, match=r"Layer\.__call__: [0-9a-f]{32}\n"):
        require_read()


def test_a_call_of_another_base_class_is_seen(monkeypatch: pytest.MonkeyPatch):
    base = keras.layers.Layer.__mro__[1]
    monkeypatch.setattr(base, "__call__", altered, raising=False)
    assert f"{base.__name__}.__call__" in unread()
