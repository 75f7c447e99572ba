"""Options to waves: the only module that knows what an option means.

A channel of any sinusoidal encoding is a wave,
`sin(frequency[c] * position[axis[c]] + phase[c])`, a cosine being a sine that is a
quarter turn ahead. So an encoding is three short arrays, made here in NumPy float64.
To everything downstream the options are a key to pass on; nothing here knows tensors.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, TypedDict

import numpy as np

from keras_posenc._arguments import (
    optional_positive_integer,
    positive_integer,
    positive_per_axis,
)


class WaveArguments(TypedDict, total=False):
    """The options as keyword arguments, for type checkers and editors."""

    max_wavelength: float | Sequence[float]


@dataclass(frozen=True)
class WaveOptions:
    """What the user asked for, checked. Hashable, so that it can key a cache."""

    rank: int
    channels: int | None = None
    max_wavelength: float | Sequence[float] = 10000.0

    def __post_init__(self) -> None:
        rank = positive_integer("rank", self.rank)
        checked = {
            "rank": rank,
            "channels": optional_positive_integer("channels", self.channels),
            "max_wavelength": positive_per_axis(
                "max_wavelength", self.max_wavelength, rank
            ),
        }
        for name, value in checked.items():
            object.__setattr__(self, name, value)

    def config(self) -> dict[str, Any]:
        """The options as plain JSON values, which `WaveOptions(**config)` takes."""
        return {
            name: list(value) if isinstance(value, tuple) else value
            for name, value in asdict(self).items()
        }


OPTION_NAMES = tuple(WaveArguments.__annotations__)


def require_options(options: WaveArguments) -> None:
    """Raises where a function was given something else than options."""
    unknown = {k: value for k, value in options.items() if k not in OPTION_NAMES}
    if unknown:
        raise ValueError(
            f"Unrecognized options. Expected: {', '.join(OPTION_NAMES)}. "
            f"Received: {unknown}"
        )


@dataclass(frozen=True)
class Waves:
    """One wave per channel of an input that has `input_channels` channels.

    Frequencies follow `options.channels`, the number that the user wrote, or the
    input's own number where none was written. There are as many waves as the written
    number allows once it is padded, but never more than the input has channels.
    """

    options: WaveOptions
    input_channels: int

    @property
    def channels(self) -> int:
        """The number of waves, without making them."""
        return min(self.input_channels, self.options.rank * 2 * self._bands)

    def arrays(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Axis, frequency (radians per unit of position) and phase (radians)."""
        # Slowest first: "axis band phase", so a band's sine and cosine interleave.
        axis, band, quarter_turns = np.unravel_index(
            np.arange(self.channels), (self.options.rank, self._bands, 2)
        )
        base = np.broadcast_to(self.options.max_wavelength, (self.options.rank,))
        frequency = base[axis] ** -(band / self._bands)
        return axis, frequency, quarter_turns * (np.pi / 2)

    def along(self, axis: int) -> tuple[np.ndarray, np.ndarray]:
        """Frequency and phase, those of other axes silenced: sin(0 * x + 0) is 0."""
        axes, frequency, phase = self.arrays()
        runs = axes == axis
        return np.where(runs, frequency, 0.0), np.where(runs, phase, 0.0)

    def silent_axes(self) -> tuple[int, ...]:
        """The axes that no wave runs along: positions there make no difference."""
        heard = -(-self.channels // (2 * self._bands))  # axes come one after another
        return tuple(range(heard, self.options.rank))

    @property
    def _bands(self) -> int:
        """Frequencies per axis: half the channels that are padded to go round."""
        written = self.options.channels or self.input_channels
        return max(1, -(-written // (2 * self.options.rank)))
