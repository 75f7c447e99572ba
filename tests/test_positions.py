"""Where positions are, when a call says so: start_index, positions, tokens, values."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import keras
import numpy as np
import pytest
from keras import ops

import keras_posenc as kp
from helpers import reference
from helpers.hard_positions import TIMESTAMPS
from helpers.position_cases import (
    BATCH,
    CHANNELS,
    COMPILERS,
    IMAGE,
    LENGTH,
    NAMED,
    PLANE_TABLE,
    TABLE,
    X,
    compiled,
)
from helpers.run_modes import BACKEND
from helpers.tensors import to_numpy, to_tensor
from helpers.tolerances import COUNTING, ROUNDING, assert_close

over_layers = pytest.mark.parametrize("name", ["1d", "sum-of-1d", "sinusoid"])


# start_index.

START_FORMS = {
    "int": (4, [4] * BATCH),
    "NumPy-int": (np.int64(4), [4] * BATCH),
    "scalar-tensor": (lambda: to_tensor(np.array(4, "int32")), [4] * BATCH),
    "list": ([0, 7, 20], [0, 7, 20]),
    "array": (np.array([0, 7, 20]), [0, 7, 20]),
    "tensor": (lambda: to_tensor(np.array([0, 7, 20], "int32")), [0, 7, 20]),
}


@over_layers
@pytest.mark.parametrize("form", START_FORMS)
def test_start_index_in_any_form(form: str, name: str):
    given, starts = START_FORMS[form]
    outputs = NAMED[name].make()(
        to_tensor(X), start_index=given() if callable(given) else given
    )
    assert_close(outputs, np.stack([TABLE[k : k + LENGTH] for k in starts]))


@pytest.mark.parametrize("start", [-3, 1000, 10**6])
@pytest.mark.parametrize("as_tensor", [False, True])
def test_far_and_negative_starts_are_exact(start: int, as_tensor: bool):
    given = to_tensor(np.array(start, "int32")) if as_tensor else start
    outputs = kp.PositionalEncoding1D(CHANNELS)(to_tensor(X), start_index=given)
    positions = start + np.arange(LENGTH)
    assert_close(outputs, reference.exact_1d(positions, CHANNELS))


def test_one_element_at_a_time_is_the_whole():
    layer = kp.Summer(kp.PositionalEncoding1D(CHANNELS))
    x = to_tensor(np.random.default_rng(0).random((2, 9, CHANNELS), "float32"))
    steps = [layer(x[:, k : k + 1], start_index=k) for k in range(9)]
    np.testing.assert_array_equal(
        to_numpy(ops.concatenate(steps, 1)), to_numpy(layer(x))
    )


@pytest.mark.parametrize("channels_first", [False, True])
@pytest.mark.parametrize("as_tensor", [False, True])
def test_a_tile_of_either_format_starts_elsewhere(
    as_tensor: bool, channels_first: bool
):
    start = (to_tensor(np.array(10, "int32")) if as_tensor else 10, 20)
    expected = PLANE_TABLE[10:13, 20:24]
    if channels_first:
        layer, x = kp.PositionalEncodingPermute2D(CHANNELS), IMAGE.transpose(0, 3, 1, 2)
        expected = expected.transpose(2, 0, 1)
    else:
        layer, x = kp.PositionalEncoding2D(CHANNELS), IMAGE
    assert_close(layer(to_tensor(x), start_index=start), expected)


@pytest.mark.parametrize("name", ["1d", "sum-of-1d"])
def test_a_graph_serves_every_start(name: str):
    layer = NAMED[name].make()
    layer(to_tensor(X))
    function, traces = compiled(
        lambda x, start: layer(x, start_index=start), COMPILERS[BACKEND][-1]
    )
    # Twice: Keras keeps a device for the first time in the first call, and torch then
    # compiles once more.
    for _ in range(2):
        function(to_tensor(X), to_tensor(np.array(0, "int32")))
    before = traces()
    for start in (1, 9, 30):
        outputs = function(to_tensor(X), to_tensor(np.array(start, "int32")))
        assert_close(outputs, TABLE[start : start + LENGTH])
    assert traces() == before


ERRORS: dict[str, tuple[type[Exception], str, Callable[[], Any]]] = {
    "a-number-for-a-plane": (
        ValueError,
        "`start_index` must hold one integer for each of the 2 axes",
        lambda: kp.PositionalEncoding2D(CHANNELS)(IMAGE, start_index=3),
    ),
    "real": (
        TypeError,
        "`start_index` must be an integer",
        lambda: NAMED["1d"].make()(X, start_index=1.5),
    ),
    "bool": (
        TypeError,
        "`start_index` must be an integer",
        lambda: NAMED["1d"].make()(X, start_index=True),
    ),
    "with-positions": (
        ValueError,
        "`start_index` must be 0 beside `positions`",
        lambda: NAMED["1d"].make()(X, start_index=1, positions=np.arange(LENGTH)),
    ),
    "with-a-range": (
        ValueError,
        "`start_index` must be 0 with `coordinate_range`",
        lambda: kp.PositionalEncoding1D(CHANNELS, coordinate_range=(0, 1))(
            X, start_index=1
        ),
    ),
    "beyond-max_len": (
        ValueError,
        "at most max_len=20 positions, found 6 from start_index=15 on",
        lambda: kp.SinusoidEncoding(CHANNELS, 20)(X, start_index=15),
    ),
    "positions-of-another-length": (
        ValueError,
        r"`positions` must have shape \(6,\), or \(3, 6\)",
        lambda: NAMED["1d"].make()(X, positions=np.arange(LENGTH - 1)),
    ),
    "positions-with-an-axis-of-1": (
        ValueError,
        r"`positions` must have shape \(6,\), or \(3, 6\)",
        lambda: NAMED["1d"].make()(X, positions=np.zeros((BATCH, LENGTH, 1))),
    ),
    "positions-of-tokens": (
        ValueError,
        "`positions` must be None with `grid`",
        lambda: kp.PositionalEncoding1D(CHANNELS, grid=[LENGTH])(
            X, positions=np.arange(LENGTH)
        ),
    ),
    "tokens-of-another-number": (
        ValueError,
        "expects 7 tokens, found 6: prefix_tokens=1",
        lambda: kp.PositionalEncoding1D(CHANNELS, grid=[LENGTH], prefix_tokens=1)(X),
    ),
    "prefix-without-grid": (
        ValueError,
        "`prefix_tokens` must be 0 without `grid`",
        lambda: kp.PositionalEncoding1D(CHANNELS, prefix_tokens=1),
    ),
    "grid-of-another-rank": (
        ValueError,
        "`grid` must hold a positive size for each of the 2 axes",
        lambda: kp.PositionalEncoding2D(CHANNELS, grid=[4]),
    ),
    "unknown-to-the-inner-layer": (
        TypeError,
        "start_index",
        lambda: kp.Summer(keras.layers.Dense(CHANNELS))(X, start_index=2),
    ),
    "mask-of-another-rank": (
        ValueError,
        r"`mask` must have shape \(batch, \*sizes\) with rank=2 sizes",
        lambda: kp.positions_from_mask(np.ones((2, 5), bool), 2),
    ),
    "eps-without-normalize": (
        ValueError,
        "`eps` must be 0 without `normalize`",
        lambda: kp.positions_from_mask(np.ones((2, 5), bool), eps=1.0),
    ),
}


@pytest.mark.parametrize("name", ERRORS)
def test_what_does_not_fit_is_refused(name: str):
    error, message, call = ERRORS[name]
    with pytest.raises(error, match=message):
        call()


# positions.

BACKWARDS = np.arange(LENGTH)[::-1].copy()
FEW_POSITIONS = {
    "integers": BACKWARDS,
    "negative": BACKWARDS - 3,
    "repeated": np.array([5, 5, 5, 0, 0, 900]),
    "of-each-element": np.stack([BACKWARDS, BACKWARDS + 1, BACKWARDS + 900]),
    "real": BACKWARDS / 4 + 100,
}


@over_layers
@pytest.mark.parametrize("as_tensor", [False, True])
@pytest.mark.parametrize("given", FEW_POSITIONS)
def test_positions_of_a_sequence_are_encoded(given: str, as_tensor: bool, name: str):
    positions = FEW_POSITIONS[given]
    kind = "int32" if positions.dtype.kind == "i" else "float32"
    outputs = NAMED[name].make()(
        to_tensor(X), positions=to_tensor(positions, kind) if as_tensor else positions
    )
    assert_close(outputs, reference.exact_1d(positions, CHANNELS))


STAMP_ROW = 1.7e9 + 0.5 * np.arange(LENGTH)


@pytest.mark.parametrize("name", ["1d", "sum-of-1d", "sum-of-sum-of-1d", "sinusoid"])
def test_timestamps_of_every_layer_keep_their_fractions(name: str):
    layer = NAMED[name].make()
    expected = reference.exact_1d(STAMP_ROW, CHANNELS)
    # The first call builds the layer, by another way through Keras. Beyond 2^24 the
    # reference is off by 2^-52 of the position.
    for _ in range(2):
        outputs = layer(to_tensor(X), positions=STAMP_ROW)
        assert_close(outputs, expected, COUNTING + 2e9 * 2.0**-52)


GRID = np.stack(np.meshgrid(np.arange(3), np.arange(4), indexing="ij"), -1)


@pytest.mark.parametrize("channels_first", [False, True])
@pytest.mark.parametrize("batched", [False, True])
def test_a_plane_of_either_format_is_encoded(batched: bool, channels_first: bool):
    positions = np.stack([GRID, GRID + 7]) if batched else GRID
    expected = [
        PLANE_TABLE[:3, :4],
        PLANE_TABLE[7:10, 7:11] if batched else PLANE_TABLE[:3, :4],
    ]
    expected = np.stack(expected)
    if channels_first:
        layer, x = kp.PositionalEncodingPermute2D(CHANNELS), IMAGE.transpose(0, 3, 1, 2)
        expected = expected.transpose(0, 3, 1, 2)
    else:
        layer, x = kp.PositionalEncoding2D(CHANNELS), IMAGE
    assert_close(layer(to_tensor(x), positions=positions), expected)


@pytest.mark.parametrize("policy", ["mixed_bfloat16", "mixed_float16"])
def test_positions_are_never_rounded_to_a_half_type(policy: str):
    layer = kp.Summer(kp.PositionalEncoding1D(CHANNELS, dtype=policy), dtype=policy)
    positions = np.array([1001, 1002, 1003, 5, 6, 7])
    dtype = policy.removeprefix("mixed_")
    for given in (positions, to_tensor(positions, "float32")):
        assert_close(
            layer(to_tensor(X), positions=given), TABLE[positions], ROUNDING[dtype]
        )


def test_offset_and_scale_apply_and_a_range_leaves_scale_alone():
    x, positions = to_tensor(X), np.arange(LENGTH)
    layer = kp.PositionalEncoding1D(CHANNELS, offset=2.0, scale=3.0)
    assert_close(layer(x, positions=positions), TABLE[3 * (positions + 2)])
    layer = kp.PositionalEncoding1D(
        CHANNELS, offset=2.0, scale=3.0, coordinate_range=(0, 1)
    )
    assert_close(layer(x, positions=positions), TABLE[3 * positions])


def test_a_saved_model_takes_positions_as_an_input(tmp_path: Any):
    inputs, positions = (
        keras.Input((None, CHANNELS)),
        keras.Input((None,), dtype="int32"),
    )
    outputs = kp.Summer(kp.PositionalEncoding1D(CHANNELS))(inputs, positions=positions)
    model = keras.Model([inputs, positions], outputs)
    model.save(tmp_path / "model.keras")
    loaded = keras.models.load_model(tmp_path / "model.keras")
    given = FEW_POSITIONS["of-each-element"].astype("int32")
    for either in (model, loaded):
        assert_close(either.predict([X, given], verbose=0), TABLE[given])


def test_a_saved_model_keeps_its_start(tmp_path: Any):
    inputs = keras.Input((None, CHANNELS))
    outputs = kp.PositionalEncoding1D(CHANNELS)(inputs, start_index=5)
    model = keras.Model(inputs, outputs)
    model.save(tmp_path / "model.keras")
    loaded = keras.models.load_model(tmp_path / "model.keras")
    assert_close(loaded.predict(X, verbose=0), TABLE[5 : 5 + LENGTH])


# Tokens of a grid.


def tokens_of(grid: list[int], prefix: int) -> np.ndarray:
    flat = reference.encode_2d(*grid, CHANNELS).reshape(-1, CHANNELS)
    return np.concatenate([np.zeros((prefix, CHANNELS)), flat])


@pytest.mark.parametrize("prefix", [0, 2])
@pytest.mark.parametrize("summed", [False, True])
@pytest.mark.parametrize("channels_first", [False, True])
def test_grid_tokens_of_either_format_are_encoded_in_every_way(
    channels_first: bool, summed: bool, prefix: int
):
    layer = kp.PositionalEncoding2D(
        CHANNELS,
        grid=[3, 4],
        prefix_tokens=prefix,
        data_format="channels_first" if channels_first else "channels_last",
    )
    layer = kp.Summer(layer) if summed else layer
    x, expected = (
        np.zeros((2, prefix + 12, CHANNELS), "float32"),
        tokens_of([3, 4], prefix),
    )
    if channels_first:
        x, expected = x.transpose(0, 2, 1), expected.T
    for _ in range(2):  # the second from what was kept
        assert_close(layer(to_tensor(x)), expected)
    model = keras.Sequential([keras.Input(x.shape[1:]), layer])
    assert_close(model.predict(x, verbose=0), expected)
    clone = type(layer).from_config(layer.get_config())
    assert clone.get_config() == layer.get_config()
    assert_close(clone(to_tensor(x)), expected)


def test_two_grids_of_as_many_tokens_are_told_apart():
    x = to_tensor(np.zeros((1, 12, CHANNELS), "float32"))
    for grid in ([3, 4], [2, 6]):
        assert_close(
            kp.PositionalEncoding2D(CHANNELS, grid=grid)(x), tokens_of(grid, 0)
        )


# Values.

VALUES = {
    "scalar": (1, np.array(3.5)),
    "vector": (1, np.array([0.0, 1.0, -2.5, 999.0])),
    "integers": (1, np.array([[0, 1], [65_536, -7]])),
    "timestamps": (1, TIMESTAMPS[:6]),
    "points": (2, np.array([[[0.25, 3.0], [-1.5, 40.0]]])),
}


@pytest.mark.parametrize("name", VALUES)
def test_values_are_encoded(name: str):
    rank, values = VALUES[name]
    layer = kp.CoordinateEncoding(CHANNELS, rank)
    coordinates = values[..., None] if rank == 1 else values
    expected = reference.exact(coordinates, CHANNELS)
    atol = COUNTING + abs(values).max() * 2.0**-52
    assert_close(layer(values), expected, atol)
    if name != "timestamps":  # float32 has none of their digits
        assert_close(layer(to_tensor(values, "float32")), expected, atol)
    assert layer.compute_output_shape(values.shape) == expected.shape


def test_a_saved_model_encodes_values(tmp_path: Any):
    inputs = keras.Input((), dtype="int32")
    model = keras.Model(inputs, kp.CoordinateEncoding(CHANNELS, name="steps")(inputs))
    model.save(tmp_path / "model.keras")
    loaded = keras.models.load_model(tmp_path / "model.keras")
    steps = np.array([0, 1, 1000], "int32")
    assert_close(loaded.predict(steps, verbose=0), reference.exact_1d(steps, CHANNELS))


def test_values_without_a_coordinate_for_each_axis_are_refused():
    with pytest.raises(ValueError, match=r"`inputs` must have shape \(\.\.\., 2\)"):
        kp.CoordinateEncoding(CHANNELS, 2)(np.zeros((3, 5)))


# Masks.

MASK = np.array([[1, 1, 1, 0, 0], [0, 0, 1, 1, 1]], bool)


def test_two_rows_are_counted_as_fairseq_does():
    # `make_positions` with padding_idx=1 counts real tokens from 2.
    found = kp.positions_from_mask(MASK, start=2, masked=1)
    assert to_numpy(found).tolist() == [[2, 3, 4, 1, 1], [1, 1, 2, 3, 4]]


def test_padding_on_either_side_keeps_the_running_count():
    found = kp.positions_from_mask(MASK)
    assert to_numpy(found).tolist() == [[0, 1, 2, 2, 2], [-1, -1, 0, 1, 2]]


def test_two_planes_are_counted_as_detr_does():
    """2 pi (i + 1) / (n + 1e-6), with n the real places of each sample."""
    mask = np.zeros((2, 4, 5), bool)
    mask[0], mask[1, :3, :2] = True, True
    found = to_numpy(
        kp.positions_from_mask(mask, 2, start=1, normalize=(0, 2 * math.pi), eps=1e-6)
    )
    for sample, (height, width) in enumerate([(4, 5), (3, 2)]):
        rows, columns = np.meshgrid(
            2 * math.pi * np.arange(1, height + 1) / (height + 1e-6),
            2 * math.pi * np.arange(1, width + 1) / (width + 1e-6),
            indexing="ij",
        )
        real = found[sample, :height, :width]
        # Three roundings of numbers below 8 in float32.
        np.testing.assert_allclose(real[..., 0], rows, rtol=0, atol=3 * 2.0**-22)
        np.testing.assert_allclose(real[..., 1], columns, rtol=0, atol=3 * 2.0**-22)


def test_a_batch_padded_on_the_left_gets_the_encoding_of_its_real_tokens():
    x = to_tensor(np.zeros((2, 5, CHANNELS), "float32"))
    positions = kp.positions_from_mask(MASK)
    outputs = to_numpy(kp.PositionalEncoding1D(CHANNELS)(x, positions=positions))
    assert_close(outputs[0, :3], TABLE[:3])
    assert_close(outputs[1, 2:], TABLE[:3])
