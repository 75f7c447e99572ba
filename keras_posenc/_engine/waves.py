"""The records that say what is encoded, and where its positions are.

A channel of a sinusoidal encoding is a wave, the sine of
`frequency[c] * coordinate[axis[c]] + phase[c]`. A cosine is a sine that is a quarter
turn ahead, and a channel of zeros is a wave of frequency and phase 0. A coordinate
follows from a position: by an affine map, or as a share of a range.
"""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol

import numpy as np

TURN = 2 * np.pi
QUARTER_TURN = np.pi / 2

# Beside an angle that is larger, float64 has a phase to no more than 1/128.
LARGE_ANGLE = 2.0**46


class Line(NamedTuple):
    """The affine map `intercept + slope * position`."""

    intercept: float
    slope: float
    # What float64 has left out of an intercept of 2**53 and more.
    rest: float = 0.0


class Affine(NamedTuple):
    """The coordinate `factor * (position + shift)`."""

    shift: float
    factor: float

    def counted(self, start: int, size: int) -> Line:
        """For positions that count from 0, and stand for those from `start` on."""
        rest = self.factor * (start - int(float(start)))
        return Line(self.factor * (start + self.shift), self.factor, rest)

    def given(self) -> Line:
        """For positions that the caller gives."""
        return self.counted(0, 0)


class Spread(NamedTuple):
    """Coordinates that spread over a range, whatever the number `n` of positions.

    That of position `i` is `factor` times
    `low + (high - low) * (i + shift) / (n + margin)`. With `closed` it divides by
    `n - 1`, and reaches `high` at the last position.
    """

    low: float
    high: float
    shift: float
    margin: float
    closed: bool
    factor: float

    def counted(self, start: int, size: int) -> Line:
        parts = size - 1 if self.closed else size + self.margin
        step = (self.high - self.low) / parts if parts > 0 else 0.0
        return Line(self.factor * (self.low + step * self.shift), self.factor * step)

    def given(self) -> Line:
        """What the caller gives are coordinates already."""
        return Line(0.0, self.factor)

    def shared(self, parts: int) -> Line:
        """For positions that count in so many parts of the range."""
        return Line(
            self.factor * self.low, self.factor * (self.high - self.low) / parts
        )


class Waves(NamedTuple):
    """One wave for each channel, and the coordinate of each axis."""

    axis: np.ndarray
    frequency: np.ndarray  # radians for each unit of the coordinate
    phase: np.ndarray  # radians
    coordinates: tuple[Affine | Spread, ...]

    def over(self, lines: list[Line]) -> tuple[np.ndarray, np.ndarray]:
        """Frequency and phase over positions, which `lines` make coordinates of."""
        intercept, slope, rest = np.array(lines).T
        ahead = self.frequency * intercept[self.axis]
        if np.any(np.abs(ahead) > LARGE_ANGLE):
            ahead = np.fmod(ahead, TURN)
        if np.any(rest):
            ahead = np.fmod(ahead, TURN) + self.frequency * rest[self.axis]
        return self.frequency * slope[self.axis], self.phase + ahead

    def along(self, axis: int, line: Line) -> tuple[np.ndarray, np.ndarray]:
        """The same for one axis, the waves of others silenced: sin(0 * x + 0) is 0."""
        frequency, phase = self.over([line] * len(self.coordinates))
        runs = self.axis == axis
        return np.where(runs, frequency, 0.0), np.where(runs, phase, 0.0)

    def given(self) -> tuple[np.ndarray, np.ndarray]:
        """Frequency and phase over positions that the caller gives."""
        return self.over([coordinate.given() for coordinate in self.coordinates])


class WaveSource(Protocol):
    """What makes waves. It hashes: it keys the cache and is a constant to compilers."""

    @property
    def rank(self) -> int: ...

    def waves(self, channels: int) -> Waves: ...


class Recipe(NamedTuple):
    """Which waves: those of a source, for an encoding of so many channels."""

    source: WaveSource
    channels: int

    @property
    def rank(self) -> int:
        return self.source.rank


class Grid(NamedTuple):
    """Where the positions are that an encoding is for, and how it is laid out.

    A size or a start is an `int` where it is known, else a symbol or a tensor; a start
    may be a vector with one for each element of the batch. The encoding has a batch
    of one, unless starts differ.
    """

    sizes: tuple[Any, ...]
    starts: tuple[Any, ...]
    dims: tuple[int, ...]  # of each axis, in an encoding of `ndim` dimensions
    channel_dim: int
    # How many tokens come before those of the grid, which are then one flat sequence,
    # row by row. None if each axis has a dimension of its own.
    prefix: int | None = None

    @property
    def ndim(self) -> int:
        return max(*self.dims, self.channel_dim) + 1

    @property
    def is_known(self) -> bool:
        """Whether every size and start is a number now."""
        return all(type(number) is int for number in (*self.sizes, *self.starts))
