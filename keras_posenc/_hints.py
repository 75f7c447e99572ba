"""What a user may have meant, and warnings at the user's own line."""

from __future__ import annotations

import difflib
import sys
import warnings
from collections.abc import Iterable, Sequence
from types import FrameType

from keras_posenc import _backend
from keras_posenc._sinusoidal import OPTION_NAMES

# What other packages call an argument, where spelling does not lead to it.
_ELSEWHERE = {
    "base": "max_wavelength",
    "d_model": "channels",
    "dim": "channels",
    "dtype_override": "dtype",
    "embed_dim": "channels",
    "flip_sin_to_cos": "cos_first",
    "hidden_dim": "channels",
    "normalize": "coordinate_range",
    "num_pos_feats": "channels",
    "temperature": "max_wavelength",
    "theta": "max_wavelength",
}
# The names that other packages have for the longest length.
_LENGTHS = {
    "length",
    "max_len",
    "max_length",
    "max_position_embeddings",
    "max_seq_len",
    "max_sequence_length",
    "num_positions",
    "seq_len",
    "sequence_length",
}
_HAVE_OPTIONS = "`PositionalEncoding` and `CoordinateEncoding`"


def hint_at_arguments(unknown: Iterable[str], known: Sequence[str]) -> str:
    """What may have been meant, in sentences after a space each, or nothing."""
    pairs, hints = [], []
    for name in unknown:
        elsewhere = "max_len" if name in _LENGTHS else _ELSEWHERE.get(name)
        # `batch_first` is like `cos_first` by 0.7, and `cosfirst` by 0.94.
        close = difflib.get_close_matches(name, known, n=1, cutoff=0.75)
        if name in _LENGTHS and "max_len" not in known:
            hints.append(f" No `{name}` is needed: any length is taken.")
        elif name in OPTION_NAMES:
            hints.append(f" `{name}` is an option of {_HAVE_OPTIONS}.")
        elif name == "preset":
            hints.append(f" `from_preset` of {_HAVE_OPTIONS} takes its name.")
        elif name.startswith("dropout"):
            hints.append(" Dropout is a layer of its own: `keras.layers.Dropout`.")
        else:
            meant = [elsewhere] if elsewhere in known else close
            pairs += [f"`{argument}` for `{name}`" for argument in meant]
    perhaps = f" Perhaps {', '.join(pairs)}." if pairs else ""
    return "".join([perhaps, *hints])


# The packages whose code lies between a user's line and ours.
_MACHINERY = {"keras", "keras_posenc", "jax", "optree", "tensorflow", "torch"}


@_backend.host_constant  # torch.compile then warns as it traces
def warn(message: str) -> None:
    """Warns at the user's line; Python shows one text at one line once."""
    level, frame = 1, sys._getframe()
    while frame.f_back and _package(frame) in _MACHINERY:
        level, frame = level + 1, frame.f_back
    warnings.warn(message, stacklevel=level)


def _package(frame: FrameType) -> str:
    return frame.f_globals.get("__name__", "").partition(".")[0]
