"""The numbers: against the formulas, against hand-worked values, against each other."""

from __future__ import annotations

import keras
import numpy as np
import pytest

import keras_posenc as kp
from helpers import reference
from helpers.layer_cases import Case, each_encoder, each_layer, each_summer
from helpers.tensors import to_numpy, to_tensor
from helpers.tolerances import ROUNDING, SUM_ROUNDING

FAMILIES = {
    "1d": (kp.PositionalEncoding1D, (5,)),
    "2d": (kp.PositionalEncoding2D, (4, 3)),
    "3d": (kp.PositionalEncoding3D, (3, 4, 2)),
    "permute1d": (kp.PositionalEncodingPermute1D, (5,)),
    "permute2d": (kp.PositionalEncodingPermute2D, (4, 3)),
    "permute3d": (kp.PositionalEncodingPermute3D, (3, 4, 2)),
}
# The others are their transposes, `test_permute_is_the_transpose` says.
each_last = pytest.mark.parametrize("family", ["1d", "2d", "3d"])


@each_layer
def test_equals_the_formula(case: Case):
    inputs = case.inputs()
    outputs = to_numpy(case.make()(to_tensor(inputs)))
    tolerance = SUM_ROUNDING if case.adds else ROUNDING["float32"]
    np.testing.assert_allclose(outputs, case.expected(inputs), rtol=0, atol=tolerance)


# The layers warn where an axis has no room; here only numbers count.
@pytest.mark.filterwarnings("ignore:.*has no channel for axis:UserWarning")
@each_last
def test_tables_of_every_number_of_channels_equal_the_formula(family: str):
    """The host's, which nothing is compiled for; the layers put it on the device."""
    _, sizes = FAMILIES[family]
    for channels in range(1, 65):
        table = kp.sinusoidal_table(sizes, channels)
        assert table.shape == (*sizes, channels)
        expected = reference.encode(sizes, channels)
        np.testing.assert_allclose(
            table, expected, rtol=0, atol=ROUNDING["float32"], err_msg=str(channels)
        )


@pytest.mark.filterwarnings("ignore:.*has no channel for axis:UserWarning")
@each_last
@pytest.mark.parametrize("channels", [*range(1, 14), 16, 31, 32, 33, 63, 64])
def test_every_kind_of_number_of_channels_equals_the_formula(
    family: str, channels: int
):
    layer, sizes = FAMILIES[family]
    outputs = to_numpy(layer(channels)(np.zeros((1, *sizes, channels), "float32")))
    assert outputs.shape == (1, *sizes, channels)
    expected = reference.encode(sizes, channels)
    np.testing.assert_allclose(outputs[0], expected, rtol=0, atol=ROUNDING["float32"])


def test_permute_with_odd_channels_on_a_long_axis_equals_the_formula():
    outputs = kp.PositionalEncodingPermute2D(169)(np.zeros((1, 169, 1, 1024)))
    expected = np.moveaxis(reference.encode_2d(1, 1024, 169), -1, 0)
    np.testing.assert_allclose(
        to_numpy(outputs)[0], expected, rtol=0, atol=ROUNDING["float32"]
    )


def test_more_channels_than_the_input_has_are_cut():
    outputs = kp.PositionalEncoding2D(170)(np.zeros((1, 8, 6, 2), "float32"))
    expected = reference.encode_2d(8, 6, 170)[..., :2]
    assert tuple(outputs.shape) == (1, 8, 6, 2)
    np.testing.assert_allclose(
        to_numpy(outputs)[0], expected, rtol=0, atol=ROUNDING["float32"]
    )


def test_rows_worked_out_by_hand_1d():
    row = to_numpy(kp.PositionalEncoding1D(4)(np.zeros((1, 3, 4), "float32")))[0, 1]
    # sin 1, cos 1, sin 0.01, cos 0.01, to seven digits.
    expected = [0.8414710, 0.5403023, 0.0099998, 0.9999500]
    np.testing.assert_allclose(row, expected, rtol=0, atol=1e-7)


