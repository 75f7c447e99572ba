"""`CoordinateEncoding`: values of any shape, in, around and outside of models."""

from __future__ import annotations

import copy
import json
import pickle
from collections.abc import Callable
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
from helpers.position_cases import sample
from helpers.reference import exact_gradient_1d
from helpers.run_modes import (
    BACKEND,
    KNOWN,
    UNKNOWN,
    with_known_sizes,
    with_unknown_sizes,
)
from helpers.tensors import dtype_of, to_numpy, to_tensor
from helpers.tolerances import COUNTING, ROUNDING, assert_close

CHANNELS = 12


def coordinates(channels: int = CHANNELS, rank: int = 1, **kwargs: Any) -> Any:
    return kp.CoordinateEncoding(channels, rank, **kwargs)


def exact(values: Any, rank: int = 1) -> np.ndarray:
    values = np.asarray(values, "float64")
    return reference.exact(values[..., None] if rank == 1 else values, CHANNELS)


# Shapes.

SHAPES = [
    (1, ()),
    (1, (0,)),
    (1, (4,)),
    (1, (4, 1)),
    (1, (2, 3)),
    (1, (2, 1, 3, 2)),
    (2, (2,)),
    (2, (4, 2)),
    (2, (2, 3, 2)),
    (3, (3,)),
    (3, (2, 3, 3)),
    # The last axis of four gets none of 12 channels.
    pytest.param(
        *(4, (5, 4)), marks=pytest.mark.filterwarnings("ignore:.*no channel for axis 3")
    ),
]


def with_kind(case: Any, kind: str) -> Any:
    values = getattr(case, "values", case)
    return pytest.param(*values, kind, marks=getattr(case, "marks", ()))


# JAX compiles every operation for each shape and dtype.
@pytest.mark.parametrize(
    ("rank", "shape", "kind"),
    [with_kind(case, "tensor") for case in SHAPES]
    + [
        with_kind(case, kind)
        for kind in ("array", "int-array", "int-tensor")
        for case in ((1, ()), (1, (2, 3)), (2, (2, 3, 2)))
    ],
    ids=str,
)
def test_values_of_any_shape_are_encoded(rank: int, shape: tuple[int, ...], kind: str):
    values = np.random.default_rng(0).uniform(-900, 900, shape)
    values = values.astype("int32" if kind.startswith("int") else "float32")
    layer = coordinates(rank=rank)
    outputs = layer(to_tensor(values) if kind.endswith("tensor") else values)
    assert ops.is_tensor(outputs)
    points = shape if rank == 1 else shape[:-1]
    assert tuple(outputs.shape) == (*points, CHANNELS)
    assert layer.compute_output_shape(shape) == (*points, CHANNELS)
    assert_close(outputs, exact(values, rank))


FORMS = {
    "int": 3,
    "negative": -3,
    "float": 0.5,
    "NumPy-number": np.float64(0.5),
    "list": [0, 1.5, -2],
    "nested-list": [[0.5, 1], [2, 3]],
    "tuple": (1, 2),
    "range": range(3),
}


@pytest.mark.parametrize("form", FORMS)
def test_values_of_python_are_encoded(form: str):
    layer = coordinates()
    # The first call builds the layer.
    for _ in range(2):
        assert_close(layer(FORMS[form]), exact(FORMS[form]))


def test_points_may_be_lists():
    points = [[0.5, 1.0], [-2.0, 3.0]]
    assert_close(coordinates(rank=2)(points), exact(points, 2))


def test_one_layer_takes_shapes_that_change():
    layer = coordinates()
    values = np.arange(6.0)
    for shape in ((6,), (2, 3), (1, 6, 1), ()):
        given = values.reshape(shape) if shape else values[2]
        assert_close(layer(given), exact(given))


def test_timestamps_by_keyword_keep_their_fractions():
    layer = kp.CoordinateEncoding(8)
    found = to_numpy(layer(inputs=TIMESTAMPS))
    np.testing.assert_array_equal(found, to_numpy(layer(TIMESTAMPS)))
    exact = kp.sinusoidal_table(None, 8, positions=TIMESTAMPS, dtype="float64")
    # The target for float64 timestamps near 1.7e9.
    assert np.abs(found - exact).max() <= 5e-6


