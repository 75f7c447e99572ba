"""`positions`: a place for each element, in any order."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import keras
import ml_dtypes
import numpy as np
import pytest
from keras import ops

import keras_posenc as kp
from helpers import reference
from helpers.hard_positions import TIMESTAMPS
from helpers.position_cases import (
    BATCH,
    CHANNELS,
    GIVEN,
    IMAGE,
    LENGTH,
    NAMED,
    OF_PLANES,
    PLANE,
    PLANE_SIZES,
    PLANE_TABLE,
    PLANES,
    REVERSED,
    SEQUENCES,
    TABLE,
    Sequence,
    X,
    as_tensor,
    each_sequence,
    encoding_at,
    grid_positions,
)
from helpers.tensors import dtype_of, to_numpy, to_tensor, zeros
from helpers.tolerances import COUNTING, ROUNDING, assert_close

KINDS = {
    "array": lambda values: values,
    "list": lambda values: values.tolist(),
    "tensor": lambda values: as_tensor(values),
    "variable": lambda values: keras.Variable(
        values.astype("float32"), trainable=False
    ),
}


@pytest.mark.parametrize(
    ("case", "given", "kind"),
    [(NAMED["sum-of-1d"], given, kind) for given in GIVEN for kind in KINDS]
    + [
        (case, given, kind)
        for case in SEQUENCES
        if case.name != "sum-of-1d"
        for given in ("integer", "real-for-each")
        for kind in ("array", "tensor")
    ],
    ids=lambda value: value if isinstance(value, str) else value.name,
)
def test_positions_may_come_in_every_form(case: Sequence, given: str, kind: str):
    values = GIVEN[given]
    layer, x = case.make(), case.inputs()
    # The first call builds the layer, by another way through Keras.
    for _ in range(2):
        outputs = layer(x, positions=KINDS[kind](values))
        assert tuple(outputs.shape) == tuple(x.shape)
        assert_close(case.encoding(outputs), encoding_at(values))


DTYPES = ["int8", "uint8", "int16", "int32", "float16", "bfloat16", "float32"]


@pytest.mark.parametrize("kind", ["array", "tensor"])
@pytest.mark.parametrize("dtype", DTYPES)
def test_positions_may_have_every_dtype(dtype: str, kind: str):
    values = np.array([0, 1, 2, 3, 100, 127])  # all of them have these
    typed = values.astype(ml_dtypes.bfloat16 if dtype == "bfloat16" else dtype)
    given = typed if kind == "array" else to_tensor(values, dtype)
    layer = kp.PositionalEncoding1D(CHANNELS)
    outputs = layer(zeros(BATCH, LENGTH, CHANNELS), positions=given)
    assert dtype_of(outputs) == "float32"
    assert_close(outputs, encoding_at(values))


def test_counted_positions_are_those_given():
    layer, x = kp.PositionalEncoding1D(CHANNELS), zeros(BATCH, LENGTH, CHANNELS)
    outputs = layer(x, positions=np.arange(LENGTH))
    atol = COUNTING + ROUNDING["float32"]  # one of the two is a table
    assert_close(outputs, to_numpy(layer(x)), atol)


def test_a_sum_adds_the_encoding_of_given_positions():
    x = np.random.default_rng(0).normal(size=(BATCH, LENGTH, CHANNELS))
    x = x.astype("float32")
    layer = kp.Summer(kp.PositionalEncoding1D(CHANNELS))
    outputs = layer(x, positions=GIVEN["for-each"])
    # Rounding a sum below 8 to float32 comes on top.
    assert_close(outputs, x + encoding_at(GIVEN["for-each"]), COUNTING + 2.0**-22)


# Timestamps. A frequency of float64 is off by 2^-53 of itself, its product with a
# position likewise.

STAMPS = TIMESTAMPS[: BATCH * LENGTH].reshape(BATCH, LENGTH)
STAMP_ERROR = COUNTING + 2.0**-52 * STAMPS.max()


@pytest.mark.parametrize("given", ["array", "list"])
@pytest.mark.parametrize("batched", [False, True], ids=["for-all", "for-each"])
@each_sequence
def test_timestamps_keep_their_fractions(case: Sequence, batched: bool, given: str):
    stamps = STAMPS if batched else STAMPS[0]
    layer = case.make()
    # In the first call, too, where Keras would make tensors of float32 of them.
    for _ in range(2):
        outputs = layer(case.inputs(), positions=KINDS[given](stamps))
        assert_close(case.encoding(outputs), encoding_at(stamps), STAMP_ERROR)


def test_timestamps_would_be_blurred_in_float32():
    rounded = STAMPS.astype("float32").astype("float64")
    assert np.abs(encoding_at(rounded) - encoding_at(STAMPS)).max() > 1


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_timestamps_are_not_rounded_to_half_precision(dtype: str):
    layer = NAMED["sum-of-1d"].make(dtype=f"mixed_{dtype}")
    for _ in range(2):
        outputs = layer(zeros(BATCH, LENGTH, CHANNELS), positions=STAMPS)
        assert_close(outputs, encoding_at(STAMPS), STAMP_ERROR + ROUNDING[dtype])


# Half precision. 1001 is no number of bfloat16: it would become 1000.

ODD = np.array([1001, 1003, 2049, 5, 77, 4097])


@pytest.mark.parametrize(
    ("case", "policy"),
    [(case, "mixed_bfloat16") for case in SEQUENCES]
    + [(NAMED["1d"], "mixed_float16"), (NAMED["sum-of-1d"], "bfloat16")],
    ids=lambda value: value if isinstance(value, str) else value.name,
)
@pytest.mark.parametrize("kind", ["array", "list", "tensor", "real-tensor"])
def test_positions_are_not_rounded(
    case: Sequence, policy: str, kind: str, global_policy: Any
):
    global_policy(policy)
    given = to_tensor(ODD, "float32") if kind == "real-tensor" else KINDS[kind](ODD)
    layer, x, dtype = case.make(), case.inputs(), policy.removeprefix("mixed_")
    for _ in range(2):
        outputs = layer(x, positions=given)
        assert dtype_of(outputs) == dtype
        assert_close(case.encoding(outputs), encoding_at(ODD), ROUNDING[dtype])


@pytest.mark.parametrize("name", ["1d", "sum-of-1d", "sum-of-sum-of-1d", "sinusoid"])
def test_positions_are_not_rounded_on_their_way_through_a_model(
    name: str, global_policy: Any
):
    global_policy("mixed_bfloat16")
    inputs, positions = keras.Input((None, CHANNELS)), keras.Input((None,))
    layer = NAMED[name].make()
    model = keras.Model([inputs, positions], layer(inputs, positions=positions))
    x, given = np.zeros((BATCH, LENGTH, CHANNELS)), np.stack([ODD] * BATCH)
    outputs = model([x.astype("float32"), given.astype("float32")])
    assert_close(outputs, encoding_at(ODD), ROUNDING["bfloat16"])


# Several axes.


@pytest.mark.parametrize("kind", ["array", "tensor"])
@pytest.mark.parametrize("given", PLANES)
@pytest.mark.parametrize("name", OF_PLANES)
def test_positions_of_a_plane_are_encoded(name: str, given: str, kind: str):
    make, first = OF_PLANES[name]
    x = zeros(2, CHANNELS, *PLANE_SIZES) if first else zeros(2, *PLANE_SIZES, CHANNELS)
    outputs = to_numpy(make()(x, positions=KINDS[kind](PLANES[given])))
    outputs = np.moveaxis(outputs, 1, -1) if first else outputs
    assert_close(outputs, reference.exact(PLANES[given], CHANNELS))


@pytest.mark.parametrize("rank", [3, 4])
def test_positions_on_more_axes_are_encoded(rank: int):
    sizes = (2, 3, 2, 1)[:rank]
    positions = grid_positions(*sizes) * 11.5 - 3
    outputs = kp.PositionalEncoding(rank, 24)(zeros(2, *sizes, 24), positions=positions)
    assert_close(outputs, reference.exact(positions, 24))


@pytest.mark.parametrize("rank", [1, 2, 3])
def test_permute_is_the_transpose(rank: int):
    sizes = (6, 2, 3)[:rank]
    positions = np.random.default_rng(0).uniform(-99, 99, (2, *sizes, rank))
    positions = positions[..., 0] if rank == 1 else positions
    last = getattr(kp, f"PositionalEncoding{rank}D")(12)
    first = getattr(kp, f"PositionalEncodingPermute{rank}D")(12)
    expected = last(zeros(2, *sizes, 12), positions=positions)
    found = first(zeros(2, 12, *sizes), positions=positions)
    np.testing.assert_array_equal(
        to_numpy(found), np.moveaxis(to_numpy(expected), -1, 1)
    )


# Offset, scale and range.

# Powers of two, by which nothing is rounded.
ALONG = {
    "offset": ({"offset": 0.5}, lambda positions: positions + 0.5),
    "scale": ({"scale": 0.25}, lambda positions: 0.25 * positions),
    "both": ({"offset": -8, "scale": 4}, lambda positions: 4 * (positions - 8)),
    "range": (
        {"coordinate_range": (0, 1), "offset": 0.5, "scale": 2},
        lambda positions: 2 * positions,
    ),
    "range-of-corners": (
        {"coordinate_range": (-1, 1), "align_corners": True},
        lambda positions: positions,
    ),
    "of-each-axis": (
        {"offset": [1, 2], "scale": [2, -1]},
        lambda positions: (positions + np.array([1, 2])) * [2, -1],
    ),
}


@pytest.mark.parametrize("kind", ["array", "tensor"])
@pytest.mark.parametrize("name", ALONG)
def test_offset_and_scale_apply_and_a_range_leaves_positions_alone(
    name: str, kind: str
):
    options, coordinates = ALONG[name]
    positions = PLANES["real-for-each"]
    layer = kp.PositionalEncoding2D(CHANNELS, **options)
    outputs = layer(zeros(2, *PLANE_SIZES, CHANNELS), positions=KINDS[kind](positions))
    assert_close(outputs, reference.exact(coordinates(positions), CHANNELS))


# Models.


@pytest.mark.parametrize("dtype", ["int32", "float32"])
@each_sequence
def test_a_model_takes_positions_as_an_input(
    case: Sequence, dtype: str, tmp_path: Path
):
    shape = (CHANNELS, None) if case.channels_first else (None, CHANNELS)
    inputs, positions = keras.Input(shape), keras.Input((None,), dtype=dtype)
    outputs = case.make()(inputs, positions=positions)
    model = keras.Model([inputs, positions], outputs)
    assert model.output_shape == (None, *shape)
    model.save(tmp_path / "model.keras")
    loaded = keras.models.load_model(tmp_path / "model.keras")
    given = GIVEN["for-each"].astype(dtype)
    x = ops.convert_to_numpy(case.inputs())
    found = model.predict([x, given], verbose=0)
    assert_close(case.encoding(to_tensor(found)), encoding_at(given))
    np.testing.assert_array_equal(loaded.predict([x, given], verbose=0), found)


def test_a_model_takes_positions_of_a_plane_as_an_input(tmp_path: Path):
    inputs = keras.Input((None, None, CHANNELS))
    positions = keras.Input((None, None, 2))
    layer = kp.Summer(kp.PositionalEncoding2D(CHANNELS))
    model = keras.Model([inputs, positions], layer(inputs, positions=positions))
    model.save(tmp_path / "model.keras")
    loaded = keras.models.load_model(tmp_path / "model.keras")
    given = PLANES["real-for-each"].astype("float32")
    x = np.zeros((2, *PLANE_SIZES, CHANNELS), "float32")
    outputs = loaded.predict([x, given], verbose=0)
    assert_close(outputs, reference.exact(given, CHANNELS))


@pytest.mark.parametrize("kind", ["array", "list", "tensor"])
def test_a_model_keeps_its_positions_when_saved_and_cloned(kind: str, tmp_path: Path):
    inputs = keras.Input((LENGTH, CHANNELS))
    layer = kp.PositionalEncoding1D(CHANNELS)
    model = keras.Model(inputs, layer(inputs, positions=KINDS[kind](REVERSED)))
    model.save(tmp_path / "model.keras")
    loaded = keras.models.load_model(tmp_path / "model.keras")
    clone = keras.models.clone_model(model)
    x = np.zeros((BATCH, LENGTH, CHANNELS), "float32")
    found = [to_numpy(each(x)) for each in (model, loaded, clone)]
    assert_close(np.stack(found), encoding_at(REVERSED))


# Beside a start of 0, and in every layer.


def test_the_start_0_beside_positions_is_accepted():
    layer = kp.PositionalEncoding1D(CHANNELS)
    x = zeros(BATCH, LENGTH, CHANNELS)
    assert_close(layer(x, start_index=0, positions=REVERSED), encoding_at(REVERSED))


@pytest.mark.parametrize("channels_first", [False, True])
@pytest.mark.parametrize("batched", [False, True])
def test_a_plane_of_either_format_is_encoded(batched: bool, channels_first: bool):
    positions = np.stack([PLANE, PLANE + 7]) if batched else PLANE
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
    given = np.stack([REVERSED, REVERSED + 1, REVERSED + 900]).astype("int32")
    for either in (model, loaded):
        assert_close(either.predict([X, given], verbose=0), TABLE[given])
