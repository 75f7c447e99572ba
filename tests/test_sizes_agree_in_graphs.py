"""In a graph that knows no sizes, those of `positions` agree with the input's one by
one: as many elements in another shape are an error, not other numbers."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import keras
import numpy as np
import pytest

import keras_posenc as kp
from helpers.run_modes import BACKEND, whole_torch_graph
from helpers.tensors import to_numpy, zeros

CHANNELS = 8
SIZES = (2, 3, 4)

# What makes a layer, for an input of which rank, and whether channels come first.
CASES: dict[str, tuple[Callable[[], keras.layers.Layer], int, bool]] = {
    "1d": (lambda: kp.PositionalEncoding1D(CHANNELS), 1, False),
    "2d": (lambda: kp.PositionalEncoding2D(CHANNELS), 2, False),
    "3d": (lambda: kp.PositionalEncoding3D(CHANNELS), 3, False),
    "permute1d": (lambda: kp.PositionalEncodingPermute1D(CHANNELS), 1, True),
    "permute2d": (lambda: kp.PositionalEncodingPermute2D(CHANNELS), 2, True),
    "sum-of-1d": (lambda: kp.Summer(kp.PositionalEncoding1D(CHANNELS)), 1, False),
    "sum-of-2d": (lambda: kp.Summer(kp.PositionalEncoding2D(CHANNELS)), 2, False),
    "sum-of-permute2d": (
        lambda: kp.Summer(kp.PositionalEncodingPermute2D(CHANNELS)),
        2,
        True,
    ),
    "sinusoid": (lambda: kp.SinusoidEncoding(CHANNELS), 1, False),
}
each_case = pytest.mark.parametrize("name", CASES)
pytestmark = pytest.mark.filterwarnings("ignore:.* has no channel for:UserWarning")


def input_shape(name: str, *sizes: Any) -> tuple[Any, ...]:
    """Batch and sizes, with the channels where the layer has them."""
    batch, *rest = sizes
    first = CASES[name][2]
    return (batch, CHANNELS, *rest) if first else (batch, *rest, CHANNELS)


def position_shape(name: str, *sizes: Any) -> tuple[Any, ...]:
    return sizes if CASES[name][1] == 1 else (*sizes, CASES[name][1])


def right_sizes(name: str) -> tuple[int, ...]:
    return (2, 4, 6, 3)[: CASES[name][1] + 1]


def wrong_sizes(name: str) -> list[tuple[int, ...]]:
    """As many elements each, but for the last, which a sum would broadcast."""
    sizes = right_sizes(name)
    first = (sizes[1], sizes[0], *sizes[2:])
    last = (*sizes[:-2], sizes[-1], sizes[-2])
    return [first, last, (*sizes[:-2], 1, sizes[-2] * sizes[-1]), (sizes[0], 1)]


def build(name: str) -> keras.layers.Layer:
    layer = CASES[name][0]()
    layer(zeros(*input_shape(name, *right_sizes(name))))
    return layer


def places(name: str, sizes: tuple[int, ...]) -> np.ndarray:
    shape = position_shape(name, *sizes)
    return np.arange(np.prod(shape), dtype="float32").reshape(shape)


def wrong(name: str) -> list[tuple[int, ...]]:
    rank = CASES[name][1]
    found = {sizes for sizes in wrong_sizes(name) if len(sizes) == rank + 1}
    return sorted(found - {right_sizes(name)})


if BACKEND == "tensorflow":
    import tensorflow as tf

    @pytest.mark.parametrize("dtype", ["float32", "int32"])
    @pytest.mark.parametrize("jit", [False, True], ids=["graph", "xla"])
    @each_case
    def test_a_graph_refuses_positions_of_as_many_elements(
        name: str, jit: bool, dtype: str
    ):
        layer, rank = build(name), CASES[name][1]
        unknown = [None] * (rank + 1)
        specs = [
            tf.TensorSpec(input_shape(name, *unknown)),
            tf.TensorSpec(position_shape(name, *unknown), dtype),
        ]
        function = tf.function(
            lambda x, p: layer(x, positions=p), specs, jit_compile=jit
        )
        x = zeros(*input_shape(name, *right_sizes(name)))
        given = places(name, right_sizes(name))
        expected = to_numpy(layer(x, positions=given))
        found = to_numpy(function(x, tf.constant(given, dtype)))
        np.testing.assert_allclose(found, expected, atol=1e-6)
        assert wrong(name)
        for sizes in wrong(name):
            with pytest.raises(tf.errors.InvalidArgumentError):
                function(x, tf.constant(places(name, sizes), dtype))

    @pytest.mark.parametrize("jit", [False, True], ids=["graph", "xla"])
    def test_a_graph_of_tokens_refuses_positions_of_as_many_elements(jit: bool):
        layer = kp.PositionalEncoding2D(CHANNELS)
        layer(zeros(2, 6, CHANNELS), grid=(2, 3))
        specs = [tf.TensorSpec((None, None, CHANNELS)), tf.TensorSpec((None, None, 2))]
        function = tf.function(
            lambda x, p: layer(x, positions=p), specs, jit_compile=jit
        )
        x = zeros(2, 6, CHANNELS)
        assert tuple(function(x, zeros(2, 6, 2)).shape) == (2, 6, CHANNELS)
        for shape in [(6, 2, 2), (1, 12, 2), (3, 4, 2), (1, 1, 2)]:
            with pytest.raises(tf.errors.InvalidArgumentError):
                function(x, zeros(*shape))

    @pytest.mark.parametrize("jit", [False, True], ids=["graph", "xla"])
    @pytest.mark.parametrize("name", ["1d", "sum-of-1d", "sinusoid"])
    def test_a_graph_refuses_as_many_starts_as_another_batch_has(name: str, jit: bool):
        layer = build(name)
        specs = [tf.TensorSpec((None, None, CHANNELS)), tf.TensorSpec((None,), "int32")]
        function = tf.function(
            lambda x, start: layer(x, start_index=start), specs, jit_compile=jit
        )
        x = zeros(2, 4, CHANNELS)
        assert tuple(function(x, tf.constant([1, 2])).shape) == (2, 4, CHANNELS)
        for count in (3, 4, 8):
            with pytest.raises(tf.errors.InvalidArgumentError):
                function(x, tf.range(count))

    @each_case
    def test_a_saved_model_refuses_positions_of_as_many_elements(
        name: str, tmp_path: Path
    ):
        unknown = [None] * CASES[name][1]
        inputs = keras.Input(input_shape(name, None, *unknown)[1:])
        positions = keras.Input(position_shape(name, *unknown))
        outputs = CASES[name][0]()(inputs, positions=positions)
        model = keras.Model([inputs, positions], outputs)
        model.export(tmp_path / "saved", verbose=False)
        loaded = tf.saved_model.load(str(tmp_path / "saved"))
        x = zeros(*input_shape(name, *right_sizes(name)))
        given = tf.constant(places(name, right_sizes(name)))
        expected = to_numpy(model([x, given]))
        np.testing.assert_allclose(
            to_numpy(loaded.serve([x, given])), expected, atol=1e-6
        )
        for sizes in wrong(name):
            with pytest.raises(tf.errors.InvalidArgumentError):
                loaded.serve([x, tf.constant(places(name, sizes))])


if BACKEND == "torch":
    import torch

    @each_case
    def test_a_dynamic_graph_refuses_positions_of_as_many_elements(name: str):
        layer = build(name)
        function = whole_torch_graph(lambda x, p: layer(x, positions=p), dynamic=True)
        x = zeros(*input_shape(name, *right_sizes(name)))
        given = torch.tensor(places(name, right_sizes(name)))
        assert tuple(function(x, given).shape) == tuple(x.shape)
        for sizes in wrong(name):
            with pytest.raises(
                (ValueError, RuntimeError), match=r"positions|shape|size"
            ):
                function(x, torch.tensor(places(name, sizes)))


if BACKEND == "jax":
    import jax
    from jax import export

    def exported(name: str, symbols: str, tied: bool) -> Any:
        layer, rank = build(name), CASES[name][1]
        names = export.symbolic_shape(symbols)
        own = names[: rank + 1]
        other = own if tied else (own[0], *names[rank + 1 :])
        shapes = [input_shape(name, *own), position_shape(name, *other)]
        specs = [jax.ShapeDtypeStruct(shape, "float32") for shape in shapes]
        function = jax.jit(lambda x, p: layer(x, positions=p))
        return export.export(function)(*specs)

    def symbols(name: str) -> str:
        """Of batch and sizes, then other sizes for the positions."""
        rank = CASES[name][1]
        return ", ".join(["b", *"xyz"[:rank], *"uvw"[:rank]])

    @each_case
    def test_an_export_with_tied_sizes_refuses_others(name: str):
        call = exported(name, symbols(name), tied=True).call
        x = zeros(*input_shape(name, *right_sizes(name)))
        given = places(name, right_sizes(name))
        expected = to_numpy(build(name)(x, positions=given))
        np.testing.assert_allclose(to_numpy(call(x, given)), expected, atol=1e-6)
        for sizes in wrong(name):
            with pytest.raises(ValueError, match=r"shape|size|dimension"):
                call(x, places(name, sizes))

    @each_case
    def test_an_export_with_sizes_that_are_not_tied_says_how_to_tie_them(name: str):
        with pytest.raises(ValueError, match=r"symbol.*symbolic_shape") as raised:
            exported(name, symbols(name), tied=False)
        assert "\x1b" not in str(raised.value)

    def test_an_export_of_a_model_with_both_lengths_unknown_says_how_to_tie_them():
        inputs, positions = keras.Input((None, CHANNELS)), keras.Input((None,))
        layer = kp.Summer(kp.PositionalEncoding1D(CHANNELS))
        model = keras.Model([inputs, positions], layer(inputs, positions=positions))
        # As `model.export` names them, which needs TensorFlow to write a file.
        batch, n, m = export.symbolic_shape("a, b, c")
        specs = [
            jax.ShapeDtypeStruct((batch, n, CHANNELS), "float32"),
            jax.ShapeDtypeStruct((batch, m), "float32"),
        ]
        function = jax.jit(lambda x, p: model([x, p]))
        with pytest.raises(ValueError, match=r"symbol.*symbolic_shape"):
            export.export(function)(*specs)