def test_a_call_of_a_subclass_is_called_as_keras_does():
    class InTraining(kp.CoordinateEncoding):
        def call(self, inputs: Any, training: bool = False) -> Any:
            encoding = super().call(inputs)
            return encoding if training else -encoding

    class Scope(keras.layers.Layer):
        def __init__(self):
            super().__init__()
            self.encoding = InTraining(CHANNELS)

        def call(self, inputs: Any, training: bool = False) -> Any:
            return self.encoding(np.array([1.0, 2.5]))

    x = keras.ops.zeros((1,))
    assert_close(Scope()(x, training=True), exact([1.0, 2.5]))


@pytest.mark.parametrize("form", FORMS)
def test_what_goes_through_keras_keeps_its_digits(form: str):
    layer = coordinates(activity_regularizer="l2")
    for _ in range(2):
        assert_close(layer(FORMS[form]), exact(FORMS[form]))
    # Keras makes tensors of arrays, which are not computed in the same way: either may
    # be off by what counting is, and by 2**-52 of the angle.
    exactly = to_numpy(kp.encode(TIMESTAMPS, CHANNELS))
    both = 2 * (COUNTING + 2.0**-52 * np.abs(TIMESTAMPS).max())
    np.testing.assert_allclose(to_numpy(layer(TIMESTAMPS)), exactly, rtol=0, atol=both)


@pytest.mark.parametrize("form", FORMS)
def test_a_subclass_that_has_a_call_takes_what_its_parent_takes(form: str):
    class Negative(kp.CoordinateEncoding):
        def call(self, inputs: Any) -> Any:
            return -super().call(inputs)

    layer = Negative(CHANNELS)
    for _ in range(2):
        assert_close(layer(FORMS[form]), -exact(FORMS[form]))


if BACKEND == "jax":

    def test_rematerialized_arrays_keep_their_digits():
        with keras.RematScope(mode="full"):
            layer = coordinates(activity_regularizer="l2")
            places = kp.PositionalEncoding1D(CHANNELS)
        expected = to_numpy(kp.encode(TIMESTAMPS, CHANNELS))
        np.testing.assert_array_equal(to_numpy(layer(TIMESTAMPS)), expected)
        x = np.zeros((1, *TIMESTAMPS.shape, CHANNELS))
        found = to_numpy(places(x, positions=TIMESTAMPS))[0]
        np.testing.assert_allclose(found, expected, atol=1e-6)


def test_unknown_arguments_beside_an_array_are_refused():
    with pytest.raises(TypeError, match="foo"):
        coordinates()(np.array([1.0]), foo=1)


def test_a_regularizer_counts_arrays_as_it_counts_tensors():
    layer = coordinates(activity_regularizer=keras.regularizers.L2(0.5))
    values = np.array([1.0, 2.5], "float32")
    losses = []
    # What it says of tensors; whether Keras divides that by the batch, has changed.
    for given in (keras.ops.convert_to_tensor(values), values, values):
        layer(given)
        (loss,) = layer.losses
        losses.append(float(loss))
    np.testing.assert_allclose(losses, losses[0], rtol=1e-6)
    assert losses[0] > 0


def test_coordinates_without_a_channel_warn():
    with pytest.warns(
        UserWarning, match=r"^CoordinateEncoding has no channel for axis"
    ):
        kp.CoordinateEncoding(2, rank=2)


@pytest.mark.parametrize("keyword", [False, True])
def test_a_variable_is_encoded(keyword: bool):
    values = keras.Variable(np.array([1.0, 2.5], "float32"))
    layer = coordinates()
    outputs = layer(inputs=values) if keyword else layer(values)
    assert_close(outputs, exact([1.0, 2.5]))


def test_the_layer_has_the_numbers_of_encode():
    values = np.random.default_rng(0).uniform(-900, 900, (5, 2))
    options = {"max_wavelength": [100.0, 7.0], "layout": "concatenated", "scale": 0.3}
    outputs = coordinates(rank=2, **options)(values)
    expected = kp.encode(values, CHANNELS, rank=2, **options)
    np.testing.assert_array_equal(to_numpy(outputs), to_numpy(expected))


def test_the_layer_has_the_numbers_of_the_layer_of_places():
    layer = kp.PositionalEncoding2D(CHANNELS)
    places = to_numpy(layer(np.zeros((1, 4, 5, CHANNELS), "float32")))[0]
    points = np.stack(np.meshgrid(np.arange(4), np.arange(5), indexing="ij"), axis=-1)
    # One of the two is a table.
    assert_close(coordinates(rank=2)(points), places, COUNTING + ROUNDING["float32"])


