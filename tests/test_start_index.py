"""`start_index`: a call that goes on where another one ended.

What each form of it means, test_positions.py says; here are the ways to run it.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import keras
import numpy as np
import pytest
from keras import ops

import keras_posenc as kp
from helpers import reference
from helpers.internals import RECORD_BYTES, cache_limit, cached_bytes, limit_cache
from helpers.position_cases import (
    BATCH,
    CHANNELS,
    LENGTH,
    NAMED,
    SEQUENCES,
    STARTS,
    Sequence,
    compiled,
    counted_from,
    each_compiler,
    each_sequence,
    tile_positions,
)
from helpers.run_modes import (
    BACKEND,
    KNOWN,
    UNKNOWN,
    with_known_sizes,
    with_unknown_sizes,
)
from helpers.tensors import dtype_of, scalar, to_numpy, to_tensor, zeros
from helpers.tolerances import COUNTING, ROUNDING, assert_close

FORMS: dict[str, Any] = {
    "zero": (lambda: 0, 0),
    "int": (lambda: 4, 4),
    "negative": (lambda: -4, -4),
    "NumPy-int": (lambda: np.int64(4), 4),
    "NumPy-zero": (lambda: np.int64(0), 0),
    "array-of-no-axes": (lambda: np.array(-4), -4),
    "scalar-tensor": (lambda: scalar(-4), -4),
    "scalar-tensor-of-8-bits": (lambda: scalar(250, "uint8"), 250),
    "list": (lambda: STARTS, STARTS),
    "tuple": (lambda: tuple(STARTS), STARTS),
    "array": (lambda: np.array(STARTS), STARTS),
    "array-of-8-bits": (lambda: np.array(STARTS, "int8"), STARTS),
    "tensor": (lambda: to_tensor(np.array(STARTS, "int32")), STARTS),
    "list-of-tensors": (lambda: [scalar(start) for start in STARTS], STARTS),
    "tensor-among-numbers": (lambda: [0, scalar(7), -20], STARTS),
}


@each_sequence
@pytest.mark.parametrize("form", FORMS)
def test_a_start_may_come_in_every_form(form: str, case: Sequence):
    given, starts = FORMS[form]
    layer, x = case.make(), case.inputs()
    assert_close(case.encoding(layer(x, start_index=given())), counted_from(starts))
    # The first call builds the layer, by another way through Keras.
    assert_close(case.encoding(layer(x, start_index=given())), counted_from(starts))


# A part of the whole.


@pytest.fixture(scope="module")
def whole() -> np.ndarray:
    layer = kp.PositionalEncoding1D(CHANNELS)
    return ops.convert_to_numpy(layer(zeros(1, 10**6 + LENGTH, CHANNELS)))


@pytest.mark.parametrize("tensor", [False, True], ids=["int", "tensor"])
@pytest.mark.parametrize("start", [0, 1, 999, 2**16 - 1, 10**6])
def test_equals_a_part_of_the_whole(start: int, tensor: bool, whole: np.ndarray):
    layer = kp.PositionalEncoding1D(CHANNELS)
    part = layer(zeros(1, 1, CHANNELS), start_index=scalar(start) if tensor else start)
    # Each of the two is off by as much at most.
    atol = COUNTING + ROUNDING["float32"]
    assert_close(part, whole[:, start : start + 1], atol)


def test_a_sum_passes_the_start_on():
    x = np.random.default_rng(0).normal(size=(BATCH, LENGTH, CHANNELS))
    x = x.astype("float32")
    outputs = kp.Summer(kp.PositionalEncoding1D(CHANNELS))(x, start_index=STARTS)
    # Rounding a sum below 8 to float32 comes on top.
    assert_close(outputs, x + counted_from(STARTS), COUNTING + 2.0**-22)


# Several axes.

TILES = {
    "2D": (lambda: kp.PositionalEncoding2D(CHANNELS), (3, 4), (10, -20)),
    "3D": (lambda: kp.PositionalEncoding3D(12), (2, 3, 2), (10, 0, -5)),
    "4D": (lambda: kp.PositionalEncoding(4, CHANNELS), (2, 1, 2, 1), (10, 0, 0, -5)),
}
TILE_FORMS = {
    "ints": tuple,
    "list": list,
    "NumPy-ints": lambda starts: tuple(map(np.int64, starts)),
    "tensors": lambda starts: tuple(map(scalar, starts)),
    "one-tensor": lambda starts: (scalar(starts[0]), *starts[1:]),
}


@pytest.mark.parametrize("form", TILE_FORMS)
@pytest.mark.parametrize("name", TILES)
def test_a_tile_starts_at_an_index_for_each_axis(name: str, form: str):
    make, sizes, starts = TILES[name]
    layer = make()
    x = zeros(2, *sizes, layer.channels)
    expected = reference.exact(tile_positions(sizes, starts), layer.channels)
    assert_close(layer(x, start_index=TILE_FORMS[form](starts)), expected)


def test_zero_means_zero_on_every_axis():
    layer = kp.PositionalEncoding2D(CHANNELS)
    x = zeros(2, 3, 4, CHANNELS)
    np.testing.assert_array_equal(
        to_numpy(layer(x, start_index=0)), to_numpy(layer(x, start_index=(0, 0)))
    )


def test_a_start_of_zeros_goes_with_a_range():
    layer = kp.PositionalEncoding2D(CHANNELS, coordinate_range=(0, 1))
    x = zeros(2, 3, 4, CHANNELS)
    np.testing.assert_array_equal(
        to_numpy(layer(x, start_index=(0, 0))), to_numpy(layer(x))
    )


# Step by step.

STEPS = 1000


@pytest.fixture
def small_cache(empty_cache: None) -> None:
    """With room for some 30 steps."""
    limit_cache(30 * (RECORD_BYTES + 4 * CHANNELS))


@pytest.mark.parametrize("tensor", [False, True], ids=["int", "tensor"])
@pytest.mark.parametrize("name", ["1d", "permute1d", "sum-of-1d"])
@pytest.mark.usefixtures("small_cache")
def test_decoding_step_by_step_equals_the_whole(name: str, tensor: bool):
    case = NAMED[name]
    layer, token = case.make(), case.inputs(length=1, batch=1)
    starts = map(scalar, range(STEPS)) if tensor else range(STEPS)
    steps = [case.encoding(layer(token, start_index=start)) for start in starts]
    assert_close(np.concatenate(steps, 1)[0], reference.encode_1d(STEPS, CHANNELS))
    assert cached_bytes() <= cache_limit()
    # A test of an absence: tables are kept at all.
    assert (cached_bytes() > 0) != tensor


def test_decoding_takes_little_of_the_cache_of_the_process():
    layer, token = kp.PositionalEncoding1D(CHANNELS), zeros(1, 1, CHANNELS)
    before = cached_bytes()
    for step in range(STEPS):
        layer(token, start_index=step)
    # So many numbers and a kilobyte of a record; less if others had to go.
    assert cached_bytes() - before <= STEPS * (4 * CHANNELS + RECORD_BYTES)


@pytest.mark.usefixtures("small_cache")
def test_each_start_finds_its_own_table():
    layer, x = kp.PositionalEncoding1D(CHANNELS), zeros(BATCH, LENGTH, CHANNELS)
    for start in (0, 3, 0, -3, 3):
        assert_close(layer(x, start_index=start), counted_from(start))


# Graphs.

TRACED = {
    "scalar": ([1, 9, -30], lambda start: start),
    "one-for-each": ([STARTS, [5, 5, -5], [0, 0, 10**6]], lambda starts: starts),
}


@each_compiler
@each_sequence
@pytest.mark.parametrize("kind", TRACED)
def test_one_trace_for_every_start(kind: str, case: Sequence, compiler: str):
    layer, x = case.make(), case.inputs()
    layer(x)
    function, traces = compiled(lambda x, k: layer(x, start_index=k), compiler)
    values = TRACED[kind][0]
    outputs = [function(x, to_tensor(np.array(start, "int32"))) for start in values]
    found = np.stack([case.encoding(output) for output in outputs])
    expected = np.stack(
        [np.broadcast_to(counted_from(start), found.shape[1:]) for start in values]
    )
    assert_close(found, expected)
    assert traces() == 1


@each_compiler
def test_one_trace_for_every_tile(compiler: str):
    layer, x = kp.PositionalEncoding2D(CHANNELS), zeros(2, 3, 4, CHANNELS)
    layer(x)
    function, traces = compiled(
        lambda x, row, column: layer(x, start_index=(row, column)), compiler
    )
    corners = [(1, 2), (300, 0), (-5, 7)]
    outputs = [to_numpy(function(x, *map(scalar, corner))) for corner in corners]
    expected = [
        reference.exact(tile_positions((3, 4), corner), CHANNELS)[None]
        for corner in corners
    ]
    assert_close(np.stack(outputs), np.stack(expected))
    assert traces() == 1


@pytest.mark.parametrize("mode", KNOWN)
@each_sequence
def test_an_int_starts_a_graph_elsewhere(case: Sequence, mode: str):
    layer = case.make()
    layer(case.inputs())
    function = with_known_sizes(lambda x: layer(x, start_index=-5), mode)
    assert_close(case.encoding(function(case.inputs())), counted_from(-5))


if BACKEND == "torch":

    @pytest.mark.parametrize("name", ["1d", "sum-of-1d", "sinusoid"])
    def test_an_int_that_changes_takes_two_graphs_of_torch(name: str):
        case = NAMED[name]
        layer, x = case.make(), case.inputs()
        layer(x)
        function, traces = compiled(lambda x, k: layer(x, start_index=k), "dynamo")
        # More than the eight graphs that torch.compile makes of a function.
        starts = [5, 9, 30, 31, 32, 33, 1000, -7, 10**6, 0, 1]
        outputs = [case.encoding(function(x, start)) for start in starts]
        expected = [np.broadcast_to(counted_from(k), outputs[0].shape) for k in starts]
        assert_close(np.stack(outputs), np.stack(expected))
        # The first start is a constant, the second one is kept open.
        assert traces() == 2


# Sizes that are not known.


@pytest.mark.parametrize("mode", UNKNOWN)
@each_sequence
def test_an_int_starts_a_graph_that_knows_no_size_elsewhere(case: Sequence, mode: str):
    layer = case.make()
    layer(case.inputs())
    unknown = (None, None, None)
    signature = (*unknown[:1], CHANNELS, None) if case.channels_first else None
    function = with_unknown_sizes(
        lambda x: layer(x, start_index=-5),
        mode,
        signature or (None, None, CHANNELS),
    )
    assert_close(case.encoding(function(case.inputs())), counted_from(-5))


@pytest.mark.parametrize("mode", UNKNOWN)
@pytest.mark.parametrize("name", ["1d", "sum-of-1d"])
def test_starts_serve_an_unknown_number_of_sequences(name: str, mode: str):
    layer = NAMED[name].make()
    layer(NAMED[name].inputs())

    def decode(starts: Any) -> Any:
        x = ops.zeros((ops.shape(starts)[0], LENGTH, CHANNELS))
        return layer(x, start_index=starts)

    function = with_unknown_sizes(decode, mode, (None,), "int32")
    outputs = function(to_tensor(np.array(STARTS, "int32")))
    assert_close(outputs, counted_from(STARTS))


# Precision.


@pytest.mark.parametrize("tensor", [False, True], ids=["int", "tensor"])
@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("mixed", [False, True], ids=["pure", "mixed"])
@each_sequence
def test_half_precision_rounds_the_encoding_and_not_the_start(
    case: Sequence, mixed: bool, dtype: str, tensor: bool
):
    # 1001 is no number of bfloat16.
    layer = case.make(dtype=f"mixed_{dtype}" if mixed else dtype)
    outputs = layer(case.inputs(), start_index=scalar(1001) if tensor else 1001)
    assert dtype_of(outputs) == dtype
    assert_close(case.encoding(outputs), counted_from(1001), ROUNDING[dtype])


# Models.


def test_a_model_takes_starts_as_an_input(tmp_path: Path):
    inputs = keras.Input((LENGTH, CHANNELS))
    starts = keras.Input((), dtype="int32")
    layer = kp.Summer(kp.PositionalEncoding1D(CHANNELS))
    model = keras.Model([inputs, starts], layer(inputs, start_index=starts))
    model.save(tmp_path / "model.keras")
    loaded = keras.models.load_model(tmp_path / "model.keras")
    x = np.zeros((BATCH, LENGTH, CHANNELS), "float32")
    given = [x, np.array(STARTS, "int32")]
    outputs = model.predict(given, verbose=0)
    assert_close(outputs, counted_from(STARTS))
    np.testing.assert_array_equal(loaded.predict(given, verbose=0), outputs)


CONSTANTS = {
    "int": lambda: 5,
    "NumPy-int": lambda: np.int64(5),
    "tensor": lambda: scalar(5),
    "list": lambda: [5] * BATCH,
}


@pytest.mark.parametrize("form", CONSTANTS)
def test_a_model_keeps_its_start_when_saved_and_cloned(form: str, tmp_path: Path):
    inputs = keras.Input((LENGTH, CHANNELS))
    layer = kp.PositionalEncoding1D(CHANNELS)
    model = keras.Model(inputs, layer(inputs, start_index=CONSTANTS[form]()))
    model.save(tmp_path / "model.keras")
    loaded = keras.models.load_model(tmp_path / "model.keras")
    clone = keras.models.clone_model(model)
    x = np.zeros((BATCH, LENGTH, CHANNELS), "float32")
    found = [to_numpy(each(x)) for each in (model, loaded, clone)]
    assert_close(np.stack(found), counted_from(5))


def test_a_model_keeps_the_start_of_a_tile_when_saved(tmp_path: Path):
    inputs = keras.Input((None, None, CHANNELS))
    layer = kp.PositionalEncoding2D(CHANNELS)
    model = keras.Model(inputs, layer(inputs, start_index=(10, -20)))
    model.save(tmp_path / "model.keras")
    loaded = keras.models.load_model(tmp_path / "model.keras")
    outputs = loaded.predict(np.zeros((2, 3, 4, CHANNELS), "float32"), verbose=0)
    assert_close(outputs, reference.exact(tile_positions((3, 4), (10, -20)), CHANNELS))


# What Summer passes on to anyone's layer.


class KnowsStarts(keras.layers.Layer):
    """With the arguments of the layers of KerasHub; returns what it got."""

    def call(self, inputs: Any, start_index: Any = 0, positions: Any = None) -> Any:
        if positions is None:
            positions = start_index + ops.arange(inputs.shape[1])
        return ops.zeros_like(inputs) + ops.cast(positions, "float32")[:, None]


class KnowsNone(keras.layers.Layer):
    def call(self, inputs: Any) -> Any:
        return inputs


@pytest.mark.parametrize("start", [0, 4, -4])
@pytest.mark.parametrize("tensor", [False, True], ids=["int", "tensor"])
def test_a_summer_passes_the_start_on_to_any_layer(start: int, tensor: bool):
    layer = kp.Summer(KnowsStarts())
    given = scalar(start) if tensor else start
    outputs = layer(zeros(BATCH, LENGTH, CHANNELS), start_index=given)
    expected = (start + np.arange(LENGTH, dtype="float32"))[:, None]
    np.testing.assert_array_equal(
        to_numpy(outputs), np.broadcast_to(expected, outputs.shape)
    )


@pytest.mark.parametrize("tensor", [False, True], ids=["array", "tensor"])
def test_a_summer_passes_positions_on_to_any_layer(tensor: bool):
    positions = np.arange(LENGTH)[::-1].astype("float32")
    given = to_tensor(positions) if tensor else positions
    outputs = kp.Summer(KnowsStarts())(zeros(BATCH, LENGTH, CHANNELS), positions=given)
    np.testing.assert_array_equal(
        to_numpy(outputs), np.broadcast_to(positions[:, None], outputs.shape)
    )


UNKNOWN_TO_IT = {"start_index": 2, "positions": list(range(LENGTH))}


@pytest.mark.parametrize("argument", UNKNOWN_TO_IT)
def test_a_layer_that_takes_no_start_raises_its_own_error(argument: str):
    layer = kp.Summer(KnowsNone())
    with pytest.raises(TypeError, match=argument):
        layer(zeros(BATCH, LENGTH, CHANNELS), **{argument: UNKNOWN_TO_IT[argument]})


def test_a_layer_that_takes_no_start_is_not_given_zero():
    outputs = kp.Summer(KnowsNone())(zeros(BATCH, LENGTH, CHANNELS), start_index=0)
    assert to_numpy(outputs).max() == 0


def test_a_subclass_of_an_encoding_gets_the_start():
    class Doubled(kp.PositionalEncoding1D):
        def call(self, inputs: Any, start_index: Any = 0, positions: Any = None) -> Any:
            return 2 * super().call(inputs, start_index, positions)

    outputs = kp.Summer(Doubled(CHANNELS))(
        zeros(BATCH, LENGTH, CHANNELS), start_index=STARTS
    )
    assert_close(outputs, 2 * counted_from(STARTS), 2 * COUNTING)


# What is no start.

INTEGER = "`start_index` must be an integer, or a tensor of one"
BAD_STARTS: dict[str, tuple[Any, type[Exception]]] = {
    "real": (1.5, TypeError),
    "whole-but-real": (2.0, TypeError),
    "bool": (True, TypeError),
    "bool-of-NumPy": (np.bool_(False), TypeError),
    "None": (None, TypeError),
    "str": ("1", TypeError),
    "reals": ([0.0, 1.0, 2.0], TypeError),
    "bools": ([True, False, True], TypeError),
    "nothing": ([], TypeError),
    "uneven": ([1, [2], 3], TypeError),
    "real-tensor": (lambda: to_tensor(np.array(1.0, "float32")), TypeError),
    "bool-tensor": (lambda: to_tensor(np.array(True)), TypeError),
    "matrix": ([[0, 1, 2]], ValueError),
    "matrix-tensor": (lambda: to_tensor(np.zeros((3, 1), "int32")), ValueError),
}


@pytest.mark.parametrize("built", [False, True], ids=["first-call", "later-call"])
@pytest.mark.parametrize("case", [SEQUENCES[0], *SEQUENCES[2:]], ids=lambda c: c.name)
@pytest.mark.parametrize("name", BAD_STARTS)
def test_what_is_no_start_is_refused(name: str, case: Sequence, built: bool):
    value, error = BAD_STARTS[name]
    layer = case.make()
    if built:
        layer(case.inputs())
    # From the first letter on: Keras would put words of its own before it.
    with pytest.raises(error, match=f"^{INTEGER}"):
        layer(case.inputs(), start_index=value() if callable(value) else value)


WRONG_COUNTS = {"two": [1, 2], "one": [4], "four": [0, 1, 2, 3]}


@pytest.mark.parametrize("tensor", [False, True], ids=["list", "tensor"])
@pytest.mark.parametrize("built", [False, True], ids=["first-call", "later-call"])
@pytest.mark.parametrize("name", WRONG_COUNTS)
@each_sequence
def test_a_wrong_number_of_starts_is_refused(
    case: Sequence, name: str, built: bool, tensor: bool
):
    layer, starts = case.make(), WRONG_COUNTS[name]
    if built:
        layer(case.inputs())
    given = to_tensor(np.array(starts, "int32")) if tensor else starts
    message = (
        "^`start_index` must be an integer, or hold one for each of the 3 elements of "
        rf"the batch. Received: start_index of shape \({len(starts)},\)$"
    )
    with pytest.raises(ValueError, match=message):
        layer(case.inputs(), start_index=given)


@pytest.mark.parametrize("starts", [[2**31, 0, 1], [0, -(2**31) - 1, 0]], ids=str)
def test_starts_beyond_32_bits_are_refused(starts: list[int]):
    layer = kp.PositionalEncoding1D(CHANNELS)

    def encode() -> Any:
        return layer(zeros(BATCH, LENGTH, CHANNELS), start_index=starts)

    if BACKEND == "jax":  # which has no wider integers unless it is told to
        with pytest.raises(ValueError, match=r"^`start_index` must lie between"):
            encode()
    else:
        assert_close(encode(), counted_from(starts))


def test_the_start_may_be_passed_by_place():
    layer = kp.PositionalEncoding1D(CHANNELS)
    for _ in ("first call", "later call"):
        outputs = layer(zeros(BATCH, LENGTH, CHANNELS), np.int64(5))
        assert_close(outputs, counted_from(5))
    with pytest.raises(ValueError, match="as a keyword argument: 5"):
        layer(zeros(BATCH, LENGTH, CHANNELS), 5, start_index=6)


def test_a_functional_model_checks_starts_at_once():
    plane = keras.Input((3, 4, CHANNELS))
    with pytest.raises(ValueError, match=r"^`start_index` must hold one integer"):
        kp.PositionalEncoding2D(CHANNELS)(plane, start_index=3)
    sequence = keras.Input((LENGTH, CHANNELS))
    with pytest.raises(ValueError, match="found 6 from start_index=15 on"):
        kp.SinusoidEncoding(CHANNELS, max_len=20)(sequence, start_index=15)


if BACKEND == "tensorflow":

    @pytest.mark.parametrize("jit", [False, True], ids=["graph", "xla"])
    @pytest.mark.parametrize("name", ["1d", "sum-of-1d", "sinusoid"])
    def test_a_graph_that_knows_no_size_refuses_a_wrong_number_of_starts(
        name: str, jit: bool
    ):
        import tensorflow as tf

        layer = NAMED[name].make()
        layer(NAMED[name].inputs())
        signature = [
            tf.TensorSpec((None, None, CHANNELS)),
            tf.TensorSpec((None,), "int32"),
        ]
        function = tf.function(
            lambda x, starts: layer(x, start_index=starts), signature, jit_compile=jit
        )
        starts = tf.constant(STARTS)
        assert_close(function(NAMED[name].inputs(), starts), counted_from(STARTS))
        for wrong in (starts[:2], starts[:1]):
            with pytest.raises(tf.errors.InvalidArgumentError):
                function(NAMED[name].inputs(), wrong)
        with pytest.raises(tf.errors.InvalidArgumentError):
            function(NAMED[name].inputs(batch=1), starts)

    @pytest.mark.parametrize("jit", [False, True], ids=["graph", "xla"])
    @pytest.mark.parametrize("start", [2**31 - 2, -(2**31) - 2, 2**33])
    def test_a_far_start_is_exact_in_a_graph_that_knows_no_length(
        start: int, jit: bool
    ):
        import tensorflow as tf

        layer = kp.PositionalEncoding1D(CHANNELS)
        signature = [tf.TensorSpec((None, None, CHANNELS))]
        function = tf.function(
            lambda x: layer(x, start_index=start), signature, jit_compile=jit
        )
        found = to_numpy(function(tf.zeros((1, 3, CHANNELS))))[0]
        positions = start + np.arange(3.0)
        exact = kp.sinusoidal_table(
            None, CHANNELS, positions=positions, dtype="float64"
        )
        # As far as `encode` promises for integers: 2e-7 + 2**-52 * position.
        assert np.abs(found - exact).max() <= 2e-7 + 2.0**-52 * abs(start)

    def test_an_unsigned_start_of_32_bits_is_exact():
        import tensorflow as tf

        layer = kp.PositionalEncoding1D(CHANNELS)
        signature = [
            tf.TensorSpec((None, None, CHANNELS)),
            tf.TensorSpec((), "uint32"),
        ]
        function = tf.function(lambda x, start: layer(x, start_index=start), signature)
        start = tf.constant(3_000_000_000, "uint32")
        found = to_numpy(function(tf.zeros((1, 3, CHANNELS)), start))[0]
        positions = 3e9 + np.arange(3.0)
        exact = kp.sinusoidal_table(
            None, CHANNELS, positions=positions, dtype="float64"
        )
        assert np.abs(found - exact).max() <= 2e-7 + 2.0**-52 * 3e9

    @pytest.mark.parametrize("prefix", [0, 1])
    def test_grid_tokens_start_elsewhere_in_a_batch_that_only_the_graph_knows(
        prefix: int,
    ):
        import tensorflow as tf

        layer = kp.PositionalEncoding1D(CHANNELS, grid=[3], prefix_tokens=prefix)
        signature = [
            tf.TensorSpec((None, 3 + prefix, CHANNELS)),
            tf.TensorSpec((None,), "int32"),
        ]
        function = tf.function(
            lambda x, starts: layer(x, start_index=starts), signature
        )
        x = tf.zeros((2, 3 + prefix, CHANNELS))
        found = to_numpy(function(x, tf.constant([0, 5])))
        np.testing.assert_array_equal(found[:, :prefix], 0)
        for number, start in enumerate((0, 5)):
            positions = start + np.arange(3.0)
            exact = kp.sinusoidal_table(None, CHANNELS, positions=positions)
            assert np.abs(found[number, prefix:] - exact).max() <= COUNTING


BAD_TILES: dict[str, tuple[Any, type[Exception]]] = {
    "lone": (3, ValueError),
    "lone-tensor": (lambda: scalar(3), ValueError),
    "one": ([1], ValueError),
    "three": ((1, 2, 3), ValueError),
    "array": (np.array([1, 2]), ValueError),
    "real": ((1.5, 2), TypeError),
    "bool": ((True, 2), TypeError),
    "vector": (([1, 2], 3), ValueError),
}


@pytest.mark.parametrize("name", BAD_TILES)
def test_what_is_no_start_of_a_tile_is_refused(name: str):
    value, error = BAD_TILES[name]
    layer = kp.PositionalEncoding2D(CHANNELS)
    layer(zeros(2, 3, 4, CHANNELS))
    with pytest.raises(error, match=r"^`start_index` must (hold one|be an) integer"):
        layer(
            zeros(2, 3, 4, CHANNELS),
            start_index=value() if callable(value) else value,
        )


@pytest.mark.parametrize("start", [1, -1, (1, 1, 1), "tensor"], ids=str)
def test_a_start_beside_a_range_is_refused(start: Any):
    layer = kp.PositionalEncoding1D(CHANNELS, coordinate_range=(0, 1))
    with pytest.raises(ValueError, match=r"^`start_index` must be 0 with `coordin"):
        layer(
            zeros(BATCH, LENGTH, CHANNELS),
            start_index=scalar(0) if start == "tensor" else start,
        )


# The limit of SinusoidEncoding.


@pytest.mark.parametrize("start", [14, -3])
def test_sinusoid_encoding_takes_starts_up_to_max_len(start: int):
    layer = kp.SinusoidEncoding(CHANNELS, max_len=20)
    outputs = layer(zeros(BATCH, LENGTH, CHANNELS), start_index=start)
    assert_close(outputs, counted_from(start))


BEYOND: dict[str, Any] = {
    "int": 15,
    "NumPy-int": np.int64(15),
    "list": [15, 0, 0],
    "array": np.array([15, -3, 2]),
}


@pytest.mark.parametrize("built", [False, True], ids=["first-call", "later-call"])
@pytest.mark.parametrize("kind", BEYOND)
def test_sinusoid_encoding_refuses_starts_beyond_max_len(kind: str, built: bool):
    layer = kp.SinusoidEncoding(CHANNELS, max_len=20)
    if built:
        layer(zeros(BATCH, LENGTH, CHANNELS))
    with pytest.raises(ValueError, match=r"found 6 from start_index=\D*15.* on"):
        layer(zeros(BATCH, LENGTH, CHANNELS), start_index=BEYOND[kind])


def test_sinusoid_encoding_takes_any_start_that_only_the_graph_knows():
    layer = kp.SinusoidEncoding(CHANNELS, max_len=20)
    outputs = layer(zeros(BATCH, LENGTH, CHANNELS), start_index=scalar(1000))
    assert_close(outputs, counted_from(1000))
