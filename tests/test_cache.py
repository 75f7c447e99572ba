"""What eager calls keep: found again, bounded, gone with its layer, nobody's to change.

A fresh cache stands in for that of the process in every test of a layer, so that no
other test has left anything in it.
"""

from __future__ import annotations

import copy
import ctypes
import gc
import json
import logging
import math
import pickle
import subprocess
import sys
import threading
import zipfile
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import keras
import numpy as np
import pytest
from helpers import peak_memory, reference
from helpers.gradients import gradient
from helpers.layer_cases import (
    LAYERS,
    ROUNDING,
    SUM_ROUNDING,
    Case,
    dtype_of,
    to_numpy,
    to_tensor,
)
from helpers.processes import run_helper
from helpers.run_modes import BACKEND, BREAKS_GRAPHS, KNOWN, with_known_sizes
from helpers.transformed_calls import FIRST_CALLS

import keras_posenc as kp
from keras_posenc import _backend, _evaluate
from keras_posenc._cache import TensorCache

# The cache by itself, with owners that are equal where their names are.

RECORD = 1024  # what the cache adds to the size of a tensor that it keeps


@dataclass(frozen=True)
class Owner:
    name: str


def test_a_kept_tensor_is_found():
    cache, owner = TensorCache(10_000), Owner("a")
    cache.keep(owner, "key", "tensor", 100)
    assert cache.get(owner, "key") == "tensor"
    assert cache.nbytes == 100 + RECORD


def test_nothing_is_found_by_another_key_or_for_another_owner():
    cache, owner, other = TensorCache(10_000), Owner("a"), Owner("b")
    cache.keep(owner, "key", "tensor", 100)
    assert cache.get(owner, "another key") is None
    assert cache.get(other, "key") is None


def test_owners_that_are_equal_share():
    cache, owner, twin = TensorCache(10_000), Owner("a"), Owner("a")
    cache.keep(owner, "key", "tensor", 100)
    assert cache.get(twin, "key") == "tensor"
    cache.keep(twin, "key", "another", 100)
    assert cache.get(owner, "key") == "tensor"
    assert cache.nbytes == 100 + RECORD


def test_two_owners_keep_tensors_under_the_same_key():
    cache, owner, other = TensorCache(10_000), Owner("a"), Owner("b")
    cache.keep(owner, "key", "tensor", 100)
    cache.keep(other, "key", "another", 200)
    assert (cache.get(owner, "key"), cache.get(other, "key")) == ("tensor", "another")
    assert cache.nbytes == 300 + 2 * RECORD


def test_kept_tensors_go_with_their_owner():
    cache, owner, other = TensorCache(10_000), Owner("a"), Owner("b")
    cache.keep(owner, "key", "tensor", 100)
    cache.keep(other, "key", "another", 200)
    del owner
    gc.collect()
    assert cache.nbytes == 200 + RECORD
    assert cache.get(Owner("a"), "key") is None
    assert cache.get(other, "key") == "another"


def test_a_twin_whose_owner_has_gone_keeps_its_own():
    cache, owner, twin = TensorCache(10_000), Owner("a"), Owner("a")
    cache.keep(owner, "key", "tensor", 100)
    del owner
    gc.collect()
    cache.keep(twin, "key", "another", 200)
    assert cache.get(twin, "key") == "another"
    assert cache.nbytes == 200 + RECORD


def test_an_owner_whose_tensors_went_is_forgotten():
    cache = TensorCache(2 * RECORD)
    owners = [Owner(str(number)) for number in range(10)]
    for owner in owners:
        cache.keep(owner, "key", "tensor", RECORD)
    owner = None
    owners.clear()
    gc.collect()
    assert cache.nbytes == 0


def room_for(count: int, nbytes: int = 100) -> TensorCache:
    """A cache for so many tensors of this size."""
    return TensorCache(count * (nbytes + RECORD))


def test_the_least_recently_used_goes_first():
    cache, owner = room_for(3), Owner("a")
    for key in "abc":
        cache.keep(owner, key, key, 100)
    cache.get(owner, "a")
    cache.keep(owner, "d", "d", 100)
    assert [cache.get(owner, key) for key in "abcd"] == ["a", None, "c", "d"]


