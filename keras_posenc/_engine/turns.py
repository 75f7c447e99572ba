"""Sines at positions that only a running graph, or a tensor, knows.

An angle in float32 would lose the position (an error of 4e-3 at 65,536). So positions
are taken apart into digits of base 4096, which go from -2048 to 2048, and angles are
counted in turns: the product of a digit and a number of turns in 14 bits is exact in
float32, which has 24, and whole turns are dropped before anything is rounded.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import keras
import numpy as np
from keras import ops

from keras_posenc import _backend
from keras_posenc._engine.waves import TURN, WaveSource

_BASE = 4096
_EXACT_TURNS = 2.0**14
# Digits of 32 and of 64 bits.
_MOST_OF_32_BITS, _MOST_OF_64_BITS = 3, 6
# Real positions are counted in a unit that turns no wave by more than 2**-5 radians: of
# the rest, half a unit at most, float32 then has the angle to 1e-9. Four digits of such
# units reach 2**41 radians: beyond, float64 knows no angle to 1e-4.
_REST_ANGLE = 2.0**-5
_REAL_DIGITS = 4
# A power of two beyond this one, or what it divides, is no float32.
_LARGEST_SHIFT = 100


class Digits(NamedTuple):
    """A position: the sum of `values[i] * 4096**i`, and a rest, in some unit."""

    values: tuple[Any, ...]
    rest: Any | None = None
    # Whether the last digit may be beyond 2**11: of a position whose angle float64 has
    # no digits for, or of one that is infinite.
    open_ended: bool = False

    def map(self, function: Callable[[Any], Any]) -> Digits:
        rest = None if self.rest is None else function(self.rest)
        return Digits(tuple(map(function, self.values)), rest, self.open_ended)


# --- Taking positions apart ---------------------------------------------------------


class Radix(NamedTuple):
    """How positions are taken apart: the unit, a power of two, and how many digits."""

    real: bool
    unit: float
    digits: int


@_backend.host_constant
def radix_of(
    source: WaveSource, channels: int, dtype: str, largest: int | None = None
) -> Radix:
    """How to take apart positions of a dtype so that the fastest wave keeps its angle.

    `largest` is the number of digits that they are known to have.
    """
    frequency, _ = source.waves(channels).given()
    fastest = max(np.max(np.abs(frequency), initial=0.0), 2.0**-200)
    if keras.backend.is_float_dtype(dtype):
        exponent = math.floor(math.log2(_REST_ANGLE / fastest))
        unit = 2.0 ** min(max(exponent, -_LARGEST_SHIFT), _LARGEST_SHIFT)
        return Radix(True, unit, _REAL_DIGITS)
    if largest is None:
        # As many as reach 2**41 radians: beyond, float64 knows no angle to 1e-4.
        largest = 1 + math.ceil((30 - math.log2(fastest)) / 12)
        largest = largest if dtype.endswith("64") else _MOST_OF_32_BITS
    return Radix(False, 1.0, min(max(largest, _MOST_OF_32_BITS), _MOST_OF_64_BITS))


def digits_needed(positions: np.ndarray) -> int | None:
    """How many digits the largest of some integers needs; None for real numbers."""
    if positions.dtype.kind not in "iu":
        return None
    largest = max(int(positions.max(initial=0)), -int(positions.min(initial=0)))
    return -(-(largest.bit_length() + 1) // 12)


def tensor_digits(positions: Any, radix: Radix, precision: str) -> Digits:
    """The digits of a tensor."""

    def cast(digit: Any) -> Any:
        return ops.cast(digit, precision)

    if not radix.real:
        values = balanced(_backend.widened(positions), radix.digits, cast)
        return Digits(values, None, radix.digits > _MOST_OF_32_BITS)
    if keras.backend.standardize_dtype(positions.dtype) != "float64":
        positions = ops.cast(positions, "float32")  # exact
    return _real_digits(positions, radix, _constant_round, cast)


def host_digits(positions: np.ndarray, radix: Radix, precision: str) -> Digits:
    """The same for an array, in arrays."""

    def cast(digit: np.ndarray) -> np.ndarray:
        return digit.astype(precision)

    # Infinity less infinity is NaN, as is its sine.
    with np.errstate(invalid="ignore", over="ignore"):
        if not radix.real:
            return Digits(balanced(positions, radix.digits, cast))
        return _real_digits(positions.astype("float64"), radix, np.round, cast)


def _constant_round(positions: Any) -> Any:
    # torch has no gradient, not even 0, of what digits are made by.
    return ops.stop_gradient(_backend.nearest(positions))


def _real_digits(
    positions: Any,
    radix: Radix,
    round_: Callable[[Any], Any],
    cast: Callable[[Any], Any],
) -> Digits:
    positions = positions * (1 / radix.unit)  # exact, as that is a power of two
    whole = round_(positions)
    # Gradients do not pass a rounding, so that of the rest is all there is.
    return Digits(balanced(whole, radix.digits, cast), cast(positions - whole), True)


def counted_digits(start: Any, counts: Any, count: int, precision: str) -> Digits:
    """`count` of `start + counts`, a sum that the type of both may not hold."""

    def cast(digit: Any) -> Any:
        return ops.cast(digit, precision)

    if _backend.is_tensor(start):
        start = _backend.widened(start)
        counts = ops.cast(counts, start.dtype)
    start_high, high = start // _BASE, counts // _BASE
    low = (start - start_high * _BASE) + (counts - high * _BASE)  # 0 .. 8190
    carry = low // _BASE
    low, high = low - carry * _BASE, start_high + high + carry
    digit, carry = _digit(low, cast)
    return Digits((digit, *balanced(high + carry, count - 1, cast)), None, True)


def balanced(whole: Any, count: int, cast: Callable[[Any], Any]) -> tuple[Any, ...]:
    """`count` digits of `whole`, the last of which is whatever is left.

    No intermediate leaves the range of the integer type, unsigned or not.
    """
    digits = []
    for _ in range(count - 1):
        higher = whole // _BASE
        digit, carry = _digit(whole - higher * _BASE, cast)
        digits.append(digit)
        whole = higher + carry
    return (*digits, cast(whole))


def _digit(low: Any, cast: Callable[[Any], Any]) -> tuple[Any, Any]:
    """A number from 0 to 4095 as one from -2048 to 2047, and what that carries."""
    carry = low // (_BASE // 2)
    return cast(low) - cast(carry) * _BASE, carry


# --- Turns of each digit -------------------------------------------------------------


def turn_rows(
    frequency: np.ndarray, phase: np.ndarray, unit: float, count: int
) -> np.ndarray:
    """For each digit two rows: the turns of one unit there, exact bits and the rest.

    Whole turns are left out. Three more rows have the turns of the rest's unit, and the
    phase in exact bits and a rest.
    """
    turns = frequency / TURN * unit
    rows: list[np.ndarray] = []
    for place in range(count):
        # Exact: float64 scaled by a power of two, less a whole number.
        rows += _exact_and_rest(turns * float(_BASE) ** place)
    return np.stack([*rows, turns, *_exact_and_rest(phase / TURN)])


def _exact_and_rest(turns: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    turns = turns - np.round(turns)
    exact = np.round(turns * _EXACT_TURNS) / _EXACT_TURNS
    return exact, turns - exact


def turned_sines(digits: Digits, rows: Any) -> Any:
    """Sines at the positions that have these digits, from what `turn_rows` makes."""
    count = len(digits.values)
    *per_digit, rest_turns, phase, small_phase = ops.unstack(rows, num=2 * count + 3)
    exact, small = phase, small_phase
    for i, digit in enumerate(digits.values):
        # What depends on a position comes first: JAX arrays take no KerasTensor after.
        exact = _fraction(digit * per_digit[2 * i]) + exact
        small = digit * per_digit[2 * i + 1] + small
    if digits.rest is not None:
        small = digits.rest * rest_turns + small
    if digits.open_ended:
        # What such a digit leaves here must not drown the phase: of sine and cosine,
        # each would be 0.
        small = _fraction(small)
    # Less whole turns, then less half ones, each of which changes the sign: in a
    # quarter of a turn, float32 is fine enough.
    exact = exact - _backend.nearest(exact + small)
    halves = _backend.nearest(2 * (exact + small))  # -1, 0 or 1
    # Written out: torch.compile would give 2 * np.pi to the graph as a float64 tensor.
    angle = (exact - halves / 2 + small) * 6.283185307179586
    return (1 - 2 * ops.abs(halves)) * _backend.sine(angle)


def _fraction(turns: Any) -> Any:
    """What is left of `turns` in [-1/2, 1/2] without the whole ones; exact."""
    return turns - _backend.nearest(turns)
