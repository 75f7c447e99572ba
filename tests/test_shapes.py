"""Shapes that fit, that do not fit, and that are not known yet."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable
from typing import Any

import keras
import numpy as np
import pytest

import keras_posenc as kp
from helpers import reference
from helpers.layer_cases import ENCODERS, LAYERS, Case, each_layer, open_shape
from helpers.run_modes import BACKEND, UNKNOWN, whole_torch_graph, with_unknown_sizes
from helpers.tensors import dtype_of, to_numpy, to_tensor
from helpers.tolerances import COUNTING, ROUNDING, SUM_ROUNDING

WRONG_RANKS = [
    (case, rank) for case in LAYERS for rank in range(1, 7) if rank != len(case.shape)
]
each_wrong_rank = pytest.mark.parametrize(
    ("case", "rank"),
    WRONG_RANKS,
    ids=[f"{case.name}-ndim{rank}" for case, rank in WRONG_RANKS],
)


def wrong_rank_message(case: Case, shape: tuple[int | None, ...]) -> str:
    return (
        rf"expected ndim={len(case.shape)}, found ndim={len(shape)}\. "
        rf"Received: inputs of shape {re.escape(str(shape))}$"
    )


NO_ROOM = {
    "2d-of-1": (lambda: kp.PositionalEncoding2D(1), [1]),
    "2d-of-2": (lambda: kp.PositionalEncoding2D(2), [1]),
    "permute2d-of-2": (lambda: kp.PositionalEncodingPermute2D(2), [1]),
    "3d-of-1": (lambda: kp.PositionalEncoding3D(1), [1, 2]),
    "3d-of-2": (lambda: kp.PositionalEncoding3D(2), [1, 2]),
    "3d-of-3": (lambda: kp.PositionalEncoding3D(3), [2]),
    "3d-of-4": (lambda: kp.PositionalEncoding3D(4), [2]),
    "3d-of-7": (lambda: kp.PositionalEncoding3D(7), [2]),
    "3d-of-8": (lambda: kp.PositionalEncoding3D(8), [2]),
    "rank4-of-17": (lambda: kp.PositionalEncoding(4, 17), [3]),
    "rank4-of-18": (lambda: kp.PositionalEncoding(4, 18), [3]),
}


@pytest.mark.parametrize("name", NO_ROOM)
def test_an_axis_without_a_channel_warns_at_construction(name: str):
    make, axes = NO_ROOM[name]
    with pytest.warns(UserWarning, match="has no channel for axis") as caught:
        make()
    assert [re.search(r"axis (\d)", str(w.message))[1] for w in caught] == [
        str(axis) for axis in axes
    ]
    assert {w.filename for w in caught} == {__file__}


SILENT = {
    1: set(),
    2: {1, 2},
    3: {*range(1, 5), 7, 8},
    4: {*range(1, 7), *range(9, 13), 17, 18},
}


@pytest.mark.parametrize("channels", range(1, 40))
@pytest.mark.parametrize("rank", SILENT)
def test_only_numbers_of_channels_that_leave_an_axis_out_warn(rank: int, channels: int):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        kp.PositionalEncoding(rank, channels)
    assert bool(caught) == (channels in SILENT[rank])


def test_channels_none_warns_when_built():
    layer = kp.PositionalEncoding2D()
    with pytest.warns(UserWarning, match=r"no channel for axis 1 of its 2.*channels=2"):
        layer(np.zeros((1, 4, 3, 2), "float32"))


@pytest.mark.parametrize("summed", [False, True])
@pytest.mark.parametrize("symbolic", [False, True])
@pytest.mark.parametrize(
    ("make", "shape", "dims"),
    [
        (lambda: kp.PositionalEncoding2D(64), (64, 20, 32), (3, 1)),
        (lambda: kp.PositionalEncodingPermute2D(64), (5, 6, 64), (1, 3)),
        (lambda: kp.PositionalEncoding1D(64), (64, 9), (2, 1)),
    ],
    ids=["last", "first", "one axis"],
)
def test_channels_that_the_input_has_elsewhere_warn(
    make: Any,
    shape: tuple[int, ...],
    dims: tuple[int, int],
    symbolic: bool,
    summed: bool,
):
    layer = kp.Summer(make()) if summed else make()
    inputs = keras.Input(shape) if symbolic else np.zeros((2, *shape))
    dim, other = dims
    to = "first" if other == 1 else "last"
    message = (
        rf"with channels=64 found {shape[dim - 1]} channels in dimension {dim}, and 64 "
        rf"in dimension {other}, which data_format='channels_{to}' is for\. Received:"
    )
    with pytest.warns(UserWarning, match=message):
        layer(inputs)


def test_more_channels_than_there_are_elsewhere_warn():
    message = r"makes 4 channels, .* 8 channels, and 3 in dimension 1, which data_f"
    with pytest.warns(UserWarning, match=message):
        kp.PositionalEncoding2D(3)(np.zeros((1, 3, 8, 8)))


@pytest.mark.parametrize("shape", [(2, 5, 20, 33), (2, 8, 6, 2), (2, 64, 64, 64)])
def test_inputs_with_fewer_channels_do_not_warn(shape: tuple[int, ...]):
    outputs = kp.PositionalEncoding2D(64)(np.zeros(shape))
    assert tuple(outputs.shape) == shape


@pytest.mark.parametrize(
    "make",
    [lambda: kp.PositionalEncoding2D(8), lambda: kp.Summer(kp.PositionalEncoding2D(8))],
    ids=["2d", "sum-of-2d"],
)
@pytest.mark.parametrize("shape", [(), (3,), (2, 8), (2, 5, 8), (1, 2, 2, 2, 8)])
def test_a_built_layer_refuses_tensors_of_another_rank(
    make: Callable[[], keras.layers.Layer], shape: tuple[int, ...]
):
    layer = make()
    layer(keras.ops.zeros((1, 2, 2, 8)))
    message = f"expected ndim=4, found ndim={len(shape)}"
    with pytest.raises(ValueError, match=message):
        layer(keras.ops.zeros(shape))


def test_fewer_channels_than_the_input_has_warn():
    layer = kp.PositionalEncoding2D(5)
    with pytest.warns(
        UserWarning, match=r"channels=5 makes 8 .* Received: inputs of 10 "
    ):
        outputs = layer(np.zeros((1, 4, 3, 10), "float32"))
    assert tuple(outputs.shape) == (1, 4, 3, 8)
    error = np.abs(to_numpy(outputs)[0] - reference.encode_2d(4, 3, 8)).max()
    assert error <= ROUNDING["float32"]


def test_fewer_channels_than_the_input_has_warn_channels_first():
    layer = kp.PositionalEncodingPermute1D(3)
    with pytest.warns(UserWarning, match=r"channels=3 makes 4 channels"):
        outputs = layer(np.zeros((2, 9, 5), "float32"))
    expected = reference.encode_1d(5, 4).T
    assert tuple(outputs.shape) == (2, 4, 5)
    assert np.abs(to_numpy(outputs)[1] - expected).max() <= ROUNDING["float32"]


def test_fewer_channels_in_a_model_warn():
    inputs = keras.Input((None, 3, 10))
    with pytest.warns(UserWarning, match="makes 8 channels"):
        outputs = kp.PositionalEncoding2D(5)(inputs)
    assert outputs.shape == (None, None, 3, 8)


SHAPE_ERROR = r"input's shape {}; .* Received: an encoding of shape {} from penc="


def test_a_summer_refuses_fewer_channels():
    message = SHAPE_ERROR.format(r"\(1, 4, 3, 10\)", r"\(1, 4, 3, 8\)")
    with pytest.raises(ValueError, match=f"^`Summer` expects an encoding.*{message}"):
        kp.Summer(kp.PositionalEncoding2D(5))(np.zeros((1, 4, 3, 10), "float32"))


def test_a_summer_refuses_fewer_channels_in_a_model():
    message = SHAPE_ERROR.format(r"\(None, None, 3, 10\)", r"\(None, None, 3, 8\)")
    with pytest.raises(ValueError, match=f"^`Summer` expects an encoding.*{message}"):
        kp.Summer(kp.PositionalEncoding2D(5))(keras.Input((None, 3, 10)))


@each_wrong_rank
def test_a_wrong_rank_is_refused_eagerly(case: Case, rank: int):
    shape = (2,) * rank
    with pytest.raises(ValueError, match=wrong_rank_message(case, shape)) as caught:
        case.make()(np.zeros(shape, "float32"))
    assert "\x1b" not in str(caught.value)


@each_wrong_rank
def test_a_wrong_rank_is_refused_in_a_model(case: Case, rank: int):
    shape = (None, *(2,) * (rank - 1))
    with pytest.raises(ValueError, match=wrong_rank_message(case, shape)) as caught:
        case.make()(keras.Input(shape[1:]))
    assert "\x1b" not in str(caught.value)


@each_layer
def test_a_wrong_rank_is_refused_inside_time_distributed(case: Case):
    with pytest.raises(ValueError, match=r"expected ndim=\d, found ndim=2\."):
        keras.layers.TimeDistributed(case.make())(keras.Input((5, 8)))


@each_layer
def test_an_unknown_number_of_channels_is_refused(case: Case):
    shape = [None, *case.shape[1:]]
    shape[case.channel_dim] = None
    with pytest.raises(ValueError, match=r"number of channels is known when the model"):
        case.make()(keras.Input(shape[1:]))


def other_shape(case: Case) -> tuple[int, ...]:
    """Another batch and other sizes than the case has, all distinct."""
    sizes = [3, *(size + 2 * i + 1 for i, size in enumerate(case.shape[1:]))]
    sizes[case.channel_dim] = case.shape[case.channel_dim]
    return tuple(sizes)


@each_layer
def test_a_model_may_leave_sizes_unknown(case: Case):
    inputs = keras.Input(open_shape(case)[1:])
    outputs = case.make()(inputs)
    assert outputs.shape == inputs.shape
    assert dtype_of(outputs) == "float32"
    if case.channel_dim == -1:
        outputs = keras.layers.Dense(3)(outputs)
        assert outputs.shape[-1] == 3


@each_layer
@pytest.mark.parametrize("which", ["first", "second"])
def test_one_model_predicts_at_two_sizes(case: Case, which: str):
    inputs = keras.Input(open_shape(case)[1:])
    model = keras.Model(inputs, case.make()(inputs))
    values = {
        "first": case.inputs(),
        "second": np.random.default_rng(1).normal(size=other_shape(case)),
    }
    for name in ("first", which):  # the second, where asked for, on a traced model
        x = values[name].astype("float32")
        predicted = model.predict(x, verbose=0)
    eager = to_numpy(case.make()(to_tensor(x)))
    # TensorFlow's graph counts what the host computes.
    np.testing.assert_allclose(predicted, eager, rtol=0, atol=COUNTING + SUM_ROUNDING)


@each_layer
def test_a_sequential_model_may_leave_sizes_unknown(case: Case):
    model = keras.Sequential([keras.Input(open_shape(case)[1:]), case.make()])
    inputs = case.inputs()
    predicted = model.predict(inputs, verbose=0)
    np.testing.assert_allclose(
        predicted, case.expected(inputs), rtol=0, atol=COUNTING + SUM_ROUNDING
    )


@each_layer
@pytest.mark.parametrize("steps", [4, None], ids=["4steps", "unknown-steps"])
def test_time_distributed_encodes_every_step(case: Case, steps: int | None):
    inputs = keras.Input((steps, *open_shape(case)[1:]))
    outputs = keras.layers.TimeDistributed(case.make())(inputs)
    assert outputs.shape == inputs.shape
    model = keras.Model(inputs, outputs)
    x = np.stack([case.inputs()] * 4, axis=1)
    expected = np.stack([case.expected(case.inputs())] * 4, axis=1)
    np.testing.assert_allclose(
        model.predict(x, verbose=0), expected, rtol=0, atol=COUNTING + SUM_ROUNDING
    )


@each_layer
def test_another_rank_is_refused_on_a_later_call_inside_time_distributed(case: Case):
    """`TimeDistributed` calls `call` directly, past what `__call__` checks."""
    layer = keras.layers.TimeDistributed(case.make())
    layer(np.zeros((2, 3, *case.shape[1:]), "float32"))
    with pytest.raises(ValueError, match=r"expected ndim=\d, found ndim=\d\."):
        layer(np.zeros((2, 3, *case.shape[1:], 2), "float32"))


def test_too_long_inputs_are_refused_inside_time_distributed():
    layer = keras.layers.TimeDistributed(kp.SinusoidEncoding(8, max_len=6))
    layer(np.zeros((2, 3, 5, 8), "float32"))
    with pytest.raises(ValueError, match="at most max_len=6 positions, found 9"):
        layer(np.zeros((2, 3, 9, 8), "float32"))
    with pytest.raises(ValueError, match="hidden_dim=8"):
        layer(np.zeros((2, 3, 5, 6), "float32"))


def test_too_many_channels_are_refused_inside_time_distributed():
    layer = keras.layers.TimeDistributed(kp.Summer(kp.PositionalEncoding2D(5)))
    layer(np.zeros((2, 3, 5, 4, 8), "float32"))
    with pytest.raises(ValueError, match="it never broadcasts"):
        layer(np.zeros((2, 3, 5, 4, 10), "float32"))


@pytest.mark.parametrize(
    "inputs", [np.zeros((2, 3, 5, 4, 10)), None], ids=["eager", "model"]
)
def test_fewer_channels_inside_time_distributed_warn(inputs: np.ndarray | None):
    layer = keras.layers.TimeDistributed(kp.PositionalEncoding2D(5))
    with pytest.warns(UserWarning, match="channels=5 makes 8 channels"):
        layer(keras.Input((3, 5, 4, 10)) if inputs is None else inputs)


def test_fewer_channels_warn_with_one_text_for_all_lengths():
    """Python shows a text once at one line: a loop over lengths is not flooded."""
    layer = kp.PositionalEncoding1D(3)
    with pytest.warns(UserWarning, match="channels=3 makes 4 channels") as caught:
        [layer(np.zeros((2, length, 5), "float32")) for length in (7, 8, 9)]
    assert len({str(warning.message) for warning in caught}) == 1


def test_fewer_channels_give_one_warning_a_call():
    layer = kp.PositionalEncoding1D(3)
    with pytest.warns(UserWarning, match="channels=3 makes 4 channels") as caught:
        layer(np.zeros((2, 9, 5), "float32"))
    assert [warning.filename for warning in caught] == [__file__]


@each_layer
def test_another_rank_is_refused_on_a_later_call(case: Case):
    layer = case.make()
    layer(np.zeros(case.shape, "float32"))
    shape = (2,) * (len(case.shape) + 1)
    with pytest.raises(ValueError, match=wrong_rank_message(case, shape)):
        layer(np.zeros(shape, "float32"))


def test_a_summer_refuses_too_many_channels_on_a_later_call():
    summer = kp.Summer(kp.PositionalEncoding1D(8))
    summer(np.zeros((2, 5, 8), "float32"))
    message = SHAPE_ERROR.format(r"\(2, 5, 12\)", r"\(2, 5, 8\)")
    with pytest.raises(ValueError, match=message):
        summer(np.zeros((2, 5, 12), "float32"))


def test_an_encoding_warns_of_too_many_channels_on_each_call():
    layer = kp.PositionalEncoding1D(8)
    layer(np.zeros((2, 5, 8), "float32"))
    for _ in range(2):
        with pytest.warns(UserWarning, match="makes 8 channels"):
            layer(np.zeros((2, 5, 12), "float32"))


@pytest.mark.parametrize("case", ENCODERS, ids=lambda case: case.name)
def test_compute_output_shape_keeps_unknown_sizes(case: Case):
    assert case.make().compute_output_shape([*open_shape(case)]) == open_shape(case)


SINUSOID_ERRORS = {
    "too-long": ((1, 51, 8), r"at most max_len=50 positions, found 51\."),
    "other-channels": ((1, 5, 10), r"\(batch, length, hidden_dim=8\)\. .*\(1, 5, 10\)"),
}


@pytest.mark.parametrize("name", SINUSOID_ERRORS)
def test_sinusoid_encoding_refuses_other_shapes(name: str):
    shape, message = SINUSOID_ERRORS[name]
    with pytest.raises(ValueError, match=message):
        kp.SinusoidEncoding(8, 50)(np.zeros(shape, "float32"))


@pytest.mark.parametrize("name", SINUSOID_ERRORS)
def test_sinusoid_encoding_refuses_other_shapes_in_a_model(name: str):
    shape, message = SINUSOID_ERRORS[name]
    with pytest.raises(ValueError, match=message.replace(r"\(1, 5", r"\(None, 5")):
        kp.SinusoidEncoding(8, 50)(keras.Input(shape[1:]))


def test_sinusoid_encoding_takes_its_longest():
    assert tuple(kp.SinusoidEncoding(8, 50)(np.zeros((1, 50, 8))).shape) == (1, 50, 8)


def without_known_sizes(layer: keras.Layer, case: Case) -> Callable[[Any], Any]:
    """The layer as one graph of its backend, traced where no size is a number."""
    return with_unknown_sizes(layer, UNKNOWN[0], open_shape(case))


@pytest.mark.parametrize("shape_of", [lambda case: case.shape, other_shape])
@each_layer
def test_a_graph_that_knows_no_size_counts_them(case: Case, shape_of: Any):
    layer = case.make()
    graph = without_known_sizes(layer, case)
    x = np.random.default_rng(1).normal(size=shape_of(case)).astype("float32")
    counted = to_numpy(graph(to_tensor(x)))
    expected = to_numpy(layer(to_tensor(x)))
    np.testing.assert_allclose(counted, expected, rtol=0, atol=COUNTING + SUM_ROUNDING)


def test_a_graph_that_knows_no_size_counts_a_long_axis():
    case = Case("1d", lambda: kp.PositionalEncoding1D(16), (1, 20_000, 16))
    graph = without_known_sizes(case.make(), case)
    counted = to_numpy(graph(to_tensor(np.zeros(case.shape, "float32"))))[0]
    # Float32 angles would be off by 1e-3 here.
    np.testing.assert_allclose(
        counted, reference.encode_1d(20_000, 16), rtol=0, atol=COUNTING
    )


if BACKEND == "torch":

    @pytest.mark.parametrize("dynamic", [False, True], ids=["static", "dynamic"])
    def test_fewer_channels_under_torch_compile_warn(dynamic: bool):
        import torch

        layer = kp.PositionalEncoding1D(3)
        graph = whole_torch_graph(layer, dynamic=dynamic)
        with pytest.warns(UserWarning, match="channels=3 makes 4 channels"):
            outputs = graph(torch.zeros(2, 9, 5))
        assert tuple(outputs.shape) == (2, 9, 4)
