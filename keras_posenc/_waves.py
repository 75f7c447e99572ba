"""Options to waves: the only module that knows what an option means.

A channel of any sinusoidal encoding is a wave,
`sin(frequency[c] * coordinate[axis[c]] + phase[c])`, a cosine being a sine that is a
quarter turn ahead, and a channel of zeros one of frequency and phase 0. A coordinate is
a straight line over the position, and so goes into frequency and phase. So an encoding
is three short arrays, made here in NumPy float64. To everything downstream the options
are a key to pass on; nothing here knows tensors.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from keras_posenc._arguments import layout_words
from keras_posenc._options import WaveOptions

# Where a size is known only to the running graph, positions are counted in so many
# parts of `coordinate_range`: float32 has too few digits for the whole of it.
SHARES = 4096

_QUARTER_TURN = np.pi / 2

# A coordinate is `intercept + slope * position`.
Line = tuple[float, float]


@dataclass(frozen=True)
class Waves:
    """One wave per channel of an input that has `input_channels` channels.

    Frequencies follow `options.channels`, the number that the user wrote, or the
    input's own number where none was written. There are as many waves as the written
    number allows, but never more than the input has channels.
    """

    options: WaveOptions
    input_channels: int

    @property
    def channels(self) -> int:
        """The number of channels, without making their waves."""
        exact = self.options.remainder == "pad" or self.options.split is not None
        most = self._written if exact else 2 * sum(self._bands)
        return min(self.input_channels, most)

    def arrays(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Axis, frequency (radians per unit of the coordinate) and phase (radians)."""
        if self.channels > sys.maxsize:
            raise MemoryError(f"No array has {self.channels} channels")
        # What comes after as many others as there are channels is not among them.
        bands = np.array([min(count, self.channels) for count in self._bands])
        axis = np.repeat(np.arange(self.options.rank), 2 * bands)
        first_band = np.cumsum(bands) - bands
        band = np.repeat(np.arange(bands.sum()), 2) - first_band[axis]
        second = np.tile([0, 1], bands.sum())
        # A layout is a sort key, slowest first; `lexsort` wants the slowest last.
        place = {"axis": np.array(self._places())[axis], "freq": band, "phase": second}
        words = layout_words("layout", self.options.layout)
        order = np.lexsort([place[word] for word in reversed(words)])[: self.channels]
        frequency = np.repeat(self._frequencies(bands), 2)
        quarter_turns = second ^ self.options.cos_first
        zeros = (0, self.channels - len(order))
        return (
            np.pad(axis[order], zeros),
            np.pad(frequency[order], zeros),
            np.pad(quarter_turns[order] * _QUARTER_TURN, zeros),
        )

    def over(self, lines: Sequence[Line]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """`arrays` for positions of which `lines`, one per axis, make coordinates."""
        axis, frequency, phase = self.arrays()
        intercept, slope = np.array(lines).T
        return axis, frequency * slope[axis], phase + frequency * intercept[axis]

    def along(self, axis: int, line: Line) -> tuple[np.ndarray, np.ndarray]:
        """Frequency and phase, those of other axes silenced: sin(0 * x + 0) is 0."""
        axes, frequency, phase = self.over([line] * self.options.rank)
        runs = axes == axis
        return np.where(runs, frequency, 0.0), np.where(runs, phase, 0.0)

    def silent_axes(self) -> tuple[int, ...]:
        """The axes that no wave runs along: positions there make no difference."""
        rank = self.options.rank
        return tuple(axis for axis in range(rank) if not self._is_heard(axis))

    def _is_heard(self, axis: int) -> bool:
        # Whether the first wave along the axis comes before the cut. Before it come
        # those of the axes before this one, of all indices that vary faster. Not by
        # `arrays`, which may be too large for any memory.
        if not self._bands[axis]:
            return False
        words = layout_words("layout", self.options.layout)
        faster = words[words.index("axis") + 1 :]
        places = self._places()
        before = 0
        for other, bands in enumerate(self._bands):
            if bands and places[other] < places[axis]:
                # No `math.prod`, which torch.compile does not know.
                of_other = bands if "freq" in faster else 1
                before += of_other * (2 if "phase" in faster else 1)
        return before < self.channels

    def _frequencies(self, counts: np.ndarray) -> np.ndarray:
        """The first ones of the first axis, then those of the second, and so on."""
        return np.concatenate(
            [self._along_axis(axis, count) for axis, count in enumerate(counts)]
        )

    def _along_axis(self, axis: int, count: int) -> np.ndarray:
        if self.options.frequencies is not None:
            return np.array(self.options.frequencies_along(axis)[:count], "float64")
        base = np.float64(per_axis(self.options.max_wavelength, axis))
        bands = self._bands[axis]
        steps = max(bands - 1, 1) if self.options.endpoint else bands
        return base ** -(np.arange(count) / float(steps))

    def _places(self) -> list[int]:
        """The place of each axis among the axes."""
        # No NumPy: torch.compile traces into `silent_axes`.
        axes = range(self.options.rank)
        order = axes if self.options.axis_order is None else self.options.axis_order
        return [order.index(axis) for axis in axes]

    @property
    def _written(self) -> int:
        return self.options.channels or self.input_channels

    @property
    def _bands(self) -> tuple[int, ...]:
        return self.options.bands(self._written)


def per_axis(value: float | Sequence[float], axis: int) -> float:
    return value[axis] if isinstance(value, Sequence) else value


def counted_line(options: WaveOptions, axis: int, size: int, start: int) -> Line:
    """For positions that count from `start`, of which there are `size`."""
    offset, scale = per_axis(options.offset, axis), per_axis(options.scale, axis)
    if options.coordinate_range is None:
        return scale * (start + offset), scale
    low, high = options.coordinate_range
    parts = size - 1 if options.align_corners else size + options.eps
    step = (high - low) / parts if parts > 0 else 0.0
    return scale * (low + step * offset), scale * step


def share_line(options: WaveOptions, axis: int) -> Line:
    """For positions in parts of `coordinate_range`, of which there are `SHARES`."""
    assert options.coordinate_range is not None
    low, high = options.coordinate_range
    scale = per_axis(options.scale, axis)
    return scale * low, scale * (high - low) / SHARES


def given_line(options: WaveOptions, axis: int) -> Line:
    """For positions that the user gives: coordinates already, if there is a range."""
    scale = per_axis(options.scale, axis)
    if options.coordinate_range is not None:
        return 0.0, scale
    return scale * per_axis(options.offset, axis), scale
