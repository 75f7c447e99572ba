"""Models with the layers in them: compiled in every way, trained, evaluated, run.

What they must come to is known without Keras: the head behind each layer is linear, and
its training by plain gradient descent is written out in NumPy, on the input plus the
formula's encoding. A layer that is left out, added twice or off by a position in one of
the ways to run would change every loss.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator
from typing import Any

import keras
import numpy as np
import pytest

import keras_posenc as kp
from helpers import reference
from helpers.layer_cases import BY_NAME, Case
from helpers.run_modes import BACKEND, BREAKS_GRAPHS
from helpers.tensors import to_numpy, to_tensor

RATE = 0.02
# One output is a sum of at most 12 products and a bias, each term rounded by 2^-24 of
# sizes that add up to less than 16 times the error that is squared, which doubles what
# is relative; then 6 steps, of which each shrinks what the ones before were off by.
TOLERANCE = 6 * 2 * 16 * (12 + 3) * 2.0**-24

Batch = tuple[np.ndarray, np.ndarray]


class Head:
    """`Dense(2)` on a mean square, in float64."""

    def __init__(self, features: int):
        generator = np.random.default_rng(5)
        self.kernel = generator.normal(size=(features, 2)) / np.sqrt(features)
        self.bias = generator.normal(size=2)

    def __call__(self, x: np.ndarray) -> np.ndarray:
        return x @ self.kernel + self.bias

    def loss(self, batches: Iterable[Batch]) -> float:
        squares = [np.square(self(x) - y) for x, y in batches]
        # As Keras weighs the batches of an epoch: by their sizes.
        sizes = [len(square) for square in squares]
        return float(np.average([s.mean() for s in squares], weights=sizes))

    def train(self, batches: Iterable[Batch]) -> float:
        """One step for each batch; the mean of the losses before each."""
        losses, sizes = [], []
        for x, y in batches:
            losses.append(self.loss([(x, y)]))
            sizes.append(len(x))
            error = 2 * (self(x) - y) / y.size
            axes = tuple(range(x.ndim - 1))
            self.kernel -= RATE * np.tensordot(x, error, (axes, axes))
            self.bias -= RATE * error.sum(axes)
        return float(np.average(losses, weights=sizes))

    def weights(self) -> list[np.ndarray]:
        return [self.kernel.copy(), self.bias.copy()]


def examples(case: Case, count: int = 5) -> Batch:
    generator = np.random.default_rng(6)
    x = generator.normal(size=(count, *case.shape[1:])).astype("float32")
    y = generator.normal(size=(count, *case.shape[1:-1], 2)).astype("float32")
    return x, y


def in_batches(x: np.ndarray, y: np.ndarray, size: int = 2) -> list[Batch]:
    """The last of which is a part of one."""
    return [(x[i : i + size], y[i : i + size]) for i in range(0, len(x), size)]


def placed(layer: keras.Layer, inputs: Any, adds: bool) -> Any:
    """The input plus its encoding, which some layers return without the input."""
    encoded = layer(inputs)
    return encoded if adds else keras.layers.Add()([inputs, encoded])


def model_of(case: Case, *, sizes: tuple[int | None, ...] | None = None) -> keras.Model:
    inputs = keras.Input(sizes or case.shape[1:])
    head = keras.layers.Dense(2)
    model = keras.Model(inputs, head(placed(case.make(), inputs, case.adds)))
    head.set_weights(Head(case.shape[-1]).weights())
    return model


def compiled(model: keras.Model, **way: Any) -> keras.Model:
    model.compile(keras.optimizers.SGD(RATE), "mse", **way)
    return model


def assert_close(actual: Any, expected: Any) -> None:
    """`TOLERANCE` of the largest: near zero there may be nothing of it."""
    most = TOLERANCE * np.abs(expected).max()
    np.testing.assert_allclose(actual, expected, rtol=0, atol=most)


@pytest.fixture(autouse=True)
def single_precision():
    """Some devices multiply matrices of float32 in fewer digits unless told not to."""
    if BACKEND == "jax":
        import jax

        with jax.default_matmul_precision("highest"):
            yield
        return
    if BACKEND == "tensorflow":
        import tensorflow as tf

        before = tf.config.experimental.tensor_float_32_execution_enabled()
        tf.config.experimental.enable_tensor_float_32_execution(False)
        yield
        tf.config.experimental.enable_tensor_float_32_execution(before)
        return
    yield


@pytest.fixture(autouse=True)
def graphs_of_torch(monkeypatch: pytest.MonkeyPatch):
    """What Keras has torch compile is traced in full, but run as it was traced.

    Machine code for each of the models would take ten seconds.
    """
    if BACKEND == "torch":
        import torch

        torch._dynamo.reset()
        traced = functools.partial(torch.compile, backend="eager")
        monkeypatch.setattr(torch, "compile", traced)


# How Keras runs a model. Without a word it takes XLA on JAX and TensorFlow, which
# "auto" says again, and runs torch op by op.
WAYS: dict[str, dict[str, Any]] = {
    "auto": {"jit_compile": "auto"},
    "no-jit": {"jit_compile": False},
    "eager": {"run_eagerly": True},
}


if BACKEND != "torch":  # which Keras refuses it
    WAYS["two-steps-at-once"] = {"steps_per_execution": 2}


# torch.compile takes half a minute for what Keras does around a model, whatever is in
# it: the layers alone are compiled in `test_tracing.py`, and a model here in one test.
GRAPHS = {**WAYS, "jit": {"jit_compile": True}}

# One of each class, which test_every_public_layer_is_trained_here checks, and each way
# to add it. Keras does not tell apart layers that differ in their options.
TRAINED = (
    *("1d", "2d", "3d", "permute1d", "permute2d", "permute3d", "rank2"),
    *("sum-of-2d", "sum-of-permute1d", "sinusoid"),
)
each_kind = pytest.mark.parametrize("name", TRAINED)
each_way = pytest.mark.parametrize("way", WAYS)


def expected_of(case: Case, epochs: int = 2) -> tuple[list[float], Head]:
    """The losses of the epochs, and what the head has become."""
    x, y = examples(case)
    head = Head(case.shape[-1])
    batches = in_batches(x + case.encoding(), y)
    return [head.train(batches) for _ in range(epochs)], head


def assert_trains(case: Case, way: dict[str, Any]) -> None:
    x, y = examples(case)
    losses, head = expected_of(case)
    model = compiled(model_of(case), **way)
    history = model.fit(x, y, 2, epochs=2, shuffle=False, verbose=0).history
    assert losses[1] < losses[0]
    assert_close(history["loss"], losses)
    for weight, expected in zip(model.get_weights(), head.weights(), strict=True):
        assert_close(weight, expected)
    added = x + case.encoding()
    assert_close(model.evaluate(x, y, 2, verbose=0), head.loss(in_batches(added, y, 2)))
    assert_close(model.predict(x, 2, verbose=0), head(added))


@pytest.mark.parametrize(
    ("name", "way"),
    [(name, "auto") for name in TRAINED]
    + [("sum-of-2d", way) for way in GRAPHS if way != "auto"],
)
def test_fit_evaluate_and_predict_equal_gradient_descent(name: str, way: str):
    if way == "jit" and BREAKS_GRAPHS:
        pytest.skip("torch 2.13 stumbles over the losses of Keras before 3.15.")
    assert_trains(BY_NAME[name], GRAPHS[way])


@each_kind
def test_a_layer_left_out_would_be_seen(name: str):
    case = BY_NAME[name]
    x, y = examples(case)
    head = Head(case.shape[-1])
    losses, _ = expected_of(case)
    assert abs(head.train(in_batches(x, y)) - losses[0]) > 100 * TOLERANCE * losses[0]


@each_way
def test_training_batch_by_batch_equals_gradient_descent(way: str):
    case = BY_NAME["sum-of-2d"]
    x, y = examples(case)
    added, head = x + case.encoding(), Head(case.shape[-1])
    model = compiled(model_of(case), **WAYS[way])
    steps = zip(in_batches(x, y), in_batches(added, y), strict=True)
    for given, batch in steps:
        loss = model.train_on_batch(*given, return_dict=True)["loss"]
        assert_close(float(loss), head.train([batch]))
        model.reset_metrics()
    loss = model.test_on_batch(x, y, return_dict=True)["loss"]
    assert_close(float(loss), head.loss([(added, y)]))
    assert_close(model.predict_on_batch(x), head(added))


# Lengths that no model knows when it is built, and that change from batch to batch.


class OfManyLengths(keras.utils.PyDataset):
    """Batches of their own lengths, of which one is long and one a single example."""

    lengths = ((2, 5), (2, 7), (2, 300), (1, 4))

    def __init__(self, case: Case, **kwargs: Any):
        super().__init__(**kwargs)
        self.case = case

    def __len__(self) -> int:
        return len(self.lengths)

    def __getitem__(self, index: int) -> Batch:
        batch, length = self.lengths[index]
        shape = list(self.case.shape[1:])
        shape[0 if self.case.channel_dim == -1 else 1] = length
        case = Case(self.case.name, self.case.make, (0, *shape), self.case.channel_dim)
        return examples(case, batch)


def added_to(x: np.ndarray, channels_first: bool) -> np.ndarray:
    if channels_first:
        x = np.moveaxis(x, 1, -1)
    total = x + reference.encode(x.shape[1:-1], x.shape[-1])
    return np.moveaxis(total, -1, 1) if channels_first else total


# JAX op by op compiles each operation for each shape: half a minute of nothing new.
@pytest.mark.parametrize(
    "way", [way for way in WAYS if BACKEND != "jax" or way not in ("no-jit", "eager")]
)
@pytest.mark.parametrize("name", ["2d", "sum-of-permute2d"])
def test_training_on_lengths_that_change_equals_gradient_descent(name: str, way: str):
    case = BY_NAME[name]
    if name == "sum-of-permute2d":
        sizes: tuple[int | None, ...] = (7, None, 3)  # Dense needs a known last size
    else:
        sizes = (*(None,) * (len(case.shape) - 2), case.shape[-1])
    given = OfManyLengths(case)
    batches = [(added_to(x, name == "sum-of-permute2d"), y) for x, y in iter_of(given)]
    head = Head(case.shape[-1])
    losses = [head.train(batches) for _ in range(2)]
    model = compiled(model_of(case, sizes=sizes), **WAYS[way])
    history = model.fit(given, epochs=2, shuffle=False, verbose=0).history
    assert_close(history["loss"], losses)
    assert_close(model.evaluate(given, verbose=0), head.loss(batches))


def iter_of(data: keras.utils.PyDataset) -> Iterator[Batch]:
    return (data[index] for index in range(len(data)))


# Models that are no graph of layers, and loops that are not those of Keras.


class Subclassed(keras.Model):
    def __init__(self, case: Case):
        super().__init__()
        self.places, self.adds = case.make(), case.adds
        self.head = keras.layers.Dense(2)

    def call(self, inputs: Any) -> Any:
        encoded = self.places(inputs)
        return self.head(encoded if self.adds else inputs + encoded)


def subclassed(case: Case) -> keras.Model:
    model = Subclassed(case)
    model(np.zeros(case.shape, "float32"))
    model.head.set_weights(Head(case.shape[-1]).weights())
    return model


@each_way
def test_a_subclass_of_model_is_fitted(way: str):
    case = BY_NAME["sinusoid"]
    losses, _ = expected_of(case)
    model = compiled(subclassed(case), **WAYS[way])
    history = model.fit(
        *examples(case), batch_size=2, epochs=2, shuffle=False, verbose=0
    ).history
    assert_close(history["loss"], losses)


def own_loop(model: keras.Model, batches: list[Batch]) -> list[float]:
    """The losses of plain gradient descent, in the backend's own words."""
    tensors = [(to_tensor(x), to_tensor(y)) for x, y in batches]
    loops = {"jax": _jax_loop, "tensorflow": _tensorflow_loop, "torch": _torch_loop}
    return [float(loss) for loss in loops[BACKEND](model, tensors)]