def test_a_range_leaves_values_alone_but_for_their_scale():
    values = np.array([0.25, -1.0, 3.5])
    layer = coordinates(coordinate_range=(0, 1), offset=5.0, scale=2.0)
    assert_close(layer(values), exact(2 * values))


# Precision.


@pytest.mark.parametrize("shape", [(16,), (4, 4)], ids=str)
def test_timestamps_keep_their_fractions(shape: tuple[int, ...]):
    stamps = TIMESTAMPS[:16].reshape(shape)
    layer = coordinates()
    # A frequency of float64 is off by 2^-53, its product with a value likewise.
    for _ in range(2):
        outputs = layer(stamps)
        assert_close(outputs, exact(stamps), COUNTING + 2.0**-52 * stamps.max())


DTYPES = ["int8", "uint8", "int32", "float16", "bfloat16", "float32"]


@pytest.mark.parametrize("kind", ["array", "tensor"])
@pytest.mark.parametrize("dtype", DTYPES)
def test_inputs_may_have_every_dtype(dtype: str, kind: str):
    values = np.array([0, 1, 2, 3, 100, 127])  # all of them have these
    typed = values.astype(ml_dtypes.bfloat16 if dtype == "bfloat16" else dtype)
    outputs = coordinates()(typed if kind == "array" else to_tensor(values, dtype))
    assert dtype_of(outputs) == "float32"
    assert_close(outputs, exact(values))


# 1001 is no number of bfloat16: it would become 1000.
ODD = np.array([1001.0, 1003.0, 2049.0, 0.0])
POLICIES = ["float16", "bfloat16", "mixed_float16", "mixed_bfloat16"]


@pytest.mark.parametrize("kind", ["array", "tensor"])
@pytest.mark.parametrize("everywhere", [False, True], ids=["argument", "global"])
@pytest.mark.parametrize("policy", POLICIES)
def test_half_precision_rounds_the_encoding_and_not_the_values(
    policy: str, everywhere: bool, kind: str, global_policy: Any
):
    if everywhere:
        global_policy(policy)
    layer = coordinates() if everywhere else coordinates(dtype=policy)
    dtype = policy.removeprefix("mixed_")
    for _ in range(2):
        outputs = layer(ODD if kind == "array" else to_tensor(ODD, "float32"))
        assert dtype_of(outputs) == dtype
        assert_close(outputs, exact(ODD), ROUNDING[dtype])


def test_half_precision_rounds_no_values_in_a_model(global_policy: Any):
    global_policy("mixed_bfloat16")
    inputs = keras.Input(())
    model = keras.Model(inputs, coordinates()(inputs))
    outputs = model(ODD.astype("float32"))
    assert dtype_of(outputs) == dtype_of(model.outputs[0]) == "bfloat16"
    assert_close(outputs, exact(ODD), ROUNDING["bfloat16"])


def test_float64_is_right_to_the_digits_of_float64():
    outputs = coordinates(dtype="float64")(np.array([0.5, 1e4]))
    assert dtype_of(outputs) == ("float32" if BACKEND == "jax" else "float64")
    atol = COUNTING if BACKEND == "jax" else ROUNDING["float64"]
    assert_close(outputs, exact([0.5, 1e4]), atol)


# Graphs.

GRAPHS = {
    "numbers": (1, (4,)),
    "several": (1, (2, 3)),
    "points": (2, (2, 3, 2)),
}
over_graphs = pytest.mark.parametrize("name", GRAPHS)
over_dtypes = pytest.mark.parametrize("dtype", ["int32", "float32"])


@pytest.mark.parametrize("mode", KNOWN)
@over_dtypes
@over_graphs
def test_a_graph_encodes_values(name: str, dtype: str, mode: str):
    rank, shape = GRAPHS[name]
    layer, values = coordinates(rank=rank), sample(shape, dtype)
    layer(values)
    outputs = with_known_sizes(layer, mode)(to_tensor(values))
    assert_close(outputs, exact(values, rank))