def test_the_least_recently_used_of_all_owners_goes_first():
    cache, owner, other = room_for(3), Owner("a"), Owner("b")
    cache.keep(owner, "a", "a", 100)
    cache.keep(other, "b", "b", 100)
    cache.keep(owner, "c", "c", 100)
    cache.get(owner, "a")
    cache.keep(other, "d", "d", 100)
    assert [cache.get(owner, key) for key in "ac"] == ["a", "c"]
    assert [cache.get(other, key) for key in "bd"] == [None, "d"]


def test_a_large_tensor_takes_the_place_of_several():
    cache, owner = room_for(4), Owner("a")
    for key in "abcd":
        cache.keep(owner, key, key, 100)
    cache.keep(owner, "e", "e", 3 * (100 + RECORD) - RECORD)
    found = [cache.get(owner, key) for key in "abcde"]
    assert found == [None, None, None, "d", "e"]
    assert cache.nbytes == cache.max_bytes


@pytest.mark.parametrize(
    ("nbytes", "fits"), [(0, True), (5000, True), (5001, False), (10**12, False)]
)
def test_there_is_room_for_what_is_no_larger_than_the_bound(nbytes: int, fits: bool):
    cache, owner = TensorCache(5000 + RECORD), Owner("a")
    cache.keep(owner, "another", "tensor", 4000)  # can go
    assert cache.has_room_for(nbytes) is fits


MANY = {
    "of-one-owner": lambda number: (0, number),
    "of-ten-owners": lambda number: (number % 10, number),
    "of-an-owner-each": lambda number: (number, 0),
}


@pytest.mark.parametrize("nbytes", [0, 8, 3000])
@pytest.mark.parametrize("way", MANY)
def test_many_small_tensors_stay_within_the_bound(way: str, nbytes: int):
    cache = TensorCache(50_000)
    owners = [Owner(str(number)) for number in range(300)]
    held = []
    for number in range(300):
        owner, key = MANY[way](number)
        cache.keep(owners[owner], key, "tensor", nbytes)
        held.append(cache.nbytes)
    assert max(held) <= 50_000
    assert max(held) > 50_000 - (nbytes + RECORD)