def _jax_loop(model: keras.Model, batches: list[Any]) -> list[Any]:
    import jax

    frozen = [variable.value for variable in model.non_trainable_variables]

    def loss(weights: Any, x: Any, y: Any) -> Any:
        outputs, _ = model.stateless_call(weights, frozen, x)
        return ((outputs - y) ** 2).mean()

    @jax.jit
    def step(weights: Any, x: Any, y: Any) -> Any:
        value, slopes = jax.value_and_grad(loss)(weights, x, y)
        descend = jax.tree.map(lambda w, slope: w - RATE * slope, weights, slopes)
        return value, descend

    losses, weights = [], [variable.value for variable in model.trainable_variables]
    for x, y in batches:
        value, weights = step(weights, x, y)
        losses.append(value)
    return losses


def _tensorflow_loop(model: keras.Model, batches: list[Any]) -> list[Any]:
    import tensorflow as tf

    weights = [variable.value for variable in model.trainable_variables]

    @tf.function(reduce_retracing=True)
    def step(x: Any, y: Any) -> Any:
        with tf.GradientTape() as tape:
            value = tf.reduce_mean((model(x) - y) ** 2)
        for weight, slope in zip(weights, tape.gradient(value, weights), strict=True):
            weight.assign_sub(RATE * slope)
        return value

    return [step(x, y) for x, y in batches]


