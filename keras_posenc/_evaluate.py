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
from collections.abc import Callable, Hashable
from typing import Any

import keras
import numpy as np
from keras import ops

from keras_posenc import _backend
from keras_posenc._cache import TensorCache
from keras_posenc._options import WaveOptions
from keras_posenc._waves import (
    SHARES,
    Waves,
    counted_line,
    given_line,
    per_axis,
    share_line,
)

# From which position each axis counts: numbers, or tensors of integers, a scalar or one
# for each element of the batch.
Starts = tuple[Any, ...]

# The fields of `WaveOptions` as plain values: torch.compile takes no dataclass that it
# sees made for a constant.
OptionItems = tuple[tuple[str, Any], ...]

# For an input that is a flat sequence of tokens: the sizes of their grid, and how many
# tokens come before it.
Tokens = tuple[tuple[int, ...], int]

# How a table is laid out to broadcast: the number of dimensions, that of the positions
# and that of the channels.
Layout = tuple[int, int, int]


def kept_encoding(
    x: Any,
    options: WaveOptions,
    channel_dim: int,
    dtypes: tuple[str, ...],
    tokens: Tokens | None = None,
) -> Any | None:
    """What `encode_grid` has made for an eager `x` before, with all its channels."""
    if not _backend.is_eager(x):
        return None
    try:
        channels = x.shape[channel_dim]
    except IndexError:  # it does not fit; to ask before would cost every call
        return None
    return _kept.get(options, _key(x, channel_dim, dtypes, channels, (), tokens))


def encode_grid(
    x: Any,
    options: WaveOptions,
    channel_dim: int,
    dtypes: tuple[str, ...],
    channels: int,
    starts: Starts = (),
    tokens: Tokens | None = None,
) -> Any:
    """The encoding of the positions of `x`, with a batch of one and these `channels`.

    (Or with the batch of `x`, where each element of it has a start of its own.)
    Everything is computed in float32 or better, then rounded to each of `dtypes`.
    """
    rank = options.rank
    starts = starts or (0,) * rank
    if _backend.is_eager(x) and all(type(start) is int for start in starts):
        how = (options, channel_dim, dtypes, channels, starts, tokens)
        table = _kept_table(x, *how)
        if table is not None:
            return table
    sizes = _grid_of(_backend.shape(x), channel_dim, tokens)
    if channel_dim > 1:
        channel_dim = rank + 1
    known = tuple(
        # `index` makes a number of what torch.compile may keep open.
        (operator.index(size), operator.index(start))
        if _backend.is_known(size) and _backend.is_known(start)
        else None
        for size, start in zip(sizes, starts, strict=True)
    )
    waves = (options, channels, _precision(dtypes))
    rows = _graph_rows(x, *waves, known, channel_dim == 1)
    terms, first = [], 0
    for axis, dim in enumerate(_axis_dims(rank + 2, channel_dim)):
        layout = (rank + 2, dim, channel_dim)
        of_axis = known[axis]
        if of_axis is not None:
            counts = _table_sizes(of_axis[0], channels)
            terms.append(
                _added_sines(rows, first, counts, sizes[axis], channels, layout)
            )
            first += sum(counts)
        else:
            counted = functools.partial(_counted_axis, x, *waves, axis)
            terms.append(counted(sizes[axis], starts[axis], layout))
    # Summed before `x` is added: in the other order, XLA and torch take 5% longer.
    encoding = _rounded(functools.reduce(operator.add, terms), dtypes)
    return encoding if tokens is None else _as_tokens(encoding, channel_dim, tokens)


def _grid_of(
    shape: tuple[Any, ...], channel_dim: int, tokens: Tokens | None
) -> tuple[Any, ...]:
    """The size of each axis."""
    if tokens is not None:
        return tokens[0]
    return tuple(shape[dim] for dim in _axis_dims(len(shape), channel_dim))


