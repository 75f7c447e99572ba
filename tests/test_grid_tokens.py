"""`grid` and `prefix_tokens`: flat tokens, as vision transformers have them."""

from __future__ import annotations

import copy
import json
import math
from pathlib import Path
from typing import Any

import keras
import numpy as np
import pytest

import keras_posenc as kp
from helpers import reference
from helpers.internals import RECORD_BYTES, cached_bytes
from helpers.run_modes import (
    BACKEND,
    KNOWN,
    UNKNOWN,
    with_known_sizes,
    with_unknown_sizes,
)
from helpers.tensors import dtype_of, scalar, to_numpy, to_tensor, zeros
from helpers.tolerances import COUNTING, ROUNDING, SUM_ROUNDING, assert_close

CHANNELS = 12
GRIDS = {
    "sequence": ((12,), 2),
    "plane": ((3, 4), 2),
    "plane-alone": ((3, 4), 0),
    "video": ((2, 3, 2), 2),
    "four-axes": ((2, 3, 2, 1), 1),
}
over_grids = pytest.mark.parametrize("name", GRIDS)


def tokens(name: str, **kwargs: Any) -> kp.PositionalEncoding:
    grid, prefix = GRIDS[name]
    return kp.PositionalEncoding(
        len(grid),
        24 if len(grid) > 3 else CHANNELS,
        grid=grid,
        prefix_tokens=prefix,
        **kwargs,
    )


def encoding(name: str) -> np.ndarray:
    """Zeros, then the encoding of the grid, row by row."""
    grid, prefix = GRIDS[name]
    channels = 24 if len(grid) > 3 else CHANNELS
    points = np.stack(np.meshgrid(*map(np.arange, grid), indexing="ij"), axis=-1)
    flat = reference.exact(points, channels).reshape(-1, channels)
    return np.concatenate([np.zeros((prefix, channels)), flat])


def inputs(name: str, batch: int = 2) -> np.ndarray:
    shape = (batch, *encoding(name).shape)
    return np.random.default_rng(0).normal(size=shape).astype("float32")


@over_grids
def test_grid_tokens_get_zeros_and_the_encoding_of_the_grid(name: str):
    layer, x = tokens(name), to_tensor(inputs(name))
    # The second call has what the first one kept.
    for _ in range(2):
        outputs = layer(x)
        assert tuple(outputs.shape) == tuple(x.shape)
        assert_close(outputs, encoding(name), ROUNDING["float32"])


@over_grids
def test_the_prefix_is_zeros(name: str):
    outputs = to_numpy(tokens(name)(inputs(name)))
    assert np.abs(outputs[:, : GRIDS[name][1]]).max(initial=0) == 0


@over_grids
def test_the_rest_is_the_encoding_of_the_grid(name: str):
    grid, prefix = GRIDS[name]
    layer = tokens(name)
    whole = kp.PositionalEncoding(len(grid), layer.channels)
    expected = to_numpy(whole(zeros(2, *grid, layer.channels)))
    found = to_numpy(layer(inputs(name)))[:, prefix:]
    np.testing.assert_array_equal(found, expected.reshape(found.shape))


@pytest.mark.parametrize("channels_first", [False, True])
@over_grids
def test_a_sum_adds_the_encoding_of_grid_tokens(name: str, channels_first: bool):
    data_format = "channels_first" if channels_first else "channels_last"
    layer = kp.Summer(tokens(name, data_format=data_format))
    x = inputs(name)
    given = np.swapaxes(x, 1, 2) if channels_first else x
    for _ in range(2):
        outputs = to_numpy(layer(to_tensor(given)))
        outputs = np.swapaxes(outputs, 1, 2) if channels_first else outputs
        assert_close(outputs, x + encoding(name), SUM_ROUNDING)


@over_grids
def test_channels_first_is_the_transpose(name: str):
    x = inputs(name)
    first = tokens(name, data_format="channels_first")
    np.testing.assert_array_equal(
        to_numpy(first(np.swapaxes(x, 1, 2))),
        np.swapaxes(to_numpy(tokens(name)(x)), 1, 2),
    )


def test_a_permute_layer_encodes_grid_tokens():
    layer = kp.PositionalEncodingPermute2D(CHANNELS, grid=(3, 4), prefix_tokens=2)
    outputs = to_numpy(layer(np.swapaxes(inputs("plane"), 1, 2)))
    expected = encoding("plane").T
    assert_close(outputs, expected, ROUNDING["float32"])