def test_rows_worked_out_by_hand_2d():
    outputs = to_numpy(kp.PositionalEncoding2D(8)(np.zeros((1, 3, 4, 8), "float32")))
    # At x = 1, y = 2: sin and cos of 1 and 0.01, then of 2 and 0.02.
    expected = [
        *(0.8414710, 0.5403023, 0.0099998, 0.9999500),
        *(0.9092974, -0.4161468, 0.0199987, 0.9998000),
    ]
    np.testing.assert_allclose(outputs[0, 1, 2], expected, rtol=0, atol=1e-7)


def test_rows_worked_out_by_hand_3d():
    layer = kp.PositionalEncoding3D(12)
    outputs = to_numpy(layer(np.zeros((1, 3, 4, 5, 12), "float32")))
    # At x = 2, y = 1, z = 3: sin and cos of 2 and 0.02, of 1 and 0.01, of 3 and 0.03.
    expected = [
        *(0.9092974, -0.4161468, 0.0199987, 0.9998000),
        *(0.8414710, 0.5403023, 0.0099998, 0.9999500),
        *(0.1411200, -0.9899925, 0.0299955, 0.9995500),
    ]
    np.testing.assert_allclose(outputs[0, 2, 1, 3], expected, rtol=0, atol=1e-7)


@pytest.mark.parametrize("block", [0, 1, 2])
@pytest.mark.parametrize("family", ["2d", "3d"])
def test_a_block_varies_along_its_own_axis_alone(family: str, block: int):
    layer, sizes = FAMILIES[family]
    rank = len(sizes)
    block = block % rank
    outputs = to_numpy(layer(4 * rank)(np.zeros((1, *sizes, 4 * rank), "float32")))[0]
    values = np.moveaxis(outputs[..., 4 * block : 4 * block + 4], block, 0)
    others = values.reshape(sizes[block], -1, 4)
    assert (others == others[:, :1]).all()
    assert len(np.unique(others[:, 0], axis=0)) == sizes[block]


@pytest.mark.parametrize("rank", [1, 2, 3])
@pytest.mark.parametrize("channels", [1, 2, 3, 5, 7, 12, 33])
@pytest.mark.filterwarnings("ignore:.*has no channel for axis:UserWarning")
def test_permute_is_the_transpose(rank: int, channels: int):
    last, sizes = FAMILIES[f"{rank}d"]
    first, _ = FAMILIES[f"permute{rank}d"]
    inputs = np.zeros((2, channels, *sizes), "float32")
    permuted = to_numpy(first(channels)(inputs))
    outputs = to_numpy(last(channels)(np.moveaxis(inputs, 1, -1)))
    np.testing.assert_array_equal(permuted, np.moveaxis(outputs, -1, 1))


@each_summer
def test_a_sum_adds_the_encoding_exactly_once(case: Case):
    inputs = case.inputs()
    added = to_numpy(case.make()(to_tensor(inputs))) - inputs
    # The sum is rounded: by at most half a unit of the last place of the larger of x
    # and the sum, of which numbers below 16 have units of 2^-20.
    np.testing.assert_allclose(
        added, np.broadcast_to(case.encoding(), case.shape), rtol=0, atol=2.0**-20
    )


@pytest.mark.parametrize("case_name", ["1d", "2d", "3d"])
def test_sine_and_cosine_of_a_pair_have_norm_one(case_name: str):
    layer, sizes = FAMILIES[case_name]
    outputs = to_numpy(layer(12)(np.zeros((1, *sizes, 12), "float32")))
    norms = outputs[..., 0::2] ** 2 + outputs[..., 1::2] ** 2
    # Errors e of s and c move s*s + c*c by 2*e*(s + c), and s + c is at most sqrt(2).
    np.testing.assert_allclose(norms, 1, rtol=0, atol=3 * ROUNDING["float32"])


@each_encoder
def test_the_batch_is_kept_and_makes_no_difference(case: Case):
    outputs = to_numpy(case.make()(np.zeros((16, *case.shape[1:]), "float32")))
    assert outputs.shape == (16, *case.shape[1:])
    assert (outputs == outputs[:1]).all()


