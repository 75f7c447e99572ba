"""The formulas of the papers, written out in NumPy float64 from their definition.

Nothing here comes from the package: it is what the package is measured against.
"""

from __future__ import annotations

import numpy as np


def encode_1d(length: int, channels: int, base: float = 10000.0) -> np.ndarray:
    """PE(x, 2i) = sin(x / base^(2i/D)), PE(x, 2i+1) = cos(same), cut to channels."""
    padded = channels + channels % 2
    table = np.zeros((length, padded))
    x = np.arange(length, dtype="float64")
    for i in range(padded // 2):
        table[:, 2 * i] = np.sin(x / base ** (2 * i / padded))
        table[:, 2 * i + 1] = np.cos(x / base ** (2 * i / padded))
    return table[:, :channels]


def encode_2d(width: int, height: int, channels: int) -> np.ndarray:
    """The first half as encode_1d of x, the second of y, with base^(4i/D)."""
    padded = 4 * -(-channels // 4)
    table = np.zeros((width, height, padded))
    x, y = np.meshgrid(np.arange(width), np.arange(height), indexing="ij")
    for i in range(padded // 4):
        wavelength = 10000.0 ** (4 * i / padded)
        table[..., 2 * i] = np.sin(x / wavelength)
        table[..., 2 * i + 1] = np.cos(x / wavelength)
        table[..., 2 * i + padded // 2] = np.sin(y / wavelength)
        table[..., 2 * i + 1 + padded // 2] = np.cos(y / wavelength)
    return table[..., :channels]


def encode_3d(width: int, height: int, depth: int, channels: int) -> np.ndarray:
    """Thirds for x, y and z, with base^(6i/D)."""
    padded = 6 * -(-channels // 6)
    table = np.zeros((width, height, depth, padded))
    grid = np.meshgrid(
        np.arange(width), np.arange(height), np.arange(depth), indexing="ij"
    )
    for axis, position in enumerate(grid):
        first = axis * padded // 3
        for i in range(padded // 6):
            wavelength = 10000.0 ** (6 * i / padded)
            table[..., first + 2 * i] = np.sin(position / wavelength)
            table[..., first + 2 * i + 1] = np.cos(position / wavelength)
    return table[..., :channels]


def encode(sizes: tuple[int, ...], channels: int) -> np.ndarray:
    """The formula that goes with the number of sizes, of shape (*sizes, channels)."""
    formula = {1: encode_1d, 2: encode_2d, 3: encode_3d}[len(sizes)]
    return formula(*sizes, channels)
