"""`positions` with a batch of one go for every element, whatever ran before."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import keras
import numpy as np
import pytest
from keras import ops

import keras_posenc as kp
from helpers import reference
from helpers.gradients import gradient
from helpers.position_cases import (
    BATCH,
    CHANNELS,
    GIVEN,
    LENGTH,
    NAMED,
    OF_PLANES,
    PLANE_SIZES,
    PLANES,
    Sequence,
    as_tensor,
    each_sequence,
    encoding_at,
    grid_positions,
)
from helpers.run_modes import BACKEND, KNOWN, with_known_sizes
from helpers.tensors import normal, to_numpy, to_tensor, zeros
from helpers.tolerances import COUNTING, assert_close

FORMS: dict[str, Callable[[np.ndarray], Any]] = {
    "array": lambda values: values,
    "list": lambda values: values.tolist(),
    "tensor": as_tensor,
    "variable": lambda values: keras.Variable(
        values.astype("float32"), trainable=False
    ),
}
each_form = pytest.mark.parametrize("form", FORMS)


@each_form
@pytest.mark.parametrize("given", ["integer", "negative", "real"])
@each_sequence
def test_positions_of_one_go_for_all(case: Sequence, given: str, form: str):
    layer, values = case.make(), GIVEN[given][None]
    # The first call builds the layer, by another way through Keras.
    for batch in (BATCH, 1, 4, BATCH):
        outputs = layer(case.inputs(batch=batch), positions=FORMS[form](values))
        assert outputs.shape[0] == batch
        assert_close(case.encoding(outputs), encoding_at(values))


@each_form
@pytest.mark.parametrize("given", ["integer", "real"])
@pytest.mark.parametrize("name", OF_PLANES)
def test_positions_of_one_plane_go_for_all(name: str, given: str, form: str):
    make, first = OF_PLANES[name]
    layer, values = make(), PLANES[given][None]
    for batch in (3, 1, 3):
        sizes = (CHANNELS, *PLANE_SIZES) if first else (*PLANE_SIZES, CHANNELS)
        outputs = to_numpy(layer(zeros(batch, *sizes), positions=FORMS[form](values)))
        outputs = np.moveaxis(outputs, 1, -1) if first else outputs
        assert_close(outputs, reference.exact(values, CHANNELS))


@each_form
@pytest.mark.parametrize("rank", [3, 4])
def test_positions_of_one_volume_go_for_all(rank: int, form: str):
    sizes = (2, 3, 2, 1)[:rank]
    values = grid_positions(*sizes)[None]
    layer = kp.PositionalEncoding(rank, 24)
    for _ in range(2):
        outputs = layer(zeros(3, *sizes, 24), positions=FORMS[form](values))
        assert_close(outputs, reference.exact(values, 24))


@each_form
def test_positions_of_one_flat_sequence_go_for_all(form: str):
    values = grid_positions(3, 4).reshape(1, 12, 2)
    layer = kp.PositionalEncoding2D(CHANNELS, prefix_tokens=1)
    for _ in range(2):
        outputs = layer(zeros(3, 13, CHANNELS), positions=FORMS[form](values))
        assert_close(outputs[:, 1:], reference.exact(values, CHANNELS))


@pytest.mark.parametrize("mode", KNOWN)
@pytest.mark.parametrize("given", ["integer", "real"])
@each_sequence
def test_a_graph_takes_positions_of_one_for_all(case: Sequence, given: str, mode: str):
    layer, x = case.make(), case.inputs()
    layer(x)
    function = with_known_sizes(lambda x, p: layer(x, positions=p), mode)
    outputs = function(x, as_tensor(GIVEN[given][None]))
    assert_close(case.encoding(outputs), encoding_at(GIVEN[given]))


@pytest.mark.parametrize("batches", [(1, 3), (3, 1), (1, 3, 1)], ids=str)
@pytest.mark.parametrize("dtype", ["int32", "float32"])
@each_sequence
def test_a_model_takes_positions_of_one_in_any_order(
    case: Sequence, dtype: str, batches: tuple[int, ...]
):
    sizes = (CHANNELS, None) if case.channels_first else (None, CHANNELS)
    inputs, positions = keras.Input(sizes), keras.Input((None,), dtype=dtype)
    model = keras.Model([inputs, positions], case.make()(inputs, positions=positions))
    for batch in batches:
        given = [case.inputs(batch=batch), to_tensor(GIVEN["integer"][None], dtype)]
        assert_close(case.encoding(model(given)), encoding_at(GIVEN["integer"]))


@pytest.mark.parametrize("batches", [(1, 3), (3, 1)], ids=str)
def test_a_model_of_planes_takes_positions_of_one_in_any_order(
    batches: tuple[int, ...],
):
    inputs, positions = (
        keras.Input((None, None, CHANNELS)),
        keras.Input((None, None, 2)),
    )
    layer = kp.Summer(kp.PositionalEncoding2D(CHANNELS))
    model = keras.Model([inputs, positions], layer(inputs, positions=positions))
    values = PLANES["real"][None].astype("float32")
    for batch in batches:
        outputs = model([zeros(batch, *PLANE_SIZES, CHANNELS), to_tensor(values)])
        assert_close(outputs, reference.exact(values, CHANNELS))


# Graphs that know neither batch.


def _open_graph(layer: Any) -> Callable[..., Any]:
    def function(x: Any, positions: Any) -> Any:
        return layer(x, positions=positions)

    if BACKEND == "jax":
        import jax
        from jax import export

        batch, length = export.symbolic_shape("b, n")
        x = jax.ShapeDtypeStruct((batch, length, CHANNELS), "float32")
        one = jax.ShapeDtypeStruct((1, length), "float32")
        return export.export(jax.jit(function))(x, one).call
    if BACKEND == "tensorflow":
        import tensorflow as tf

        specs = [tf.TensorSpec((None, None, CHANNELS)), tf.TensorSpec((None, None))]
        return tf.function(function, specs)
    from helpers.run_modes import whole_torch_graph

    return whole_torch_graph(function, dynamic=True)


@pytest.mark.parametrize("name", ["1d", "sum-of-1d", "sinusoid"])
def test_a_graph_that_knows_no_batch_takes_positions_of_one(name: str):
    case = NAMED[name]
    layer = case.make()
    layer(case.inputs())
    function = _open_graph(layer)
    given = GIVEN["real"][None].astype("float32")
    for batch in (3, 1, 4):
        outputs = function(case.inputs(batch=batch), to_tensor(given))
        assert_close(outputs, encoding_at(given))


if BACKEND == "tensorflow":

    @pytest.mark.parametrize("jit", [False, True], ids=["graph", "xla"])
    @pytest.mark.parametrize("name", ["1d", "sum-of-1d", "sinusoid"])
    def test_an_open_graph_still_takes_positions_for_each(name: str, jit: bool):
        import tensorflow as tf

        layer = NAMED[name].make()
        layer(NAMED[name].inputs())
        specs = [tf.TensorSpec((None, None, CHANNELS)), tf.TensorSpec((None, None))]
        function = tf.function(
            lambda x, p: layer(x, positions=p), specs, jit_compile=jit
        )
        for given in (GIVEN["real-for-each"], GIVEN["real"][None]):
            outputs = function(NAMED[name].inputs(), to_tensor(given, "float32"))
            assert_close(outputs, encoding_at(given))


# Gradients: of an eager call too, which copies nothing without one.


def slopes(positions: np.ndarray) -> np.ndarray:
    """Of the sum of the encoding of each: f * cos for a sine, -f * sin for a cosine."""
    encoding = encoding_at(positions)
    frequency = 10000.0 ** -(np.arange(CHANNELS // 2) / (CHANNELS // 2))
    return ((encoding[..., 1::2] - encoding[..., 0::2]) * frequency).sum(axis=-1)


# As in test_given_positions.py.
SLOPE_ERROR = 2.222 * COUNTING + 2.0**-21


@pytest.mark.parametrize("mode", KNOWN)
@pytest.mark.parametrize("batch", [1, 3])
@pytest.mark.parametrize("batched", [False, True], ids=["for-all", "batch-of-one"])
@each_sequence
def test_gradients_flow_to_positions_of_one(
    case: Sequence, batched: bool, batch: int, mode: str
):
    layer, x = case.make(), case.inputs(batch=batch)
    layer(x)
    function = with_known_sizes(lambda p: layer(x, positions=p), mode)
    given = GIVEN["real"].astype("float32")
    given = given[None] if batched else given
    found = gradient(function, to_tensor(given))
    assert_close(found, batch * slopes(given), batch * SLOPE_ERROR)


@pytest.mark.parametrize("batch", [1, 3])
@pytest.mark.parametrize("rank", [2, 3])
def test_gradients_flow_to_positions_of_one_grid(rank: int, batch: int):
    sizes = (2, 3, 2)[:rank]
    given = (grid_positions(*sizes)[None] / 4).astype("float32")
    layer = kp.PositionalEncoding(rank, rank * CHANNELS)
    x = zeros(batch, *sizes, rank * CHANNELS)
    found = gradient(lambda p: layer(x, positions=p), to_tensor(given))
    assert_close(found, batch * slopes(given), batch * SLOPE_ERROR)


@pytest.mark.parametrize("batch", [1, 3])
def test_gradients_flow_to_a_variable(batch: int):
    variable = keras.Variable(GIVEN["real"].astype("float32")[None])
    layer = kp.PositionalEncoding1D(CHANNELS)

    def total() -> Any:
        return ops.sum(layer(zeros(batch, LENGTH, CHANNELS), positions=variable))

    if BACKEND == "tensorflow":
        import tensorflow as tf

        with tf.GradientTape() as tape:
            outputs = total()
        found = tape.gradient(outputs, variable.value)
    elif BACKEND == "torch":
        total().backward()
        found = variable.value.grad
    else:
        pytest.skip("JAX differentiates functions of arrays, not of variables.")
    assert_close(found, batch * slopes(GIVEN["real"]), batch * SLOPE_ERROR)


@pytest.mark.parametrize("eager", [False, True], ids=["compiled", "eager"])
@pytest.mark.parametrize("summed", [False, True])
@pytest.mark.parametrize("batch", [1, 2])
def test_fit_learns_positions_of_one(batch: int, summed: bool, eager: bool):
    class Places(keras.layers.Layer):
        def build(self, input_shape: Any) -> None:
            self.places = self.add_weight(shape=(1, LENGTH), initializer="ones")
            layer = kp.PositionalEncoding1D(CHANNELS)
            self.encoding = kp.Summer(layer) if summed else layer

        def call(self, inputs: Any) -> Any:
            return self.encoding(inputs, positions=self.places)

    layer = Places()
    model = keras.Sequential([keras.Input((LENGTH, CHANNELS)), layer])
    model.compile("sgd", "mse", run_eagerly=eager)
    x = normal(batch, LENGTH, CHANNELS)
    model.fit(x, x + 1, batch_size=batch, verbose=0)
    assert np.isfinite(to_numpy(layer.places)).all()
    assert (to_numpy(layer.places) != 1).all()


# Other numbers of positions are still refused.


@pytest.mark.parametrize("built", [False, True], ids=["first-call", "later-call"])
@pytest.mark.parametrize("batch", [2, 4, 0])
@each_sequence
def test_positions_of_another_batch_are_refused(
    case: Sequence, batch: int, built: bool
):
    layer, x = case.make(), case.inputs()
    if built:
        layer(x)
    with pytest.raises(ValueError, match=r"^`positions` must have shape"):
        layer(x, positions=np.zeros((batch, LENGTH)))
