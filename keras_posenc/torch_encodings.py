"""The names of `positional_encodings.torch_encodings`, so that a migration is one word.

They are the layers of this package, which run on any backend of Keras.
"""

from __future__ import annotations

from typing import Any

from keras import ops

from keras_posenc import _backend
from keras_posenc._encoding import (
    PositionalEncoding1D,
    PositionalEncoding2D,
    PositionalEncoding3D,
    PositionalEncodingPermute1D,
    PositionalEncodingPermute2D,
    PositionalEncodingPermute3D,
)
from keras_posenc._summer import Summer

__all__ = [
    "PositionalEncoding1D",
    "PositionalEncoding2D",
    "PositionalEncoding3D",
    "PositionalEncodingPermute1D",
    "PositionalEncodingPermute2D",
    "PositionalEncodingPermute3D",
    "Summer",
    "get_emb",
]


def get_emb(sin_inp: Any) -> Any:
    """Sines and cosines of the angles `sin_inp`, interleaved along the last axis.

    Kept for code that calls it directly; the layers do not use it.
    """
    pairs = ops.stack((ops.sin(sin_inp), ops.cos(sin_inp)), axis=-1)
    *sizes, channels = _backend.shape(sin_inp)
    return ops.reshape(pairs, (*sizes, 2 * channels))
