"""`positions_from_mask`, against what fairseq and DETR count in NumPy."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import keras
import numpy as np
import pytest
from keras import ops

import keras_posenc as kp
from helpers import reference
from helpers.position_cases import CHANNELS, TABLE
from helpers.run_modes import KNOWN, UNKNOWN, with_known_sizes, with_unknown_sizes
from helpers.tensors import dtype_of, to_numpy, to_tensor, zeros
from helpers.tolerances import COUNTING, assert_close

RIGHT = [True, True, True, False, False]
LEFT = [False, False, True, True, True]
HOLES = [True, False, True, False, True]
NONE, ALL = [False] * 5, [True] * 5
MASKS = np.array([RIGHT, LEFT, HOLES, NONE, ALL])


def make_positions(tokens: np.ndarray, padding_idx: int) -> np.ndarray:
    """`make_positions` of fairseq, in NumPy: utils.py, arXiv:1904.01038."""
    mask = (tokens != padding_idx).astype("int64")
    return np.cumsum(mask, axis=1) * mask + padding_idx


# One axis.


def test_a_mask_counts_as_fairseq_does_by_hand():
    found = kp.positions_from_mask(np.array([RIGHT, LEFT]), start=2, masked=1)
    assert to_numpy(found).tolist() == [[2, 3, 4, 1, 1], [1, 1, 2, 3, 4]]


@pytest.mark.parametrize("padding_idx", [0, 1, 7])
def test_a_mask_counts_as_fairseq_does(padding_idx: int):
    tokens = np.where(MASKS, 55, padding_idx)
    found = kp.positions_from_mask(
        tokens != padding_idx, start=padding_idx + 1, masked=padding_idx
    )
    expected = make_positions(tokens, padding_idx)
    np.testing.assert_array_equal(to_numpy(found), expected)


@pytest.mark.parametrize("start", [0, 2, -3])
def test_padding_keeps_the_running_count(start: int):
    found = to_numpy(kp.positions_from_mask(MASKS, start=start))
    expected = [
        [0, 1, 2, 2, 2],
        [-1, -1, 0, 1, 2],
        [0, 0, 1, 1, 2],
        [-1, -1, -1, -1, -1],
        [0, 1, 2, 3, 4],
    ]
    np.testing.assert_array_equal(found, np.array(expected) + start)


KINDS = {
    "bool-array": lambda mask: mask,
    "int-array": lambda mask: mask.astype("int64"),
    "list": lambda mask: mask.tolist(),
    "bool-tensor": lambda mask: to_tensor(mask),
    "int-tensor": lambda mask: to_tensor(mask.astype("int32")),
    "float-tensor": lambda mask: to_tensor(mask.astype("float32")),
}


@pytest.mark.parametrize("kind", KINDS)
def test_a_mask_may_be_of_any_kind(kind: str):
    found = kp.positions_from_mask(KINDS[kind](MASKS), masked=-1)
    assert ops.is_tensor(found)
    assert dtype_of(found) == "int32"
    expected = np.where(MASKS, np.cumsum(MASKS, axis=1) - 1, -1)
    np.testing.assert_array_equal(to_numpy(found), expected)


def test_normalized_sequence():
    found = kp.positions_from_mask(MASKS[[0, 1, 4]], start=1, normalize=(-1, 1))
    assert dtype_of(found) == "float32"
    count = np.cumsum(MASKS[[0, 1, 4]], axis=1)
    expected = -1 + 2 * count / count[:, -1:]
    # A quotient and a product of numbers up to 2, and their sum, in float32.
    assert_close(found, expected, 3 * 2.0**-24)


def test_normalized_padding_gets_what_is_asked_for():
    found = to_numpy(
        kp.positions_from_mask(MASKS[:2], start=1, normalize=(0, 1), masked=-5)
    )
    np.testing.assert_array_equal(found == -5, ~MASKS[:2])


# Several axes, as DETR has them.

HEIGHT, WIDTH = 4, 5
REAL = [(4, 5), (3, 2), (1, 5), (4, 1)]
IMAGES = np.zeros((len(REAL), HEIGHT, WIDTH), bool)
for sample, (height, width) in zip(IMAGES, REAL, strict=True):
    sample[:height, :width] = True
DETR = {"start": 1, "normalize": (0, 2 * math.pi), "eps": 1e-6}


def detr_embed(mask: np.ndarray) -> np.ndarray:
    """`PositionEmbeddingSine.forward` of DETR, up to `dim_t`, in NumPy."""
    not_mask = mask.astype("float64")
    y_embed, x_embed = not_mask.cumsum(axis=1), not_mask.cumsum(axis=2)
    y_embed = y_embed / (y_embed[:, -1:, :] + 1e-6) * 2 * math.pi
    x_embed = x_embed / (x_embed[:, :, -1:] + 1e-6) * 2 * math.pi
    return np.stack([y_embed, x_embed], axis=-1)


def detr_sines(embed: np.ndarray, num_pos_feats: int) -> np.ndarray:
    """What it makes of them: y first, then x; sine and cosine take turns."""
    dim_t = np.arange(num_pos_feats)
    dim_t = 10000.0 ** (2 * (dim_t // 2) / num_pos_feats)
    angles = embed[..., None] / dim_t
    pairs = [np.sin(angles[..., 0::2]), np.cos(angles[..., 1::2])]
    of_axes = np.stack(pairs, axis=-1).reshape(angles.shape)
    return np.concatenate([of_axes[..., 0, :], of_axes[..., 1, :]], axis=-1)


# Of numbers below 8 the quotient and the product, and n + 1e-6, are rounded to float32.
ANGLE_ERROR = 3 * 2.0**-22


@pytest.mark.parametrize("sample", range(len(REAL)))
def test_a_mask_counts_as_detr_does_by_hand(sample: int):
    """2 pi (i + 1) / (n + 1e-6), with n the sample's own count along the axis."""
    height, width = REAL[sample]
    found = to_numpy(kp.positions_from_mask(IMAGES, 2, **DETR))
    rows = 2 * math.pi * np.arange(1, height + 1) / (height + 1e-6)
    columns = 2 * math.pi * np.arange(1, width + 1) / (width + 1e-6)
    expected = np.stack(np.meshgrid(rows, columns, indexing="ij"), axis=-1)
    assert_close(found[sample, :height, :width], expected, ANGLE_ERROR)