@pytest.fixture
def impatient():
    """Threads that take turns as often as they can."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


@pytest.mark.usefixtures("impatient")
def test_owners_may_go_while_another_thread_counts():
    cache = TensorCache(10**9)
    owners = [Owner(str(number)) for number in range(3000)]
    for number in range(3000):
        cache.keep(owners[number], "key", "tensor", 1)
    dying = threading.Thread(target=lambda: [owners.pop() for _ in range(3000)])
    dying.start()
    held = []
    while dying.is_alive():
        held.append(cache.nbytes)
    assert held == sorted(held, reverse=True)
    assert cache.nbytes == 0


@pytest.mark.usefixtures("impatient")
def test_many_threads_keep_and_find_at_once():
    cache = room_for(5)
    owners = [Owner(str(number)) for number in range(4)]

    def use(seed: int) -> list[tuple[Any, Any]]:
        rng = np.random.default_rng(seed)
        pairs = rng.integers(0, 4, (500, 2)).tolist()
        return [(pair, keep_and_find(*pair)) for pair in map(tuple, pairs)]

    def keep_and_find(owner: int, key: int) -> Any:
        cache.keep(owners[owner], key, (owner, key), 100)
        return cache.get(owners[owner], key)

    with ThreadPoolExecutor(8) as pool:
        found = [pair for pairs in pool.map(use, range(8)) for pair in pairs]
    # Another thread may have pushed it out in between.
    assert {pair for pair in found if pair[1] not in (None, pair[0])} == set()
    assert cache.nbytes <= cache.max_bytes


# Layers, eagerly and otherwise.


@pytest.fixture
def kept(monkeypatch: pytest.MonkeyPatch) -> TensorCache:
    """An empty cache in the place of that of the process, as large."""
    cache = TensorCache(_evaluate._kept.max_bytes)
    monkeypatch.setattr(_evaluate, "_kept", cache)
    return cache


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch, kept: TensorCache) -> list[tuple[int, ...]]:
    """The grids of the tables that are made, as long as the test runs."""
    grids: list[tuple[int, ...]] = []
    host_table = _evaluate.host_table

    def noting(options: Any, channels: int, grid: tuple[int, ...], *rest: Any) -> Any:
        grids.append(grid)
        return host_table(options, channels, grid, *rest)

    monkeypatch.setattr(_evaluate, "host_table", noting)
    return grids


# One of each kind: JAX compiles every operation for every shape.
KINDS = {case.name: case for case in LAYERS}
CHOSEN = [
    KINDS[name]
    for name in ("1d", "2d", "permute1d", "sum-of-1d", "sum-of-permute2d", "sinusoid")
]
each_kind = pytest.mark.parametrize("case", CHOSEN, ids=lambda case: case.name)


def zeros(*shape: int, dtype: str = "float32") -> Any:
    return to_tensor(np.zeros(shape, dtype))


def assert_right(outputs: Any, case: Case, inputs: np.ndarray) -> None:
    np.testing.assert_allclose(
        to_numpy(outputs),
        case.expected(inputs),
        rtol=0,
        atol=SUM_ROUNDING if case.adds else ROUNDING["float32"],
    )


@each_kind
def test_a_second_call_builds_no_table(case: Case, made: list):
    layer, x = case.make(), to_tensor(case.inputs())
    first = to_numpy(layer(x))
    assert len(made) == 1
    np.testing.assert_array_equal(to_numpy(layer(x)), first)
    assert len(made) == 1


@each_kind
def test_one_table_serves_every_batch_size(case: Case, made: list, kept: TensorCache):
    layer, x = case.make(), case.inputs()
    layer(to_tensor(x))
    held = kept.nbytes
    assert_right(layer(to_tensor(x[:1])), case, x[:1])
    three = np.concatenate([x, x[:1]])
    assert_right(layer(to_tensor(three)), case, three)
    assert tuple(layer(to_tensor(x[:0])).shape) == (0, *case.shape[1:])
    assert len(made) == 1
    assert kept.nbytes == held


def test_layers_of_the_same_options_share_a_table(made: list):
    x = zeros(1, 6, 8)
    layers = [
        kp.PositionalEncoding1D(8),
        kp.PositionalEncoding(1, 8, max_wavelength=10_000),
        kp.PositionalEncoding1D(8, name="another"),
        kp.Summer(kp.PositionalEncoding1D(8)),
        kp.SinusoidEncoding(8, max_len=7),
    ]
    outputs = [to_numpy(layer(x)) for layer in layers]
    assert len({table.tobytes() for table in outputs}) == 1
    # `SinusoidEncoding` rounds once, the others for themselves and for a sum.
    assert len(made) <= 2


def test_cached_bytes_are_those_of_the_tensors_and_a_record(kept: TensorCache):
    layers = [
        kp.PositionalEncoding1D(8, dtype=dtype) for dtype in ("float32", "float16")
    ]
    held = []
    for layer in layers:
        layer(zeros(1, 100, 8))
        held.append(kept.nbytes)
    single, both = held
    assert single == 4 * 800 + RECORD
    assert both - single == 2 * 800 + RECORD


# In a graph between two calls, or before the first one.


@each_kind
@pytest.mark.parametrize("mode", KNOWN[1:])
def test_a_graph_between_two_eager_calls_changes_neither(
    case: Case, mode: str, kept: TensorCache
):
    layer, x = case.make(), case.inputs()
    first = to_numpy(layer(to_tensor(x)))
    held = kept.nbytes
    assert_right(with_known_sizes(layer, mode)(to_tensor(x)), case, x)
    np.testing.assert_array_equal(to_numpy(layer(to_tensor(x))), first)
    assert_right(layer(to_tensor(x)), case, x)
    assert kept.nbytes == held


@each_kind
@pytest.mark.parametrize("mode", KNOWN[1:])
def test_a_graph_keeps_nothing(case: Case, mode: str, kept: TensorCache):
    layer, x = case.make(), case.inputs()
    assert_right(with_known_sizes(layer, mode)(to_tensor(x)), case, x)
    assert kept.nbytes == 0
    assert_right(layer(to_tensor(x)), case, x)


@pytest.mark.filterwarnings(
    # torch 2.13 uses these itself, for `torch.func.jvp` too.
    "ignore:`torch.jit.[a-z_]+` is deprecated:DeprecationWarning",
)
@pytest.mark.parametrize("name", ["1d", "permute2d", "sum-of-2d"])
@pytest.mark.parametrize("call", FIRST_CALLS)
def test_a_first_call_amid_a_transformation_leaves_nothing_of_it(
    call: str, name: str, kept: TensorCache
):
    case = KINDS[name]
    layer, x = case.make(), case.inputs()
    first = FIRST_CALLS[call](layer, to_tensor(x))
    if first is not None:
        assert_right(first, case, x)
    assert_right(layer(to_tensor(x)), case, x)
    gradients = to_numpy(gradient(lambda x: layer(x) + x, to_tensor(x)))
    assert set(gradients.flat) == {1.0 + case.adds}


# What a call returns is the caller's to change.


def changed_by_torch(outputs: Any) -> None:
    outputs += 1


def changed_by_torch_through_numpy(outputs: Any) -> None:
    outputs.numpy()[...] = 7


def donated_by_jax(outputs: Any) -> None:
    import jax

    jax.jit(lambda x: x + 1, donate_argnums=0)(outputs)
    assert outputs.is_deleted()


def deleted_by_jax(outputs: Any) -> None:
    outputs.delete()


def changed_through_dlpack(outputs: Any) -> None:
    array = np.from_dlpack(Exported(outputs))
    # NumPy takes it for read-only; others that share the memory would not.
    ctypes.memset(array.ctypes.data, 0x40, array.nbytes)
    assert to_numpy(outputs).min() > 3


class Exported:
    """A TensorFlow tensor for whoever takes what dlpack gives."""

    def __init__(self, tensor: Any):
        self.tensor = tensor

    def __dlpack__(self, **_: Any) -> Any:
        import tensorflow as tf

        return tf.experimental.dlpack.to_dlpack(self.tensor)

    def __dlpack_device__(self) -> tuple[int, int]:
        return 1, 0  # a CPU, the first


CHANGES = {
    "jax": [donated_by_jax, deleted_by_jax],
    "tensorflow": [changed_through_dlpack],
    "torch": [changed_by_torch, changed_by_torch_through_numpy],
}[BACKEND]


@each_kind
@pytest.mark.parametrize("batch", [1, 2])
@pytest.mark.parametrize("change", CHANGES, ids=lambda change: change.__name__)
def test_changing_a_result_changes_no_later_one(
    case: Case, batch: int, change: Callable[[Any], None], kept: TensorCache
):
    layer, x = case.make(), case.inputs()[:batch]
    change(layer(to_tensor(x)))
    # The second call finds what the first has made, and its own is changed as well.
    change(layer(to_tensor(x)))
    assert_right(layer(to_tensor(x)), case, x)


if BACKEND == "torch":

    @each_kind
    @pytest.mark.parametrize("batch", [1, 2])
    def test_a_result_is_an_ordinary_tensor(case: Case, batch: int):
        outputs = case.make()(to_tensor(case.inputs()[:batch]))
        outputs.view(-1)  # which only what is contiguous has
        assert not outputs.requires_grad


# Bounded.


def hold_each(layer: keras.Layer, lengths: range, kept: TensorCache) -> list[int]:
    """The bytes that are held after a call for each length."""
    arrays = [np.zeros((1, length, 4), "float32") for length in lengths]
    held = []

    def call(inputs: list[Any]) -> None:
        for x in inputs:
            layer(x)
            held.append(kept.nbytes)

    if BACKEND == "jax":
        import jax

        # The inputs are there, so that all is done but the arithmetic: JAX would
        # compile that for each shape, as it would what `jnp.asarray` does.
        inputs = [jax.device_put(array) for array in arrays]
        jax.eval_shape(lambda: call(inputs))
    else:
        call([to_tensor(array) for array in arrays])
    return held


# JAX would trace a copy for each length, for half a minute.
@pytest.mark.parametrize("adds", [True] if BACKEND == "jax" else [True, False])
def test_tables_of_a_thousand_lengths_stay_within_the_bound(
    adds: bool, kept: TensorCache, made: list
):
    kept.max_bytes = 2**18
    layer = kp.PositionalEncoding1D(4)
    layer = kp.Summer(layer) if adds else layer
    held = hold_each(layer, range(1, 1001), kept)
    assert len(made) == 1000
    # Full, but for less than the largest, once that the first had to go.
    assert max(held) <= kept.max_bytes
    assert min(held[500:]) > kept.max_bytes - (1000 * 4 * 4 + RECORD)
    # The last ones are still there, the first ones are not.
    hold_each(layer, range(1000, 990, -1), kept)
    assert len(made) == 1000
    hold_each(layer, range(1, 11), kept)
    assert len(made) == 1010


def test_the_bound_of_a_process_holds_one_large_table_and_no_half_gigabyte():
    """Enough for the largest table of the benchmarks, and no more than half a GB."""
    assert _evaluate._kept.has_room_for(4 * 65_536 * 1024)
    assert _evaluate._kept.max_bytes < 2**29


@each_kind
def test_a_table_larger_than_the_bound_is_not_kept(case: Case, kept: TensorCache):
    kept.max_bytes = RECORD
    layer, x = case.make(), case.inputs()
    for _ in range(2):
        assert_right(layer(to_tensor(x)), case, x)
    assert kept.nbytes == 0


def test_a_table_larger_than_the_bound_leaves_the_others(made: list, kept: TensorCache):
    layer = kp.PositionalEncoding1D(8)
    layer(zeros(1, 5, 8))
    kept.max_bytes = kept.nbytes
    layer(zeros(1, 6, 8))
    layer(zeros(1, 5, 8))
    assert made == [(5,)]


# Found by all that the values depend on.


def encoding(*args: Any, **kwargs: Any) -> Callable[[], keras.Layer]:
    return lambda: kp.PositionalEncoding(*args, **kwargs)


def summer(dtype: str, inner_dtype: str) -> Callable[[], keras.Layer]:
    return lambda: kp.Summer(kp.PositionalEncoding1D(8, inner_dtype), dtype=dtype)


FLOAT = encoding(1, 8)
PAIRS = {
    "bfloat16": ((2, 300, 8), encoding(1, 8, dtype="bfloat16"), FLOAT),
    "float16": ((2, 300, 8), encoding(1, 8, dtype="mixed_float16"), FLOAT),
    "halves": (
        (2, 300, 8),
        encoding(1, 8, dtype="bfloat16"),
        encoding(1, 8, dtype="float16"),
    ),
    "in-a-summer": (
        (2, 300, 8),
        summer("float32", "bfloat16"),
        summer("float32", "float32"),
    ),
    "of-a-summer": (
        (2, 300, 8),
        summer("bfloat16", "float32"),
        summer("float16", "float32"),
    ),
    "on-the-way-of-a-summer": (
        (2, 300, 8),
        summer("float16", "bfloat16"),
        summer("float16", "float32"),
    ),
    "alone-or-in-a-summer": ((2, 300, 8), FLOAT, summer("float32", "bfloat16")),
    "max_wavelength": ((2, 9, 8), FLOAT, encoding(1, 8, max_wavelength=20.0)),
    "of-axes": (
        (2, 5, 5, 8),
        encoding(2, 8, max_wavelength=[20.0, 300.0]),
        encoding(2, 8, max_wavelength=[300.0, 20.0]),
    ),
    "channels": ((2, 9, 8), FLOAT, encoding(1, 12)),
    "channels-of-the-input": ((2, 9, 8), encoding(1), encoding(1, 12)),
    "data_format": (
        (2, 8, 8, 8),
        encoding(2, 8),
        encoding(2, 8, data_format="channels_first"),
    ),
    "data_format-of-a-sequence": (
        (2, 8, 8),
        FLOAT,
        encoding(1, 8, data_format="channels_first"),
    ),
}
if BACKEND != "jax":
    PAIRS["float64"] = ((2, 300, 8), encoding(1, 8, dtype="float64"), FLOAT)


@pytest.mark.parametrize("pair", PAIRS)
def test_layers_called_in_turn_get_their_own_tables(
    pair: str, kept: TensorCache, monkeypatch: pytest.MonkeyPatch
):
    shape, *makers = PAIRS[pair]
    x = zeros(*shape)
    alone = [output_alone(make(), x, monkeypatch) for make in makers]
    assert alone[0].tobytes() != alone[1].tobytes()
    monkeypatch.setattr(_evaluate, "_kept", kept)
    first, second = (make() for make in makers)
    outputs = [to_numpy(layer(x)) for layer in (first, second, first, second)]
    np.testing.assert_array_equal(outputs, alone * 2)


def output_alone(
    layer: keras.Layer, x: Any, monkeypatch: pytest.MonkeyPatch
) -> np.ndarray:
    """What a layer returns where no other has been called."""
    monkeypatch.setattr(_evaluate, "_kept", TensorCache(2**28))
    return to_numpy(layer(x))


def test_one_layer_gets_a_table_for_each_number_of_channels(kept: TensorCache):
    layer = kp.PositionalEncoding1D()
    outputs = [to_numpy(layer(zeros(1, 7, count))) for count in (8, 6, 8)]
    expected = [reference.encode_1d(7, count) for count in (8, 6, 8)]
    errors = [np.abs(a[0] - b).max() for a, b in zip(outputs, expected, strict=True)]
    assert max(errors) <= ROUNDING["float32"]


def test_missing_channels_warn_although_the_table_is_cached(made: list):
    layer = kp.PositionalEncoding1D(3)
    for _ in range(2):
        with pytest.warns(UserWarning, match="channels=3 makes 4 channels"):
            outputs = layer(zeros(1, 7, 6))
    assert tuple(outputs.shape) == (1, 7, 4)
    assert tuple(layer(zeros(1, 7, 4)).shape) == (1, 7, 4)
    assert np.abs(to_numpy(outputs)[0] - reference.encode_1d(7, 4)).max() <= 1e-7


@pytest.mark.parametrize("dtype", ["int32", "uint8", "bool", "float16"])
@pytest.mark.parametrize("first", ["this", "float32"])
def test_the_dtype_of_the_input_changes_no_table(
    dtype: str, first: str, kept: TensorCache
):
    layer = kp.PositionalEncoding1D(8)
    inputs = {"this": zeros(1, 60, 8, dtype=dtype), "float32": zeros(1, 60, 8)}
    outputs = [layer(inputs[name]) for name in sorted(inputs, key=first.__ne__)]
    assert {dtype_of(output) for output in outputs} == {"float32"}
    expected = reference.encode_1d(60, 8)
    errors = [np.abs(to_numpy(output)[0] - expected).max() for output in outputs]
    assert max(errors) <= ROUNDING["float32"]


if BACKEND == "torch":

    @each_kind
    @pytest.mark.parametrize("first", ["cpu", "meta"])
    def test_each_device_gets_its_own_table(case: Case, first: str, kept: TensorCache):
        layer, x = case.make(), case.inputs()
        devices = sorted(["cpu", "meta"], key=first.__ne__)
        outputs = {device: layer(to_tensor(x).to(device)) for device in devices}
        assert [outputs[name].device.type for name in devices] == devices
        assert_right(outputs["cpu"], case, x)


if BACKEND == "jax":
    # JAX makes two of one CPU only as it starts.
    TWO_DEVICES = """
