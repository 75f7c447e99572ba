"""Waves to numbers: the only module that takes a sine.

An encoding is the broadcast sum of one term per axis, which holds the waves of that
axis and zeros in the channels of the others. An angle in float32 would lose the
position (an error of 4e-3 at 65,536), so none is ever computed in it:

- *Kept tables.* An eager call adds one table of all axes, made on the host in float64
  and kept for the next call: one pass over memory.
- *Angle addition.* A graph that knows a size combines the sines of every `step`-th
  position with those of the positions below `step`. Both tables are made on the host
  and short, so that a graph is quick to compile and small in a file; and they stay in
  the processor's cache, so that they cost less to read than a stored encoding.
- *Counting in turns*, where only the running graph knows the positions. These are
  split into digits, whose turns are exact in float32, and whole turns are dropped.
"""

from __future__ import annotations

import functools
import math
import operator
from collections.abc import Callable
from typing import Any

import keras
import numpy as np
from keras import ops

from keras_posenc import _backend
from keras_posenc._cache import TensorCache
from keras_posenc._waves import WaveOptions, Waves

# The first arguments of what the host computes: the options, the number of channels,
# the axis, and the dtype of the result.
WaveKey = tuple[WaveOptions, int, int, str]
# How numbers are laid out to broadcast: the number of dimensions, that of the
# positions and that of the channels.
Layout = tuple[int, int, int]


def encoding_terms(
    x: Any, options: WaveOptions, channel_dim: int, dtypes: tuple[str, ...]
) -> list[Any]:
    """Tensors that broadcast against `x`, and whose sum is its encoding.

    Everything is computed in float32 or better, then rounded to each of `dtypes`.
    """
    if _backend.is_eager(x):
        table = _kept_table(x, options, channel_dim, dtypes)
        if table is not None:
            return [table]
    sizes = _backend.shape(x)
    channels = _wave_count(options, sizes[channel_dim])
    terms = []
    for axis, dim in enumerate(_axis_dims(len(sizes), channel_dim)):
        waves = (options, channels, axis, _precision(dtypes[0]))
        layout = (len(sizes), dim, channel_dim)
        if _backend.is_known(sizes[dim]):
            term = _added_sines(x, waves, operator.index(sizes[dim]), layout)
        else:
            term = _counted_axis(x, waves, sizes[dim], layout)
        terms.append(_rounded(term, dtypes))
    return terms


def _wave_count(options: WaveOptions, input_channels: Any) -> int:
    # `index` makes a number of what torch.compile may keep open.
    return Waves(options, operator.index(input_channels)).channels


def _axis_dims(ndim: int, channel_dim: int) -> list[int]:
    return [dim for dim in range(1, ndim) if dim != channel_dim]


def _precision(dtype: str) -> str:
    return "float64" if dtype == "float64" else "float32"


def _rounded(values: Any, dtypes: tuple[str, ...]) -> Any:
    for dtype in dtypes:
        values = ops.cast(values, dtype)
    return values


# --- Sines on the host, in float64 ---------------------------------------------------


@_backend.host_constant
def _host_sines(
    options: WaveOptions,
    channels: int,
    axis: int,
    dtype: str,
    layout: Layout,
    count: int,
    step: int = 1,
    phased: bool = True,
    quarter_turns: int = 0,
) -> np.ndarray:
    """Sines of `count` positions, every `step`-th from 0, some quarter turns ahead."""
    frequency, phase = Waves(options, channels).along(axis)
    phase = phase * phased + quarter_turns * (np.pi / 2)
    angles = np.outer(np.arange(count) * step, frequency) + phase
    return _laid_out(np.sin(angles), layout).astype(dtype, order="C")


def _laid_out(rows: np.ndarray, layout: Layout) -> np.ndarray:
    """Rows of shape `(positions, channels)`, with ones for the other dimensions."""
    ndim, dim, channel_dim = layout
    shape = [1] * ndim
    shape[dim], shape[channel_dim] = rows.shape
    return (rows if dim < channel_dim else rows.T).reshape(shape)


# --- Kept tables ---------------------------------------------------------------------

# Bytes that eager calls keep in a process: a million positions of 64 channels.
_kept = TensorCache(max_bytes=2**28)
_ITEM_BYTES = {"float16": 2, "bfloat16": 2, "float32": 4, "float64": 8}


def _kept_table(
    x: Any, options: WaveOptions, channel_dim: int, dtypes: tuple[str, ...]
) -> Any | None:
    """The encoding of an eager `x` as one tensor; None if it is too large to keep."""
    _, *sizes = x.shape
    key = (*sizes, channel_dim, *dtypes, _backend.device_of(x))
    table = _kept.get(options, key)
    if table is None:
        channels = _wave_count(options, sizes.pop(channel_dim - 1))
        nbytes = math.prod(sizes) * channels * _ITEM_BYTES[dtypes[-1]]
        if _kept.has_room_for(nbytes):
            precision = _precision(dtypes[0])
            rows = host_table(options, channels, tuple(sizes), channel_dim, precision)
            with _backend.lasting_tensors(x):
                table = _rounded(_backend.to_tensor(rows, x), dtypes)
            _kept.keep(options, key, table, nbytes)
    return table


