"""Options at positions that are far away: as exact as the plain encoding."""

from __future__ import annotations

import math

import numpy as np
import pytest

import keras_posenc as kp
from helpers import reference
from helpers.hard_positions import integers
from helpers.run_modes import KNOWN, UNKNOWN, open_graph, with_known_sizes
from helpers.tensors import to_numpy, to_tensor, zeros
from helpers.tolerances import SINGLE

LONG = integers(131_072)
LONG = np.unique(np.append(LONG[LONG >= 0], 131_071))


def concatenated(table: np.ndarray) -> np.ndarray:
    """Sines and cosines in turn as first all sines, then all cosines."""
    return np.concatenate([table[..., 0::2], table[..., 1::2]], axis=-1)


@pytest.mark.parametrize("mode", KNOWN)
def test_concatenated_is_exact_at_a_long_known_length(mode: str):
    layer = kp.PositionalEncoding1D(64, layout="concatenated")
    layer.build((1, 131_072, 64))
    outputs = with_known_sizes(layer, mode)(zeros(1, 131_072, 64))
    expected = concatenated(reference.exact_1d(LONG, 64))
    assert np.abs(to_numpy(outputs[0])[LONG] - expected).max() <= SINGLE


@pytest.mark.parametrize("mode", UNKNOWN)
def test_concatenated_is_exact_at_a_million_positions(mode: str):
    length = 1_000_000
    layer = kp.PositionalEncoding1D(8, layout="concatenated")
    outputs = open_graph(layer, (None, None, 8), mode)(zeros(1, length, 8))
    rows = integers(length)
    rows = rows[rows >= 0]
    expected = concatenated(reference.exact_1d(rows, 8))
    assert np.abs(to_numpy(outputs[0])[rows] - expected).max() <= SINGLE


@pytest.mark.parametrize("mode", UNKNOWN)
def test_offset_and_scale_are_exact_at_a_million_positions(mode: str):
    length = 1_000_000
    options = {"layout": "concatenated", "offset": 2.5, "scale": 0.75}
    layer = kp.PositionalEncoding1D(8, **options)
    outputs = open_graph(layer, (None, None, 8), mode)(zeros(1, length, 8))
    rows = integers(length)
    rows = rows[rows >= 0]
    expected = concatenated(reference.exact_1d(0.75 * (rows + 2.5), 8))
    assert np.abs(to_numpy(outputs[0])[rows] - expected).max() <= SINGLE


@pytest.mark.parametrize("scale", [1.0, -0.75, math.pi])
@pytest.mark.parametrize("offset", [0.0, 2.0, -1000.5])
@pytest.mark.parametrize("base", [20.0, 1e4])
def test_integers_with_offset_and_scale_are_exact(
    base: float, offset: float, scale: float
):
    positions = integers(2**24).astype("int32")
    options = {"layout": "concatenated", "offset": offset, "scale": scale}
    outputs = kp.encode(to_tensor(positions), 64, max_wavelength=base, **options)
    coordinates = scale * (positions.astype("float64") + offset)
    expected = concatenated(reference.exact_1d(coordinates, 64, base))
    # Frequencies and coordinates are numbers of float64, whose roundings count as often
    # as the coordinate says: 1.2e-8 each at pi * 2^24.
    bound = SINGLE + 2 * 2.0**-52 * np.abs(coordinates)[:, None]
    assert (np.abs(to_numpy(outputs) - expected) <= bound).all()
