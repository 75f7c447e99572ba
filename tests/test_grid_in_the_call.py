"""`grid` given in the call: spectrograms and images of mixed sizes need no layer each.

`positions` for flat tokens, a grid with an unknown size, and a prefix without a grid
are here too; test_tokens.py has grids that a layer is made with.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import keras
import numpy as np
import pytest
from keras import ops

import keras_posenc as kp
from helpers import reference
from helpers.gradients import gradient
from helpers.position_cases import compiled, each_compiler, grid_positions
from helpers.run_modes import BACKEND, KNOWN, with_known_sizes
from helpers.tensors import dtype_of, normal, scalar, to_numpy, to_tensor, zeros
from helpers.tolerances import COUNTING, ROUNDING, SUM_ROUNDING, assert_close

# Divides by two for each of one, two and three axes.
CHANNELS = 12
GRIDS = {1: [(20,)], 2: [(3, 4), (2, 7)], 3: [(2, 3, 2)]}
EACH_GRID = [grid for grids in GRIDS.values() for grid in grids]
each_grid = pytest.mark.parametrize("grid", EACH_GRID, ids=str)
each_prefix = pytest.mark.parametrize("prefix", [0, 2])


def _last(rank: int, **kwargs: Any) -> keras.layers.Layer:
    return getattr(kp, f"PositionalEncoding{rank}D")(CHANNELS, **kwargs)


def _first(rank: int, **kwargs: Any) -> keras.layers.Layer:
    return getattr(kp, f"PositionalEncodingPermute{rank}D")(CHANNELS, **kwargs)


def _general(rank: int, **kwargs: Any) -> keras.layers.Layer:
    return kp.PositionalEncoding(rank, CHANNELS, **kwargs)


def _sum(rank: int, **kwargs: Any) -> keras.layers.Layer:
    return kp.Summer(_last(rank, **kwargs))


def _sum_of_first(rank: int, **kwargs: Any) -> keras.layers.Layer:
    return kp.Summer(_first(rank, **kwargs))


def _sum_of_sum(rank: int, **kwargs: Any) -> keras.layers.Layer:
    return kp.Summer(_sum(rank, **kwargs))


MAKERS: dict[str, Callable[..., keras.layers.Layer]] = {
    "last": _last,
    "permute": _first,
    "general": _general,
    "sum": _sum,
    "sum-of-permute": _sum_of_first,
    "sum-of-sum": _sum_of_sum,
}
each_of_few = pytest.mark.parametrize("name", ["last", "permute", "sum"])


def is_first(name: str) -> bool:
    return "permute" in name


def inputs(name: str, tokens: int, batch: int = 2) -> Any:
    """Zeros, so that a sum is the encoding too."""
    shape = (CHANNELS, tokens) if is_first(name) else (tokens, CHANNELS)
    return zeros(batch, *shape)


def encoded(name: str, outputs: Any) -> np.ndarray:
    """With channels last."""
    outputs = to_numpy(outputs)
    return np.swapaxes(outputs, 1, 2) if is_first(name) else outputs


def table(grid: tuple[int, ...], prefix: int = 0) -> np.ndarray:
    """Zeros for the prefix, then the encoding of the grid, row by row."""
    flat = reference.exact(grid_positions(*grid), CHANNELS).reshape(-1, CHANNELS)
    return np.concatenate([np.zeros((prefix, CHANNELS)), flat])


def count(grid: tuple[int, ...]) -> int:
    return int(np.prod(grid))


FORMS: dict[str, Callable[[tuple[int, ...]], Any]] = {
    "tuple": tuple,
    "list": list,
    "array": np.array,
    "NumPy-ints": lambda grid: [np.int64(size) for size in grid],
    "scalar-tensors": lambda grid: tuple(map(scalar, grid)),
    "first-tensor": lambda grid: (scalar(grid[0]), *grid[1:]),
    "last-tensor": lambda grid: [*grid[:-1], scalar(grid[-1])],
    "first-unknown": lambda grid: (None, *grid[1:]),
    "last-unknown": lambda grid: [*grid[:-1], None],
    "unknown-and-tensors": lambda grid: (None, *map(scalar, grid[1:])),
    "tensor": lambda grid: to_tensor(np.array(grid, "int32"), "int32"),
}


# Each maker with one form of each kind, and each form with one maker of each kind.
PAIRS = [(name, form) for name in MAKERS for form in ("tuple", "scalar-tensors")]
PAIRS += [(name, form) for name in ("last", "sum-of-permute") for form in FORMS]


@each_prefix
@pytest.mark.parametrize("grid", [(12,), (3, 4), (2, 3, 2)], ids=str)
@pytest.mark.parametrize(("name", "form"), sorted(set(PAIRS)))
def test_tokens_get_the_encoding_of_the_grid_of_the_call(
    name: str, grid: tuple[int, ...], form: str, prefix: int
):
    layer = MAKERS[name](len(grid), prefix_tokens=prefix)
    x = inputs(name, prefix + count(grid))
    # The first call builds the layer, by another way through Keras.
    for _ in range(2):
        outputs = layer(x, grid=FORMS[form](grid))
        assert tuple(outputs.shape) == tuple(x.shape)
        assert_close(encoded(name, outputs), table(grid, prefix))


@each_prefix
@each_of_few
@pytest.mark.parametrize("rank", [1, 2, 3])
def test_each_call_has_a_grid_of_its_own(name: str, rank: int, prefix: int):
    layer = MAKERS[name](rank, prefix_tokens=prefix)
    for grid in [*GRIDS[rank], *GRIDS[rank]]:
        outputs = layer(inputs(name, prefix + count(grid)), grid=grid)
        assert_close(encoded(name, outputs), table(grid, prefix))


@each_of_few
def test_a_grid_of_the_call_wins_over_that_of_the_constructor(name: str):
    layer = MAKERS[name](2, grid=(3, 4), prefix_tokens=1)
    x = inputs(name, 13)
    for _ in range(2):
        assert_close(encoded(name, layer(x)), table((3, 4), 1))
        assert_close(encoded(name, layer(x, grid=(6, 2))), table((6, 2), 1))


@each_of_few
def test_tokens_and_whole_grids_take_turns(name: str):
    layer = MAKERS[name](2)
    sizes = (CHANNELS, 3, 4) if is_first(name) else (3, 4, CHANNELS)
    plane = reference.exact(grid_positions(3, 4), CHANNELS)
    plane = np.moveaxis(plane, -1, 0) if is_first(name) else plane
    for _ in range(2):
        assert_close(layer(zeros(2, *sizes)), plane)
        tokens = layer(inputs(name, 14), grid=(2, 7))
        assert_close(encoded(name, tokens), table((2, 7)))


def test_options_apply_to_a_grid_of_the_call():
    options: dict[str, Any] = {
        "layout": "concatenated",
        "axis_order": [1, 0],
        "offset": 0.5,
        "scale": [2.0, 0.25],
    }
    layer = kp.PositionalEncoding2D(CHANNELS, **options)
    expected = kp.sinusoidal_table((3, 4), CHANNELS, **options).reshape(12, CHANNELS)
    assert_close(layer(zeros(2, 12, CHANNELS), grid=(3, 4)), expected)


@pytest.mark.parametrize("form", ["tuple", "scalar-tensors", "last-unknown"])
def test_a_range_spreads_over_the_grid_of_the_call(form: str):
    layer = kp.PositionalEncoding2D(CHANNELS, coordinate_range=(0, 1))
    for grid in [(3, 4), (2, 6)]:
        shares = reference.exact(grid_positions(*grid) / np.array(grid), CHANNELS)
        found = layer(zeros(2, 12, CHANNELS), grid=FORMS[form](grid))
        assert_close(found, shares.reshape(12, CHANNELS))


@pytest.mark.parametrize("policy", ["mixed_bfloat16", "mixed_float16", "bfloat16"])
@each_of_few
def test_half_precision_rounds_a_grid_of_the_call_once(name: str, policy: str):
    dtype = policy.removeprefix("mixed_")
    layer = MAKERS[name](2, dtype=policy)
    layer = kp.Summer(layer.penc, dtype=policy) if name == "sum" else layer
    outputs = layer(inputs(name, 12), grid=(3, scalar(4)))
    assert dtype_of(outputs) == dtype
    assert_close(encoded(name, outputs), table((3, 4)), ROUNDING[dtype])


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "int32"])
def test_sizes_may_have_every_integer_type(dtype: str):
    # Of more elements than int8 holds, so that their number must not wrap.
    grid = tuple(scalar(size, dtype) for size in (12, 15))
    outputs = kp.PositionalEncoding2D(CHANNELS)(zeros(1, 180, CHANNELS), grid=grid)
    assert_close(outputs, table((12, 15)))


# Starts beside a grid.


@each_prefix
@pytest.mark.parametrize("form", ["tuple", "scalar-tensors", "first-unknown"])
def test_a_grid_of_the_call_may_start_elsewhere(form: str, prefix: int):
    layer = kp.PositionalEncoding2D(CHANNELS, prefix_tokens=prefix)
    points = (grid_positions(3, 4) + np.array([10, -20])).reshape(12, 2)
    for start in ((10, -20), (scalar(10), scalar(-20))):
        x = zeros(2, prefix + 12, CHANNELS)
        found = to_numpy(layer(x, start_index=start, grid=FORMS[form]((3, 4))))
        assert np.abs(found[:, :prefix]).max(initial=0) == 0
        assert_close(found[:, prefix:], reference.exact(points, CHANNELS))


# Positions of flat tokens.

POINTS = np.random.default_rng(0).uniform(-99, 99, (3, 14, 3)).astype("float32")
POSITIONS: dict[str, Callable[[int], np.ndarray]] = {
    "for-all": lambda rank: POINTS[0, :, :rank],
    "for-each": lambda rank: POINTS[..., :rank],
    "batch-of-one": lambda rank: POINTS[:1, :, :rank],
    "integers": lambda rank: POINTS[0, :, :rank].astype("int32"),
    "for-each-integers": lambda rank: POINTS[..., :rank].astype("int32"),
}
POSITION_FORMS: dict[str, Callable[[np.ndarray], Any]] = {
    "array": lambda values: values,
    "list": lambda values: values.tolist(),
    "tensor": lambda values: to_tensor(values, str(values.dtype)),
}


@each_prefix
@pytest.mark.parametrize("form", POSITION_FORMS)
@pytest.mark.parametrize("given", POSITIONS)
@pytest.mark.parametrize("rank", [2, 3])
@each_of_few
def test_flat_tokens_take_positions(
    name: str, rank: int, given: str, form: str, prefix: int
):
    layer = MAKERS[name](rank, prefix_tokens=prefix)
    positions = POSITIONS[given](rank)
    for _ in range(2):
        outputs = layer(
            inputs(name, prefix + 14, batch=3),
            positions=POSITION_FORMS[form](positions),
        )
        found = encoded(name, outputs)
        assert np.abs(found[:, :prefix]).max(initial=0) == 0
        assert_close(found[:, prefix:], reference.exact(positions, CHANNELS))


@each_of_few
def test_positions_go_beside_a_grid_of_the_constructor(name: str):
    layer = MAKERS[name](2, grid=(2, 7), prefix_tokens=1)
    positions = POSITIONS["for-each"](2)
    for _ in range(2):
        found = encoded(name, layer(inputs(name, 15, batch=3), positions=positions))
        assert np.abs(found[:, 0]).max() == 0
        assert_close(found[:, 1:], reference.exact(positions, CHANNELS))


def test_timestamps_of_tokens_keep_their_fractions():
    stamps = np.stack([1.7e9 + 0.5 * np.arange(6), np.arange(6.0)], axis=-1)
    layer = kp.PositionalEncoding2D(CHANNELS)
    for _ in range(2):
        found = layer(zeros(2, 6, CHANNELS), positions=stamps)
        error = COUNTING + 2.0**-52 * stamps.max()
        assert_close(found, reference.exact(stamps, CHANNELS), error)


@pytest.mark.parametrize("mode", KNOWN)
def test_gradients_flow_to_positions_of_tokens(mode: str):
    layer = kp.PositionalEncoding2D(CHANNELS, prefix_tokens=1)
    x = zeros(3, 15, CHANNELS)
    layer(x, grid=(2, 7))
    function = with_known_sizes(lambda p: layer(x, positions=p), mode)
    positions = POSITIONS["for-each"](2)
    found = gradient(function, to_tensor(positions))
    table = reference.exact(positions, CHANNELS).reshape(3, 14, 2, 3, 2)
    frequency = 10000.0 ** -(np.arange(3) / 3)
    slopes = ((table[..., 1] - table[..., 0]) * frequency).sum(axis=-1)
    assert_close(found, slopes, 2 * COUNTING + 2.0**-21)


# Sizes that the constructor does not know.


@each_prefix
@pytest.mark.parametrize("grid", [(3, None), (None, 4)], ids=str)
@each_of_few
def test_a_size_of_the_constructor_may_follow_from_the_tokens(
    name: str, grid: tuple[Any, ...], prefix: int
):
    layer = MAKERS[name](2, grid=grid, prefix_tokens=prefix)
    for missing in (4, 1, 9, 4):
        whole = tuple(missing if size is None else size for size in grid)
        outputs = layer(inputs(name, prefix + count(whole)))
        assert_close(encoded(name, outputs), table(whole, prefix))


@pytest.mark.parametrize("grid", [(12, None), [None, 2, 3]], ids=str)
@pytest.mark.parametrize("built", [False, True], ids=["before-build", "after-build"])
def test_the_config_has_an_unknown_size(built: bool, grid: Any):
    layer = kp.PositionalEncoding(len(grid), CHANNELS, grid=grid)
    if built:
        layer(zeros(2, 24, CHANNELS))
    config = layer.get_config()
    assert config["grid"] == list(grid)
    again = kp.PositionalEncoding.from_config(config)
    assert again.get_config() == config
    x = zeros(2, 24, CHANNELS)
    np.testing.assert_array_equal(to_numpy(again(x)), to_numpy(layer(x)))


def test_a_prefix_goes_without_a_grid_where_the_call_has_one():
    layer = kp.PositionalEncoding2D(CHANNELS, prefix_tokens=2)
    assert layer.get_config()["prefix_tokens"] == 2
    assert_close(layer(zeros(1, 14, CHANNELS), grid=(3, 4)), table((3, 4), 2))


def test_a_prefix_of_a_sequence_goes_without_a_grid():
    layer = kp.PositionalEncoding1D(CHANNELS, prefix_tokens=2)
    for length in (12, 20, 12):
        assert_close(layer(zeros(2, 2 + length, CHANNELS)), table((length,), 2))


# Graphs.


@pytest.mark.parametrize("mode", KNOWN)
@each_prefix
@each_grid
@each_of_few
def test_a_graph_encodes_a_grid_of_the_call(
    name: str, grid: tuple[int, ...], prefix: int, mode: str
):
    layer = MAKERS[name](len(grid), prefix_tokens=prefix)
    x = inputs(name, prefix + count(grid))
    layer(x, grid=grid)
    outputs = with_known_sizes(lambda x: layer(x, grid=grid), mode)(x)
    assert_close(encoded(name, outputs), table(grid, prefix))


@each_compiler
@each_prefix
@each_of_few
def test_one_graph_serves_every_grid_of_as_many_tokens(
    name: str, prefix: int, compiler: str
):
    layer = MAKERS[name](2, prefix_tokens=prefix)
    x = inputs(name, prefix + 12)
    layer(x, grid=(3, 4))
    function, traces = compiled(lambda x, h, w: layer(x, grid=(h, w)), compiler)
    for grid in [(3, 4), (4, 3), (12, 1), (2, 6)]:
        outputs = function(x, *map(scalar, grid))
        assert_close(encoded(name, outputs), table(grid, prefix))
    assert traces() == 1


@each_compiler
@each_of_few
def test_one_graph_serves_every_width_where_the_height_follows(
    name: str, compiler: str
):
    layer, x = MAKERS[name](2, prefix_tokens=1), inputs(name, 13)
    layer(x, grid=(3, 4))
    function, traces = compiled(lambda x, w: layer(x, grid=(None, w)), compiler)
    for grid in [(3, 4), (4, 3), (12, 1), (2, 6)]:
        outputs = function(x, scalar(grid[1]))
        assert_close(encoded(name, outputs), table(grid, 1))
    assert traces() == 1


def _open_graph(layer: Any, name: str) -> Callable[..., Any]:
    """As a graph that knows no number of tokens, and gets the width of the grid."""

    def function(x: Any, width: Any) -> Any:
        return layer(x, grid=(None, width))

    if BACKEND == "jax":
        import jax
        from jax import export

        # That there are tokens after the prefix.
        batch, tokens = export.symbolic_shape("b, t", constraints=["t >= 3"])
        sizes = (CHANNELS, tokens) if is_first(name) else (tokens, CHANNELS)
        x = jax.ShapeDtypeStruct((batch, *sizes), "float32")
        width = jax.ShapeDtypeStruct((), "int32")
        return export.export(jax.jit(function))(x, width).call
    if BACKEND == "tensorflow":
        import tensorflow as tf

        sizes = (CHANNELS, None) if is_first(name) else (None, CHANNELS)
        specs = [tf.TensorSpec((None, *sizes)), tf.TensorSpec((), "int32")]
        return tf.function(function, specs)
    from helpers.run_modes import whole_torch_graph

    return whole_torch_graph(function, dynamic=True)


@each_prefix
@each_of_few
def test_a_graph_that_knows_no_number_of_tokens_serves_images_of_mixed_sizes(
    name: str, prefix: int
):
    layer = MAKERS[name](2, prefix_tokens=prefix)
    layer(inputs(name, prefix + 12), grid=(3, 4))
    function = _open_graph(layer, name)
    for grid in [(3, 4), (4, 5), (2, 7), (9, 3)]:
        outputs = function(inputs(name, prefix + count(grid)), scalar(grid[1]))
        assert_close(encoded(name, outputs), table(grid, prefix))


# Models.


@each_prefix
@each_of_few
def test_a_model_takes_sizes_as_inputs(name: str, prefix: int, tmp_path: Path):
    sizes = (CHANNELS, None) if is_first(name) else (None, CHANNELS)
    tokens = keras.Input(sizes)
    height = keras.Input(batch_shape=(), dtype="int32", name="height")
    layer = MAKERS[name](2, prefix_tokens=prefix)
    model = keras.Model([tokens, height], layer(tokens, grid=(height, None)))
    assert model.output_shape == (None, *sizes)
    model.save(tmp_path / "model.keras")
    loaded = keras.models.load_model(tmp_path / "model.keras")
    for each in (model, loaded):
        for grid in [(3, 4), (2, 7)]:
            x = inputs(name, prefix + count(grid))
            outputs = each([x, scalar(grid[0])])
            assert_close(encoded(name, outputs), table(grid, prefix))


@each_prefix
@each_of_few
def test_a_model_keeps_a_grid_of_the_call_when_saved_and_cloned(
    name: str, prefix: int, tmp_path: Path
):
    sizes = (CHANNELS, None) if is_first(name) else (None, CHANNELS)
    tokens = keras.Input(sizes)
    layer = MAKERS[name](2, prefix_tokens=prefix)
    model = keras.Model(tokens, layer(tokens, grid=(3, 4)))
    model.save(tmp_path / "model.keras")
    loaded = keras.models.load_model(tmp_path / "model.keras")
    clone = keras.models.clone_model(model)
    x = inputs(name, prefix + 12)
    found = [encoded(name, each(x)) for each in (model, loaded, clone)]
    assert_close(np.stack(found), table((3, 4), prefix))


@each_of_few
def test_a_model_takes_positions_of_tokens_as_an_input(name: str, tmp_path: Path):
    sizes = (CHANNELS, None) if is_first(name) else (None, CHANNELS)
    tokens, positions = keras.Input(sizes), keras.Input((None, 2))
    outputs = MAKERS[name](2)(tokens, positions=positions)
    model = keras.Model([tokens, positions], outputs)
    assert model.output_shape == (None, *sizes)
    model.save(tmp_path / "model.keras")
    loaded = keras.models.load_model(tmp_path / "model.keras")
    x, given = inputs(name, 14, batch=3), POSITIONS["for-each"](2)
    expected = reference.exact(given, CHANNELS)
    for each in (model, loaded):
        assert_close(encoded(name, each([x, to_tensor(given)])), expected)


def test_a_model_of_mixed_sizes_trains():
    tokens = keras.Input((None, CHANNELS))
    positions = keras.Input((None, 2))
    x = kp.Summer(kp.PositionalEncoding2D(CHANNELS))(tokens, positions=positions)
    model = keras.Model([tokens, positions], keras.layers.Dense(1)(x))
    model.compile("sgd", "mse")
    for length in (6, 9):
        given = [normal(2, length, CHANNELS), normal(2, length, 2)]
        losses = model.fit(given, np.zeros((2, length, 1)), verbose=0)
        assert np.isfinite(losses.history["loss"]).all()


# What does not fit.

BAD: dict[str, tuple[Any, int]] = {
    "too-few-tokens": ((3, 4), 11),
    "too-many-tokens": ((3, 4), 13),
    "one-size": ((12,), 12),
    "three-sizes": ((1, 3, 4), 12),
    "none": ((), 12),
    "zero": ((0, 4), 12),
    "negative": ((-3, -4), 12),
    "two-unknown": ((None, None), 12),
    "no-multiple": ((5, None), 12),
    "int": (12, 12),
    "string": ("34", 12),
    "real": ((3.0, 4), 12),
    "bool": ((True, 12), 12),
    "vectors": (([3], [4]), 12),
    "nested": (((3, 4), (3, 4)), 12),
    "huge": ((10**400, None), 12),
    "real-tensors": (lambda: tuple(scalar(size, "float32") for size in (3, 4)), 12),
}


@pytest.mark.parametrize("built", [False, True], ids=["first-call", "later-call"])
@pytest.mark.parametrize("bad", BAD)
@each_of_few
def test_a_grid_that_does_not_fit_is_refused(name: str, bad: str, built: bool):
    grid, tokens = BAD[bad]
    grid = grid() if callable(grid) else grid
    layer = MAKERS[name](2)
    if built:
        layer(inputs(name, 12), grid=(3, 4))
    with pytest.raises((ValueError, TypeError), match=r"grid.*Received: ") as raised:
        layer(inputs(name, tokens), grid=grid)
    # From the first letter on: Keras would put words of its own before it.
    assert not str(raised.value).startswith(("Exception", "\x1b"))


@pytest.mark.parametrize("built", [False, True], ids=["first-call", "later-call"])
@each_of_few
def test_a_grid_for_inputs_that_are_one_already_is_refused(name: str, built: bool):
    layer = MAKERS[name](2)
    sizes = (CHANNELS, 3, 4) if is_first(name) else (3, 4, CHANNELS)
    if built:
        layer(zeros(2, *sizes))
    with pytest.raises(ValueError, match=r"^`grid` .*flat sequence of tokens"):
        layer(zeros(2, *sizes), grid=(3, 4))


@pytest.mark.parametrize("built", [False, True], ids=["first-call", "later-call"])
@each_of_few
def test_a_grid_beside_positions_is_refused(name: str, built: bool):
    layer = MAKERS[name](2)
    if built:
        layer(inputs(name, 14), grid=(2, 7))
    positions = POSITIONS["for-all"](2)
    with pytest.raises(ValueError, match=r"^`grid` must be None beside `positions`"):
        layer(inputs(name, 14), grid=(2, 7), positions=positions)


@pytest.mark.parametrize("built", [False, True], ids=["first-call", "later-call"])
@each_of_few
def test_tokens_without_a_grid_are_refused(name: str, built: bool):
    layer = MAKERS[name](2)
    if built:
        layer(inputs(name, 14), grid=(2, 7))
    with pytest.raises(
        ValueError, match=r"expects inputs of shape .*expected ndim=4, found ndim=3"
    ):
        layer(inputs(name, 14))


@each_of_few
def test_a_prefix_without_a_grid_says_what_is_missing(name: str):
    layer = MAKERS[name](2, prefix_tokens=1)
    with pytest.raises(ValueError, match=r"needs the `grid` that its tokens come from"):
        layer(inputs(name, 15))


BAD_POSITIONS = [(13, 2), (14, 3), (14,), (2, 14, 2), (4, 14, 2), (2, 7, 2), (14, 1)]


@pytest.mark.parametrize("shape", BAD_POSITIONS, ids=str)
@each_of_few
def test_positions_that_do_not_fit_tokens_are_refused(
    name: str, shape: tuple[int, ...]
):
    layer = MAKERS[name](2)
    layer(inputs(name, 14), grid=(2, 7))
    with pytest.raises(ValueError, match=r"^`positions` must have shape \(14, 2\)"):
        layer(inputs(name, 14, batch=3), positions=np.zeros(shape))


@each_of_few
def test_a_symbolic_call_checks_the_grid_at_once(name: str):
    tokens = keras.Input((CHANNELS, 12) if is_first(name) else (12, CHANNELS))
    with pytest.raises(ValueError, match=r"12 tokens|grid"):
        MAKERS[name](2)(tokens, grid=(3, 5))


if BACKEND == "tensorflow":

    @pytest.mark.parametrize("jit", [False, True], ids=["graph", "xla"])
    @pytest.mark.parametrize("name", ["last", "sum"])
    def test_a_graph_refuses_sizes_of_another_number_of_tokens(name: str, jit: bool):
        import tensorflow as tf

        layer = MAKERS[name](2)
        layer(inputs(name, 12), grid=(3, 4))
        specs = [tf.TensorSpec((None, None, CHANNELS)), tf.TensorSpec((), "int32")]
        function = tf.function(
            lambda x, height: layer(x, grid=(height, 4)), specs, jit_compile=jit
        )
        assert_close(function(zeros(1, 12, CHANNELS), scalar(3)), table((3, 4)))
        if jit:
            return  # XLA drops assertions
        with pytest.raises(tf.errors.InvalidArgumentError, match="as many positions"):
            function(zeros(1, 12, CHANNELS), scalar(2))


def test_a_foreign_layer_gets_the_grid_that_it_takes():
    class Rows(keras.layers.Layer):
        def call(self, inputs: Any, grid: Any = None) -> Any:
            # Without a grid it is called to see what it returns.
            return ops.ones_like(inputs) * (1 if grid is None else grid[0])

    outputs = kp.Summer(Rows())(zeros(2, 12, CHANNELS), grid=(3, 4))
    assert_close(outputs, np.full((12, CHANNELS), 3.0), SUM_ROUNDING)


def test_a_foreign_layer_that_takes_no_grid_says_so():
    layer = kp.Summer(keras.layers.Identity())
    with pytest.raises(TypeError, match="grid"):
        layer(zeros(2, 12, CHANNELS), grid=(3, 4))
