"""Sinusoidal positional encodings for Keras 3, in one, two, three or more dimensions.

    PositionalEncoding1D, 2D, 3D           the encoding of a sequence, plane, volume
    PositionalEncodingPermute1D, 2D, 3D    the same with channels first
    PositionalEncoding(rank)               the same for any number of axes
    CoordinateEncoding(channels, rank)     the encoding of values, as of timesteps
    Summer(penc)                           input + penc(input)
    SinusoidEncoding(hidden_dim, max_len)  input + 1D encoding, up to a length
    sinusoidal_table(shape, channels)      the encoding as a NumPy array
    encode(positions, channels)            the encoding of any positions, as a tensor
    positions_from_mask(mask)              positions that count what is no padding
    presets()                              names of published encodings, each in words
    plot                                   pictures of an encoding

Inside, `_sinusoidal` makes waves of the options, `_engine` makes numbers of the waves,
and the layers return those or add them: CONTRIBUTING.md has the map.
"""

from keras_posenc import _start, plot, tf_encodings, torch_encodings  # noqa: F401
from keras_posenc._coordinates import CoordinateEncoding
from keras_posenc._encoding import (
    PositionalEncoding,
    PositionalEncoding1D,
    PositionalEncoding2D,
    PositionalEncoding3D,
    PositionalEncodingPermute1D,
    PositionalEncodingPermute2D,
    PositionalEncodingPermute3D,
)
from keras_posenc._functions import encode, sinusoidal_table
from keras_posenc._positions import positions_from_mask
from keras_posenc._presets import presets
from keras_posenc._sinusoid import SinusoidEncoding
from keras_posenc._summer import Summer
from keras_posenc.tf_encodings import (
    TFPositionalEncoding1D,
    TFPositionalEncoding2D,
    TFPositionalEncoding3D,
    TFPositionalEncodingPermute1D,
    TFPositionalEncodingPermute2D,
    TFPositionalEncodingPermute3D,
    TFSummer,
)

__version__ = "0.1.0"

__all__ = [
    "CoordinateEncoding",
    "PositionalEncoding",
    "PositionalEncoding1D",
    "PositionalEncoding2D",
    "PositionalEncoding3D",
    "PositionalEncodingPermute1D",
    "PositionalEncodingPermute2D",
    "PositionalEncodingPermute3D",
    "SinusoidEncoding",
    "Summer",
    "TFPositionalEncoding1D",
    "TFPositionalEncoding2D",
    "TFPositionalEncoding3D",
    "TFPositionalEncodingPermute1D",
    "TFPositionalEncodingPermute2D",
    "TFPositionalEncodingPermute3D",
    "TFSummer",
    "__version__",
    "encode",
    "plot",
    "positions_from_mask",
    "presets",
    "sinusoidal_table",
    "tf_encodings",
    "torch_encodings",
]
