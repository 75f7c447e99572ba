"""How far the numbers are from the formula, at positions where float32 loses its way.

`reference.exact` has the numbers, right to 1e-15 at any position here. The same bounds
hold in every way to run: at once, in graphs that know the sizes, in graphs that do not.
"""

from __future__ import annotations

import functools
import shutil
from typing import Any

import mpmath
import numpy as np
import pytest
from keras import ops

import keras_posenc as kp
from helpers import reference
from helpers.hard_positions import TIMESTAMPS, integers, reals
from helpers.run_modes import (
    BACKEND,
    KNOWN,
    UNKNOWN,
    with_known_sizes,
    with_unknown_sizes,
)
from helpers.tensors import dtype_of, to_numpy, to_tensor, zeros

# A few roundings in float32, of numbers up to 1 (3e-8 each) and of an angle below 1.
SINGLE = 2e-7
WAVELENGTHS = [20.0, 1e4, 1e6]
LAYERS = {
    "1d": kp.PositionalEncoding1D,
    "2d": kp.PositionalEncoding2D,
    "3d": kp.PositionalEncoding3D,
}

# It makes fused code of its own, where an optimiser could undo an exact product; slow,
# and only where there is a compiler to make it with.
INDUCTOR = pytest.param(
    "inductor",
    marks=[
        pytest.mark.skipif(
            shutil.which("g++") is None, reason="torch.compile needs a C++ compiler"
        ),
        # torch 2.13 uses what it has itself deprecated.
        pytest.mark.filterwarnings("ignore:`torch.jit.script:DeprecationWarning"),
    ],
)
SLOW = [INDUCTOR] if BACKEND == "torch" else []

each_wavelength = pytest.mark.parametrize("base", WAVELENGTHS)
each_known = pytest.mark.parametrize("mode", KNOWN)
each_unknown = pytest.mark.parametrize("mode", UNKNOWN)


# The reference itself.


