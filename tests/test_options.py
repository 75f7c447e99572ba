"""Options of an encoding: their meaning, alone and with each other, and bad values.

`reference.encode_options` has the meaning in plain loops, `option_combinations` every
pair of values.
"""

from __future__ import annotations

import functools
import json
import math
import re
import warnings
from pathlib import Path
from typing import Any

import keras
import numpy as np
import pytest

import keras_posenc as kp
from helpers import reference
from helpers.hard_positions import integers
from helpers.option_combinations import (
    COMBINATIONS,
    TWO_PI,
    Combination,
    by_what_differs,
    each_combination,
    in_silence,
    layer_for,
)
from helpers.run_modes import (
    BACKEND,
    KNOWN,
    UNKNOWN,
    open_graph,
    with_known_sizes,
    with_unknown_sizes,
)
from helpers.tensors import dtype_of, to_numpy, to_tensor, zeros
from helpers.tolerances import DIVIDED, SINGLE, SUM_ROUNDING

# What the options mean.


@in_silence
@each_combination
@pytest.mark.parametrize("mode", KNOWN)
def test_a_layer_of_known_sizes_equals_the_reference(case: Combination, mode: str):
    layer = layer_for(case)
    layer.build(case.shape())  # torch cannot in a graph
    outputs = with_known_sizes(layer, mode)(zeros(*case.shape()))
    expected = case.encoding()
    assert tuple(outputs.shape) == (2, *expected.shape)
    assert np.abs(to_numpy(outputs) - expected).max() <= SINGLE


# torch.compile takes up to 5 s for each; what is left out differs in the waves alone,
# which all the other tests make in the same way.
OPEN = COMBINATIONS[::3] if BACKEND == "torch" else COMBINATIONS


@in_silence
@pytest.mark.parametrize("case", OPEN, ids=lambda case: case.name)
@pytest.mark.parametrize("mode", UNKNOWN)
def test_a_layer_of_unknown_sizes_equals_the_reference(case: Combination, mode: str):
    signature = (None, *[None] * case.rank, case.inputs)
    outputs = open_graph(layer_for(case), signature, mode)(zeros(*case.shape()))
    expected = case.encoding()
    assert tuple(outputs.shape) == (2, *expected.shape)
    assert np.abs(to_numpy(outputs) - expected).max() <= DIVIDED


@in_silence
@each_combination
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
@each_combination
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
    arguments = kp.PositionalEncoding(2, 8).get_config().keys()
    assert named >= {
        *("max_wavelength", "endpoint", "frequencies", "layout", "cos_first"),
        *("axis_order", "split", "remainder", "offset", "scale"),
        *("coordinate_range", "align_corners", "eps"),
    }
    assert not named & (arguments - {"max_wavelength"})


# A range of coordinates, over sizes that only the running graph knows.

RANGES: dict[str, dict[str, Any]] = {
    "plain": {},
    "offset-half": {"offset": 0.5},
    "offset-one": {"offset": 1.0},
    "offset-below-zero": {"offset": -2.3},
    "detr": {"offset": 1.0, "eps": 1e-6},
    "deformable-detr": {"offset": 0.5, "eps": 1e-6},
    "eps-above-one": {"eps": 2.75, "offset": 0.1},
    "corners": {"align_corners": True},
    "corners-offset": {"align_corners": True, "offset": 0.5},
    "not-from-zero": {"coordinate_range": [-3.0, 5.0], "offset": 0.5},
    "many-turns": {"coordinate_range": [0.0, 500.0], "scale": -2.0},
    "short-waves": {"max_wavelength": 0.01, "endpoint": True, "offset": 1.0},
}
# One position, one more; as many as a range has parts; a long text. (torch.compile
# takes 1 for known, and compiles anew.)
LENGTHS = (*([] if BACKEND == "torch" else [1]), 2, 33, 4096, 20_000)


@functools.cache
def range_options(name: str) -> tuple[dict[str, Any], list[np.ndarray]]:
    """Options, and what they give at each length: slow, and needed by two modes."""
    options = {"coordinate_range": [0.0, TWO_PI], **RANGES[name]}
    return options, [
        reference.encode_options((length,), 4, **options) for length in LENGTHS
    ]


