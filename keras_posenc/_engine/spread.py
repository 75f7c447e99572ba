"""Positions as parts of a range, of which only the running graph knows the size."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from keras import ops

from keras_posenc._engine.turns import Digits, balanced
from keras_posenc._engine.waves import Spread

# A range has so many parts: in float32, a quotient would be off by 6e-8 of the range,
# of which a wave may make hundreds of turns.
PARTS = 4096
PART_DIGITS = 2
_PART_BASE = math.isqrt(PARTS)
# As many positions or parts, times `_PART_BASE`, are within int32.
MOST_POSITIONS = 2**24


class SpreadNumbers(NamedTuple):
    """The numbers of a `Spread` as the integers that a graph divides.

    The shift is `whole + (high / 64 + low / 4096) + fraction / 4096` positions.
    """

    whole: int
    high: int
    low: int
    fraction: float
    whole_margin: int
    margin: float
    closed: bool


def numbers_of(spread: Spread) -> SpreadNumbers:
    whole, whole_margin = math.floor(spread.shift), math.floor(spread.margin)
    digits, fraction = divmod((spread.shift - whole) * PARTS, 1)
    high, low = divmod(int(digits), _PART_BASE)
    margin = spread.margin - whole_margin
    return SpreadNumbers(
        whole, high, low, fraction, whole_margin, margin, spread.closed
    )


def spread_digits(
    positions: Any, n: Any, numbers: SpreadNumbers, precision: str
) -> Digits:
    """`PARTS * (position + shift) / (n + margin)`, for `n` integers."""
    several = ops.cast(n > 1, precision)
    n = n - 1 if numbers.closed else n + numbers.whole_margin
    n = ops.maximum(n, 1)
    # Digit by digit, as in a long division, so that no integer gets too large.
    dividend = (positions + numbers.whole) * _PART_BASE + numbers.high
    first = dividend // n
    dividend = (dividend - first * n) * _PART_BASE + numbers.low
    second = dividend // n
    rest = ops.cast(dividend - second * n, precision) + numbers.fraction
    rest = rest / ops.cast(n, precision)
    parts = first * _PART_BASE + second
    if numbers.margin:
        # (p + o) / (n + m) = q - q * m / (n + m), where q = (p + o) / n. Added to n,
        # a usual margin would be lost in float32.
        quotient = ops.cast(parts, precision) + rest
        share = numbers.margin / (ops.cast(n, precision) + numbers.margin)
        rest = rest - quotient * share
    if numbers.closed:  # One position lies at the lower end.
        parts, rest = parts * ops.cast(several, parts.dtype), rest * several
    values = balanced(parts, PART_DIGITS, lambda digit: ops.cast(digit, precision))
    return Digits(values, rest, False)
