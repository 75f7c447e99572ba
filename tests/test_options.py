"""Options of an encoding: their meaning, alone and with each other.

`reference.encode_options` has the meaning in plain loops, `option_combinations` every
pair of values.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import keras_posenc as kp
from helpers import reference
from helpers.internals import OPTION_NAMES
from helpers.option_combinations import (
    COMBINATIONS,
    Combination,
    by_what_differs,
    each_combination,
    every_third,
    in_silence,
    layer_for,
)
from helpers.run_modes import KNOWN, UNKNOWN, open_graph, with_known_sizes
from helpers.tensors import dtype_of, to_numpy, to_tensor, zeros
from helpers.tolerances import DIVIDED, SINGLE, SUM_ROUNDING

# What the options mean.


@in_silence
@pytest.mark.parametrize(
    ("case", "mode"),
    [(case, "eager") for case in COMBINATIONS]
    + [(case, mode) for mode in KNOWN[1:] for case in COMBINATIONS[::3]],
    ids=lambda value: value if isinstance(value, str) else value.name,
)
def test_a_layer_of_known_sizes_equals_the_reference(case: Combination, mode: str):
    layer = layer_for(case)
    layer.build(case.shape())  # torch cannot in a graph
    outputs = with_known_sizes(layer, mode)(zeros(*case.shape()))
    expected = case.encoding()
    assert tuple(outputs.shape) == (2, *expected.shape)
    assert np.abs(to_numpy(outputs) - expected).max() <= SINGLE


# A graph takes long to compile; what is left out differs in the waves alone, which all
# the other tests make in the same way.
@in_silence
@every_third(0)
@pytest.mark.parametrize("mode", UNKNOWN)
def test_a_layer_of_unknown_sizes_equals_the_reference(case: Combination, mode: str):
    signature = (None, *[None] * case.rank, case.inputs)
    outputs = open_graph(layer_for(case), signature, mode)(zeros(*case.shape()))
    expected = case.encoding()
    assert tuple(outputs.shape) == (2, *expected.shape)
    assert np.abs(to_numpy(outputs) - expected).max() <= DIVIDED


@in_silence
@every_third(1)
def test_mixed_precision_rounds_the_encoding_once(case: Combination):
    outputs = layer_for(case, dtype="mixed_bfloat16")(zeros(*case.shape()))
    assert dtype_of(outputs) == "bfloat16"
    expected = case.encoding()
    off = np.abs(to_numpy(outputs) - expected)
    assert (off <= reference.half_a_unit(expected, "bfloat16") + SINGLE).all()


@in_silence
@each_combination
def test_a_table_equals_the_reference(case: Combination):
    table = kp.sinusoidal_table(
        case.sizes, case.channels, dtype="float64", **case.options
    )
    expected = reference.encode_options(case.sizes, case.channels, **case.options)
    # Two float64 computations of angles below 100, in another order.
    np.testing.assert_allclose(table, expected, rtol=0, atol=1e-13)


@in_silence
@every_third(2)
def test_channels_first_is_the_transpose(case: Combination):
    last = to_numpy(layer_for(case)(zeros(*case.shape())))
    layer = layer_for(case, data_format="channels_first")
    first = to_numpy(layer(zeros(2, case.inputs, *case.sizes)))
    np.testing.assert_array_equal(first, np.moveaxis(last, -1, 1))


@in_silence
@each_combination
def test_a_sum_adds_the_encoding_or_refuses_its_shape(case: Combination):
    """`Summer` adds the encoding where it has the input's shape, else raises."""
    inputs = np.random.default_rng(0).normal(size=case.shape()).astype("float32")
    summer = kp.Summer(layer_for(case))
    expected = case.encoding()
    if expected.shape != case.shape()[1:]:
        with pytest.raises(ValueError, match="an encoding of its input's shape"):
            summer(to_tensor(inputs))
        return
    outputs = to_numpy(summer(to_tensor(inputs)))
    off = np.abs(outputs - inputs.astype("float64") - expected)
    assert off.max() <= SUM_ROUNDING + SINGLE


def test_every_option_is_combined():
    named = {name for case in COMBINATIONS for name in case.options}
    assert named == {*OPTION_NAMES}


# Layers that differ in one option, in one process, at one shape: each has its table.

BASE: dict[str, Any] = {"coordinate_range": [0.0, 3.0], "offset": 0.5}
ONE_OPTION: list[tuple[dict[str, Any], dict[str, Any]]] = [
    ({}, {"max_wavelength": 9999.0}),
    ({}, {"max_wavelength": [10000.0, 9999.0]}),
    ({}, {"endpoint": True}),
    ({}, {"frequencies": [1.0, 0.5, 0.25]}),
    ({}, {"layout": "concatenated"}),
    ({"layout": "freq phase axis"}, {"layout": "freq axis phase"}),
    ({}, {"cos_first": True}),
    ({}, {"axis_order": [1, 0]}),
    ({}, {"split": [6, 4]}),
    ({"split": [6, 4]}, {"split": [4, 6]}),
    ({}, {"remainder": "pad"}),
    ({}, {"offset": 1e-3}),
    ({"offset": [0.0, 1.0]}, {"offset": [1.0, 0.0]}),
    ({}, {"scale": 1.001}),
    ({}, {"scale": [1.0, 1.001]}),
    ({}, {"coordinate_range": [0.0, 1.0]}),
    (BASE, {"coordinate_range": [0.0, 3.001]}),
    (BASE, {"align_corners": True}),
    (BASE, {"eps": 1e-3}),
]


@pytest.mark.parametrize(("base", "other"), ONE_OPTION, ids=by_what_differs)
def test_one_option_makes_another_table(base: dict[str, Any], other: dict[str, Any]):
    both = [base, {**base, **other}]
    layers = [kp.PositionalEncoding2D(10, **options) for options in both]
    tables = [reference.encode_options((3, 4), 10, **options) for options in both]
    assert np.abs(tables[0] - tables[1]).max() > 10 * SINGLE
    inputs = zeros(2, 3, 4, 10)
    # The second round meets what the first has left.
    outputs = [to_numpy(layer(inputs))[1] for layer in layers + layers]
    errors = [
        np.abs(a - b).max() for a, b in zip(outputs, tables + tables, strict=True)
    ]
    assert max(errors) <= SINGLE


# Inputs with another number of channels than the one that is written.


def test_padding_is_zeros_at_the_end():
    layer = kp.PositionalEncoding3D(14, remainder="pad", layout="phase freq axis")
    outputs = to_numpy(layer(zeros(1, 2, 3, 4, 14)))
    assert (outputs[..., 12:] == 0).all()
    assert (np.abs(outputs[..., :12]).max(axis=(0, 1, 2, 3)) > 0).all()