def host_table(
    options: WaveOptions,
    channels: int,
    grid: tuple[int, ...],
    channel_dim: int,
    dtype: str,
) -> np.ndarray:
    """The encoding of `grid`, with a batch of one."""
    ndim = len(grid) + 2
    terms = []
    for axis, dim in enumerate(_axis_dims(ndim, channel_dim)):
        rows = _host_rows((options, channels, axis, "float64"), grid[axis], dtype)
        terms.append(_laid_out(rows, (ndim, dim, channel_dim)))
    return functools.reduce(np.add, terms)


def _host_rows(waves: WaveKey, size: int, dtype: str) -> np.ndarray:
    """Sines of the positions below `size`, of shape `(size, channels)`."""
    sines = functools.partial(_host_sines, *waves, (2, 0, 1))
    if size <= _ONE_TABLE:
        return sines(size).astype(dtype)
    # Angle addition takes a fifth of the time at 65,536 x 512. In blocks that the
    # processor's cache holds.
    coarse_sine, coarse_cosine, fine_sine, fine_cosine = _addends(sines, sines, size)
    blocks = np.empty((len(coarse_sine), *fine_sine.shape), dtype)
    for block, sine, cosine in zip(blocks, coarse_sine, coarse_cosine, strict=True):
        block[...] = sine * fine_cosine + cosine * fine_sine
    return blocks.reshape(-1, blocks.shape[-1])[:size]


# --- Angle addition ------------------------------------------------------------------

# Up to this size an axis has one table.
_ONE_TABLE = 256


def _added_sines(x: Any, waves: WaveKey, size: int, layout: Layout) -> Any:
    """Sines of the positions below `size`, from constants of the graph.

    sin(a + b) = sin(a)cos(b) + cos(a)sin(b), a being the angle of a multiple of `step`.
    """

    def tensor(layout: Layout, *positions: Any) -> Any:
        return _backend.to_tensor(_host_sines(*waves, layout, *positions), x)

    if size <= _ONE_TABLE:
        return tensor(layout, size)
    ndim, dim, channel_dim = layout
    # The fine positions get a dimension of their own, after that of the coarse ones.
    channel_dim += channel_dim > dim
    coarse = functools.partial(tensor, (ndim + 1, dim, channel_dim))
    fine = functools.partial(tensor, (ndim + 1, dim + 1, channel_dim))
    coarse_sine, coarse_cosine, fine_sine, fine_cosine = _addends(coarse, fine, size)
    sines = coarse_sine * fine_cosine + coarse_cosine * fine_sine
    shape = list(sines.shape)
    shape[dim : dim + 2] = [shape[dim] * shape[dim + 1]]
    return ops.reshape(sines, shape)[(slice(None),) * dim + (slice(size),)]