@pytest.mark.parametrize("name", RANGES)
@pytest.mark.parametrize("mode", UNKNOWN)
def test_a_range_spreads_over_unknown_lengths(name: str, mode: str):
    options, tables = range_options(name)
    layer = kp.PositionalEncoding1D(4, **options)
    graph = open_graph(layer, (None, None, 4), mode)  # one, for all lengths
    outputs = [to_numpy(graph(zeros(1, length, 4)))[0] for length in LENGTHS]
    errors = [np.abs(a - b).max() for a, b in zip(outputs, tables, strict=True)]
    assert max(errors) <= DIVIDED, dict(zip(LENGTHS, errors, strict=True))


@pytest.mark.parametrize("mode", UNKNOWN)
def test_a_range_spreads_where_one_side_is_known(mode: str):
    options = {"coordinate_range": [0.0, TWO_PI], "offset": 0.5, "eps": 1e-6}
    layer = kp.PositionalEncoding2D(8, **options)
    graph = open_graph(layer, (None, 3, None, 8), mode)
    outputs = to_numpy(graph(zeros(2, 3, 37, 8)))[1]
    expected = reference.encode_options((3, 37), 8, **options)
    assert np.abs(outputs - expected).max() <= DIVIDED


# A size of JAX's exports is 1 at least.
@pytest.mark.parametrize("mode", sorted({*KNOWN, *UNKNOWN} - {"export"}))
def test_a_range_of_no_positions_is_empty(mode: str):
    layer = kp.PositionalEncoding1D(4, coordinate_range=[0, 1], align_corners=True)
    if mode in UNKNOWN:
        graph = open_graph(layer, (None, None, 4), mode)
    else:
        graph = with_known_sizes(layer, mode)
    assert tuple(graph(zeros(2, 0, 4)).shape) == (2, 0, 4)


def test_start_index_contradicts_a_range():
    layer = kp.PositionalEncoding1D(4, coordinate_range=[0, 1])
    layer.build(
        (None, None, 4)
    )  # Keras puts more text around what the first call raises
    with pytest.raises(
        ValueError, match=r"^`start_index` must be 0 with .*start_index=2$"
    ):
        layer(zeros(1, 3, 4), start_index=2)


# Configs, files and copies.

ALWAYS = {"rank", "channels", "max_wavelength", "data_format"}


@in_silence
@each_combination
def test_the_config_has_what_was_given(case: Combination):
    layer = layer_for(case)
    config = layer.get_config()
    assert json.loads(json.dumps(config)) == config
    of_the_base_layer = keras.layers.Layer().get_config().keys()
    assert config.keys() - of_the_base_layer == ALWAYS | case.options.keys()
    assert {name: config[name] for name in case.options} == case.options
    again = kp.PositionalEncoding.from_config(config)
    assert again.get_config() == config
    inputs = zeros(*case.shape())
    np.testing.assert_array_equal(to_numpy(again(inputs)), to_numpy(layer(inputs)))


@pytest.mark.parametrize("kind", [tuple, np.array], ids=["tuple", "array"])
def test_sequences_become_lists_of_plain_numbers(kind: Any):
    layer = kp.PositionalEncoding2D(8, axis_order=kind([1, 0]), split=kind([4, 4]))
    config = layer.get_config()
    assert config["axis_order"] == [1, 0]
    assert config["split"] == [4, 4]
    assert {type(number) for number in config["axis_order"] + config["split"]} == {int}


RICH: dict[str, dict[str, Any]] = {
    "waves": {
        "max_wavelength": [10.0, 50.0],
        "endpoint": True,
        "layout": "freq axis phase",
        "cos_first": True,
        "axis_order": [1, 0],
        "split": [4, 6],
    },
    "coordinates": {
        "offset": 0.5,
        "scale": [1.0, 2.0],
        "coordinate_range": [0.0, TWO_PI],
        "eps": 1e-6,
        "remainder": "pad",
    },
    "corners": {
        "frequencies": [[1.0, 0.5, 0.25], [2.0, 0.0, -3.0]],
        "coordinate_range": [-1.0, 1.0],
        "align_corners": True,
    },
}
each_rich = pytest.mark.parametrize("options", RICH.values(), ids=RICH)
KINDS = {
    "general": lambda options: kp.PositionalEncoding(2, 10, **options),
    "2D": lambda options: kp.PositionalEncoding2D(10, **options),
    "Summer": lambda options: kp.Summer(kp.PositionalEncoding2D(10, **options)),
    "Permute2D": lambda options: kp.PositionalEncodingPermute2D(10, **options),
}