def _as_tokens(encoding: Any, channel_dim: int, tokens: Tokens) -> Any:
    """A grid as a flat sequence, zeros before it."""
    grid, prefix = tokens
    # Only the batch may be unknown, where each element of it has a start of its own.
    flat = [-1 if size is None else size for size in encoding.shape]
    first = 2 if channel_dim == 1 else 1
    flat[first : first + len(grid)] = [math.prod(grid)]
    padding = [[0, 0], [0, 0], [0, 0]]
    padding[first][0] = prefix
    return ops.pad(ops.reshape(encoding, flat), padding)


def _axis_dims(ndim: int, channel_dim: int) -> list[int]:
    return [dim for dim in range(1, ndim) if dim != channel_dim]


def _precision(dtypes: tuple[str, ...]) -> str:
    """The dtype to compute in."""
    return "float64" if dtypes[0] == "float64" else "float32"


def _rounded(values: Any, dtypes: tuple[str, ...]) -> Any:
    """What was computed for `dtypes`, in each of them in turn."""
    current = _precision(dtypes)
    for dtype in dtypes:
        if dtype != current:
            values, current = ops.cast(values, dtype), dtype
    return values


# --- Tables on the host, in float64 --------------------------------------------------

# Up to this many numbers an axis has one table: 2 MB of float32. Read once for each
# element of a batch, it stays in the cache of the processor, and costs less than the
# products of two. (These took 1.05 times as long on JAX, and 1.3 on torch, for an input
# of 8 x 1024 x 512.)
_ONE_TABLE = 2**19


