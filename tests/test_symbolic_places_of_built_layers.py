"""A built layer, an eager input and symbolic places: a model with the layer in it.

What was called before must not decide whether a layer ends up in a model.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import keras
import numpy as np
import pytest

import keras_posenc as kp
from helpers import reference
from helpers.position_cases import (
    BATCH,
    CHANNELS,
    GIVEN,
    LENGTH,
    PLANE_SIZES,
    PLANES,
    Sequence,
    counted_from,
    each_sequence,
    encoding_at,
    grid_positions,
    tile_positions,
)
from helpers.tensors import scalar, to_tensor, zeros
from helpers.tolerances import assert_close

each_state = pytest.mark.parametrize("built", [False, True], ids=["new", "built"])


def layers_of(model: keras.Model) -> list[type]:
    return [type(layer) for layer in model.layers]


@each_state
@each_sequence
def test_a_layer_with_symbolic_positions_is_in_the_model(case: Sequence, built: bool):
    layer, x = case.make(), case.inputs()
    if built:
        layer(x)
    positions = keras.Input((LENGTH,), batch_size=BATCH)
    model = keras.Model(positions, layer(x, positions=positions))
    assert layer in model.layers
    given = GIVEN["real-for-each"].astype("float32")
    assert_close(case.encoding(model(to_tensor(given))), encoding_at(given))


@each_state
@each_sequence
def test_a_layer_with_a_symbolic_start_is_in_the_model(case: Sequence, built: bool):
    layer, x = case.make(), case.inputs()
    if built:
        layer(x)
    start = keras.Input(batch_shape=(), dtype="int32")
    model = keras.Model(start, layer(x, start_index=start))
    assert layer in model.layers
    assert_close(case.encoding(model(scalar(7))), counted_from(7))


@each_state
@each_sequence
def test_a_layer_with_a_start_for_each_is_in_the_model(case: Sequence, built: bool):
    layer, x = case.make(), case.inputs()
    if built:
        layer(x)
    starts = keras.Input(batch_shape=(BATCH,), dtype="int32")
    model = keras.Model(starts, layer(x, start_index=starts))
    assert layer in model.layers
    given = np.array([0, 7, 1000], "int32")
    assert_close(case.encoding(model(to_tensor(given))), counted_from(given))


OF_PLANES: dict[str, Callable[[], keras.layers.Layer]] = {
    "2d": lambda: kp.PositionalEncoding2D(CHANNELS),
    "rank2": lambda: kp.PositionalEncoding(2, CHANNELS),
    "sum-of-2d": lambda: kp.Summer(kp.PositionalEncoding2D(CHANNELS)),
}


@each_state
@pytest.mark.parametrize("name", OF_PLANES)
def test_a_layer_of_planes_with_symbolic_positions_is_in_the_model(
    name: str, built: bool
):
    layer, x = OF_PLANES[name](), zeros(2, *PLANE_SIZES, CHANNELS)
    if built:
        layer(x)
    positions = keras.Input((*PLANE_SIZES, 2), batch_size=2)
    model = keras.Model(positions, layer(x, positions=positions))
    assert layer in model.layers
    given = PLANES["real-for-each"].astype("float32")
    assert_close(model(to_tensor(given)), reference.exact(given, CHANNELS))


@each_state
@pytest.mark.parametrize("form", [tuple, list])
@pytest.mark.parametrize("mixed", [False, True], ids=["symbols", "symbol-and-int"])
@pytest.mark.parametrize("name", OF_PLANES)
def test_a_tile_with_a_symbolic_start_is_in_the_model(
    name: str, mixed: bool, form: Any, built: bool
):
    layer, x = OF_PLANES[name](), zeros(2, *PLANE_SIZES, CHANNELS)
    if built:
        layer(x)
    row = keras.Input(batch_shape=(), dtype="int32")
    column = keras.Input(batch_shape=(), dtype="int32")
    symbols = [row] if mixed else [row, column]
    start = form((row, 20 if mixed else column))
    model = keras.Model(symbols, layer(x, start_index=start))
    assert layer in model.layers
    outputs = model([scalar(10), scalar(20)][: len(symbols)])
    expected = reference.exact(tile_positions(PLANE_SIZES, (10, 20)), CHANNELS)
    assert_close(outputs, expected)


@each_state
@pytest.mark.parametrize("form", [tuple, list])
@pytest.mark.parametrize("name", OF_PLANES)
def test_tokens_with_a_symbolic_grid_are_in_the_model(
    name: str, form: Any, built: bool
):
    layer, x = OF_PLANES[name](), zeros(2, 12, CHANNELS)
    if built:
        layer(x, grid=(3, 4))
    height = keras.Input(batch_shape=(), dtype="int32")
    model = keras.Model(height, layer(x, grid=form((height, None))))
    assert layer in model.layers
    for sizes in [(3, 4), (6, 2)]:
        expected = reference.exact(grid_positions(*sizes), CHANNELS)
        assert_close(model(scalar(sizes[0])), expected.reshape(12, CHANNELS))


@each_sequence
def test_a_built_layer_checks_symbolic_positions(case: Sequence):
    layer, x = case.make(), case.inputs()
    layer(x)
    with pytest.raises(ValueError, match=r"^`positions` must have shape"):
        layer(x, positions=keras.Input((LENGTH + 1,), batch_size=BATCH))


@each_sequence
def test_the_model_checks_what_it_is_called_with(case: Sequence):
    layer, x = case.make(), case.inputs()
    layer(x)
    positions = keras.Input((None,))
    model = keras.Model(positions, layer(x, positions=positions))
    with pytest.raises(Exception, match=r"`positions` must have shape"):
        model(zeros(BATCH, LENGTH + 1))


@each_state
def test_a_sum_with_a_foreign_layer_is_in_the_model(built: bool):
    class Placed(keras.layers.Layer):
        def call(self, inputs: Any, positions: Any = None) -> Any:
            return inputs * 0 if positions is None else inputs * 0 + positions

    layer, x = kp.Summer(Placed()), zeros(BATCH, LENGTH, 1)
    if built:
        layer(x)
    positions = keras.Input((LENGTH, 1), batch_size=BATCH)
    model = keras.Model(positions, layer(x, positions=positions))
    assert layer in model.layers


@pytest.mark.parametrize("built", [False, True], ids=["new", "built"])
def test_a_model_with_an_eager_input_is_saved(built: bool, tmp_path: Any):
    layer, x = kp.Summer(kp.PositionalEncoding1D(CHANNELS)), zeros(1, LENGTH, CHANNELS)
    if built:
        layer(x)
    positions = keras.Input((LENGTH,), batch_size=1)
    model = keras.Model(positions, layer(x, positions=positions))
    model.save(tmp_path / "model.keras")
    loaded = keras.models.load_model(tmp_path / "model.keras")
    assert layers_of(loaded) == layers_of(model)
    given = GIVEN["real"][None].astype("float32")
    assert_close(loaded(to_tensor(given)), encoding_at(given))
