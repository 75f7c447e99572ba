"""Sines of angles that float64 does not hold: with 90 digits, from the definition."""

from __future__ import annotations

from collections.abc import Iterable
from decimal import Decimal, localcontext
from typing import Any

import numpy as np

from helpers.reference import TWO_PI


def exact_encoding(
    positions: Iterable[Any],
    channels: int,
    *,
    scale: float = 1.0,
    offset: float = 0.0,
    base: float = 10000.0,
) -> np.ndarray:
    """The encoding of each position, an `int` or a `float`, taken as it is written."""
    rows = []
    with localcontext(prec=90):
        frequencies = [
            Decimal(base) ** (Decimal(-2 * k) / channels) for k in range(channels // 2)
        ]
        for position in positions:
            coordinate = Decimal(scale) * (Decimal(position) + Decimal(offset))
            angles = [
                2 * np.pi * float((coordinate * frequency / TWO_PI) % 1)
                for frequency in frequencies
            ]
            rows.append([part(angle) for angle in angles for part in (np.sin, np.cos)])
    return np.array(rows)


def angle_error(
    positions: Iterable[Any], scale: float = 1.0, offset: float = 0.0
) -> np.ndarray:
    """How far an encoding may be off, in a column: a unit of the angle's last digit.

    A frequency of float64 is off by half of one, and so is its product with a position.
    """
    angles = [abs(scale * (float(position) + offset)) for position in positions]
    return 2e-7 + 2.0**-52 * np.array(angles)[:, None]
