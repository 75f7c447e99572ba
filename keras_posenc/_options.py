"""What a user can choose about an encoding, checked and as one record.

The record hashes, so that it can key a cache and be a constant to compilers. What a
choice means is the business of `_waves`.
"""

from __future__ import annotations

import dataclasses
import difflib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, TypedDict

from keras_posenc._arguments import (
    finite_per_axis,
    frequency_lists,
    layout_words,
    non_negative_number,
    number_range,
    one_of,
    optional_positive_integer,
    permutation,
    positive_integer,
    positive_per_axis,
    split_per_axis,
    true_or_false,
)

_DEFAULT_WAVELENGTH = 10000.0


class WaveArguments(TypedDict, total=False):
    """The options as keyword arguments, for type checkers and editors."""

    max_wavelength: float | Sequence[float]
    endpoint: bool
    frequencies: Sequence[float] | Sequence[Sequence[float]] | None
    layout: str
    cos_first: bool
    axis_order: Sequence[int] | None
    split: Sequence[int] | None
    remainder: str
    offset: float | Sequence[float]
    scale: float | Sequence[float]
    coordinate_range: Sequence[float] | None
    align_corners: bool
    eps: float


OPTION_NAMES = tuple(WaveArguments.__annotations__)


@dataclass(frozen=True)
class WaveOptions:
    """What the user asked for, checked. A sequence has become a tuple."""

    rank: int
    channels: int | None = None
    max_wavelength: float | Sequence[float] = _DEFAULT_WAVELENGTH
    endpoint: bool = False
    frequencies: Sequence[float] | Sequence[Sequence[float]] | None = None
    layout: str = "interleaved"
    cos_first: bool = False
    axis_order: Sequence[int] | None = None
    split: Sequence[int] | None = None
    remainder: str = "truncate"
    offset: float | Sequence[float] = 0.0
    scale: float | Sequence[float] = 1.0
    coordinate_range: Sequence[float] | None = None
    align_corners: bool = False
    eps: float = 0.0

    def __post_init__(self) -> None:
        rank = positive_integer("rank", self.rank)
        checked = {
            "rank": rank,
            "channels": optional_positive_integer("channels", self.channels),
            "max_wavelength": positive_per_axis(
                "max_wavelength", self.max_wavelength, rank
            ),
            "endpoint": true_or_false("endpoint", self.endpoint),
            "frequencies": frequency_lists("frequencies", self.frequencies, rank),
            "cos_first": true_or_false("cos_first", self.cos_first),
            "axis_order": permutation("axis_order", self.axis_order, rank),
            "split": split_per_axis("split", self.split, rank),
            "remainder": one_of(
                "remainder", self.remainder, ("truncate", "pad", "error")
            ),
            "offset": finite_per_axis("offset", self.offset, rank),
            "scale": finite_per_axis("scale", self.scale, rank),
            "coordinate_range": number_range("coordinate_range", self.coordinate_range),
            "align_corners": true_or_false("align_corners", self.align_corners),
            "eps": non_negative_number("eps", self.eps),
        }
        layout_words("layout", self.layout)
        for name, value in checked.items():
            object.__setattr__(self, name, value)
        self._refuse_contradictions()
        if self.channels is not None:
            self.require_channels(self.channels)

    def _refuse_contradictions(self) -> None:
        if self.frequencies is not None:
            for name in ("max_wavelength", "endpoint"):
                self._refuse_beside(name, "`frequencies`, which takes its place")
        if self.coordinate_range is None:
            for name in ("align_corners", "eps"):
                self._refuse_beside(name, "no `coordinate_range`, which it is about")
        elif self.align_corners:
            self._refuse_beside("eps", "`align_corners=True`, which divides by n - 1")

    def _refuse_beside(self, name: str, other: str) -> None:
        value = getattr(self, name)
        if value != _DEFAULTS[name]:
            raise ValueError(
                f"`{name}` must be left at its default, {_DEFAULTS[name]!r}, beside "
                f"{other}. Received: {name}={value!r}"
            )

    def require_channels(self, channels: int) -> None:
        """Raises where these options cannot make an encoding for `channels`."""
        if self.split is not None and sum(self.split) != channels:
            raise ValueError(
                f"`split` must add up to the number of channels, {channels}. "
                f"Received: split={self.split} (a sum of {sum(self.split)})"
            )
        divisor = 2 * self.rank
        if self.remainder == "error" and self.split is None and channels % divisor:
            raise ValueError(
                f"`channels` must be divisible by {divisor} with remainder='error'. "
                f"Received: channels={channels}"
            )
        if self.frequencies is not None:
            for axis, bands in enumerate(self.bands(channels)):
                given = len(self.frequencies_along(axis))
                if given != bands:
                    raise ValueError(
                        f"`frequencies` must hold {bands} numbers for axis {axis}, "
                        f"since there are {channels} channels. "
                        f"Received: frequencies={self.frequencies} ({given} numbers)"
                    )

    def bands(self, channels: int) -> tuple[int, ...]:
        """Frequencies along each axis, each of them a sine and a cosine."""
        if self.split is not None:
            return tuple(part // 2 for part in self.split)
        if self.remainder == "truncate":
            return (-(-channels // (2 * self.rank)),) * self.rank
        return (channels // (2 * self.rank),) * self.rank

    def frequencies_along(self, axis: int) -> Sequence[float]:
        """Those of an axis, where `frequencies` were given."""
        assert self.frequencies is not None
        own = self.frequencies[axis] if _is_nested(self.frequencies) else None
        return self.frequencies if own is None else own  # type: ignore[return-value]

    def config(self) -> dict[str, Any]:
        """The options as plain JSON values, which `WaveOptions(**config)` takes.

        Of those that are left at their defaults, only what always was in files.
        """
        always = ("rank", "channels", "max_wavelength")
        return {
            field.name: _as_lists(value)
            for field in dataclasses.fields(self)
            if (value := getattr(self, field.name)) != field.default
            or field.name in always
        }


_DEFAULTS = {field.name: field.default for field in dataclasses.fields(WaveOptions)}


def require_options(options: WaveArguments) -> None:
    """Raises where a function was given something else than options."""
    unknown = {k: value for k, value in options.items() if k not in OPTION_NAMES}
    if unknown:
        raise ValueError(
            f"Unrecognized options. Expected: {', '.join(OPTION_NAMES)}."
            f"{hint_at_arguments(unknown, ('channels', *OPTION_NAMES))} "
            f"Received: {unknown}"
        )


# What other packages call an option, where spelling does not lead to it.
_ELSEWHERE = {
    "base": "max_wavelength",
    "d_model": "channels",
    "dim": "channels",
    "embed_dim": "channels",
    "flip_sin_to_cos": "cos_first",
    "hidden_dim": "channels",
    "normalize": "coordinate_range",
    "num_pos_feats": "channels",
    "temperature": "max_wavelength",
    "theta": "max_wavelength",
}
_HAVE_OPTIONS = "`PositionalEncoding` and `CoordinateEncoding`"
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
        else:
            meant = [elsewhere] if elsewhere in known else close
            pairs += [f"`{argument}` for `{name}`" for argument in meant]
    perhaps = f" Perhaps {', '.join(pairs)}." if pairs else ""
    return "".join([perhaps, *hints])


def _is_nested(frequencies: Sequence[Any]) -> bool:
    return any(isinstance(item, tuple) for item in frequencies)


def _as_lists(value: Any) -> Any:
    return [_as_lists(item) for item in value] if isinstance(value, tuple) else value