def test_a_mask_counts_as_detr_does():
    found = kp.positions_from_mask(IMAGES, 2, **DETR)
    assert tuple(found.shape) == (len(REAL), HEIGHT, WIDTH, 2)
    # At padding too: 0 of 1e-6 where a row or column has no real place.
    assert_close(found, detr_embed(IMAGES), ANGLE_ERROR)


@pytest.mark.parametrize("channels_first", [False, True])
def test_the_encoding_of_detr(channels_first: bool):
    positions = kp.positions_from_mask(IMAGES, 2, **DETR)
    expected = detr_sines(detr_embed(IMAGES), CHANNELS // 2)
    if channels_first:
        layer = kp.PositionalEncodingPermute2D(CHANNELS)
        x = zeros(len(REAL), CHANNELS, HEIGHT, WIDTH)
        expected = np.moveaxis(expected, -1, 1)
    else:
        layer = kp.PositionalEncoding2D(CHANNELS)
        x = zeros(len(REAL), HEIGHT, WIDTH, CHANNELS)
    # A sine is off by no more than its angle.
    assert_close(layer(x, positions=positions), expected, ANGLE_ERROR + COUNTING)


def test_count_along_each_axis():
    found = to_numpy(kp.positions_from_mask(IMAGES[1:2], 2, masked=-1))[0]
    rows, columns = np.meshgrid(np.arange(4), np.arange(5), indexing="ij")
    np.testing.assert_array_equal(found[..., 0], np.where(IMAGES[1], rows, -1))
    np.testing.assert_array_equal(found[..., 1], np.where(IMAGES[1], columns, -1))


def test_three_axes_are_counted():
    mask = np.random.default_rng(0).random((2, 3, 4, 5)) < 0.5
    found = kp.positions_from_mask(mask, 3, start=7)
    expected = [np.cumsum(mask, axis=axis) + 6 for axis in (1, 2, 3)]
    np.testing.assert_array_equal(to_numpy(found), np.stack(expected, axis=-1))


# With the layers.


@pytest.mark.parametrize("name", ["1d", "sum-of-1d", "sinusoid"])
def test_a_padded_batch(name: str):
    layer = {
        "1d": lambda: kp.PositionalEncoding1D(CHANNELS),
        "sum-of-1d": lambda: kp.Summer(kp.PositionalEncoding1D(CHANNELS)),
        "sinusoid": lambda: kp.SinusoidEncoding(CHANNELS),
    }[name]()
    positions = kp.positions_from_mask(MASKS[:2])
    outputs = to_numpy(layer(zeros(2, 5, CHANNELS), positions=positions))
    # The real places have the same, on whichever side the padding is.
    table = reference.encode_1d(3, CHANNELS)
    assert_close(np.stack([outputs[0, :3], outputs[1, 2:]]), table)
    np.testing.assert_array_equal(outputs[0, :3], outputs[1, 2:])


def test_rows_of_fairseq():
    positions = kp.positions_from_mask(MASKS[:2], start=2, masked=1)
    layer = kp.PositionalEncoding1D(CHANNELS)
    outputs = layer(zeros(2, 5, CHANNELS), positions=positions)
    table = reference.encode_1d(5, CHANNELS)
    assert_close(outputs, table[[[2, 3, 4, 1, 1], [1, 1, 2, 3, 4]]])


# Graphs.


@pytest.mark.parametrize("mode", KNOWN)
def test_a_graph_counts_a_mask(mode: str):
    function = with_known_sizes(
        lambda mask: kp.positions_from_mask(mask, 2, masked=-1), mode
    )
    expected = to_numpy(kp.positions_from_mask(IMAGES, 2, masked=-1))
    np.testing.assert_array_equal(to_numpy(function(to_tensor(IMAGES))), expected)


@pytest.mark.parametrize("mode", UNKNOWN)
def test_a_graph_that_knows_no_sizes_counts_a_mask(mode: str):
    function = with_unknown_sizes(
        lambda mask: kp.positions_from_mask(mask, start=2, masked=1),
        mode,
        (None, None),
        "bool",
    )
    found = function(to_tensor(MASKS))
    np.testing.assert_array_equal(to_numpy(found), make_positions(MASKS * 54 + 1, 1))


@pytest.mark.parametrize("mode", KNOWN)
def test_a_graph_counts_as_detr_does(mode: str):
    function = with_known_sizes(
        lambda mask: kp.positions_from_mask(mask, 2, **DETR), mode
    )
    assert_close(function(to_tensor(IMAGES)), detr_embed(IMAGES), ANGLE_ERROR)


@pytest.mark.parametrize("mode", UNKNOWN)
def test_a_graph_counts_planes_of_unknown_sizes(mode: str):
    function = with_unknown_sizes(
        lambda mask: kp.positions_from_mask(mask, 2, **DETR),
        mode,
        (None, None, None),
        "bool",
    )
    assert_close(function(to_tensor(IMAGES)), detr_embed(IMAGES), ANGLE_ERROR)


class OfTokens(keras.layers.Layer):
    """Positions of token ids in which 1 is padding."""

    def call(self, tokens: Any) -> Any:
        return kp.positions_from_mask(ops.not_equal(tokens, 1), start=2, masked=1)


def test_a_model_counts_its_tokens():
    tokens = keras.Input((None,), dtype="int32")
    embedded = keras.layers.Embedding(60, CHANNELS, embeddings_initializer="zeros")(
        tokens
    )
    layer = kp.Summer(kp.PositionalEncoding1D(CHANNELS))
    model = keras.Model(tokens, layer(embedded, positions=OfTokens()(tokens)))
    given = np.where(MASKS[:2], 55, 1).astype("int32")
    table = reference.encode_1d(5, CHANNELS)
    expected = table[[[2, 3, 4, 1, 1], [1, 1, 2, 3, 4]]]
    assert_close(model.predict(given, verbose=0), expected)


def test_a_model_takes_a_mask_as_its_input(tmp_path: Path):
    mask = keras.Input((None,), dtype="bool")
    model = keras.Model(mask, kp.positions_from_mask(mask, start=2, masked=1))
    expected = make_positions(MASKS * 54 + 1, 1)
    np.testing.assert_array_equal(to_numpy(model(to_tensor(MASKS))), expected)
    model.save(tmp_path / "model.keras")
    loaded = keras.models.load_model(tmp_path / "model.keras")
    np.testing.assert_array_equal(to_numpy(loaded(to_tensor(MASKS))), expected)


# What does not fit.

BAD: dict[str, tuple[Any, dict[str, Any], type[Exception], str]] = {
    "sequence-without-batch": (ALL, {}, ValueError, "`mask` must have shape"),
    "plane-for-a-sequence": (IMAGES, {}, ValueError, "with rank=1 sizes"),
    "sequence-for-a-plane": (MASKS, {"rank": 2}, ValueError, "with rank=2 sizes"),
    "rank-0": (MASKS, {"rank": 0}, ValueError, "`rank` must be a positive integer"),
    "rank-real": (MASKS, {"rank": 1.0}, TypeError, "`rank` must be a positive"),
    "eps-alone": (MASKS, {"eps": 1e-6}, ValueError, "`eps` needs `normalize`"),
    "one-limit": (MASKS, {"normalize": (1,)}, ValueError, "`normalize` must be a pair"),
    "number": (MASKS, {"normalize": 1.0}, TypeError, "`normalize` must be a pair"),
    "reversed": (MASKS, {"normalize": (1, 0)}, ValueError, "the lower one first"),
    "equal": (MASKS, {"normalize": (1, 1)}, ValueError, "the lower one first"),
    "str": (MASKS, {"normalize": ("0", "1")}, TypeError, "`normalize` must be"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_arguments_are_refused(name: str):
    mask, arguments, error, message = BAD[name]
    with pytest.raises(error, match=message):
        kp.positions_from_mask(np.asarray(mask), **arguments)


# What divides by nothing, and arguments.


def test_where_nothing_is_real_positions_are_at_the_lower_end():
    mask = np.array([[[True, True, False], [False, False, False]]])
    found = to_numpy(kp.positions_from_mask(mask, 2, start=1, normalize=(2, 6)))
    rows = [[[6, 6, 2], [6, 6, 2]]]
    columns = [[[4, 6, 6], [2, 2, 2]]]
    np.testing.assert_array_equal(found, np.stack([rows, columns], axis=-1))


def test_a_lone_place_that_counts_as_0_is_at_the_lower_end():
    found = kp.positions_from_mask(np.array([[True, False]]), normalize=(3, 4))
    assert to_numpy(found).tolist() == [[3, 3]]


@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        ({"start": 1.5}, TypeError, r"^`start` must be an integer\. .*=1\.5$"),
        ({"start": True}, TypeError, r"^`start` must be an integer"),
        ({"start": 2**40}, ValueError, r"^`start` must be an integer, less than 10737"),
        ({"masked": -(2**31)}, ValueError, r"^`masked` must be an integer, less th"),
        ({"masked": 1.5}, TypeError, r"^`masked` must be an integer\. .*=1\.5$"),
        (
            {"masked": "a", "normalize": (0, 1)},
            TypeError,
            r"^`masked` must be a finite number\. .*='a'$",
        ),
        (
            {"masked": np.nan, "normalize": (0, 1)},
            ValueError,
            r"^`masked` must be a finite number\. .*=nan$",
        ),
        ({"eps": "a"}, TypeError, r"^`eps` must be a finite number, not negative"),
        ({"normalize": (0, 1), "eps": -1}, ValueError, r"^`eps` must be a finite num"),
    ],
)
def test_arguments_that_are_no_such_numbers_are_refused(
    given: dict[str, Any], error: type[Exception], message: str
):
    with pytest.raises(error, match=message):
        kp.positions_from_mask(np.array([[True, False]]), **given)


def test_with_a_range_padding_may_be_between_integers():
    mask = np.array([[True, True, False]])
    found = kp.positions_from_mask(mask, normalize=(0, 1), masked=-0.5)
    assert to_numpy(found).tolist() == [[0, 1, -0.5]]


# Two rows and two planes, counted by hand.

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
