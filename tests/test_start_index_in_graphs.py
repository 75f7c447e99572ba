"""`start_index` in graphs: one graph serves every start, at any size."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from keras import ops

import keras_posenc as kp
from helpers import reference
from helpers.position_cases import (
    CHANNELS,
    COMPILERS,
    LENGTH,
    NAMED,
    STARTS,
    TABLE,
    Sequence,
    X,
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
from helpers.tensors import scalar, to_numpy, to_tensor, zeros
from helpers.tolerances import COUNTING, assert_close

# Sizes that are known.

TRACED = {
    "scalar": ([1, 9, -30], lambda start: start),
    "one-for-each": ([STARTS, [5, 5, -5], [0, 0, 10**6]], lambda starts: starts),
}


@each_compiler
@pytest.mark.parametrize(
    ("kind", "case"),
    [("scalar", NAMED[name]) for name in ("1d", "sum-of-sum-of-1d", "sinusoid")]
    + [("one-for-each", NAMED[name]) for name in ("permute1d", "sum-of-1d")],
    ids=lambda value: value if isinstance(value, str) else value.name,
)
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
@pytest.mark.parametrize("name", ["permute1d", "sum-of-1d", "sinusoid"])
def test_an_int_starts_a_graph_that_knows_no_size_elsewhere(name: str, mode: str):
    case = NAMED[name]
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


# What is no start.


if BACKEND == "tensorflow":

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
