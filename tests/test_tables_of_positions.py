"""`sinusoidal_table` with `positions` in the place of a shape."""

from __future__ import annotations

from typing import Any

import keras
import numpy as np
import pytest

import keras_posenc as kp


def test_positions_of_a_grid_are_the_grid():
    grid = np.stack(np.meshgrid(np.arange(3), np.arange(4), indexing="ij"), axis=-1)
    table = kp.sinusoidal_table((3, 4), 12, dtype="float64", preset="mae")
    same = kp.sinusoidal_table(None, 12, positions=grid, dtype="float64", preset="mae")
    assert same.shape == (3, 4, 12)
    np.testing.assert_array_equal(same, table)


@pytest.mark.parametrize(
    ("positions", "shape"),
    [
        (3, (8,)),
        ([0.5, 1.5], (2, 8)),
        ([[0.5], [1.5]], (2, 8)),
        ([[1, 2, 3]], (1, 8)),
        (np.zeros((2, 5, 2)), (2, 5, 8)),
        (np.zeros((0, 2)), (0, 8)),
    ],
    ids=repr,
)
def test_a_table_has_a_row_for_each_position(positions: Any, shape: tuple[int, ...]):
    assert kp.sinusoidal_table(None, 8, positions=positions).shape == shape


def test_positions_keep_their_digits():
    """A timestamp in seconds, which float32 would move by a minute."""
    timestamps = np.array([1_700_000_000.25, -1_700_000_000.75])
    table = kp.sinusoidal_table(None, 4, positions=timestamps)
    # Two float64 products of numbers near 2^31.
    np.testing.assert_allclose(table[:, 0], np.sin(timestamps), rtol=0, atol=2.0**-22)


def test_positions_may_be_a_tensor():
    tensor = keras.ops.convert_to_tensor([[1, 2], [3, 4]])
    table = kp.sinusoidal_table(None, 8, positions=tensor)
    same = kp.sinusoidal_table(None, 8, positions=[[1, 2], [3, 4]])
    np.testing.assert_array_equal(table, same)


def test_infinity_gives_nan():
    assert np.isnan(kp.sinusoidal_table(None, 4, positions=[np.inf])).all()


def test_options_hold_for_positions():
    """As in the layer: `offset` and `scale` apply, and a range has been applied."""
    table = kp.sinusoidal_table(None, 4, positions=[3.0], offset=1.0, scale=0.5)
    np.testing.assert_array_equal(table, kp.sinusoidal_table(None, 4, positions=[2.0]))
    table = kp.sinusoidal_table(None, 8, positions=[[1.0, 2.0]], preset="detr")
    same = kp.sinusoidal_table(None, 8, positions=[[1.0, 2.0]])
    np.testing.assert_array_equal(table, same)


def test_a_shape_beside_positions_is_refused():
    with pytest.raises(ValueError, match=r"`shape` must be None beside `positions`"):
        kp.sinusoidal_table(2, 8, positions=[1, 2])


@pytest.mark.parametrize(
    ("positions", "error", "message"),
    [
        ("12", TypeError, r"`positions` must be integers or real numbers"),
        ([True], TypeError, r"`positions` must be integers or real numbers"),
        ([[1, 2], [3]], ValueError, r"`positions` must be numbers"),
        (np.zeros((3, 0)), ValueError, r"`positions\.shape\[-1\]` must be a positive"),
    ],
    ids=["text", "bool", "uneven", "no-axes"],
)
def test_bad_positions_of_a_table_are_refused(
    positions: Any, error: type[Exception], message: str
):
    with pytest.raises(error, match=message):
        kp.sinusoidal_table(None, 8, positions=positions)