def test_options_apply_to_grid_tokens():
    options = {"layout": "concatenated", "axis_order": [1, 0], "offset": 0.5}
    layer = tokens("plane", **options)
    table = kp.sinusoidal_table((3, 4), CHANNELS, **options).reshape(12, CHANNELS)
    found = to_numpy(layer(inputs("plane")))
    assert_close(found[:, 2:], table, ROUNDING["float32"])


def test_a_range_spreads_over_the_grid():
    layer = tokens("plane", coordinate_range=(0, 1))
    points = np.stack(np.meshgrid(np.arange(3), np.arange(4), indexing="ij"), axis=-1)
    expected = reference.exact(points / [3, 4], CHANNELS).reshape(12, CHANNELS)
    found = to_numpy(layer(inputs("plane")))
    assert_close(found[:, 2:], expected, ROUNDING["float32"])


# What is kept for one is not found by another.


# All of them fourteen tokens.
ALIKE = [((2, 6), 2), ((3, 4), 2), ((6, 2), 2), ((4, 3), 2), ((2, 7), 0), ((13, 1), 1)]


in_an_empty_cache = pytest.mark.usefixtures("empty_cache")


@in_an_empty_cache
@pytest.mark.parametrize("summed", [False, True])
@pytest.mark.parametrize("second", ALIKE[1:], ids=str)
def test_grids_of_as_many_tokens_get_their_own_tables(
    second: tuple[tuple[int, ...], int], summed: bool
):
    def outputs_of(grid: tuple[int, ...], prefix: int) -> np.ndarray:
        layer = kp.PositionalEncoding2D(CHANNELS, grid=grid, prefix_tokens=prefix)
        # Both have to live at the same time to find what is kept for the other.
        alive.append(layer)
        layer = kp.Summer(layer) if summed else layer
        return to_numpy(layer(zeros(2, 14, CHANNELS)))

    alive: list[Any] = []
    found = [outputs_of(*each) for each in (ALIKE[0], second, ALIKE[0])]
    expected = [table_of(*each) for each in (ALIKE[0], second, ALIKE[0])]
    assert_close(np.stack(found), np.stack(expected)[:, None], ROUNDING["float32"])


def table_of(grid: tuple[int, ...], prefix: int) -> np.ndarray:
    flat = kp.sinusoidal_table(grid, CHANNELS).reshape(-1, CHANNELS)
    return np.concatenate([np.zeros((prefix, CHANNELS)), flat])


@in_an_empty_cache
def test_a_sequence_and_a_grid_get_their_own_tables():
    of_tokens = kp.PositionalEncoding1D(CHANNELS, grid=(12,), prefix_tokens=2)
    of_places = kp.PositionalEncoding1D(CHANNELS)
    x = zeros(2, 14, CHANNELS)
    for _ in range(2):
        assert_close(of_places(x), table_of((14,), 0), ROUNDING["float32"])
        assert_close(of_tokens(x), table_of((12,), 2), ROUNDING["float32"])


@in_an_empty_cache
def test_one_table_of_the_grid_is_cached():
    tokens("plane")(inputs("plane"))
    # One table of the grid, its zeros, and a record.
    assert cached_bytes() <= 14 * CHANNELS * 4 + RECORD_BYTES


# Graphs.


@pytest.mark.parametrize("mode", KNOWN)
@over_grids
def test_a_graph_encodes_grid_tokens(name: str, mode: str):
    layer, x = kp.Summer(tokens(name)), inputs(name)
    layer(x)
    outputs = with_known_sizes(layer, mode)(to_tensor(x))
    assert_close(outputs, x + encoding(name), COUNTING + SUM_ROUNDING)


# Of a sum jax.export must know that as many are added as there are.
OPEN = {
    "encoding": (lambda name: tokens(name), (None, None)),
    "sum": (lambda name: kp.Summer(tokens(name)), (None, None)),
    "sum-of-known-length": (lambda name: kp.Summer(tokens(name)), (None, 14)),
}


@pytest.mark.parametrize("mode", UNKNOWN)
@pytest.mark.parametrize(
    ("name", "kind"),
    [("plane", kind) for kind in OPEN if (kind, BACKEND) != ("sum", "jax")]
    + [("video", "encoding")],
)
def test_a_graph_that_knows_no_sizes_encodes_grid_tokens(
    name: str, kind: str, mode: str
):
    make, sizes = OPEN[kind]
    layer, x = make(name), inputs(name)
    layer(x)
    function = with_unknown_sizes(layer, mode, (*sizes, CHANNELS))
    expected = encoding(name) + (0 if kind == "encoding" else x)
    assert_close(function(to_tensor(x)), expected, COUNTING + SUM_ROUNDING)