@pytest.mark.parametrize("mode", UNKNOWN)
@over_graphs
def test_a_graph_that_knows_no_sizes_encodes_values(name: str, mode: str):
    rank, shape = GRAPHS[name]
    layer, values = coordinates(rank=rank), sample(shape)
    layer(values)
    last = () if rank == 1 else (rank,)
    signature = (None,) * (len(shape) - len(last)) + last
    outputs = with_unknown_sizes(layer, mode, signature)(to_tensor(values))
    assert_close(outputs, exact(values, rank))


# torch.compile makes no layers of Keras.
@pytest.mark.parametrize("mode", [mode for mode in KNOWN if mode != "dynamo"])
def test_a_layer_may_be_made_in_a_graph(mode: str):
    values = sample((4,))
    function = with_known_sizes(lambda x: coordinates()(x), mode)
    assert_close(function(to_tensor(values)), exact(values))


# Gradients.


@pytest.mark.parametrize("mode", KNOWN)
def test_gradients_flow_to_values(mode: str):
    layer, values = coordinates(), sample((4,))
    layer(values)
    found = gradient(with_known_sizes(layer, mode), to_tensor(values))
    # Frequencies that add up to 1.3, each for a sine and a cosine, both of which are
    # off by COUNTING; and sums of numbers below 2 are rounded.
    assert_close(found, exact_gradient_1d(values, CHANNELS), 2.6 * COUNTING + 2.0**-21)


# In models.

INPUTS = {
    "numbers": (1, (), (4,)),
    "sequences": (1, (None,), (2, 3)),
    "points": (2, (2,), (4, 2)),
    "sets-of-points": (2, (None, 2), (2, 3, 2)),
}


@over_dtypes
@pytest.mark.parametrize("name", INPUTS)
def test_a_model_of_values_is_saved_and_cloned(name: str, dtype: str, tmp_path: Path):
    rank, symbolic, shape = INPUTS[name]
    inputs = keras.Input(symbolic, dtype=dtype)
    model = keras.Model(inputs, coordinates(rank=rank)(inputs))
    points = symbolic if rank == 1 else symbolic[:-1]
    assert model.output_shape == (None, *points, CHANNELS)
    values = sample(shape, dtype)
    outputs = model.predict(values, verbose=0)
    assert_close(to_tensor(outputs), exact(values, rank))
    model.save(tmp_path / "model.keras")
    loaded = keras.models.load_model(tmp_path / "model.keras")
    clone = keras.models.clone_model(model)
    rebuilt = keras.models.model_from_json(model.to_json())
    found = [each.predict(values, verbose=0) for each in (loaded, clone, rebuilt)]
    np.testing.assert_array_equal(np.stack(found), np.stack([outputs] * 3))


def denoiser() -> keras.Model:
    """Takes noisy vectors and timesteps, as the networks of diffusion models do."""
    noisy, steps = keras.Input((5,)), keras.Input((), dtype="int32")
    when = coordinates(layout="concatenated", endpoint=True)(steps)
    hidden = keras.layers.Dense(8)(noisy) + keras.layers.Dense(8)(when)
    return keras.Model([noisy, steps], keras.layers.Dense(5)(hidden))


def test_a_denoiser_is_trained_on_timesteps(tmp_path: Path):
    keras.utils.set_random_seed(0)
    model = denoiser()
    model.compile("sgd", "mse")
    noisy, steps = sample((4, 5)) / 900, np.array([0, 1, 500, 999], "int32")
    history = model.fit([noisy, steps], noisy, verbose=0)
    assert np.isfinite(history.history["loss"]).all()
    same = np.repeat(noisy[:1], 4, axis=0)
    outputs = model.predict([same, steps], verbose=0)
    assert len(np.unique(outputs, axis=0)) == 4  # each step is another one
    model.save(tmp_path / "model.keras")
    loaded = keras.models.load_model(tmp_path / "model.keras")
    np.testing.assert_array_equal(loaded.predict([same, steps], verbose=0), outputs)


def test_sequential_and_time_distributed_take_the_layer():
    values = sample((2, 3))
    model = keras.Sequential([keras.Input((3,)), coordinates()])
    assert_close(to_tensor(model.predict(values, verbose=0)), exact(values))
    points = sample((2, 3, 2))
    layer = keras.layers.TimeDistributed(coordinates(rank=2))
    assert_close(layer(to_tensor(points)), exact(points, 2))


# Masks.


class MasksZeros(keras.layers.Layer):
    def call(self, inputs: Any) -> Any:
        return inputs * 1

    def compute_mask(self, inputs: Any, previous_mask: Any = None) -> Any:
        return ops.not_equal(inputs, 0)


