"""The public classes, but for their other names, and the public functions."""

from __future__ import annotations

import inspect

import keras_posenc

CLASSES = [
    name
    for name in keras_posenc.__all__
    if inspect.isclass(getattr(keras_posenc, name)) and not name.startswith("TF")
]
FUNCTIONS = [
    name
    for name in keras_posenc.__all__
    if inspect.isfunction(getattr(keras_posenc, name))
]