import json, os
os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=2"
import jax, numpy, keras_posenc
layer = keras_posenc.PositionalEncoding1D(8)
layers = [layer, keras_posenc.Summer(layer)]
devices = [*jax.devices(), jax.devices()[0]]
inputs = [jax.device_put(numpy.zeros((1, 5, 8), "float32"), d) for d in devices]
outputs = [[layer(x) for x in inputs] for layer in layers]
print(json.dumps({
    "devices": [[y.device.id for y in of_layer] for of_layer in outputs],
    "rows": [[y[0, 1].tolist() for y in of_layer] for of_layer in outputs],
}))
"""

    def test_a_result_is_on_the_device_of_its_input():
        output = subprocess.run(
            [sys.executable, "-c", TWO_DEVICES],
            check=True,
            capture_output=True,
            text=True,
        )
        found = json.loads(output.stdout.splitlines()[-1])
        assert found["devices"] == [[0, 1, 0]] * 2
        row = reference.encode_1d(2, 8)[1]
        assert np.abs(np.array(found["rows"]) - row).max() <= ROUNDING["float32"]


# Nothing of it in the layer, and nothing without the layer.


@each_kind
def test_tables_go_with_their_layer(case: Case, kept: TensorCache):
    layer = case.make()
    layer(to_tensor(case.inputs()))
    assert kept.nbytes > 0
    del layer
    gc.collect()
    assert kept.nbytes == 0


def test_tables_of_another_layer_stay(kept: TensorCache):
    layer, other = kp.PositionalEncoding1D(8), kp.PositionalEncoding1D(10)
    layer(zeros(1, 5, 8))
    held = kept.nbytes
    other(zeros(1, 5, 10))
    del other
    gc.collect()
    assert kept.nbytes == held


def test_a_copy_outlives_the_layer_it_was_copied_from(kept: TensorCache):
    layer = kp.PositionalEncoding1D(8)
    layer(zeros(1, 5, 8))
    twin = copy.deepcopy(layer)
    del layer
    gc.collect()
    outputs = to_numpy(twin(zeros(1, 5, 8)))
    assert np.abs(outputs[0] - reference.encode_1d(5, 8)).max() <= ROUNDING["float32"]
    assert kept.nbytes > 0


def members(path: Path) -> dict[str, int]:
    """What is in a `.keras` file, and how many bytes of it."""
    with zipfile.ZipFile(path) as archive:
        return {info.filename: info.file_size for info in archive.infolist()}


def saved(model: keras.Model, path: Path) -> dict[str, int]:
    model.save(path / "model.keras")
    return members(path / "model.keras")


LEFTOVERS: dict[str, Callable[[keras.Model, Path], Any]] = {
    "pickle": lambda model, path: len(pickle.dumps(model.layers[0])),
    "deepcopy": lambda model, path: len(pickle.dumps(copy.deepcopy(model.layers[0]))),
    "get_config": lambda model, path: json.dumps(model.get_config()),
    "weights": lambda model, path: [*model.weights, *model.non_trainable_variables],
    "attributes": lambda model, path: sorted(vars(model.layers[0])),
    "file": saved,
}
if BACKEND == "torch":
    LEFTOVERS["state_dict"] = lambda model, path: [*model.state_dict()]


@pytest.mark.parametrize("name", ["1d", "sum-of-1d"])
@pytest.mark.parametrize("kind", LEFTOVERS)
def test_cached_tables_are_not_in(
    kind: str, name: str, kept: TensorCache, tmp_path: Path
):
    layer = KINDS[name].make()
    model = keras.Sequential([keras.Input((None, 10)), layer])
    layer(zeros(1, 1, 10))
    before = LEFTOVERS[kind](model, tmp_path)
    layer(zeros(1, 5000, 10))
    assert kept.nbytes > 200_000
    assert LEFTOVERS[kind](model, tmp_path) == before


# Threads, and what goes wrong.


def together(calls: list[Callable[[], Any]]) -> list[Any]:
    """The results of calls that start at the same time, each in a thread of its own."""
    barrier = threading.Barrier(len(calls))

    def start(call: Callable[[], Any]) -> Any:
        barrier.wait(timeout=60)
        return call()

    with ThreadPoolExecutor(len(calls)) as pool:
        return list(pool.map(start, calls))


def repeated(layer: keras.Layer, x: Any, times: int = 20) -> Callable[[], np.ndarray]:
    """A call many times over, which returns all the different results."""
    return lambda: np.unique([to_numpy(layer(x)) for _ in range(times)], axis=0)


@pytest.mark.parametrize("max_bytes", [2**28, 3000], ids=["roomy", "for-two"])
@pytest.mark.parametrize("name", ["1d", "sum-of-1d"])
def test_threads_call_one_layer_with_different_shapes(
    name: str, max_bytes: int, kept: TensorCache
):
    kept.max_bytes = max_bytes
    layer = kp.PositionalEncoding1D(8)
    layer = kp.Summer(layer) if name == "sum-of-1d" else layer
    layer(zeros(1, 1, 8))  # Keras builds a layer in one thread
    lengths = range(10, 18)
    results = together([repeated(layer, zeros(1, length, 8)) for length in lengths])
    expected = [reference.encode_1d(length, 8)[None, None] for length in lengths]
    assert [found.shape for found in results] == [table.shape for table in expected]
    errors = [np.abs(a - b).max() for a, b in zip(results, expected, strict=True)]
    assert max(errors) <= ROUNDING["float32"]
    assert kept.nbytes <= max_bytes


def test_threads_call_layers_of_the_same_options(kept: TensorCache):
    layers = [kp.PositionalEncoding1D(8) for _ in range(8)]
    x = zeros(1, 23, 8)
    results = together([repeated(layer, x) for layer in layers])
    assert {found.tobytes() for found in results} == {results[0].tobytes()}
    error = np.abs(results[0][0, 0] - reference.encode_1d(23, 8)).max()
    assert error <= ROUNDING["float32"]
    assert kept.nbytes == 4 * 23 * 8 + RECORD


def test_threads_make_and_drop_layers(kept: TensorCache):
    x = zeros(1, 23, 8)

    def call() -> float:
        outputs = [to_numpy(kp.PositionalEncoding1D(8)(x)) for _ in range(20)]
        return np.abs(np.array(outputs) - reference.encode_1d(23, 8)).max()

    assert max(together([call] * 8)) <= ROUNDING["float32"]
    gc.collect()
    assert kept.nbytes == 0


STEPS = {
    "making": (_evaluate, "host_table"),
    "moving": (_backend, "to_parts"),
    "keeping": (TensorCache, "keep"),
}


@pytest.mark.parametrize("step", STEPS)
def test_an_error_while_a_table_is_made_leaves_the_cache_as_it_was(
    step: str, kept: TensorCache, made: list, monkeypatch: pytest.MonkeyPatch
):
    layer = kp.PositionalEncoding1D(8)
    layer(zeros(1, 5, 8))
    held = kept.nbytes

    def fail(*args: Any, **kwargs: Any) -> None:
        raise MemoryError("no more of it")

    with monkeypatch.context() as failing:
        failing.setattr(*STEPS[step], fail)
        with pytest.raises(MemoryError, match="no more of it"):
            layer(zeros(1, 6, 8))
    assert kept.nbytes == held
    made.clear()
    layer(zeros(1, 5, 8))
    assert made == []
    outputs = to_numpy(layer(zeros(1, 6, 8)))
    assert made == [(6,)]
    assert np.abs(outputs[0] - reference.encode_1d(6, 8)).max() <= ROUNDING["float32"]


@pytest.mark.parametrize("name", ["1d", "permute1d", "sum-of-1d", "sinusoid"])
@pytest.mark.parametrize("value", [np.nan, np.inf], ids=str)
def test_values_of_the_input_reach_no_cached_table(
    name: str, value: float, kept: TensorCache
):
    case = KINDS[name]
    layer, x = case.make(), case.inputs()
    outputs = to_numpy(layer(to_tensor(np.full_like(x, value))))
    if case.adds:
        np.testing.assert_array_equal(outputs, np.full(x.shape, value))
    else:
        assert_right(outputs, case, x)
    assert_right(layer(to_tensor(x)), case, x)


if BACKEND == "jax":

    def compilations(call: Callable[[], Any], caplog: Any) -> list[str]:
        """What JAX says that it compiles for a call."""
        import jax

        caplog.clear()
        with jax.log_compiles(), caplog.at_level(logging.WARNING, logger="jax"):
            call()
        lines = [record.getMessage() for record in caplog.records]
        return [line for line in lines if line.startswith("Compiling")]

    @each_kind
    def test_a_second_call_compiles_nothing(case: Case, caplog: Any):
        layer, x = case.make(), to_tensor(case.inputs())
        layer(x)
        assert compilations(lambda: layer(x), caplog) == []

    def test_a_compilation_would_be_seen(caplog: Any):
        import jax

        x = zeros(3)
        assert compilations(lambda: jax.jit(lambda x: x + 1)(x), caplog) != []


# No copy of the encoding for each element of a batch.

each_measured_mode = pytest.mark.parametrize(
    # TensorFlow holds on to what it needed to make a graph; of some there is none.
    "mode",
    ["eager"] if BACKEND == "tensorflow" or BREAKS_GRAPHS else KNOWN,
)
needs_linux = pytest.mark.skipif(
    not peak_memory.AVAILABLE, reason="only Linux shows the peak since a moment"
)
WHOLE = 4 * math.prod(peak_memory.SHAPE)
TABLE = WHOLE // peak_memory.SHAPE[0]
# Input, output, one table without a batch, and 20 MB for what a process does besides:
# 1 to 7 MB were measured, while a copy of the encoding would take 50.
MOST = 2 * WHOLE + TABLE + 20e6


def peak(function: str, mode: str) -> float:
    return float(run_helper("peak_memory", function, mode).splitlines()[-1])


@needs_linux
@each_measured_mode
def test_a_sum_takes_no_memory_for_a_copy_of_the_encoding(mode: str):
    assert 2 * WHOLE < peak("summer", mode) < MOST


@needs_linux
def test_a_copy_would_be_seen():
    assert peak("with-a-copy", "eager") > MOST + 20e6


if BACKEND == "tensorflow":

    @pytest.mark.parametrize(
        ("name", "made"),
        [("summer", ["AddV2"]), ("with_a_copy", ["BroadcastTo", "AddV2"])],
    )
    def test_a_graph_of_a_sum_makes_nothing_as_large_but_the_sum(
        name: str, made: list[str]
    ):
        import tensorflow as tf

        spec = tf.TensorSpec(peak_memory.SHAPE)
        function = tf.function(getattr(peak_memory, name))
        operations = function.get_concrete_function(spec).graph.get_operations()
        large = [
            operation.type
            for operation in operations
            for output in operation.outputs
            if output.shape == peak_memory.SHAPE
        ]
        assert [kind for kind in large if kind not in ("Placeholder", "Identity")] == (
            made
        )