def _addends(
    coarse: Callable[..., Any], fine: Callable[..., Any], size: int
) -> tuple[Any, Any, Any, Any]:
    """Sine and cosine of the coarse positions and of the fine ones.

    Their product reaches `size`. The phase is with the fine ones.
    """
    step = 1 << (size.bit_length() // 2)  # near the square root
    count = -(-size // step)
    return (
        coarse(count, step, False, 0),
        coarse(count, step, False, 1),
        fine(step, 1, True, 0),
        fine(step, 1, True, 1),
    )


# --- Counting in turns ---------------------------------------------------------------

# Digits of positions go from -2048 to 2048, so that their product with a number of
# turns in 14 bits is exact in float32, which has 24.
_BASE = 4096
_EXACT_TURNS = 2.0**14


def _counted_axis(x: Any, waves: WaveKey, size: Any, layout: Layout) -> Any:
    """Sines of the positions below a `size` that only the running graph knows."""
    ndim, dim, channel_dim = layout
    precision = waves[-1]
    with _backend.device_scope(x):
        positions = ops.arange(size, dtype="int32")
        positions = ops.reshape(positions, _vector_shape(ndim, dim))
        digits = _digits(positions, 3, lambda digit: ops.cast(digit, precision))
        turns = _host_turns(*waves, tuple(digits), _vector_shape(ndim, channel_dim))
        return _counted_sines(digits, None, _backend.to_tensor(turns, x))


def _vector_shape(ndim: int, dim: int) -> tuple[int, ...]:
    """The shape that lays a vector along one of `ndim` dimensions."""
    return tuple(-1 if other == dim else 1 for other in range(ndim))


def encode_positions(positions: Any, options: WaveOptions, dtype: str) -> Any:
    """The encoding of each of `positions`, along a new last dimension.

    For several axes, it takes the place of the one that holds the coordinates.
    `positions` is a tensor, or a NumPy array: that is split before float32 blurs it.
    """
    precision = _precision(dtype)
    host = isinstance(positions, np.ndarray)
    digits, rest = (_host_split if host else _split)(positions, precision)
    like = next(iter(digits.values()))
    assert options.channels is not None
    channels = options.channels
    turns = _host_turns(options, channels, None, precision, tuple(digits), (-1,))
    with _backend.device_scope(like):
        if options.rank == 1:
            per_channel = functools.partial(ops.expand_dims, axis=-1)
        else:
            axes = _backend.to_tensor(_host_axes(options, channels), like)
            per_channel = functools.partial(ops.take, indices=axes, axis=-1)
        digits = {place: per_channel(digit) for place, digit in digits.items()}
        rest = None if rest is None else per_channel(rest)
        sines = _counted_sines(digits, rest, _backend.to_tensor(turns, like))
        return _rounded(sines, (dtype,))


def _split(positions: Any, precision: str) -> tuple[dict[int, Any], Any | None]:
    """A tensor of integers or real numbers as digits by place, and a rest."""
    dtype = keras.backend.standardize_dtype(positions.dtype)
    # The fourth digit of 64 bits reaches 2**47: beyond, float64 knows no angle either.
    count = 4 if dtype.endswith("64") else 3

    def cast(digit: Any) -> Any:
        return ops.cast(digit, precision)

    if keras.backend.is_int_dtype(dtype):
        return _digits(_backend.divisible(positions), count, cast), None
    if dtype != "float64":
        positions = ops.cast(positions, "float32")  # exact
    return _real_digits(positions, ops.round, count, cast)


def _host_split(
    positions: np.ndarray, precision: str
) -> tuple[dict[int, Any], Any | None]:
    """The same for an array, in float64 on the host."""

    def cast(digit: np.ndarray) -> Any:
        return ops.convert_to_tensor(digit.astype(precision))

    integer = positions.dtype.kind in "iu"
    positions = positions.astype("float64")
    largest = np.max(np.abs(positions), initial=0, where=np.isfinite(positions))
    count = 3 if largest < 2.0**35 else 4
    with np.errstate(invalid="ignore"):  # infinity less infinity is NaN, as a sine
        if integer:
            return _digits(positions, count, cast), None
        return _real_digits(positions, np.round, count, cast)


def _real_digits(
    positions: Any,
    round_: Callable[[Any], Any],
    count: int,
    cast: Callable[[Any], Any],
) -> tuple[dict[int, Any], Any]:
    whole = round_(positions)
    rest = positions - whole
    # Gradients do not pass a rounding, so that of what is left here is all there is.
    first = round_(rest * _BASE)
    digits = {-1: cast(first), **_digits(whole, count, cast)}
    return digits, cast(rest - first / _BASE)


def _digits(whole: Any, count: int, cast: Callable[[Any], Any]) -> dict[int, Any]:
    """`whole` = the sum of digits[place] * _BASE**place.

    No intermediate leaves the range of the integer type, unsigned or not.
    """
    digits = {}
    for place in range(count - 1):
        higher = whole // _BASE
        low = whole - higher * _BASE  # 0 .. 4095
        carry = low // (_BASE // 2)  # 0 or 1
        digits[place] = cast(low) - cast(carry) * _BASE
        whole = higher + carry
    digits[count - 1] = cast(whole)
    return digits


def _counted_sines(digits: dict[int, Any], rest: Any | None, turns: Any) -> Any:
    """Sines at the positions that have these digits, and a rest."""
    *per_place, frequency, phase = ops.unstack(turns, num=2 * len(digits) + 2)
    exact, small = phase, 0.0
    for i, digit in enumerate(digits.values()):
        exact = exact + _fraction(digit * per_place[2 * i])
        small = small + digit * per_place[2 * i + 1]
    if rest is not None:
        small = small + rest * frequency
    # Less whole turns, then less half ones, each of which changes the sign: in a
    # quarter of a turn, float32 is fine enough.
    exact = exact - ops.round(exact + small)
    halves = ops.round(2 * (exact + small))  # -1, 0 or 1
    angle = (exact - halves / 2 + small) * (2 * np.pi)
    return (1 - 2 * ops.abs(halves)) * ops.sin(angle)


def _fraction(turns: Any) -> Any:
    """What is left of `turns` in [-1/2, 1/2] without the whole ones; exact."""
    return turns - ops.round(turns)


@_backend.host_constant
def _host_turns(
    options: WaveOptions,
    channels: int,
    axis: int | None,
    dtype: str,
    places: tuple[int, ...],
    shape: tuple[int, ...],
) -> np.ndarray:
    """For each place two rows: the turns of one unit there, exact bits and the rest.

    Whole turns are left out. Two more rows have frequency and phase, in turns.
    """
    frequency, phase = Waves(options, channels).along(axis)
    turns = frequency / (2 * np.pi)
    rows = []
    for place in places:
        # Exact: float64 scaled by a power of two, less a whole number.
        in_place = turns * float(_BASE) ** place
        in_place = in_place - np.round(in_place)
        exact = np.round(in_place * _EXACT_TURNS) / _EXACT_TURNS
        rows += [exact, in_place - exact]
    rows += [turns, phase / (2 * np.pi)]
    return np.stack([row.reshape(shape) for row in rows]).astype(dtype)


@_backend.host_constant
def _host_axes(options: WaveOptions, channels: int) -> np.ndarray:
    return Waves(options, channels).arrays()[0].astype("int32")