def model_of(kind: str, options: dict[str, Any]) -> tuple[keras.Model, Any]:
    shape = (10, 3, 4) if kind == "Permute2D" else (3, 4, 10)
    sides = (10, None, None) if kind == "Permute2D" else (None, None, 10)
    inputs = keras.Input(sides)
    values = np.random.default_rng(0).normal(size=(2, *shape)).astype("float32")
    return keras.Model(inputs, KINDS[kind](options)(inputs)), to_tensor(values)


@each_rich
@pytest.mark.parametrize("kind", KINDS)
def test_a_file_keeps_options(kind: str, options: dict[str, Any], tmp_path: Path):
    model, inputs = model_of(kind, options)
    model.save(tmp_path / "model.keras")
    loaded = keras.models.load_model(tmp_path / "model.keras")
    np.testing.assert_array_equal(to_numpy(loaded(inputs)), to_numpy(model(inputs)))
    assert loaded.layers[-1].get_config() == model.layers[-1].get_config()


@each_rich
@pytest.mark.parametrize("kind", KINDS)
def test_a_clone_keeps_options(kind: str, options: dict[str, Any]):
    model, inputs = model_of(kind, options)
    cloned = keras.models.clone_model(model)
    np.testing.assert_array_equal(to_numpy(cloned(inputs)), to_numpy(model(inputs)))
    assert cloned.layers[-1].get_config() == model.layers[-1].get_config()


@each_rich
def test_options_are_attributes(options: dict[str, Any]):
    layer = kp.PositionalEncoding2D(10, **options)
    read = {name: getattr(layer, name) for name in options}
    assert json.loads(json.dumps(read)) == options


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


# Axes that no channel is left for.