if BACKEND == "jax":

    def test_jax_export_asks_how_many_are_added():
        layer = kp.Summer(tokens("plane"))
        layer(inputs("plane"))
        with pytest.raises(TypeError, match="incompatible shapes"):
            with_unknown_sizes(layer, "export", (None, None, CHANNELS))


# Models.


@pytest.mark.parametrize("length", [14, None])
@pytest.mark.parametrize("summed", [False, True])
def test_a_model_of_grid_tokens_is_saved_and_cloned(
    summed: bool, length: int | None, tmp_path: Path
):
    symbolic = keras.Input((length, CHANNELS))
    layer = kp.Summer(tokens("plane")) if summed else tokens("plane")
    model = keras.Model(symbolic, layer(symbolic))
    assert model.output_shape == (None, length, CHANNELS)
    x = inputs("plane")
    outputs = model.predict(x, verbose=0)
    expected = encoding("plane") + (x if summed else 0)
    assert_close(outputs.astype("float64"), expected, COUNTING + SUM_ROUNDING)
    model.save(tmp_path / "model.keras")
    loaded = keras.models.load_model(tmp_path / "model.keras")
    clone = keras.models.clone_model(model)
    np.testing.assert_array_equal(loaded.predict(x, verbose=0), outputs)
    np.testing.assert_array_equal(clone.predict(x, verbose=0), outputs)


@pytest.mark.parametrize("policy", ["mixed_bfloat16", "mixed_float16", "bfloat16"])
@over_grids
def test_half_precision_rounds_the_encoding_once(name: str, policy: str):
    layer, dtype = tokens(name, dtype=policy), policy.removeprefix("mixed_")
    outputs = layer(inputs(name))
    assert dtype_of(outputs) == dtype
    assert_close(outputs, encoding(name), ROUNDING[dtype])


@in_an_empty_cache
def test_a_half_precision_layer_leaves_a_float32_layer_exact():
    half, single = tokens("plane", dtype="mixed_bfloat16"), tokens("plane")
    half(inputs("plane"))
    outputs = single(inputs("plane"))
    assert_close(outputs, encoding("plane"), ROUNDING["float32"])


# A start.


@pytest.mark.parametrize("kind", ["ints", "tensors"])
@pytest.mark.parametrize("summed", [False, True])
def test_a_grid_that_starts_elsewhere(summed: bool, kind: str):
    layer = kp.Summer(tokens("plane")) if summed else tokens("plane")
    start = (10, -20) if kind == "ints" else (scalar(10), scalar(-20))
    points = np.stack(np.meshgrid(np.arange(3), np.arange(4), indexing="ij"), axis=-1)
    expected = reference.exact(points + np.array([10, -20]), CHANNELS).reshape(
        12, CHANNELS
    )
    outputs = to_numpy(layer(zeros(2, 14, CHANNELS), start_index=start))
    assert np.abs(outputs[:, :2]).max() == 0
    assert_close(outputs[:, 2:], expected)


def test_a_sequence_of_tokens_that_starts_elsewhere_for_each():
    layer = tokens("sequence")
    outputs = to_numpy(layer(zeros(2, 14, CHANNELS), start_index=[5, -7]))
    expected = reference.exact_1d(np.array([[5], [-7]]) + np.arange(12), CHANNELS)
    assert np.abs(outputs[:, :2]).max() == 0
    assert_close(outputs[:, 2:], expected)


# Config.


@pytest.mark.parametrize("built", [False, True], ids=["before-build", "after-build"])
@over_grids
def test_the_config_has_grid_and_prefix(name: str, built: bool):
    layer, x = tokens(name), inputs(name)
    if built:
        layer(x)
    grid, prefix = GRIDS[name]
    config = layer.get_config()
    assert config["grid"] == list(grid)
    assert config.get("prefix_tokens", 0) == prefix
    before = copy.deepcopy(config)
    again = type(layer).from_config(config)
    assert config == before == again.get_config() == json.loads(json.dumps(config))
    np.testing.assert_array_equal(to_numpy(again(x)), to_numpy(layer(x)))


def test_a_config_says_that_there_is_no_grid():
    config = kp.PositionalEncoding2D(CHANNELS).get_config()
    assert (config["grid"], config["prefix_tokens"]) == (None, 0)


GRID_FORMS = {
    "list": [3, 4],
    "NumPy-ints": (np.int64(3), np.int32(4)),
    "array": np.array([3, 4]),
}