def _table_sizes(size: int, channels: int) -> tuple[int, ...]:
    """The positions in each of the tables that make the sines below `size`.

    One table, or four, since sin(a + b) = sin(a) * cos(b) + cos(a) * sin(b): sine and
    cosine of every `step`-th position, then those of the positions below `step`.
    """
    if size * channels <= _ONE_TABLE:
        return (size,)
    # Beyond the square root, where the tables are shortest: with 96 positions instead
    # of 64, an input of 1 x 4096 x 1024 takes 5% less on JAX, and with 256 5% more.
    step = -(-math.isqrt(2 * size) // 32) * 32
    count = -(-size // step)
    return (count, count, step, step)


def _host_tables(
    options: WaveOptions, channels: int, axis: int, size: int, start: int
) -> list[np.ndarray]:
    """The tables of an axis, each of shape `(positions, channels)`."""
    line = counted_line(options, axis, size, start)
    frequency, phase = Waves(options, channels).along(axis, line)

    def sines(count: int, step: int, phase: Any) -> np.ndarray:
        return np.sin(np.outer(np.arange(count) * step, frequency) + phase)

    counts = _table_sizes(size, channels)
    if len(counts) == 1:
        return [sines(*counts, 1, phase)]
    count, _, step, _ = counts
    quarter_turn = np.pi / 2
    return [
        sines(count, step, 0.0),
        sines(count, step, quarter_turn),
        sines(step, 1, phase),
        sines(step, 1, phase + quarter_turn),
    ]


# --- Kept tables ---------------------------------------------------------------------

# Bytes that eager calls keep in a process: over a million positions of 64 channels.
_kept = TensorCache(max_bytes=300 * 10**6)
_ITEM_BYTES = {"float16": 2, "bfloat16": 2, "float32": 4, "float64": 8}


def _key(
    x: Any,
    channel_dim: int,
    dtypes: tuple[str, ...],
    channels: int,
    starts: Starts,
    tokens: Tokens | None,
) -> Hashable:
    _, *sizes = x.shape
    starts = starts if any(starts) else ()
    where = _backend.device_of(x)
    return (*sizes, channel_dim, *dtypes, channels, starts, tokens, where)


def _kept_table(
    x: Any,
    options: WaveOptions,
    channel_dim: int,
    dtypes: tuple[str, ...],
    channels: int,
    starts: tuple[int, ...],
    tokens: Tokens | None,
) -> Any | None:
    """The encoding of an eager `x` as one tensor; None if it is too large to keep."""
    key = _key(x, channel_dim, dtypes, channels, starts, tokens)
    table = _kept.get(options, key)
    grid = _grid_of(x.shape, channel_dim, tokens)
    nbytes = math.prod(grid) * channels * _ITEM_BYTES[dtypes[-1]]
    if table is None and _kept.has_room_for(nbytes):
        if tokens is not None and channel_dim > 1:
            channel_dim = len(grid) + 1
        values = host_table(
            options, channels, grid, channel_dim, _precision(dtypes), starts
        )
        with _backend.lasting_tensors(x):
            tensor = _backend.to_parts(_backend.aligned(values), x)
            table = _rounded(tensor, dtypes)
            if tokens is not None:
                table = _as_tokens(table, channel_dim, tokens)
        if _backend.is_lasting(table):
            _kept.keep(options, key, table, nbytes)
    return table


def host_table(
    options: WaveOptions,
    channels: int,
    grid: tuple[int, ...],
    channel_dim: int,
    dtype: str,
    starts: tuple[int, ...] | None = None,
) -> np.ndarray:
    """The encoding of `grid`, with a batch of one."""
    # A table beyond memory is an error now, not after minutes of work.
    np.empty((*grid, channels), dtype)
    ndim = len(grid) + 2
    starts = starts or (0,) * len(grid)
    terms = []
    for axis, dim in enumerate(_axis_dims(ndim, channel_dim)):
        size = grid[axis]
        rows = _host_sines(options, channels, axis, size, starts[axis], dtype)
        rows = rows.T if channel_dim == 1 else rows
        terms.append(_laid_out(rows, 0, size, channels, (ndim, dim, channel_dim)))
    return functools.reduce(np.add, terms)


def host_points(
    options: WaveOptions, channels: int, positions: np.ndarray
) -> np.ndarray:
    """The encoding of positions `(..., rank)`, in float64."""
    lines = [given_line(options, axis) for axis in range(options.rank)]
    axis, frequency, phase = Waves(options, channels).over(lines)
    # The sine of infinity is NaN, as it is everywhere else.
    with np.errstate(invalid="ignore"):
        angles = positions.astype("float64")[..., axis] * frequency + phase
        return np.sin(angles)


def _host_sines(
    options: WaveOptions, channels: int, axis: int, size: int, start: int, dtype: str
) -> np.ndarray:
    """The sines of `size` positions, of shape `(size, channels)`."""
    tables = _host_tables(options, channels, axis, size, start)
    if len(tables) == 1:
        return tables[0].astype(dtype)
    # Angle addition here too: it takes a fifth of the time of sines at 65,536 x 512.
    # Block by block, which the processor's cache holds.
    coarse_sine, coarse_cosine, fine_sine, fine_cosine = tables
    blocks = np.empty((len(coarse_sine), *fine_sine.shape), dtype)
    for block, sine, cosine in zip(blocks, coarse_sine, coarse_cosine, strict=True):
        block[...] = sine * fine_cosine + cosine * fine_sine
    return blocks.reshape(-1, channels)[:size]


# --- Angle addition ------------------------------------------------------------------


def _graph_rows(
    x: Any,
    options: WaveOptions,
    channels: int,
    dtype: str,
    known: tuple[tuple[int, int] | None, ...],
    channels_first: bool,
) -> Any | None:
    """The tables of all axes one below the other (or beside, with channels first).

    In one constant: each takes torch.compile 5 us in every call.
    """
    if not any(known):
        return None
    values = _host_rows(options, channels, dtype, known, channels_first)
    return _backend.to_tensor(values, x)


@_backend.host_constant
def _host_rows(
    options: WaveOptions,
    channels: int,
    dtype: str,
    known: tuple[tuple[int, int] | None, ...],
    channels_first: bool,
) -> np.ndarray:
    tables: list[np.ndarray] = []
    for axis, of_axis in enumerate(known):
        if of_axis is not None:
            tables += _host_tables(options, channels, axis, *of_axis)
    rows = np.concatenate(tables).astype(dtype)
    if channels_first:
        return _backend.aligned(np.ascontiguousarray(rows.T))
    if len(tables) > 1:
        rows = np.pad(rows, ((0, 0), (0, _backend.ROW_PADDING)))
    return _backend.aligned(rows)


def _laid_out(rows: Any, first: int, count: int, channels: int, layout: Layout) -> Any:
    """`count` of the positions of `rows`, from `first` on, ready to broadcast."""
    ndim, dim, channel_dim = layout
    index: list[slice | None] = [None] * ndim
    index[dim], index[channel_dim] = slice(first, first + count), slice(channels)
    return _backend.indexed(rows, tuple(index))


def _added_sines(
    rows: Any,
    first: int,
    counts: tuple[int, ...],
    size: int,
    channels: int,
    layout: Layout,
) -> Any:
    """The sines of the positions below `size`, of the tables from `first` on."""
    if len(counts) == 1:
        return _laid_out(rows, first, *counts, channels, layout)
    ndim, dim, channel_dim = layout
    # The fine positions get a dimension of their own, after that of the coarse ones.
    channel_dim += channel_dim > dim
    coarse, fine = (ndim + 1, dim, channel_dim), (ndim + 1, dim + 1, channel_dim)
    tables = []
    for count, table_layout in zip(counts, (coarse, coarse, fine, fine), strict=True):
        tables.append(_laid_out(rows, first, count, channels, table_layout))
        first += count
    coarse_sine, coarse_cosine, fine_sine, fine_cosine = tables
    sines = coarse_sine * fine_cosine + coarse_cosine * fine_sine
    shape = list(sines.shape)
    shape[dim : dim + 2] = [shape[dim] * shape[dim + 1]]
    return ops.reshape(sines, shape)[(slice(None),) * dim + (slice(size),)]


# --- Counting in turns ---------------------------------------------------------------

# Digits of positions go from -2048 to 2048, so that their product with a number of
# turns in 14 bits is exact in float32, which has 24.
_BASE = 4096
_EXACT_TURNS = 2.0**14
_SHARE_BASE = math.isqrt(SHARES)
# As far from 0, and as far again, are positions that int32 counts.
_FAR = 2**30
# As many again, times `_SHARE_BASE`, are within int32.
_MOST_PARTS = 2**24


def _counted_axis(
    x: Any,
    options: WaveOptions,
    channels: int,
    dtype: str,
    axis: int,
    size: Any,
    start: Any,
    layout: Layout,
) -> Any:
    """Sines of `size` positions from `start` on, as only the running graph knows."""
    ndim, dim, channel_dim = layout
    with _backend.device_scope(x):
        if options.coordinate_range is None:
            positions = _counted_from(start, size, ndim, dim)
            digits, rest = _split(positions, dtype)
        else:
            positions = _counted_from(0, size, ndim, dim)
            digits, rest = _shares(positions, options, axis, dtype)
        places, shape = tuple(digits), _vector_shape(ndim, channel_dim)
        turns = _host_turns(options, channels, dtype, axis, places, shape)
        return _counted_sines(digits, rest, _backend.to_tensor(turns, x))


def _counted_from(start: Any, size: Any, ndim: int, dim: int) -> Any:
    """Integers from `start` on, laid along `dim`."""
    positions = ops.reshape(
        ops.arange(0, size, dtype="int32"), _vector_shape(ndim, dim)
    )
    if _backend.is_known(start) and start == 0:
        return positions
    if _backend.may_stay_open(start):
        # As the number that it is: torch.compile makes a constant of its tensor.
        return ops.cast(positions, "int64") + start
    if type(start) is int and not -_FAR < start < _FAR:
        start = _backend.wide_integer(start)
    start = _backend.divisible(ops.convert_to_tensor(start))
    if len(start.shape) == 1:  # one for each element of the batch
        start = ops.reshape(start, _vector_shape(ndim, 0))
    # The type of the start, which has what it counts to: int32 holds no 2**31.
    return ops.cast(positions, start.dtype) + start


def _shares(
    positions: Any, options: WaveOptions, axis: int, dtype: str
) -> tuple[dict[int, Any], Any]:
    """Positions as parts of `coordinate_range`, and what is left of a part.

    `SHARES * (position + offset) / (n + eps)`, n being the number of positions, where
    whole parts are integers: in float32, a quotient would be off by 6e-8 of the range,
    of which a wave may make hundreds of turns.
    """
    n = ops.sum(ops.ones_like(positions))
    several = ops.cast(n > 1, dtype)
    whole, high, low, fraction, whole_eps, eps = _share_numbers(options, axis)
    n = n - 1 if options.align_corners else n + whole_eps
    n = ops.maximum(n, 1)
    # Digit by digit, as in a long division, so that no integer gets too large.
    dividend = (positions + whole) * _SHARE_BASE + high
    first = dividend // n
    dividend = (dividend - first * n) * _SHARE_BASE + low
    second = dividend // n
    rest = ops.cast(dividend - second * n, dtype) + fraction
    rest = rest / ops.cast(n, dtype)
    parts = first * _SHARE_BASE + second
    if eps:
        # (p + o) / (n + eps) = q - q * eps / (n + eps), where q = (p + o) / n. Added
        # to n, what is usual as eps would be lost in float32.
        quotient = ops.cast(parts, dtype) + rest
        rest = rest - quotient * (eps / (ops.cast(n, dtype) + eps))
    if options.align_corners:  # One position lies at the lower end.
        parts, rest = parts * ops.cast(several, parts.dtype), rest * several
    return _digits(parts, 2, lambda digit: ops.cast(digit, dtype)), rest


@_backend.host_constant  # torch.compile takes the options' floats for symbols
def _share_numbers(
    options: WaveOptions, axis: int
) -> tuple[int, int, int, float, int, float]:
    """The offset as whole positions, two digits and a rest; eps, whole and rest."""
    offset = per_axis(options.offset, axis)
    if not (abs(offset) < _MOST_PARTS and options.eps < _MOST_PARTS):
        raise ValueError(
            f"`offset` and `eps` must be below {_MOST_PARTS} with `coordinate_range`, "
            "where only the running graph knows the size of an axis. "
            f"Received: offset={options.offset}, eps={options.eps}"
        )
    whole, whole_eps = math.floor(offset), math.floor(options.eps)
    digits, fraction = divmod((offset - whole) * SHARES, 1)
    high, low = divmod(int(digits), _SHARE_BASE)
    return whole, high, low, fraction, whole_eps, options.eps - whole_eps


def _vector_shape(ndim: int, dim: int) -> tuple[int, ...]:
    """The shape that lays a vector along one of `ndim` dimensions."""
    return tuple(-1 if other == dim else 1 for other in range(ndim))


def encode_positions(
    positions: Any,
    options: WaveOptions | OptionItems,
    channels: int,
    dtypes: tuple[str, ...],
    like: Any = None,
) -> Any:
    """The encoding of each of `positions`, along a new last dimension.

    For several axes, it takes the place of the one that holds the coordinates.
    `positions` is a tensor, or a NumPy array: that is split before float32 blurs it,
    and put where the tensor `like` is.
    """
    precision = _precision(dtypes)
    if isinstance(positions, np.ndarray):
        digits, rest = _host_split(positions, precision, like)
    else:
        digits, rest = _split(positions, precision)
    like = next(iter(digits.values()))
    turns = _host_encode_turns(options, channels, precision, tuple(digits))
    with _backend.device_scope(like):
        if _rank_of(options) == 1:
            per_channel = functools.partial(ops.expand_dims, axis=-1)
        else:
            axes = _backend.to_tensor(_host_axes(options, channels), like)
            per_channel = functools.partial(ops.take, indices=axes, axis=-1)
        digits = {place: per_channel(digit) for place, digit in digits.items()}
        rest = None if rest is None else per_channel(rest)
        sines = _counted_sines(digits, rest, _backend.to_tensor(turns, like))
        return _rounded(sines, dtypes)


def _rank_of(options: WaveOptions | OptionItems) -> int:
    return options.rank if isinstance(options, WaveOptions) else dict(options)["rank"]


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
    return _real_digits(positions, _constant_round, count, cast)


def _constant_round(positions: Any) -> Any:
    # torch has no gradient, not even 0, of what digits are made by.
    return ops.stop_gradient(_backend.nearest(positions))


def _host_split(
    positions: np.ndarray, precision: str, like: Any
) -> tuple[dict[int, Any], Any | None]:
    """The same for an array, in float64 on the host."""

    def cast(digit: np.ndarray) -> Any:
        digit = digit.astype(precision)
        if like is None:
            return ops.convert_to_tensor(digit)
        return _backend.to_tensor(digit, like)

    integer = positions.dtype.kind in "iu"
    positions = positions.astype("float64")
    largest = np.max(np.abs(positions), initial=0, where=np.isfinite(positions))
    count = 3 if largest < 2.0**35 else 4
    # Infinity less infinity is NaN, as is its sine; so are those of what has no digits.
    with np.errstate(invalid="ignore", over="ignore"):
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
    *per_place, frequency, phase, small_phase = ops.unstack(
        turns, num=2 * len(digits) + 3
    )
    exact, small = phase, small_phase
    for i, digit in enumerate(digits.values()):
        # What depends on a position comes first: JAX arrays take no KerasTensor after.
        exact = _fraction(digit * per_place[2 * i]) + exact
        small = digit * per_place[2 * i + 1] + small
    if rest is not None:
        small = rest * frequency + small
    # Less whole turns, then less half ones, each of which changes the sign: in a
    # quarter of a turn, float32 is fine enough.
    exact = exact - _backend.nearest(exact + small)
    halves = _backend.nearest(2 * (exact + small))  # -1, 0 or 1
    # Written out: torch.compile would give 2 * np.pi to the graph as a float64 tensor.
    angle = (exact - halves / 2 + small) * 6.283185307179586
    return (1 - 2 * ops.abs(halves)) * _backend.sine(angle)


def _fraction(turns: Any) -> Any:
    """What is left of `turns` in [-1/2, 1/2] without the whole ones; exact."""
    return turns - _backend.nearest(turns)


@_backend.host_constant
def _host_turns(
    options: WaveOptions,
    channels: int,
    dtype: str,
    axis: int,
    places: tuple[int, ...],
    shape: tuple[int, ...],
) -> np.ndarray:
    """What `_counted_sines` takes for one axis, each row of this `shape`."""
    line = (given_line if options.coordinate_range is None else share_line)(
        options, axis
    )
    frequency, phase = Waves(options, channels).along(axis, line)
    rows = [row.reshape(shape) for row in _turns(frequency, phase, places)]
    return np.stack(rows).astype(dtype)


@_backend.host_constant
def _host_encode_turns(
    options: WaveOptions | OptionItems,
    channels: int,
    dtype: str,
    places: tuple[int, ...],
) -> np.ndarray:
    """The same for positions that each channel has of its own axis."""
    options = _as_options(options)
    lines = [given_line(options, axis) for axis in range(options.rank)]
    _, frequency, phase = Waves(options, channels).over(lines)
    return _turns(frequency, phase, places).astype(dtype)


@_backend.host_constant
def _host_axes(options: WaveOptions | OptionItems, channels: int) -> np.ndarray:
    return Waves(_as_options(options), channels).arrays()[0].astype("int32")


def _as_options(options: WaveOptions | OptionItems) -> WaveOptions:
    if isinstance(options, WaveOptions):
        return options
    return WaveOptions(**dict(options))


def _turns(
    frequency: np.ndarray, phase: np.ndarray, places: tuple[int, ...]
) -> np.ndarray:
    """For each place two rows: the turns of one unit there, exact bits and the rest.

    Whole turns are left out. Three more rows have the frequency, and the phase in exact
    bits and a rest, all in turns.
    """
    turns = frequency / (2 * np.pi)
    rows: list[np.ndarray] = []
    for place in places:
        # Exact: float64 scaled by a power of two, less a whole number.
        rows += _exact_and_rest(turns * float(_BASE) ** place)
    return np.stack([*rows, turns, *_exact_and_rest(phase / (2 * np.pi))])


def _exact_and_rest(turns: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    turns = turns - np.round(turns)
    exact = np.round(turns * _EXACT_TURNS) / _EXACT_TURNS
    return exact, turns - exact
