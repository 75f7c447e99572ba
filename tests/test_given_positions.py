"""`positions`: the ways to run them, where test_positions.py has what they mean."""

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
from helpers.gradients import gradient
from helpers.hard_positions import TIMESTAMPS
from helpers.position_cases import (
    BATCH,
    CHANNELS,
    GIVEN,
    LENGTH,
    NAMED,
    OF_PLANES,
    PLANE_SIZES,
    PLANES,
    REVERSED,
    Sequence,
    as_tensor,
    each_sequence,
    encoding_at,
    grid_positions,
)
from helpers.run_modes import (
    BACKEND,
    KNOWN,
    UNKNOWN,
    with_known_sizes,
    with_unknown_sizes,
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


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("given", GIVEN)
@each_sequence
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


@pytest.mark.parametrize("kind", ["array", "list", "tensor", "real-tensor"])
@pytest.mark.parametrize("policy", ["mixed_bfloat16", "mixed_float16", "bfloat16"])
@each_sequence
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


# Graphs.


@pytest.mark.parametrize("given", ["integer", "real-for-each"])
@pytest.mark.parametrize("mode", KNOWN)
@each_sequence
def test_a_graph_encodes_given_positions(case: Sequence, mode: str, given: str):
    layer, x = case.make(), case.inputs()
    layer(x)
    function = with_known_sizes(lambda x, p: layer(x, positions=p), mode)
    outputs = case.encoding(function(x, as_tensor(GIVEN[given])))
    assert_close(outputs, encoding_at(GIVEN[given]))


@pytest.mark.parametrize("mode", KNOWN)
@pytest.mark.parametrize("name", ["2d", "sum-of-permute2d"])
def test_a_graph_encodes_positions_of_a_plane(name: str, mode: str):
    make, first = OF_PLANES[name]
    layer = make()
    x = zeros(2, CHANNELS, *PLANE_SIZES) if first else zeros(2, *PLANE_SIZES, CHANNELS)
    layer(x)
    function = with_known_sizes(lambda x, p: layer(x, positions=p), mode)
    outputs = to_numpy(function(x, as_tensor(PLANES["for-each"])))
    outputs = np.moveaxis(outputs, 1, -1) if first else outputs
    assert_close(outputs, reference.exact(PLANES["for-each"], CHANNELS))


@pytest.mark.parametrize("mode", UNKNOWN)
@pytest.mark.parametrize("dtype", ["int32", "float32"])
@pytest.mark.parametrize("name", ["1d", "sum-of-1d", "sinusoid"])
def test_a_graph_that_knows_no_sizes_encodes_given_positions(
    name: str, dtype: str, mode: str
):
    case = NAMED[name]
    layer = case.make()
    layer(case.inputs())

    def encode(positions: Any) -> Any:
        x = ops.zeros((*ops.shape(positions), CHANNELS))
        return layer(x, positions=positions)

    function = with_unknown_sizes(encode, mode, (None, None), dtype)
    given = GIVEN["for-each"]
    assert_close(function(to_tensor(given, dtype)), encoding_at(given))


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


# Gradients.


def slopes(positions: np.ndarray) -> np.ndarray:
    """Of the sum of the encoding of each: f * cos for a sine, -f * sin for a cosine."""
    encoding = encoding_at(positions)
    frequency = 10000.0 ** -(np.arange(CHANNELS // 2) / (CHANNELS // 2))
    return ((encoding[..., 1::2] - encoding[..., 0::2]) * frequency).sum(axis=-1)


# Frequencies of 1, 1/10, 1/100, 1/1000, each for a sine and a cosine, both of which are
# off by COUNTING; and sums of numbers below 2 are rounded.
SLOPE_ERROR = 2.222 * COUNTING + 2.0**-21


@pytest.mark.parametrize("mode", KNOWN)
@each_sequence
def test_gradients_flow_to_positions(case: Sequence, mode: str):
    layer, x = case.make(), case.inputs()
    layer(x)
    function = with_known_sizes(lambda p: layer(x, positions=p), mode)
    given = GIVEN["real-for-each"].astype("float32")
    found = gradient(function, to_tensor(given))
    assert_close(found, slopes(given), SLOPE_ERROR)


def test_gradients_of_shared_positions_add_up_over_the_batch():
    layer = kp.PositionalEncoding1D(CHANNELS)
    given, x = GIVEN["real"].astype("float32"), zeros(BATCH, LENGTH, CHANNELS)
    found = gradient(lambda p: layer(x, positions=p), to_tensor(given))
    assert_close(found, BATCH * slopes(given), BATCH * SLOPE_ERROR)


def test_gradients_flow_to_positions_of_a_plane():
    layer = kp.PositionalEncoding2D(2 * CHANNELS)  # as many for each axis as above
    given, x = (
        PLANES["real-for-each"].astype("float32"),
        zeros(2, *PLANE_SIZES, 2 * CHANNELS),
    )
    found = gradient(lambda p: layer(x, positions=p), to_tensor(given))
    assert_close(found, slopes(given), SLOPE_ERROR)


def test_positions_can_be_learned():
    class Places(keras.layers.Layer):
        def build(self, input_shape: Any) -> None:
            self.places = self.add_weight(shape=(LENGTH,), initializer="ones")
            self.encoding = kp.PositionalEncoding1D(CHANNELS)

        def call(self, inputs: Any) -> Any:
            return self.encoding(inputs, positions=self.places)

    layer = Places()
    model = keras.Sequential([keras.Input((LENGTH, CHANNELS)), layer])
    model.compile("sgd", "mse")
    x = np.zeros((BATCH, LENGTH, CHANNELS), "float32")
    # Not towards 0, from which sine and cosine are as far at every position.
    model.fit(x, x + 1, verbose=0)
    assert np.isfinite(to_numpy(layer.places)).all()
    assert (to_numpy(layer.places) != 1).all()


# What are no positions.

BAD_POSITIONS: dict[str, tuple[Any, type[Exception], str]] = {
    "scalar": (5, ValueError, r"must have shape \(6,\), or \(3, 6\)"),
    "short": (np.arange(5), ValueError, r"must have shape \(6,\), or \(3, 6\)"),
    "one": ([3], ValueError, "must have shape"),
    "batch-of-one": (np.zeros((1, 6)), ValueError, "must have shape"),
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


BAD_PLANES = [(3, 4), (3, 4, 1), (4, 3, 2), (1, 3, 4, 2), (2, 3, 4), (2, 12, 2)]


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


def test_the_start_0_beside_positions_is_accepted():
    layer = kp.PositionalEncoding1D(CHANNELS)
    x = zeros(BATCH, LENGTH, CHANNELS)
    assert_close(layer(x, start_index=0, positions=REVERSED), encoding_at(REVERSED))
