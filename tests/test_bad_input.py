"""Inputs that are empty, that are no numbers, too large, or meant to do harm."""

from __future__ import annotations

import json
import sys
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import keras
import numpy as np
import pytest

import keras_posenc as kp
from helpers.internals import WaveOptions
from helpers.layer_cases import BY_NAME, Case, each_layer, open_shape
from helpers.run_modes import (
    BACKEND,
    KNOWN,
    UNKNOWN,
    with_known_sizes,
    with_unknown_sizes,
)
from helpers.tensors import dtype_of, to_numpy, to_tensor, zeros
from helpers.tolerances import COUNTING, SUM_ROUNDING

# One of each kind in graphs, which are compiled for every shape.
each_kind = pytest.mark.parametrize(
    "name", ["1d", "permute2d", "sum-of-2d", "sinusoid"]
)
each_open_kind = pytest.mark.parametrize("name", ["1d", "sum-of-permute2d"])
each_graph = pytest.mark.parametrize("mode", KNOWN[1:])


# What is no number.


def with_no_numbers(case: Case) -> np.ndarray:
    """The input of the case, with a NaN and both infinities among its numbers."""
    x = case.inputs()
    x.flat[[1, x.size // 2, x.size - 1]] = [np.nan, np.inf, -np.inf]
    return x


def assert_passed_through(outputs: Any, case: Case, inputs: np.ndarray) -> None:
    """What is no number stays in its place, and nowhere else."""
    # Graphs compute what the host computes for eager calls.
    np.testing.assert_allclose(
        to_numpy(outputs), case.expected(inputs), rtol=0, atol=COUNTING + SUM_ROUNDING
    )


# `Case.expected` adds nothing of the input to an encoding: that is finite throughout.
@each_layer
def test_nan_and_infinity_stay_in_their_places(case: Case):
    layer, x = case.make(), with_no_numbers(case)
    assert np.isfinite(case.expected(x)).all() != case.adds
    assert_passed_through(layer(to_tensor(x)), case, x)
    assert_passed_through(layer(to_tensor(case.inputs())), case, case.inputs())


@each_kind
@each_graph
def test_nan_and_infinity_stay_in_their_places_in_a_graph(mode: str, name: str):
    case = BY_NAME[name]
    graph, x = with_known_sizes(case.make(), mode), with_no_numbers(case)
    assert_passed_through(graph(to_tensor(x)), case, x)
    assert_passed_through(graph(to_tensor(case.inputs())), case, case.inputs())


@each_open_kind
@pytest.mark.parametrize("mode", UNKNOWN)
def test_nan_and_infinity_stay_in_their_places_where_no_size_is_known(
    mode: str, name: str
):
    case = BY_NAME[name]
    graph = with_unknown_sizes(case.make(), mode, open_shape(case))
    x = with_no_numbers(case)
    assert_passed_through(graph(to_tensor(x)), case, x)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("name", ["1d", "permute2d", "rank2"])
def test_an_encoding_of_inputs_beyond_its_dtype_is_finite(name: str, dtype: str):
    case = BY_NAME[name]
    huge = np.full(case.shape, 1e38, "float32")  # infinite in float16
    outputs = to_numpy(case.make(dtype=dtype)(to_tensor(huge)))
    assert np.abs(outputs).max() <= 1


# Nothing at all.


def without_batch(case: Case) -> tuple[int, ...]:
    return (0, *case.shape[1:])


def without_positions(case: Case) -> tuple[int, ...]:
    """The shape of the case with its last axis empty."""
    shape = list(case.shape)
    shape[-1 if case.channel_dim == 1 else -2] = 0
    return tuple(shape)


def without_anything(case: Case) -> tuple[int, ...]:
    shape = [0] * len(case.shape)
    shape[case.channel_dim] = case.shape[case.channel_dim]
    return tuple(shape)


each_empty = pytest.mark.parametrize(
    "empty", [without_batch, without_positions, without_anything]
)


def assert_empty(outputs: Any, shape: tuple[int | None, ...]) -> None:
    assert tuple(outputs.shape) == shape
    # That of the layer, which is not that of the input.
    assert dtype_of(outputs) == "bfloat16"


@each_layer
@each_empty
def test_an_empty_input_gives_an_empty_output(
    empty: Callable[[Case], tuple[int, ...]], case: Case
):
    layer, shape = case.make(dtype="bfloat16"), empty(case)
    assert_empty(layer(zeros(*shape)), shape)
    # What an empty call keeps is of no consequence to another.
    full = to_numpy(layer(to_tensor(case.inputs())))
    np.testing.assert_array_equal(
        full, to_numpy(case.make(dtype="bfloat16")(to_tensor(case.inputs())))
    )


@each_kind
@each_empty
@each_graph
def test_an_empty_input_gives_an_empty_output_in_a_graph(
    mode: str, empty: Callable[[Case], tuple[int, ...]], name: str
):
    case = BY_NAME[name]
    graph, shape = with_known_sizes(case.make(dtype="bfloat16"), mode), empty(case)
    assert_empty(graph(zeros(*shape)), shape)


if BACKEND != "jax":  # whose symbols stand for sizes from 1 on

    @each_open_kind
    @pytest.mark.parametrize("empty", [without_batch, without_positions])
    @pytest.mark.parametrize("mode", UNKNOWN)
    def test_an_empty_input_gives_an_empty_output_where_no_size_is_known(
        mode: str, empty: Callable[[Case], tuple[int, ...]], name: str
    ):
        case = BY_NAME[name]
        layer, shape = case.make(dtype="bfloat16"), empty(case)
        graph = with_unknown_sizes(layer, mode, open_shape(case))
        # torch would make a graph for the empty input alone, were it the first.
        graph(to_tensor(case.inputs()))
        assert_empty(graph(zeros(*shape)), shape)


@each_layer
def test_an_empty_input_gives_an_empty_output_in_a_model(case: Case):
    _, *sizes = without_positions(case)
    inputs = keras.Input(sizes)
    outputs = case.make(dtype="bfloat16")(inputs)
    assert_empty(outputs, (None, *sizes))
    model = keras.Model(inputs, outputs)
    assert_empty(model(zeros(2, *sizes)), (2, *sizes))


@pytest.mark.parametrize("shape", [(0,), (0, 3), (3, 0, 2)], ids=str)
@pytest.mark.parametrize("rank", [1, 2])
def test_encode_of_no_positions_is_empty(rank: int, shape: tuple[int, ...]):
    coordinates = () if rank == 1 else (rank,)
    positions = np.zeros((*shape, *coordinates), "int32")
    outputs = kp.encode(to_tensor(positions), 8, rank=rank, dtype="bfloat16")
    assert_empty(outputs, (*shape, 8))


NO_CHANNELS = {
    "1d": (lambda: kp.PositionalEncoding1D(8), (2, 3, 0)),
    "2d": (lambda: kp.PositionalEncoding2D(8), (2, 3, 4, 0)),
    "permute2d": (lambda: kp.PositionalEncodingPermute2D(8), (2, 0, 3, 4)),
    "sum-of-1d": (lambda: kp.Summer(kp.PositionalEncoding1D(8)), (2, 3, 0)),
}


@pytest.mark.parametrize("name", NO_CHANNELS)
def test_an_input_without_channels_gives_an_output_without(name: str):
    make, shape = NO_CHANNELS[name]
    assert tuple(make()(zeros(*shape)).shape) == shape


def test_an_input_without_channels_warns_where_its_channels_count():
    layer = kp.PositionalEncoding1D()
    with pytest.warns(UserWarning, match=r"no channel for axis 0 of its 1: .*=0$"):
        outputs = layer(zeros(2, 3, 0))
    assert tuple(outputs.shape) == (2, 3, 0)


# Too much. In a process of its own, whose memory is limited.

if sys.platform == "linux":  # the only one that keeps a process to its limit
    from helpers import out_of_memory
    from helpers.processes import run_helper

    @pytest.fixture(scope="module")
    def outcomes() -> dict[str, dict[str, Any]]:
        """What comes of each of those calls, one after another in one process."""
        printed = run_helper("out_of_memory", *out_of_memory.TOO_MUCH, timeout=300)
        return json.loads(printed.splitlines()[-1])

    @pytest.mark.parametrize("name", out_of_memory.TOO_MUCH)
    def test_sizes_beyond_the_memory_are_refused_at_once(
        name: str, outcomes: dict[str, Any]
    ):
        outcome = outcomes[name]
        assert {"MemoryError", "ValueError"} & set(outcome["error"]), outcome
        # Less than 0.2 s of work was measured; to fill that memory takes a minute.
        assert outcome["seconds"] < 5
        assert outcome["kept"] == 0


@pytest.mark.parametrize("channels", [2**31, 2**40])
def test_huge_channels_are_cut_to_those_of_the_input(channels: int):
    """None but those of the input are made, of the frequencies that they all have."""
    outputs = to_numpy(kp.PositionalEncoding1D(channels)(zeros(1, 5, 8)))
    # Neighbouring wavelengths differ by a factor of 1 + 1e-8 at most.
    x = np.arange(5)[:, None]
    expected = np.tile(np.concatenate([np.sin(x), np.cos(x)], axis=1), 4)
    # Four of them at position 4, and the rounding to float32.
    np.testing.assert_allclose(outputs[0], expected, rtol=0, atol=2e-7)


@pytest.mark.parametrize("shape", [(2**40, 8), (2**33, 2**33, 8)], ids=str)
def test_a_model_may_be_built_for_huge_sizes(shape: tuple[int, ...]):
    """Which costs nothing as long as nobody runs it."""
    summer = kp.Summer(kp.PositionalEncoding(len(shape) - 1, 8))
    assert summer(keras.Input(shape)).shape == (None, *shape)


@pytest.mark.parametrize("rank", [63, 1000, 10**9])
def test_a_rank_that_no_array_has_is_refused(rank: int):
    """Refused before there is a warning for each of its axes without a channel."""
    with pytest.raises(ValueError, match=rf"^`rank` must be .*62.*rank={rank}$"):
        kp.PositionalEncoding(rank, 8)


def test_the_highest_rank_is_accepted():
    layer = kp.PositionalEncoding(62, 2 * 62)
    assert tuple(layer(zeros(*(1,) * 64)).shape) == (1,) * 64


@pytest.mark.parametrize("rank", [63, 1000])
def test_a_table_of_a_rank_that_no_array_has_is_refused(rank: int):
    with pytest.raises(ValueError, match=rf"^`len\(shape\)` must .*62.*={rank}$"):
        kp.sinusoidal_table((1,) * rank, 8)


def test_encode_takes_coordinates_on_more_axes_than_an_array_has():
    outputs = kp.encode(np.zeros((2, 1000)), 2000, rank=1000)
    # A sine and a cosine of 0 for each.
    np.testing.assert_array_equal(to_numpy(outputs), np.tile([0, 1], (2, 1000)))


# Files that are not what was saved.

Record = dict[str, Any]


def saved(layer: keras.Layer, path: Path, change: Callable[[Record], None]) -> Path:
    """A model with this layer in a file, in which the record of the layer differs."""
    inputs = keras.Input((None, 8))
    keras.Model(inputs, layer(inputs)).save(path / "saved.keras")
    with zipfile.ZipFile(path / "saved.keras") as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    config = json.loads(members["config.json"])
    change(config["config"]["layers"][1])
    members["config.json"] = json.dumps(config).encode()
    with zipfile.ZipFile(path / "changed.keras", "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return path / "changed.keras"


MADE: dict[str, Callable[[], keras.Layer]] = {
    "1d": lambda: kp.PositionalEncoding1D(8),
    "any-rank": lambda: kp.PositionalEncoding(1, 8),
    "sinusoid": lambda: kp.SinusoidEncoding(8),
    "sum-of-1d": lambda: kp.Summer(kp.PositionalEncoding1D(8)),
}


def with_option(name: str, value: Any) -> Callable[[Record], None]:
    return lambda record: record["config"].update({name: value})


def without_option(name: str) -> Callable[[Record], None]:
    return lambda record: record["config"].pop(name)


def with_penc(penc: Any) -> Callable[[Record], None]:
    return lambda record: record["config"].update(penc=penc)


def in_penc(change: Callable[[Record], None]) -> Callable[[Record], None]:
    return lambda record: change(record["config"]["penc"])


def not_a_layer(value: Any) -> Any:
    return keras.saving.serialize_keras_object(value)


LAYER_ONLY = r"`penc` must be a Keras layer that returns .* Received: penc="
WRONG: dict[str, tuple[str, Callable[[Record], None], str]] = {
    "unknown-option": (
        "1d",
        with_option("stretch", 2),
        r"Unrecognized keyword arguments .*'stretch': 2",
    ),
    "unknown-option-of-a-summer": (
        "sum-of-1d",
        with_option("stretch", 2),
        r"Unrecognized keyword arguments .*'stretch': 2",
    ),
    "unknown-option-of-an-inner-layer": (
        "sum-of-1d",
        in_penc(with_option("stretch", 2)),
        r"Unrecognized keyword arguments .*'stretch': 2",
    ),
    "text-for-a-number": (
        "1d",
        with_option("channels", "8"),
        r"`channels` must be a positive integer or None\. Received: channels='8'",
    ),
    "real-for-an-integer": (
        "sinusoid",
        with_option("hidden_dim", 8.5),
        r"`hidden_dim` must be a positive integer\. Received: hidden_dim=8\.5",
    ),
    "record-for-a-number": (
        "1d",
        with_option("max_wavelength", {"value": 10.0}),
        r"`max_wavelength` must be a positive finite number",
    ),
    "record-for-a-number-of-an-inner-layer": (
        "sum-of-1d",
        in_penc(with_option("channels", [8])),
        r"`channels` must be a positive integer or None\. Received: channels=\[8\]",
    ),
    "negative": (
        "1d",
        with_option("channels", -8),
        r"`channels` must be a positive integer or None\. Received: channels=-8",
    ),
    "unknown-word": (
        "1d",
        with_option("data_format", "channels_middle"),
        r"`data_format` must be one of 'channels_last', 'channels_first'\.",
    ),
    "integer-dtype": (
        "1d",
        with_option("dtype", "int8"),
        r"`dtype` must be a floating-point dtype",
    ),
    "no-rank": ("any-rank", without_option("rank"), r"missing .* argument: 'rank'"),
    "no-hidden_dim": (
        "sinusoid",
        without_option("hidden_dim"),
        r"missing .* argument: 'hidden_dim'",
    ),
    "no-penc": ("sum-of-1d", without_option("penc"), LAYER_ONLY),
    "penc-of-nothing": ("sum-of-1d", with_penc(None), LAYER_ONLY),
    "penc-of-text": ("sum-of-1d", with_penc("PositionalEncoding1D"), LAYER_ONLY),
    "penc-of-an-array": (
        "sum-of-1d",
        with_penc(not_a_layer(np.zeros(3))),
        LAYER_ONLY,
    ),
    "penc-of-an-optimizer": (
        "sum-of-1d",
        with_penc(not_a_layer(keras.optimizers.SGD())),
        LAYER_ONLY,
    ),
    "penc-of-a-policy": (
        "sum-of-1d",
        with_penc(not_a_layer(keras.DTypePolicy("float32"))),
        LAYER_ONLY,
    ),
    "penc-of-an-unknown-class": (
        "sum-of-1d",
        in_penc(
            lambda record: record.update(
                class_name="X", registered_name="keras_posenc>X"
            )
        ),
        r"Could not locate class 'X'",
    ),
    "penc-of-our-own-that-is-no-layer": (
        "sum-of-1d",
        with_penc(
            {
                "module": WaveOptions.__module__,
                "class_name": "WaveOptions",
                "config": {"rank": 1},
                "registered_name": None,
            }
        ),
        r"Could not locate class 'WaveOptions'",
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_file_that_was_changed_is_refused(name: str, tmp_path: Path):
    made, change, message = WRONG[name]
    path = saved(MADE[made](), tmp_path, change)
    with pytest.raises((TypeError, ValueError), match=f"(?s){message}"):
        keras.models.load_model(path)


@pytest.mark.parametrize("made", MADE)
def test_a_file_that_was_not_changed_is_loaded(made: str, tmp_path: Path):
    """Shows that it is the changes that are refused."""
    path = saved(MADE[made](), tmp_path, lambda record: None)
    assert isinstance(keras.models.load_model(path).layers[1], type(MADE[made]()))


def of_module(class_name: str, config: Any) -> Callable[[Record], None]:
    """A class, or a function, of a module that leaves its mark when it is imported."""
    return lambda record: record.update(
        module="leaves_its_mark",
        class_name=class_name,
        config=config,
        registered_name=None if class_name != "function" else "run",
    )


CODE = {
    "layer-of-a-module": ("1d", of_module("Runs", {})),
    "penc-of-a-module": ("sum-of-1d", in_penc(of_module("Runs", {}))),
    "penc-of-a-function": ("sum-of-1d", in_penc(of_module("function", "run"))),
    "dtype-of-a-module": (
        "1d",
        lambda record: of_module("Runs", {})(record["config"]["dtype"]),
    ),
    "option-of-a-module": (
        "1d",
        with_option(
            "max_wavelength",
            {"module": "leaves_its_mark", "class_name": "Runs", "config": {}},
        ),
    ),
}


@pytest.fixture
def mark(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A file that is there once the code of a module on the path has run."""
    path = tmp_path / "mark.txt"
    code = f"open({str(path)!r}, 'w').close()\nclass Runs: pass\ndef run(x): return x\n"
    (tmp_path / "leaves_its_mark.py").write_text(code)
    monkeypatch.syspath_prepend(tmp_path)
    yield path
    sys.modules.pop("leaves_its_mark", None)


@pytest.mark.parametrize("safe_mode", [True, False], ids=["safe", "unsafe"])
@pytest.mark.parametrize("name", CODE)
def test_loading_imports_no_module_that_a_file_names(
    name: str, safe_mode: bool, tmp_path: Path, mark: Path
):
    made, change = CODE[name]
    path = saved(MADE[made](), tmp_path, change)
    # Keras answers a dtype of no policy with an AttributeError, for its own layers too.
    with pytest.raises((TypeError, ValueError, AttributeError)):
        keras.models.load_model(path, safe_mode=safe_mode)
    assert not mark.exists()


def test_the_module_would_leave_its_mark(mark: Path):
    __import__("leaves_its_mark")
    assert mark.exists()


def lambda_that_leaves(mark: str) -> keras.Layer:
    """A layer whose code comes out of the file."""
    code = f"lambda x: (open({mark!r}, 'w').close(), x)[1]"
    return keras.layers.Lambda(eval(code))


UNSAFE = r"`Lambda` layer .* passing `safe_mode=False`"


def test_safe_mode_refuses_a_lambda_as_penc(tmp_path: Path):
    mark = tmp_path / "mark.txt"
    path = saved(
        kp.Summer(lambda_that_leaves(str(mark))), tmp_path, lambda record: None
    )
    mark.unlink()
    with pytest.raises(ValueError, match=UNSAFE):
        keras.models.load_model(path)
    with pytest.raises(ValueError, match=UNSAFE):
        kp.Summer.from_config(kp.Summer(lambda_that_leaves(str(mark))).get_config())
    assert not mark.exists()


def test_a_lambda_as_penc_is_run_by_whoever_trusts_the_file(tmp_path: Path):
    """Shows that safe mode is what kept the code above from running."""
    mark = tmp_path / "mark.txt"
    path = saved(
        kp.Summer(lambda_that_leaves(str(mark))), tmp_path, lambda record: None
    )
    mark.unlink()
    loaded = keras.models.load_model(path, safe_mode=False)
    assert mark.exists()
    x = np.ones((1, 3, 8), "float32")
    np.testing.assert_array_equal(to_numpy(loaded(x)), 2 * x)
