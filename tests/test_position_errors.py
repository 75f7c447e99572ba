"""Starts, positions, grids and masks that do not fit are refused."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import keras
import numpy as np
import pytest

import keras_posenc as kp
from helpers.position_cases import (
    BATCH,
    CHANNELS,
    IMAGE,
    LENGTH,
    NAMED,
    PLANE_SIZES,
    REVERSED,
    SEQUENCES,
    STARTS,
    Sequence,
    X,
    counted_from,
    each_sequence,
    encoding_at,
)
from helpers.run_modes import BACKEND
from helpers.tensors import scalar, to_numpy, to_tensor, zeros
from helpers.tolerances import assert_close

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


BAD_POSITIONS: dict[str, tuple[Any, type[Exception], str]] = {
    "scalar": (5, ValueError, r"must have shape \(6,\), or \(3, 6\)"),
    "short": (np.arange(5), ValueError, r"must have shape \(6,\), or \(3, 6\)"),
    "one": ([3], ValueError, "must have shape"),
    "batch-of-two": (np.zeros((2, 6)), ValueError, "must have shape"),
    "axis-of-one": (np.zeros((3, 6, 1)), ValueError, "must have shape"),
    "transposed": (np.zeros((6, 3)), ValueError, "must have shape"),
    "none": (np.zeros(0), ValueError, "must have shape"),
    "uneven": ([[0, 1], [2]], ValueError, "or lists of as many numbers each"),
    "bool": ([True] * LENGTH, TypeError, "must be integers or real numbers"),
    "str": (["0"] * LENGTH, TypeError, "must be integers or real numbers"),
    "complex": ([1j] * LENGTH, TypeError, "must be integers or real numbers"),
    "object": ([None] * LENGTH, TypeError, "must be integers or real numbers"),
}


@pytest.mark.parametrize("built", [False, True], ids=["first-call", "later-call"])
@pytest.mark.parametrize("name", ["1d", "sum-of-1d", "sinusoid"])
@pytest.mark.parametrize("bad", BAD_POSITIONS)
def test_what_are_no_positions_is_refused(bad: str, name: str, built: bool):
    value, error, message = BAD_POSITIONS[bad]
    case = NAMED[name]
    layer, x = case.make(), case.inputs()
    if built:
        layer(x)
    # From the first letter on: Keras would put words of its own before it.
    with pytest.raises(error, match=f"^`positions` .*{message}"):
        layer(x, positions=value)


@pytest.mark.parametrize("name", ["bool", "short"])
def test_tensors_that_are_no_positions_are_refused(name: str):
    value, error, message = BAD_POSITIONS[name]
    layer = kp.PositionalEncoding1D(CHANNELS)
    with pytest.raises(error, match=f"`positions` .*{message}"):
        layer(zeros(BATCH, LENGTH, CHANNELS), positions=to_tensor(np.array(value)))


BAD_PLANES = [(3, 4), (3, 4, 1), (4, 3, 2), (2, 3, 4), (2, 12, 2)]


@pytest.mark.parametrize("shape", BAD_PLANES, ids=str)
def test_what_are_no_positions_of_a_plane_is_refused(shape: tuple[int, ...]):
    layer = kp.PositionalEncoding2D(CHANNELS)
    with pytest.raises(ValueError, match=r"`positions` must have shape \(3, 4, 2\)"):
        layer(zeros(2, *PLANE_SIZES, CHANNELS), positions=np.zeros(shape))


def test_a_functional_model_checks_positions_at_once():
    plane = keras.Input((*PLANE_SIZES, CHANNELS))
    with pytest.raises(ValueError, match=r"^`positions` must have shape \(3, 4, 2\)"):
        kp.PositionalEncoding2D(CHANNELS)(plane, positions=keras.Input((5,)))


if BACKEND == "tensorflow":

    @pytest.mark.parametrize("jit", [False, True], ids=["graph", "xla"])
    @pytest.mark.parametrize("name", ["1d", "sum-of-1d", "sinusoid"])
    def test_a_graph_that_knows_no_size_refuses_positions_of_other_sizes(
        name: str, jit: bool
    ):
        import tensorflow as tf

        layer, x = NAMED[name].make(), NAMED[name].inputs()
        layer(x)
        signature = [tf.TensorSpec((None, None, CHANNELS)), tf.TensorSpec((None, None))]
        function = tf.function(
            lambda x, positions: layer(x, positions=positions),
            signature,
            jit_compile=jit,
        )
        positions = tf.random.uniform((BATCH, LENGTH), maxval=100)
        assert_close(function(x, positions), encoding_at(to_numpy(positions)))
        for wrong in (positions[:, :1], positions[:, :5], positions[:2]):
            with pytest.raises(tf.errors.InvalidArgumentError):
                function(x, wrong)


BESIDE = {
    "int": lambda: 1,
    "list": lambda: [0, 0, 0],
    "tensor": lambda: to_tensor(np.array(0, "int32")),
}


@pytest.mark.parametrize("start", BESIDE)
@pytest.mark.parametrize("name", ["1d", "sum-of-1d", "sinusoid"])
def test_a_start_beside_positions_is_refused(name: str, start: str):
    case = NAMED[name]
    with pytest.raises(
        ValueError, match=r"^`start_index` must be 0 beside `positions`"
    ):
        case.make()(case.inputs(), start_index=BESIDE[start](), positions=REVERSED)


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
    "positions-beside-a-grid": (
        ValueError,
        "`grid` must be None beside `positions`",
        lambda: kp.PositionalEncoding1D(CHANNELS)(
            X, positions=np.arange(LENGTH), grid=[LENGTH]
        ),
    ),
    "tokens-of-another-number": (
        ValueError,
        "expects 7 tokens, found 6: prefix_tokens=1",
        lambda: kp.PositionalEncoding1D(CHANNELS, grid=[LENGTH], prefix_tokens=1)(X),
    ),
    "tokens-without-grid": (
        ValueError,
        "PositionalEncoding2D needs the `grid` that its tokens come from",
        lambda: kp.PositionalEncoding2D(CHANNELS, prefix_tokens=1)(X),
    ),
    "grid-of-another-rank": (
        ValueError,
        "`grid` must be a list of positive sizes, one for each of the 2 axes",
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
        "`eps` needs `normalize`",
        lambda: kp.positions_from_mask(np.ones((2, 5), bool), eps=1.0),
    ),
}


@pytest.mark.parametrize("name", ERRORS)
def test_what_does_not_fit_is_refused(name: str):
    error, message, call = ERRORS[name]
    with pytest.raises(error, match=message):
        call()