def test_masks_pass_through():
    values = np.array([[0.5, 2.0, 0.0], [1.0, 0.0, 0.0]], "float32")
    pooled = keras.layers.GlobalAveragePooling1D()(
        coordinates()(MasksZeros()(to_tensor(values)))
    )
    encoding = exact(values)
    expected = [encoding[0, :2].mean(axis=0), encoding[1, 0]]
    assert_close(pooled, np.stack(expected))


def test_masks_pass_through_in_a_model():
    inputs = keras.Input((3,))
    hidden = coordinates()(MasksZeros()(inputs))
    model = keras.Model(inputs, keras.layers.GlobalAveragePooling1D()(hidden))
    values = np.array([[0.5, 2.0, 0.0], [1.0, 0.0, 0.0]], "float32")
    encoding = exact(values)
    expected = [encoding[0, :2].mean(axis=0), encoding[1, 0]]
    assert_close(to_tensor(model.predict(values, verbose=0)), np.stack(expected))


# Config.

CONFIGS: dict[str, Callable[[], Any]] = {
    "plain": lambda: coordinates(),
    "points": lambda: coordinates(rank=2),
    "named": lambda: coordinates(name="steps", dtype="mixed_bfloat16"),
    "options": lambda: coordinates(
        rank=2, max_wavelength=(100.0, 50.0), layout="freq phase axis", cos_first=True
    ),
    "frequencies": lambda: coordinates(frequencies=np.arange(6.0), scale=np.float32(2)),
    "half": lambda: coordinates(dtype="float16"),
}


@pytest.mark.parametrize("built", [False, True], ids=["before-build", "after-build"])
@pytest.mark.parametrize("name", CONFIGS)
def test_the_config_rebuilds_the_layer(name: str, built: bool):
    layer = CONFIGS[name]()
    values = sample((4, 2))
    before = layer.get_config()
    if built:
        layer(values)
    config = layer.get_config()
    assert config == before == json.loads(json.dumps(config))
    given = copy.deepcopy(config)
    again = kp.CoordinateEncoding.from_config(given)
    assert given == config == again.get_config()
    np.testing.assert_array_equal(to_numpy(again(values)), to_numpy(layer(values)))
    assert again.dtype_policy == layer.dtype_policy


@pytest.mark.parametrize(
    "duplicate",
    [lambda layer: pickle.loads(pickle.dumps(layer)), copy.deepcopy],
    ids=["pickle", "deepcopy"],
)
def test_copies_return_the_same(duplicate: Callable[[Any], Any]):
    layer, values = coordinates(), sample((4,))
    layer(values)
    found = duplicate(layer)(values)
    np.testing.assert_array_equal(to_numpy(found), to_numpy(layer(values)))


def test_the_layer_has_no_weights():
    layer = coordinates()
    layer(sample((4,)))
    assert layer.weights == layer.variables == []


def test_options_are_attributes():
    layer = coordinates(rank=2, scale=3)
    assert (layer.channels, layer.rank, layer.scale) == (CHANNELS, 2, 3.0)


def test_the_layer_is_registered_under_the_package():
    name = keras.saving.get_registered_name(kp.CoordinateEncoding)
    assert name == "keras_posenc>CoordinateEncoding"


# Errors.

BAD_ARGUMENTS: dict[str, tuple[dict[str, Any], type[Exception], str]] = {
    "no-channels": ({"channels": 0}, ValueError, "`channels` must be a positive"),
    "None": ({"channels": None}, TypeError, "`channels` must be a positive"),
    "half": ({"channels": 7.5}, TypeError, "`channels` must be a positive"),
    "bool": ({"channels": True}, TypeError, "`channels` must be a positive"),
    "no-rank": ({"rank": 0}, ValueError, "`rank` must be a positive integer"),
    "rank-of-str": ({"rank": "2"}, TypeError, "`rank` must be a positive integer"),
    "dtype": ({"dtype": "int32"}, ValueError, "`dtype` must be a floating-point"),
    "option": ({"scale": "2"}, TypeError, "`scale` must be a finite number"),
    "split": ({"rank": 2, "split": [2, 2]}, ValueError, "`split` must add up to"),
    "grid": ({"grid": [3, 4]}, ValueError, "grid"),
}