def warned_of(make: Any) -> list[int]:
    """The axes that warnings name, in their order."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        make()
    pattern = r"has no channel for axis (\d+) of its (\d+): positions along it are"
    found = [re.search(pattern, str(warning.message)) for warning in caught]
    assert None not in found
    return [int(match[1]) for match in found if match]


def silent(rank: int, channels: int, **options: Any) -> list[int]:
    heard = {wave.axis for wave in reference.waves(rank, channels, **options)}
    return [axis for axis in range(rank) if axis not in heard]


SILENT: list[tuple[int, int, dict[str, Any], list[int]]] = [
    (2, 8, {"split": [8, 0]}, [1]),
    (2, 8, {"split": [0, 8], "axis_order": [1, 0]}, [0]),
    (3, 8, {"split": [0, 8, 0]}, [0, 2]),
    (2, 3, {"remainder": "pad"}, [0, 1]),
    (3, 5, {"remainder": "pad", "layout": "concatenated"}, [0, 1, 2]),
    (2, 2, {}, [1]),
    (2, 2, {"axis_order": [1, 0]}, [0]),
    (2, 2, {"layout": "freq axis phase"}, [1]),
    (2, 2, {"layout": "phase axis freq"}, []),
    (2, 2, {"layout": "freq phase axis"}, []),
    (3, 8, {}, [2]),
    (3, 8, {"layout": "phase freq axis"}, []),
    (2, 8, {"frequencies": [0.0, 1.0]}, []),
]


@pytest.mark.parametrize(("rank", "channels", "options", "axes"), SILENT)
def test_axes_without_a_channel_warn(
    rank: int, channels: int, options: dict[str, Any], axes: list[int]
):
    def make() -> None:
        kp.PositionalEncoding(rank, channels, **options)

    assert warned_of(make) == axes == silent(rank, channels, **options)


LAYOUTS = [
    "axis freq phase",
    "axis phase freq",
    "freq axis phase",
    "freq phase axis",
    "phase axis freq",
    "phase freq axis",
]


@pytest.mark.parametrize("remainder", ["truncate", "pad"])
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("rank", [2, 3, 4])
def test_axes_without_a_channel_warn_for_few_channels(
    rank: int, layout: str, remainder: str
):
    options = {"layout": layout, "remainder": remainder}
    options["axis_order"] = [*range(1, rank), 0]  # type: ignore[assignment]
    found = [
        warned_of(lambda c=channels: kp.PositionalEncoding(rank, c, **options))
        for channels in range(1, 20)
    ]
    assert found == [silent(rank, channels, **options) for channels in range(1, 20)]


def test_axes_without_a_channel_warn_where_the_input_says_how_many():
    layer = kp.PositionalEncoding2D(layout="concatenated", remainder="pad")
    assert warned_of(lambda: layer(zeros(1, 2, 3, 3))) == [0, 1]


# A number of channels that each input brings.

NO_NUMBER: list[tuple[dict[str, Any], int, str]] = [
    ({"remainder": "error"}, 10, r"`channels` must be divisible by 4 .* channels=10"),
    ({"split": [4, 2]}, 8, r"`split` must add up to the number of channels, 8\."),
    ({"frequencies": [1.0]}, 8, r"`frequencies` must hold 2 numbers for axis 0, "),
    ({"frequencies": [[1.0], []]}, 4, r"`frequencies` must hold 1 numbers for axis 1"),
]
each_misfit = pytest.mark.parametrize(
    ("options", "channels", "message"), NO_NUMBER, ids=lambda value: str(value)
)


@each_misfit
def test_an_input_whose_channels_do_not_fit_is_refused(
    options: dict[str, Any], channels: int, message: str
):
    layer = kp.PositionalEncoding2D(**options)
    with pytest.raises(ValueError, match=f"^{message}"):
        layer(zeros(1, 2, 3, channels))


@each_misfit
def test_channels_that_do_not_fit_are_refused_after_an_input_that_fits(
    options: dict[str, Any], channels: int, message: str
):
    layer = kp.PositionalEncoding2D(**options)
    split, frequencies = options.get("split"), options.get("frequencies")
    if frequencies == [[1.0], []]:
        pytest.skip("no input fits")
    fits = sum(split) if split else 4 * len(frequencies) if frequencies else 12
    outputs = to_numpy(layer(zeros(1, 2, 3, fits)))[0]
    expected = reference.encode_options((2, 3), fits, **options)
    assert np.abs(outputs - expected).max() <= SINGLE
    with pytest.raises(ValueError, match=f"^{message}"):
        layer(zeros(1, 2, 3, channels))


@each_misfit
def test_channels_that_do_not_fit_are_refused_when_a_model_is_built(
    options: dict[str, Any], channels: int, message: str
):
    layer = kp.Summer(kp.PositionalEncoding2D(**options))
    with pytest.raises(ValueError, match=f"^{message}"):
        layer(keras.Input((None, None, channels)))


@each_misfit
def test_channels_that_do_not_fit_are_refused_where_they_are_written(
    options: dict[str, Any], channels: int, message: str
):
    with pytest.raises(ValueError, match=f"^{message}"):
        kp.sinusoidal_table((2, 3), channels, **options)


# Inputs with another number of channels than the one that is written.

OTHER_NUMBERS: dict[str, tuple[int, dict[str, Any], int, int]] = {
    # written, options, channels of the input, of the encoding
    "truncate-even": (8, {}, 11, 8),
    "truncate-up-to-the-padded-number": (10, {}, 20, 12),
    "truncate-odd": (7, {"layout": "concatenated"}, 20, 8),
    "pad-exactly": (10, {"remainder": "pad"}, 20, 10),
    "pad-odd": (7, {"remainder": "pad", "layout": "phase axis freq"}, 8, 7),
    "split-exactly": (10, {"split": [6, 4]}, 20, 10),
    "fewer": (12, {"layout": "concatenated", "endpoint": True}, 7, 7),
    "fewer-pad": (10, {"remainder": "pad"}, 9, 9),
}


@pytest.mark.parametrize("name", OTHER_NUMBERS)
def test_inputs_of_more_and_fewer_channels_get_what_there_is(name: str):
    written, options, inputs, channels = OTHER_NUMBERS[name]
    layer = kp.PositionalEncoding2D(written, **options)
    text = rf"channels={written} makes {channels} channels, which are all .* {inputs} "
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        outputs = to_numpy(layer(zeros(1, 2, 3, inputs)))[0]
    # Others are NumPy's, about tensors of torch.
    ours = [str(item.message) for item in caught if item.category is UserWarning]
    assert all(re.search(text, message) for message in ours)
    assert bool(ours) == (inputs > channels)
    assert outputs.shape == (2, 3, channels)
    expected = reference.encode_options((2, 3), written, inputs, **options)
    np.testing.assert_allclose(outputs, expected, rtol=0, atol=SINGLE)


@pytest.mark.filterwarnings("ignore:.* which are all that the encoding:UserWarning")
@pytest.mark.parametrize("name", OTHER_NUMBERS)
def test_compute_output_shape_of_more_and_fewer_channels(name: str):
    written, options, inputs, channels = OTHER_NUMBERS[name]
    layer = kp.PositionalEncoding2D(written, **options)
    assert layer.compute_output_shape((None, 2, None, inputs)) == (
        *(None, 2, None),
        channels,
    )


def test_padding_is_zeros_at_the_end():
    layer = kp.PositionalEncoding3D(14, remainder="pad", layout="phase freq axis")
    outputs = to_numpy(layer(zeros(1, 2, 3, 4, 14)))
    assert (outputs[..., 12:] == 0).all()
    assert (np.abs(outputs[..., :12]).max(axis=(0, 1, 2, 3)) > 0).all()


# Positions that are far away.

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


# Values that are no values, and values that contradict each other.

INF, NAN = float("inf"), float("nan")
HUGE = 10**400  # more than a float
NUMBER_PER_AXIS = "must be a finite number, or one per axis"
EACH_AXIS = "must be a number or hold one number for each of the 2 axes"
TRUE_OR_FALSE = "must be True or False"
LAYOUT = "must be 'interleaved', 'concatenated', or the words axis, freq and phase"
REMAINDER = "must be one of 'truncate', 'pad', 'error'"
FREQUENCIES = "must be a list of finite numbers, or one list for each of the 2 axes"
ORDER = "must name each of the axes 0 to 1 once, or be None"
SPLIT = "must hold an even number of channels, not negative, for each of the 2 axes"
RANGE = "must be a pair of finite numbers, the lower one first, or None"
EPS = "must be a finite number, not negative"

BAD: list[tuple[str, Any, type[Exception], str]] = [
    *[
        (name, value, error, NUMBER_PER_AXIS)
        for name in ("offset", "scale")
        for value, error in [
            (INF, ValueError),
            (-INF, ValueError),
            (NAN, ValueError),
            (HUGE, ValueError),
            (True, TypeError),
            (np.True_, TypeError),
            ("1", TypeError),
            (b"1", TypeError),
            (None, TypeError),
            (1j, TypeError),
            ({"a": 1}, TypeError),
            ([1.0, NAN], ValueError),
            ([1.0, False], TypeError),
            ([1.0, None], TypeError),
            ([[1.0], [2.0]], TypeError),
        ]
    ],
    *[
        (name, value, ValueError, EACH_AXIS)
        for name in ("offset", "scale")
        for value in ([], [1.0], [1.0, 2.0, 3.0])
    ],
    *[
        (name, value, TypeError, TRUE_OR_FALSE)
        for name in ("endpoint", "cos_first", "align_corners")
        for value in (1, 0, None, "True", [True])
    ],
    *[
        ("layout", value, ValueError, LAYOUT)
        for value in (
            *("", "lienar", "Interleaved", "axis", "axis freq", "axis freq freq"),
            *("axis freq phase axis", "axis,freq,phase", "interleaved phase"),
        )
    ],
    *[
        ("layout", value, TypeError, LAYOUT)
        for value in (None, 1, True, ["axis", "freq", "phase"], b"interleaved")
    ],
    *[
        ("remainder", value, ValueError, REMAINDER)
        for value in ("", "cut", "Pad", "pad ", "raise")
    ],
    *[("remainder", value, TypeError, REMAINDER) for value in (None, 0, ["pad"])],
    *[
        ("frequencies", value, TypeError, FREQUENCIES)
        for value in (
            1.0,
            "12",
            b"12",
            {1.0, 0.5},
            [1.0, "x"],
            [1.0, True],
            [1.0, None],
        )
    ],
    ("frequencies", [[1.0, 0.5], ["x", 0.5]], TypeError, FREQUENCIES),
    ("frequencies", [[[1.0, 0.5]], [[1.0, 0.5]]], TypeError, FREQUENCIES),
    *[
        ("frequencies", value, ValueError, FREQUENCIES)
        for value in (
            *([1.0, INF], [1.0, NAN], [1.0, HUGE], [[1.0, 0.5]], [[1.0, 0.5]] * 3),
            *([[1.0, 0.5], 0.5], [1.0, [0.5]], [[1.0, NAN], [1.0, 0.5]]),
        )
    ],
    *[
        (
            "frequencies",
            value,
            ValueError,
            f"must hold 2 numbers for axis {axis}, since",
        )
        for value, axis in (
            ([], 0),
            ([1.0], 0),
            ([1.0, 0.5, 0.25], 0),
            ([[1.0], [1.0, 0.5]], 0),
            ([[1.0, 0.5], [1.0]], 1),
            ([[1.0, 0.5], []], 1),
        )
    ],
    *[
        ("axis_order", value, ValueError, ORDER)
        for value in ([], [0], [0, 0], [1, 2], [0, -1], [-1, 0], [0, 1, 2])
    ],
    *[
        ("axis_order", value, TypeError, ORDER)
        for value in (0, "10", {0, 1}, [0.0, 1.0], [False, True], [None, 0], [[0], [1]])
    ],
    *[
        ("split", value, ValueError, SPLIT)
        for value in ([], [8], [4, 2, 2], [5, 3], [10, -2], [-4, 12], [4, 3])
    ],
    *[
        ("split", value, TypeError, SPLIT)
        for value in (8, "44", {8, 0}, [4.0, 4.0], [True, 7], [None, 8], [[4], [4]])
    ],
    *[
        ("split", value, ValueError, "must add up to the number of channels, 8")
        for value in ([4, 2], [8, 8], [0, 0])
    ],
    *[
        ("coordinate_range", value, ValueError, RANGE)
        for value in (
            *([], [0.0], [0.0, 1.0, 2.0], [1.0, 0.0], [1.0, 1.0], [0.0, -0.0]),
            *([0.0, INF], [NAN, 1.0], [0.0, HUGE]),
        )
    ],
    *[
        ("coordinate_range", value, TypeError, RANGE)
        for value in (
            *(1.0, "01", {0.0, 1.0}, [0.0, "1"], [0.0, True], [0.0, None]),
            [[0.0, 1.0], [0.0, 1.0]],
        )
    ],
    *[("eps", value, ValueError, EPS) for value in (-1e-6, INF, NAN, HUGE)],
    *[("eps", value, TypeError, EPS) for value in (None, "0", True, [1e-6], 1j)],
]


def short(value: Any) -> str:
    return repr(value)[:30]


@pytest.mark.parametrize(("name", "value", "error", "words"), BAD, ids=short)
def test_a_bad_value_is_refused(
    name: str, value: Any, error: type[Exception], words: str
):
    options = {"coordinate_range": [0, 1], name: value}  # that eps has what it is about
    with pytest.raises(
        error, match=f"^`{name}` {re.escape(words)}.* Received: {name}="
    ):
        kp.PositionalEncoding2D(8, **options)


TAKERS = {
    "general": lambda **options: kp.PositionalEncoding(2, 8, **options),
    "Permute2D": lambda **options: kp.PositionalEncodingPermute2D(8, **options),
    "no number": lambda **options: kp.PositionalEncoding2D(**options),
    "values": lambda **options: kp.CoordinateEncoding(8, 2, **options),
    "table": lambda **options: kp.sinusoidal_table((3, 4), 8, **options),
    "encode": lambda **options: kp.encode([[1, 2]], 8, rank=2, **options),
}
CONTRADICTIONS: list[tuple[dict[str, Any], str]] = [
    (
        {"frequencies": [1.0, 0.5], "max_wavelength": 20.0},
        "`max_wavelength` must be left at its default, 10000.0, beside `frequencies`, "
        "which takes its place. Received: max_wavelength=20.0",
    ),
    (
        {"frequencies": [[1.0, 0.5], [1.0, 0.5]], "max_wavelength": [20.0, 30.0]},
        "`max_wavelength` must be left at its default, 10000.0, beside `frequencies`, "
        "which takes its place. Received: max_wavelength=(20.0, 30.0)",
    ),
    (
        {"frequencies": [1.0, 0.5], "endpoint": True},
        "`endpoint` must be left at its default, False, beside `frequencies`, which "
        "takes its place. Received: endpoint=True",
    ),
    (
        {"align_corners": True},
        "`align_corners` must be left at its default, False, beside no "
        "`coordinate_range`, which it is about. Received: align_corners=True",
    ),
    (
        {"eps": 1e-6},
        "`eps` must be left at its default, 0.0, beside no `coordinate_range`, which "
        "it is about. Received: eps=1e-06",
    ),
    (
        {"coordinate_range": [0, 1], "align_corners": True, "eps": 1e-6},
        "`eps` must be left at its default, 0.0, beside `align_corners=True`, which "
        "divides by n - 1. Received: eps=1e-06",
    ),
]


@pytest.mark.parametrize("taker", TAKERS)
@pytest.mark.parametrize(("options", "message"), CONTRADICTIONS, ids=by_what_differs)
def test_contradicting_options_are_refused(
    taker: str, options: dict[str, Any], message: str
):
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        TAKERS[taker](**options)


@pytest.mark.parametrize("taker", TAKERS)
def test_everything_that_takes_options_checks_them(taker: str):
    with pytest.raises(ValueError, match=r"^`layout` must be .*layout='lienar'$"):
        TAKERS[taker](layout="lienar")


def test_a_remainder_is_refused_where_it_is_an_error():
    message = (
        "`channels` must be divisible by 6 with remainder='error'. Received: channels=8"
    )
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        kp.PositionalEncoding3D(8, remainder="error")


def test_a_config_with_a_bad_option_says_so():
    config = kp.PositionalEncoding2D(8, split=[4, 4]).get_config()
    # Keras makes a TypeError of whatever a constructor raises.
    with pytest.raises(TypeError, match=r"`split` must add up .* split=\(4, 2\)"):
        kp.PositionalEncoding2D.from_config({**config, "split": [4, 2]})


GOOD: list[tuple[dict[str, Any], dict[str, Any]]] = [
    ({"offset": np.float32(0.5)}, {"offset": 0.5}),
    ({"offset": np.int64(2)}, {"offset": 2.0}),
    ({"offset": np.array(2)}, {"offset": 2.0}),
    ({"scale": (1, 2)}, {"scale": [1.0, 2.0]}),
    ({"scale": np.array([1, 2], "float16")}, {"scale": [1.0, 2.0]}),
    ({"endpoint": np.True_}, {"endpoint": True}),
    ({"axis_order": range(1, -1, -1)}, {"axis_order": [1, 0]}),
    ({"split": [np.int32(6), np.uint8(2)]}, {"split": [6, 2]}),
    ({"frequencies": (1, np.float32(0.5))}, {"frequencies": [1.0, 0.5]}),
    (
        {"frequencies": np.array([[1, 2], [3, 4]])},
        {"frequencies": [[1.0, 2.0], [3.0, 4.0]]},
    ),
    (
        {"frequencies": [np.array([1.0, 2.0]), (3, 4)]},
        {"frequencies": [[1.0, 2.0], [3.0, 4.0]]},
    ),
    ({"coordinate_range": np.array([0, 1])}, {"coordinate_range": [0.0, 1.0]}),
    ({"split": None, "axis_order": None, "coordinate_range": None}, {}),
    ({"layout": "interleaved", "eps": 0, "offset": 0}, {}),
]


@pytest.mark.parametrize(("given", "kept"), GOOD, ids=lambda value: str(value)[:40])
def test_numbers_of_any_kind_are_kept_as_plain_ones(
    given: dict[str, Any], kept: dict[str, Any]
):
    config = kp.PositionalEncoding2D(8, **given).get_config()
    default = kp.PositionalEncoding2D(8, name=config["name"]).get_config()
    assert config == {**default, **kept}
    text = json.dumps(config)
    assert json.loads(text) == config
    layer = kp.PositionalEncoding2D.from_config(config)
    expected = reference.encode_options((2, 3), 8, **kept)
    outputs = to_numpy(layer(zeros(1, 2, 3, 8)))[0]
    np.testing.assert_allclose(outputs, expected, rtol=0, atol=SINGLE)


@pytest.mark.parametrize("mode", UNKNOWN)
@pytest.mark.parametrize("option", ["offset", "eps"])
def test_a_range_beyond_the_integers_of_a_graph_is_refused(option: str, mode: str):
    layer = kp.PositionalEncoding1D(8, coordinate_range=(0.0, 1.0), **{option: 1e9})
    layer.build((None, None, 8))

    def encode() -> Any:
        return with_unknown_sizes(layer, mode, (None, None, 8))(zeros(1, 5, 8))

    # Compilers put it into errors of their own.
    with pytest.raises(Exception, match=f"must be below {2**24}"):
        encode()