def _torch_loop(model: keras.Model, batches: list[Any]) -> list[Any]:
    import torch

    optimizer = torch.optim.SGD(model.parameters(), lr=RATE)
    graph = torch.compile(model)  # as `graphs_of_torch` has it
    losses = []
    for x, y in batches:
        optimizer.zero_grad()
        value = ((graph(x) - y) ** 2).mean()
        value.backward()
        optimizer.step()
        losses.append(value.detach())
    return losses


# Where a graph breaks, torch.compile asks for this of all that it goes on with.
@pytest.mark.filterwarnings(
    "ignore:The .grad attribute of a Tensor that is not a leaf Tensor:UserWarning"
)
@pytest.mark.parametrize("name", ["permute1d", "sum-of-2d"])
@pytest.mark.parametrize("make", [model_of, subclassed], ids=lambda make: make.__name__)
def test_a_training_loop_of_the_backend_equals_gradient_descent(name: str, make: Any):
    case = BY_NAME[name]
    x, y = examples(case)
    head = Head(case.shape[-1])
    losses = [head.train([batch]) for batch in in_batches(x + case.encoding(), y)]
    assert_close(own_loop(make(case), in_batches(x, y)), losses)


# With Keras 3.15.1 TensorFlow cannot train any functional model of such layers: "The
# custom_gradient decorator currently supports keywords arguments only when eager".
@pytest.mark.skipif(BACKEND == "tensorflow", reason="Keras cannot, with any layer")
@pytest.mark.parametrize("name", ["sum-of-2d", "permute1d"])
def test_layers_that_are_computed_again_are_fitted(name: str):
    """In the backward pass, instead of being kept from the forward one."""
    case = BY_NAME[name]
    losses, _ = expected_of(case)
    with keras.RematScope("full"):
        model = compiled(model_of(case), jit_compile="auto")
    history = model.fit(
        *examples(case), batch_size=2, epochs=2, shuffle=False, verbose=0
    ).history
    assert_close(history["loss"], losses)