@pytest.mark.parametrize("form", GRID_FORMS)
def test_numbers_of_any_kind_are_kept_as_plain_ones(form: str):
    layer = kp.PositionalEncoding2D(
        CHANNELS, grid=GRID_FORMS[form], prefix_tokens=np.int64(2)
    )
    assert (layer.grid, layer.prefix_tokens) == ((3, 4), 2)
    config = json.loads(json.dumps(layer.get_config()))
    assert (config["grid"], config["prefix_tokens"]) == ([3, 4], 2)


# What does not fit.

BAD: dict[str, tuple[dict[str, Any], type[Exception], str]] = {
    "one-size": ({"grid": [12]}, ValueError, "`grid` must be a list of positive sizes"),
    "three-sizes": (
        {"grid": [1, 3, 4]},
        ValueError,
        "`grid` must be a list of positive",
    ),
    "no-sizes": ({"grid": []}, ValueError, "`grid` must be a list of positive sizes"),
    "zero": ({"grid": [0, 4]}, ValueError, "`grid` must be a list of positive sizes"),
    "negative": (
        {"grid": [-3, 4]},
        ValueError,
        "`grid` must be a list of positive sizes",
    ),
    "int": ({"grid": 12}, TypeError, "`grid` must be a list of positive sizes"),
    "str": ({"grid": "34"}, TypeError, "`grid` must be a list of positive sizes"),
    "real": ({"grid": [3.0, 4]}, TypeError, "`grid` must be a list of positive sizes"),
    "bool": ({"grid": [True, 4]}, TypeError, "`grid` must be a list of positive sizes"),
    "unknown-twice": ({"grid": [None] * 2}, ValueError, "`grid` must be a list of"),
    "prefix-of-less-than-none": (
        {"grid": [3, 4], "prefix_tokens": -1},
        ValueError,
        "`prefix_tokens` must be an integer, not negative",
    ),
    "prefix-of-a-half": (
        {"grid": [3, 4], "prefix_tokens": 0.5},
        TypeError,
        "`prefix_tokens` must be an integer, not negative",
    ),
    "prefix-of-bool": (
        {"grid": [3, 4], "prefix_tokens": True},
        TypeError,
        "`prefix_tokens` must be an integer, not negative",
    ),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_grids_and_prefixes_are_refused(name: str):
    arguments, error, message = BAD[name]
    with pytest.raises(error, match=message):
        kp.PositionalEncoding2D(CHANNELS, **arguments)


@pytest.mark.parametrize("built", [False, True], ids=["first-call", "later-call"])
@pytest.mark.parametrize("length", [0, 1, 12, 13, 15])
@pytest.mark.parametrize("summed", [False, True])
def test_a_wrong_number_of_tokens_is_refused(summed: bool, length: int, built: bool):
    layer = kp.Summer(tokens("plane")) if summed else tokens("plane")
    if built:
        layer(inputs("plane"))
    message = rf"expects 14 tokens, found {length}: .*grid=\(3, 4\)"
    with pytest.raises(ValueError, match=message):
        layer(zeros(2, length, CHANNELS))
    with pytest.raises(ValueError, match=message):
        layer(keras.Input((length, CHANNELS)))


@pytest.mark.parametrize("summed", [False, True])
def test_an_input_that_is_a_grid_already_is_refused(summed: bool):
    layer = kp.Summer(tokens("plane")) if summed else tokens("plane")
    with pytest.raises(
        ValueError, match=r"inputs of shape \(batch, tokens, channels\)"
    ):
        layer(zeros(2, 3, 4, CHANNELS))


def test_positions_of_prefix_tokens_too_are_refused():
    with pytest.raises(ValueError, match=r"`positions` must have shape \(12, 2\)"):
        tokens("plane")(inputs("plane"), positions=np.zeros((14, 2)))


def test_one_int_as_the_start_of_a_grid_is_refused():
    with pytest.raises(ValueError, match="one integer for each of the 2 axes"):
        tokens("plane")(inputs("plane"), start_index=3)


def test_a_grid_larger_than_one_table_is_exact():
    """Of more numbers than are kept in one table in a graph."""
    grid = (60, 80)
    layer = kp.PositionalEncoding2D(128, grid=grid, prefix_tokens=1)
    outputs = to_numpy(layer(zeros(1, 1 + math.prod(grid), 128)))
    found = outputs[0, 1:].reshape(*grid, 128)
    assert reference.grid_error(found) <= ROUNDING["float32"]


# In both formats, alone and in a sum.


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