@pytest.mark.parametrize("name", BAD_ARGUMENTS)
def test_bad_arguments_are_refused(name: str):
    arguments, error, message = BAD_ARGUMENTS[name]
    with pytest.raises(error, match=message):
        coordinates(**arguments)


BAD_INPUTS: dict[str, tuple[int, Any, type[Exception], str]] = {
    "bool": (1, [True], TypeError, "must be integers or real numbers"),
    "str": (1, "now", TypeError, "must be integers or real numbers"),
    "None": (1, None, TypeError, "must be integers or real numbers"),
    "complex": (1, [1j], TypeError, "must be integers or real numbers"),
    "uneven": (1, [[1], [2, 3]], ValueError, "or lists of as many numbers each"),
    "dates": (
        1,
        np.array(["2026-11-30"], "datetime64[D]"),
        TypeError,
        "must be integers or real numbers",
    ),
    "scalar-point": (2, 1.0, ValueError, r"must have shape \(\.\.\., 2\)"),
    "three-coordinates": (2, [[1, 2, 3]], ValueError, r"must have shape \(\.\.\., 2\)"),
}


@pytest.mark.parametrize("built", [False, True], ids=["first-call", "later-call"])
@pytest.mark.parametrize("name", BAD_INPUTS)
def test_bad_inputs_are_refused(name: str, built: bool):
    rank, inputs, error, message = BAD_INPUTS[name]
    layer = coordinates(rank=rank)
    if built:
        layer(np.zeros((2, rank)))
    with pytest.raises(error, match=f"`inputs` .*{message}"):
        layer(inputs)


def test_bad_tensors_are_refused():
    with pytest.raises(TypeError, match="`inputs` must be integers or real numbers"):
        coordinates()(to_tensor(np.array([True])))
    with pytest.raises(ValueError, match=r"`inputs` must have shape \(\.\.\., 2\)"):
        coordinates(rank=2)(to_tensor(np.zeros((2, 3), "float32")))


@pytest.mark.parametrize("shape", [(), (3,), (None,)], ids=str)
def test_bad_symbolic_inputs_are_refused(shape: tuple[int | None, ...]):
    with pytest.raises(ValueError, match=r"`inputs` must have shape \(\.\.\., 2\)"):
        coordinates(rank=2)(keras.Input(shape))


def test_inputs_of_another_shape_are_refused_on_a_later_call():
    layer = coordinates(rank=2)
    layer(np.zeros((4, 2)))
    with pytest.raises(ValueError, match="Received: inputs of shape"):
        layer(np.zeros((4, 3)))


# Each kind of value.

VALUES = {
    "scalar": (1, np.array(3.5)),
    "vector": (1, np.array([0.0, 1.0, -2.5, 999.0])),
    "integers": (1, np.array([[0, 1], [65_536, -7]])),
    "timestamps": (1, TIMESTAMPS[:6]),
    "points": (2, np.array([[[0.25, 3.0], [-1.5, 40.0]]])),
}


@pytest.mark.parametrize("name", VALUES)
def test_values_are_encoded(name: str):
    rank, values = VALUES[name]
    layer = kp.CoordinateEncoding(CHANNELS, rank)
    coordinates = values[..., None] if rank == 1 else values
    expected = reference.exact(coordinates, CHANNELS)
    atol = COUNTING + abs(values).max() * 2.0**-52
    assert_close(layer(values), expected, atol)
    if name != "timestamps":  # float32 has none of their digits
        assert_close(layer(to_tensor(values, "float32")), expected, atol)
    assert layer.compute_output_shape(values.shape) == expected.shape


def test_a_saved_model_encodes_values(tmp_path: Any):
    inputs = keras.Input((), dtype="int32")
    model = keras.Model(inputs, kp.CoordinateEncoding(CHANNELS, name="steps")(inputs))
    model.save(tmp_path / "model.keras")
    loaded = keras.models.load_model(tmp_path / "model.keras")
    steps = np.array([0, 1, 1000], "int32")
    assert_close(loaded.predict(steps, verbose=0), reference.exact_1d(steps, CHANNELS))


def test_values_without_a_coordinate_for_each_axis_are_refused():
    with pytest.raises(ValueError, match=r"`inputs` must have shape \(\.\.\., 2\)"):
        kp.CoordinateEncoding(CHANNELS, 2)(np.zeros((3, 5)))