# Half precision.


@pytest.mark.parametrize("policy", ["mixed_float16", "mixed_bfloat16"])
@pytest.mark.parametrize("name", ["permute1d", "sum-of-2d"])
def test_a_model_is_fitted_under_a_mixed_policy(
    name: str, policy: str, global_policy: Any
):
    global_policy(policy)
    case = BY_NAME[name]
    x, y = examples(case)
    model = compiled(model_of(case), jit_compile="auto")
    assert {layer.compute_dtype for layer in model.layers} == {policy[6:]}
    before = model.evaluate(x, y, 2, verbose=0)
    # Sum, kernel, product and output are rounded to the 8 digits of bfloat16, by 2^-9
    # each, of terms that may be some times as large as the error that is squared.
    expected = Head(case.shape[-1]).loss(in_batches(x + case.encoding(), y))
    np.testing.assert_allclose(before, expected, rtol=2 * 4 * 2.0**-9 * 4)
    # Under float16 Keras leaves out steps until it has found a scale for the loss.
    model.fit(x, y, 2, epochs=8, shuffle=False, verbose=0)
    assert model.evaluate(x, y, 2, verbose=0) < 0.8 * before


def test_two_models_that_share_a_layer_are_fitted():
    """Whose encoding is in a graph of one model, then of the other, then of none."""
    case = BY_NAME["sum-of-1d"]
    x, y = examples(case)
    layer, inputs = case.make(), keras.Input(case.shape[1:])
    models = [keras.Model(inputs, keras.layers.Dense(2)(layer(inputs))) for _ in "ab"]
    losses, _ = expected_of(case)
    for model in models:
        model.layers[-1].set_weights(Head(10).weights())
        compiled(model, jit_compile="auto")
        history = model.fit(x, y, 2, epochs=2, shuffle=False, verbose=0).history
        assert_close(history["loss"], losses)
    np.testing.assert_allclose(
        to_numpy(layer(x)), x + case.encoding(), rtol=0, atol=2.0**-22
    )


def test_every_public_layer_is_trained_here():
    """No public layer is left out of what is trained here."""
    public = {
        value
        for name, value in vars(kp).items()
        if isinstance(value, type) and issubclass(value, keras.Layer)
    }
    # That one has values for inputs, and is trained below.
    public -= {kp.CoordinateEncoding}
    assert {type(BY_NAME[name].make()) for name in TRAINED} == public


def test_coordinate_encoding_is_trained_on():
    keras.utils.set_random_seed(0)
    inputs = keras.Input(())
    head = keras.layers.Dense(1)(
        kp.CoordinateEncoding(16, max_wavelength=100.0)(inputs)
    )
    model = keras.Model(inputs, head)
    model.compile(keras.optimizers.SGD(0.1), "mse")
    steps = np.arange(32.0)
    wave = np.sin(steps)[:, None]  # the first channel
    losses = model.fit(steps, wave, epochs=20, batch_size=8, verbose=0).history["loss"]
    assert losses[-1] < losses[0] / 10
