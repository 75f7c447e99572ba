"""The positions of the exactness table, and those where a split may fail."""

from __future__ import annotations

import numpy as np


def integers(bound: int, count: int = 1000) -> np.ndarray:
    """Integers in [-bound, bound): random, the ends, and about multiples of 2048."""
    rng = np.random.default_rng(0)
    random = rng.integers(-bound, bound, count)
    multiples = rng.integers(-bound // 2048, bound // 2048, count) * 2048
    powers = 2 ** np.arange(bound.bit_length() - 1)
    edges = np.concatenate([multiples, powers, -powers, [0, bound, -bound]])
    near = np.concatenate([edges - 1, edges, edges + 1])
    inside = near[(near >= -bound) & (near < bound)]
    return np.concatenate([random, inside])


def reals(bound: float, count: int = 700) -> np.ndarray:
    """Float32 numbers in [-bound, bound], of all sizes, and about halves and powers."""
    rng = np.random.default_rng(0)
    random = rng.uniform(-bound, bound, count)
    small = 10.0 ** rng.uniform(-9, np.log10(bound), count) * rng.choice([-1, 1], count)
    halves = rng.integers(-2 * bound, 2 * bound, count) / 2
    powers = 2.0 ** np.arange(np.log2(bound))
    values = np.concatenate([random, small, halves, powers, [0.0, -0.0, bound, -bound]])
    values = values.astype("float32")
    above, below = (np.nextafter(values, np.float32(to)) for to in (np.inf, -np.inf))
    near = np.concatenate([values, above, below])
    return near[np.abs(near) <= bound]


# Seconds of 2023 in half steps, which float32 would round to multiples of 128.
TIMESTAMPS = 1.7e9 + 0.5 * np.arange(2000)