@pytest.mark.parametrize("base", [0.5, *WAVELENGTHS])
@pytest.mark.parametrize("channel", range(4))
def test_the_reference_is_right(base: float, channel: int):
    positions = np.concatenate([integers(2**31, 100), reals(1e6, 100), TIMESTAMPS[:9]])
    with mpmath.workdps(60):
        frequency = mpmath.mpf(base) ** -mpmath.mpf(channel // 2 / 2)
        wave = mpmath.cos if channel % 2 else mpmath.sin
        expected = [float(wave(frequency * float(x))) for x in positions]
    values = reference.exact_1d(positions, 4, base)[:, channel]
    # Half a unit of a fraction of a turn, times 2 pi, and the rounding of the sine.
    np.testing.assert_allclose(values, expected, rtol=0, atol=1e-15)


@pytest.mark.parametrize("sizes", [(50,), (9, 5), (4, 5, 3)], ids=str)
def test_the_reference_agrees_with_the_plain_formula(sizes: tuple[int, ...]):
    grid = np.stack(np.meshgrid(*map(np.arange, sizes), indexing="ij"), axis=-1)
    np.testing.assert_allclose(
        reference.exact(grid, 11), reference.encode(sizes, 11), rtol=0, atol=1e-14
    )


# Layers: the error of a grid.


def error(outputs: Any, base: float) -> float:
    return reference.grid_error(ops.convert_to_numpy(outputs)[0], base)


# Every axis is encoded in the same way, so that not each shape needs each wavelength:
# benchmarks/accuracy.py, which makes the README's table, goes through all of them.
LONG = {
    "1d": ("1d", (131_072, 64), 1e4),
    "1d-short-waves": ("1d", (131_072, 64), 20.0),
    "1d-long-waves": ("1d", (131_072, 64), 1e6),
    "1d-1024-channels": ("1d", (5_000, 1024), 1e4),
    "2d": ("2d", (131_072, 2, 64), 20.0),
    "2d-1024-channels": ("2d", (2, 5_000, 1024), 1e6),
    "3d": ("3d", (1, 131_072, 2, 64), 1e4),
}


@pytest.mark.parametrize(
    ("case", "mode"),
    [(case, "eager") for case in LONG]
    + [(case, mode) for mode in KNOWN[1:] for case in ("1d", "3d")],
)
def test_an_encoding_of_known_length_is_exact(case: str, mode: str):
    name, shape, base = LONG[case]
    layer = LAYERS[name](shape[-1], max_wavelength=base)
    outputs = with_known_sizes(layer, mode)(zeros(1, *shape))
    assert tuple(outputs.shape) == (1, *shape)
    assert error(outputs, base) <= SINGLE


# Of torch's two graphs the one whose numbers could differ from those of eager calls.
@pytest.mark.parametrize("mode", ["eager", *(SLOW or KNOWN[1:])])
def test_the_longest_known_length_with_the_most_channels_is_exact(mode: str):
    layer = kp.PositionalEncoding1D(1024)
    outputs = with_known_sizes(layer, mode)(zeros(1, 131_072, 1024))
    # All of its 134 million numbers would take half a minute to check.
    rows = integers(131_072)
    rows = np.unique(np.append(rows[rows >= 0], 131_071))
    got = ops.convert_to_numpy(outputs)[0, rows]
    assert np.abs(got - reference.exact_1d(rows, 1024)).max() <= SINGLE


# A million positions, with few channels to keep it small.
OPEN = {
    "1d": ("1d", (None, 8), (1_000_000, 8), 20.0),
    "2d-one-known": ("2d", (2, None, 8), (2, 500_000, 8), 20.0),
    "3d": ("3d", (None, None, None, 12), (1, 1_000_000, 1, 12), 1e6),
}


@pytest.mark.parametrize("case", OPEN)
@each_unknown
def test_an_encoding_of_unknown_length_is_exact(case: str, mode: str):
    name, signature, shape, base = OPEN[case]
    layer = LAYERS[name](shape[-1], max_wavelength=base)
    graph = with_unknown_sizes(layer, mode, (None, *signature))
    outputs = graph(zeros(1, *shape))
    assert tuple(outputs.shape) == (1, *shape)
    assert error(outputs, base) <= SINGLE


if BACKEND == "torch":

    @pytest.mark.parametrize("mode", SLOW)
    def test_an_encoding_of_unknown_length_is_exact_in_fused_code(mode: str):
        layer = kp.PositionalEncoding1D(8)
        graph = with_unknown_sizes(layer, mode, (None, None, 8))
        assert error(graph(zeros(1, 1_000_000, 8)), 1e4) <= SINGLE


# Positions of any value, through `encode`.


def exactly(positions: Any) -> np.ndarray:
    """The value of positions in any form, as float64, which all of them fit in."""
    values = to_numpy(positions) if ops.is_tensor(positions) else positions
    return np.asarray(values, "float64")


def bound(positions: Any) -> np.ndarray:
    """What is allowed for each channel of each position.

    The frequencies are numbers of float64, whose rounding counts as often as the
    position says: 5e-7 at 2^31, and nothing at 2^24.
    """
    return SINGLE + 2.0**-52 * np.abs(exactly(positions))[..., None]


def assert_exact(encode: Any, positions: Any, channels: int, base: float) -> None:
    """For `encode`, a graph or not, which takes positions of shape `(n,)`, or one."""
    outputs = encode(positions)
    assert dtype_of(outputs) == "float32"
    expected = reference.exact_1d(exactly(positions), channels, base)
    assert tuple(outputs.shape) == expected.shape
    excess = np.abs(to_numpy(outputs) - expected) - bound(positions)
    assert excess.max() <= 0


def encoder(channels: int = 64, base: float = 1e4) -> Any:
    return functools.partial(kp.encode, channels=channels, max_wavelength=base)


INTEGERS = ["int8", "uint8", "int16", "int32", "uint32"]
if BACKEND != "jax":  # which has 32 bits unless it is told otherwise
    INTEGERS.append("int64")
TENSORS = {
    "integers-below-2^24": integers(2**24).astype("int32"),
    "integers-below-2^31": integers(2**31).astype("int32"),
    "reals-below-10^6": reals(1e6),
}
each_tensor = pytest.mark.parametrize("kind", TENSORS)


@pytest.mark.parametrize(
    ("base", "channels"), [(20.0, 64), (1e4, 64), (1e6, 64), (1e4, 1024)]
)
@each_tensor
def test_positions_are_exact(kind: str, base: float, channels: int):
    positions = to_tensor(TENSORS[kind])
    assert_exact(encoder(channels, base), positions, channels, base)


def short_waves(positions: Any) -> Any:
    """Most of whose frequencies are high, so that turns are many."""
    # Written out: torch.compile with `dynamic=True` takes a variable for unknown too.
    return kp.encode(positions, 64, max_wavelength=20.0)


@each_tensor
@pytest.mark.parametrize("mode", KNOWN[1:])
def test_positions_are_exact_in_a_graph(kind: str, mode: str):
    graph = with_known_sizes(short_waves, mode)
    assert_exact(graph, to_tensor(TENSORS[kind]), 64, 20.0)


@pytest.mark.parametrize(
    ("kind", "mode"),
    [
        (kind, mode)
        for mode in UNKNOWN
        for kind in (["reals-below-10^6"] if SLOW else TENSORS)
    ]
    + [
        pytest.param(kind, *mode.values, marks=mode.marks)
        for mode in SLOW
        for kind in TENSORS
    ],
)
def test_positions_are_exact_in_a_graph_that_does_not_know_how_many(
    kind: str, mode: str
):
    positions = to_tensor(TENSORS[kind])
    graph = with_unknown_sizes(short_waves, mode, (None,), dtype_of(positions))
    assert_exact(graph, positions, 64, 20.0)


HOST = {
    "timestamps": TIMESTAMPS,
    "list-of-timestamps": TIMESTAMPS.tolist(),
    "negative-timestamps": -TIMESTAMPS,
    "float64-array": np.random.default_rng(1).uniform(-1e6, 1e6, 2000),
    "float32-array": reals(1e6),
    "float16-array": reals(6e4).astype("float16"),
    "int64-array": integers(2**31),
    "list-of-integers": integers(2**31, 100).tolist(),
    "uint8-array": np.arange(256, dtype="uint8"),
    "int16-array": np.arange(-(2**15), 2**15, 7, dtype="int16"),
    "one-integer": 2**31 - 1,
    "one-number": -1.7e9 - 0.5,
}


@each_wavelength
@pytest.mark.parametrize("kind", HOST)
def test_positions_of_the_host_are_exact(kind: str, base: float):
    assert_exact(encoder(base=base), HOST[kind], 64, base)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_positions_of_few_digits_count_as_what_they_are(dtype: str):
    positions = ops.cast(to_tensor(reals(6e4)), dtype)  # float16 ends at 65,504
    assert_exact(encoder(), positions, 64, 1e4)


@pytest.mark.parametrize("dtype", INTEGERS)
def test_positions_of_every_integer_dtype_are_exact(dtype: str):
    most = min(np.iinfo(dtype).max, 2**31 - 1)
    least = max(np.iinfo(dtype).min, -(2**31))
    values = np.linspace(least, most, 1000).astype("int64")
    assert_exact(encoder(), to_tensor(values.astype(dtype)), 64, 1e4)


if BACKEND != "jax":

    def test_positions_that_are_doubles_of_the_device_are_exact():
        assert_exact(encoder(), to_tensor(TIMESTAMPS), 64, 1e4)


@pytest.mark.parametrize("kind", [*TENSORS, "timestamps"])
@pytest.mark.parametrize("rank", [2, 3])
def test_positions_of_more_axes_are_exact(kind: str, rank: int):
    values = {**TENSORS, "timestamps": TIMESTAMPS}[kind]
    chosen = np.random.default_rng(2).choice(values, (50, 3, rank))
    positions = chosen if chosen.dtype == "float64" else to_tensor(chosen)
    outputs = to_numpy(kp.encode(positions, 50, rank=rank))
    assert outputs.shape == (50, 3, 50)
    off = np.abs(outputs - reference.exact(chosen, 50))
    assert off.max() <= bound(chosen).max()


# Half precision: rounded once, from numbers that are as good as float32's.

each_half = pytest.mark.parametrize("dtype", ["float16", "bfloat16"])


def excess(outputs: Any, expected: np.ndarray) -> float:
    """The largest part of an error that the one rounding does not explain."""
    off = np.abs(to_numpy(outputs) - expected)
    return (off - reference.half_a_unit(expected, dtype_of(outputs))).max()


@each_half
@each_known
def test_half_precision_is_rounded_once(dtype: str, mode: str):
    layer = kp.PositionalEncoding1D(64, dtype=dtype)
    outputs = with_known_sizes(layer, mode)(zeros(1, 131_072, 64))
    assert dtype_of(outputs) == dtype
    assert excess(outputs[0], reference.exact_rows(131_072, 64, 1e4)) <= SINGLE


@each_half
@each_unknown
def test_half_precision_is_rounded_once_at_an_unknown_length(dtype: str, mode: str):
    length = 1_000_000
    layer = kp.PositionalEncoding1D(8, dtype=dtype)
    outputs = with_unknown_sizes(layer, mode, (None, None, 8))(zeros(1, length, 8))
    assert dtype_of(outputs) == dtype
    assert excess(outputs[0], reference.exact_rows(length, 8, 1e4)) <= SINGLE


@each_half
@each_tensor
def test_half_precision_is_rounded_once_at_any_position(dtype: str, kind: str):
    positions = TENSORS[kind]
    outputs = kp.encode(to_tensor(positions), 64, dtype=dtype)
    assert dtype_of(outputs) == dtype
    assert excess(outputs, reference.exact_1d(positions, 64)) <= bound(positions).max()


# Double precision, where the backend has it.


def double_bound(positions: np.ndarray) -> np.ndarray:
    """The roundings of a frequency and an angle in float64, which grow with both."""
    positions = np.abs(positions)
    return np.where(positions <= 2000, 1e-12, 2.0**-52 * positions)[..., None]


if BACKEND != "jax":

    @each_wavelength
    @each_known
    def test_float64_is_exact(base: float, mode: str):
        length = 131_072
        layer = kp.PositionalEncoding1D(16, dtype="float64", max_wavelength=base)
        outputs = with_known_sizes(layer, mode)(zeros(1, length, 16))
        off = np.abs(to_numpy(outputs)[0] - reference.exact_rows(length, 16, base))
        assert (off <= double_bound(np.arange(length))).all()

    @pytest.mark.parametrize("base", [20.0, 1e4])
    @each_unknown
    def test_float64_is_exact_at_an_unknown_length(base: float, mode: str):
        length = 1_000_000
        layer = kp.PositionalEncoding1D(8, dtype="float64", max_wavelength=base)
        outputs = with_unknown_sizes(layer, mode, (None, None, 8))(zeros(1, length, 8))
        off = np.abs(to_numpy(outputs)[0] - reference.exact_rows(length, 8, base))
        assert (off <= double_bound(np.arange(length))).all()

    @pytest.mark.parametrize("kind", [*TENSORS, "float64"])
    def test_float64_is_exact_at_any_position(kind: str):
        positions = {**TENSORS, "float64": TIMESTAMPS}[kind]
        outputs = kp.encode(to_tensor(positions), 64, dtype="float64")
        off = np.abs(to_numpy(outputs) - reference.exact_1d(positions, 64))
        assert (off <= double_bound(positions.astype("float64"))).all()


if BACKEND == "torch":

    @pytest.fixture
    def autocast():
        import torch

        with torch.autocast("cpu", dtype=torch.bfloat16):
            yield

    @pytest.mark.usefixtures("autocast")
    @each_known
    def test_autocast_leaves_an_encoding_as_it_is(mode: str):
        layer = kp.PositionalEncoding1D(16)
        # A length of its own, of which no other test has left a table.
        outputs = with_known_sizes(layer, mode)(zeros(1, 311, 16))
        assert dtype_of(outputs) == "float32"
        assert error(outputs, 1e4) <= SINGLE

    @pytest.mark.usefixtures("autocast")
    @each_unknown
    def test_autocast_leaves_an_encoding_of_unknown_length_as_it_is(mode: str):
        layer = kp.PositionalEncoding1D(16)
        graph = with_unknown_sizes(layer, mode, (None, None, 16))
        assert error(graph(zeros(1, 311, 16)), 1e4) <= SINGLE

    @pytest.mark.usefixtures("autocast")
    @each_tensor
    @each_known
    def test_autocast_leaves_positions_as_they_are(kind: str, mode: str):
        graph = with_known_sizes(encoder(), mode)
        assert_exact(graph, to_tensor(TENSORS[kind]), 64, 1e4)