def test_values_of_the_input_make_no_difference():
    inputs = np.full((1, 5, 8), np.nan, "float32")
    outputs = to_numpy(kp.PositionalEncoding1D(8)(inputs))[0]
    expected = reference.encode_1d(5, 8)
    np.testing.assert_allclose(outputs, expected, rtol=0, atol=ROUNDING["float32"])


def test_a_layer_built_at_one_length_serves_another():
    layer = kp.PositionalEncoding1D(16)
    layer(np.zeros((1, 10, 16), "float32"))
    outputs = to_numpy(layer(np.zeros((1, 10_000, 16), "float32")))[0]
    expected = reference.encode_1d(10_000, 16)
    np.testing.assert_allclose(outputs, expected, rtol=0, atol=ROUNDING["float32"])


def test_a_longer_table_begins_with_the_shorter():
    layer = kp.PositionalEncoding1D(16)
    short = to_numpy(layer(np.zeros((1, 7, 16), "float32")))
    long = to_numpy(layer(np.zeros((1, 300, 16), "float32")))
    np.testing.assert_array_equal(long[:, :7], short)


@pytest.mark.parametrize("base", [1.5, 20.0, 1e6])
def test_max_wavelength_is_the_base_of_the_formula(base: float):
    layer = kp.PositionalEncoding1D(8, max_wavelength=base)
    expected = reference.encode_1d(50, 8, base)
    np.testing.assert_allclose(
        to_numpy(layer(np.zeros((1, 50, 8), "float32")))[0],
        expected,
        rtol=0,
        atol=ROUNDING["float32"],
    )


def test_max_wavelength_may_differ_for_each_axis():
    layer = kp.PositionalEncoding2D(8, max_wavelength=[20.0, 1e6])
    outputs = to_numpy(layer(np.zeros((1, 6, 5, 8), "float32")))[0]
    rows, columns = reference.encode_1d(6, 4, 20.0), reference.encode_1d(5, 4, 1e6)
    tolerance = ROUNDING["float32"]
    np.testing.assert_allclose(outputs[:, 2, :4], rows, rtol=0, atol=tolerance)
    np.testing.assert_allclose(outputs[3, :, 4:], columns, rtol=0, atol=tolerance)


def test_two_layers_have_their_own_wavelengths():
    inputs = np.zeros((1, 50, 8), "float32")
    first = to_numpy(kp.PositionalEncoding1D(8)(inputs))
    second = to_numpy(kp.PositionalEncoding1D(8, max_wavelength=100.0)(inputs))
    assert np.abs(first - second).max() > 0.5


@pytest.mark.parametrize(("axis", "size"), [(0, 2), (1, 3), (2, 4), (3, 5)])
def test_rank_four_equals_the_formula_along_each_axis(axis: int, size: int):
    outputs = to_numpy(kp.PositionalEncoding(4, 16)(np.zeros((1, 2, 3, 4, 5, 16))))[0]
    block = np.moveaxis(outputs, axis, 0)[:, 0, 0, 0, 4 * axis : 4 * axis + 4]
    np.testing.assert_allclose(
        block, reference.encode_1d(size, 4), rtol=0, atol=ROUNDING["float32"]
    )


def test_channels_none_follows_each_input():
    layer = kp.PositionalEncoding1D()
    layer(np.zeros((1, 20, 8), "float32"))
    outputs = to_numpy(layer(np.zeros((1, 20, 12), "float32")))[0]
    np.testing.assert_allclose(
        outputs, reference.encode_1d(20, 12), rtol=0, atol=ROUNDING["float32"]
    )


def test_channels_last_is_the_default_whatever_keras_is_told():
    before = keras.config.image_data_format()
    keras.config.set_image_data_format("channels_first")
    try:
        outputs = kp.PositionalEncoding2D(8)(np.zeros((1, 4, 3, 8), "float32"))
    finally:
        keras.config.set_image_data_format(before)
    np.testing.assert_allclose(
        to_numpy(outputs)[0],
        reference.encode_2d(4, 3, 8),
        rtol=0,
        atol=ROUNDING["float32"],
    )
