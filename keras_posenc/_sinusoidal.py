"""The options of sinusoidal encodings: what there is to choose, and what it means.

A choice becomes waves here, in NumPy and float64: everything else passes the record on.
It hashes, so that it keys the cache and is a constant to compilers.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypedDict

import numpy as np

from keras_posenc import _backend, _checks
from keras_posenc._engine.spread import MOST_POSITIONS
from keras_posenc._engine.waves import QUARTER_TURN, Affine, Spread, Waves


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

# The two orders of channels that have names.
_LAYOUTS = {"interleaved": "axis freq phase", "concatenated": "axis phase freq"}


@dataclass(frozen=True)
class WaveOptions:
    """What the user asked for, checked. A sequence has become a tuple."""

    rank: int
    channels: int | None = None
    max_wavelength: Any = 10000.0
    endpoint: Any = False
    frequencies: Any = None
    layout: Any = "interleaved"
    cos_first: Any = False
    axis_order: Any = None
    split: Any = None
    remainder: Any = "truncate"
    offset: Any = 0.0
    scale: Any = 1.0
    coordinate_range: Any = None
    align_corners: Any = False
    eps: Any = 0.0

    def __post_init__(self) -> None:
        rank = _checks.positive_integer("rank", self.rank)
        if rank > _checks.MAX_RANK:
            raise _checks.refusal(
                f"`rank` must be at most {_checks.MAX_RANK}", rank=rank
            )
        object.__setattr__(self, "rank", rank)
        if self.channels is not None:
            self._set("channels", _checks.channel_count, hint=" or None")
        self._set("max_wavelength", _checks.per_axis, rank, positive=True)
        self._set("endpoint", _checks.true_or_false)
        self._set("frequencies", _checks.number_lists, rank)
        _layout_words(self.layout)
        self._set("cos_first", _checks.true_or_false)
        self._set("axis_order", _checks.permutation, rank)
        self._set(
            "split",
            _checks.integers,
            f"a list of even numbers, not negative, one for each of the {rank} axes",
            lambda parts: len(parts) == rank and not any(n < 0 or n % 2 for n in parts),
        )
        self._set("remainder", _checks.one_of, ("truncate", "pad", "error"))
        self._set("offset", _checks.per_axis, rank)
        self._set("scale", _checks.per_axis, rank)
        self._set("coordinate_range", _checks.number_range)
        self._set("align_corners", _checks.true_or_false)
        self._set("eps", _checks.non_negative_number)
        self._refuse_contradictions()
        if self.channels is not None:
            self.require_channels(self.channels)

    def _set(self, name: str, check: Any, *what: Any, **how: Any) -> None:
        value = check(name, getattr(self, name), *what, **how)
        object.__setattr__(self, name, value)

    def _refuse_contradictions(self) -> None:
        if self.frequencies is not None:
            for name in ("max_wavelength", "endpoint"):
                self._refuse(name, "must be left out beside `frequencies`")
        if self.coordinate_range is None:
            for name in ("align_corners", "eps"):
                self._refuse(name, "needs `coordinate_range`")
            return
        if self.align_corners:
            self._refuse("eps", "must be left out beside `align_corners=True`")
        largest = max(map(abs, (self.eps, *_for_each_axis(self.offset, self.rank))))
        if largest >= MOST_POSITIONS:
            raise _checks.refusal(
                f"`offset` and `eps` must be below {MOST_POSITIONS} with "
                "`coordinate_range`, so that a graph can count in parts of it",
                offset=self.offset,
                eps=self.eps,
            )

    def _refuse(self, name: str, rule: str) -> None:
        value = getattr(self, name)
        if value != DEFAULTS[name]:
            raise ValueError(
                f"`{name}` {rule}. Received: {name}={_checks.shown(value)}"
            )

    def require_channels(self, channels: int) -> None:
        """Raises where these options cannot make an encoding for `channels`."""
        if channels > _checks.MAX_CHANNELS:
            _checks.channel_count("channels", channels)
        if self.split is not None and sum(self.split) != channels:
            total = _checks.shown(sum(self.split))
            raise ValueError(
                f"`split` must add up to the number of channels, {channels}. "
                f"Received: split={_checks.shown(self.split)} (a sum of {total})"
            )
        divisor = 2 * self.rank
        if self.remainder == "error" and self.split is None and channels % divisor:
            raise ValueError(
                f"`channels` must be divisible by {divisor} with remainder='error'. "
                f"Received: channels={channels}"
            )
        if self.frequencies is None:
            return
        for axis, bands in enumerate(self._bands(channels)):
            given = len(self._given_frequencies(axis))
            if given != bands:
                shown = _checks.shown(self.frequencies)
                raise ValueError(
                    f"`frequencies` must hold {bands} numbers for axis {axis}, "
                    f"since there are {channels} channels. "
                    f"Received: frequencies={shown} ({given} numbers)"
                )

    def config(self) -> dict[str, Any]:
        """The options as plain JSON values, which `WaveOptions(**config)` takes."""
        fields = dataclasses.fields(self)
        return {field.name: _as_lists(getattr(self, field.name)) for field in fields}

    @property
    def spreads(self) -> bool:
        """Whether coordinates depend on the size of an axis."""
        return self.coordinate_range is not None

    def encoded_channels(self, input_channels: int) -> int:
        """How many channels the encoding has for an input that has so many."""
        written = self.channels or input_channels
        if self.remainder == "truncate" and self.split is None:
            written = 2 * self.rank * -(-written // (2 * self.rank))
        return min(input_channels, written)

    # --- What the options mean -------------------------------------------------------

    def waves(self, channels: int) -> Waves:
        """The waves of an encoding of so many channels."""
        # By values: what the cache holds for this record goes when the record goes,
        # which a cache of functions must not delay.
        values = (getattr(self, field.name) for field in dataclasses.fields(self))
        if channels > _REMEMBERED_CHANNELS:
            return _waves(channels, *values)
        return _remembered_waves(channels, *values)

    def _make_waves(self, channels: int) -> Waves:
        axis, band, second = self._ordered(channels)
        frequency = np.zeros(len(axis))
        for of_axis in range(self.rank):
            runs = axis == of_axis
            frequency[runs] = self._frequencies(of_axis, channels)[band[runs]]
        phase = (second ^ self.cos_first) * QUARTER_TURN
        zeros = (0, channels - len(axis))  # with `remainder="pad"`
        waves = Waves(
            np.pad(axis, zeros),
            np.pad(frequency, zeros),
            np.pad(phase, zeros),
            tuple(map(self._coordinate, range(self.rank))),
        )
        self._require_angles(waves)
        return waves

    def _ordered(self, channels: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Of each wave its axis, its band, and whether it is the second of a pair."""
        # A layout is a sort key. Bands beyond the number of channels are always cut.
        bands = np.minimum(self._bands(self.channels or channels), channels)
        axis = np.repeat(np.arange(self.rank), 2 * bands)
        band = np.concatenate([np.repeat(np.arange(count), 2) for count in bands])
        second = np.tile([0, 1], bands.sum())
        order = np.arange(self.rank) if self.axis_order is None else self.axis_order
        keys = {"axis": np.argsort(order)[axis], "freq": band, "phase": second}
        # Slowest first; `lexsort` wants the slowest last.
        words = reversed(_layout_words(self.layout))
        chosen = np.lexsort([keys[key] for key in words])[:channels]
        return axis[chosen], band[chosen], second[chosen]

    def _bands(self, channels: int) -> tuple[int, ...]:
        """Frequencies along each axis, each of them a sine and a cosine."""
        if self.split is not None:
            return tuple(part // 2 for part in self.split)
        if self.remainder == "truncate":
            return (-(-channels // (2 * self.rank)),) * self.rank
        return (channels // (2 * self.rank),) * self.rank

    def _frequencies(self, axis: int, channels: int) -> np.ndarray:
        """Those of an axis; as many as there can be channels."""
        if self.frequencies is not None:
            return np.array(self._given_frequencies(axis), "float64")
        bands = self._bands(self.channels or channels)[axis]
        base = np.float64(_for_each_axis(self.max_wavelength, self.rank)[axis])
        steps = max(bands - 1, 1) if self.endpoint else bands
        return base ** -(np.arange(min(bands, channels)) / float(steps))

    def _given_frequencies(self, axis: int) -> Sequence[float]:
        nested = any(isinstance(item, tuple) for item in self.frequencies)
        return self.frequencies[axis] if nested else self.frequencies

    def _coordinate(self, axis: int) -> Affine | Spread:
        offset = _for_each_axis(self.offset, self.rank)[axis]
        scale = _for_each_axis(self.scale, self.rank)[axis]
        if self.coordinate_range is None:
            return Affine(offset, scale)
        low, high = self.coordinate_range
        return Spread(low, high, offset, self.eps, self.align_corners, scale)

    def _require_angles(self, waves: Waves) -> None:
        """Raises where a position would have an angle that no float64 is."""
        with np.errstate(over="ignore", invalid="ignore"):
            for lines in (
                [coordinate.given() for coordinate in waves.coordinates],
                [coordinate.counted(0, 1) for coordinate in waves.coordinates],
            ):
                if not np.all(np.isfinite(waves.over(lines))):
                    names = ("frequencies", "max_wavelength", "scale", "offset")
                    received = ", ".join(
                        f"{n}={_checks.shown(getattr(self, n))}" for n in names
                    )
                    raise ValueError(
                        "The products of `frequencies`, `scale` and `offset` or "
                        f"`coordinate_range` must be finite. Received: {received}, "
                        f"coordinate_range={self.coordinate_range}"
                    )


DEFAULTS = {name: getattr(WaveOptions, name) for name in OPTION_NAMES}


@_backend.host_constant
def unencoded_axes(options: WaveOptions, channels: int) -> tuple[int, ...]:
    """The axes that no channel runs along: positions there make no difference."""
    encoded, _, _ = options._ordered(options.encoded_channels(channels))
    return tuple(axis for axis in range(options.rank) if axis not in encoded)


# So many channels have waves of 1.5 MB.
_REMEMBERED_CHANNELS = 2**16


def _waves(channels: int, *values: Any) -> Waves:
    return WaveOptions(*values)._make_waves(channels)


_remembered_waves = functools.lru_cache(maxsize=64)(_waves)


class UncheckedOptions(NamedTuple):
    """Options as they came, which torch.compile takes for a constant amid a trace.

    It takes no dataclass that is made there, and cannot follow the checks.
    """

    rank: int
    items: tuple[tuple[str, Any], ...]

    def checked(self) -> WaveOptions:
        return WaveOptions(self.rank, **dict(self.items))

    def waves(self, channels: int) -> Waves:
        return self.checked().waves(channels)


def wave_source(
    rank: int, channels: int, options: Mapping[str, Any]
) -> WaveOptions | UncheckedOptions:
    """The record of options that are given to a function."""
    items = (("channels", channels), *options.items())
    source = UncheckedOptions(rank, tuple((k, as_tuples(v)) for k, v in items))
    return source if _backend.is_torch_compiling() else source.checked()


def as_tuples(value: Any) -> Any:
    """`value` with tuples for sequences, which do not hash."""
    if _checks.is_sequence(value):
        return tuple(map(as_tuples, value))
    return _backend.settled(value)


def _layout_words(layout: Any) -> tuple[str, ...]:
    """The order in which axis, freq and phase flatten into channels, slowest first."""

    def parse(value: str) -> tuple[str, ...]:
        words = tuple(_LAYOUTS.get(value, value).split())
        _checks.require(sorted(words) == ["axis", "freq", "phase"])
        return words

    names = ", ".join(map(repr, _LAYOUTS))
    kind = f"{names}, or the words axis, freq and phase in any order"
    return _checks.word("layout", layout, kind, parse)


def _for_each_axis(value: float | tuple[float, ...], rank: int) -> tuple[float, ...]:
    return value if isinstance(value, tuple) else (value,) * rank


def _as_lists(value: Any) -> Any:
    return [_as_lists(item) for item in value] if isinstance(value, tuple) else value
