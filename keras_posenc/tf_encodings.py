"""The names of `positional_encodings.tf_encodings`, so that a migration is one word.

They are the layers of this package, which run on any backend of Keras.
"""

from keras_posenc._encoding import PositionalEncoding1D as TFPositionalEncoding1D
from keras_posenc._encoding import PositionalEncoding2D as TFPositionalEncoding2D
from keras_posenc._encoding import PositionalEncoding3D as TFPositionalEncoding3D
from keras_posenc._encoding import (
    PositionalEncodingPermute1D as TFPositionalEncodingPermute1D,
)
from keras_posenc._encoding import (
    PositionalEncodingPermute2D as TFPositionalEncodingPermute2D,
)
from keras_posenc._encoding import (
    PositionalEncodingPermute3D as TFPositionalEncodingPermute3D,
)
from keras_posenc._summer import Summer as TFSummer
from keras_posenc.torch_encodings import get_emb

__all__ = [
    "TFPositionalEncoding1D",
    "TFPositionalEncoding2D",
    "TFPositionalEncoding3D",
    "TFPositionalEncodingPermute1D",
    "TFPositionalEncodingPermute2D",
    "TFPositionalEncodingPermute3D",
    "TFSummer",
    "get_emb",
]
