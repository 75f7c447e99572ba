"""Which of three ways computes an encoding.

An encoding is the broadcast sum of one term per axis, which holds the waves of that
axis and zeros in the channels of the others.

- *Cached tables.* An eager call adds one table of all axes, made on the host in float64
  and cached for the next call: one pass over memory.
- *Angle addition.* A graph that knows a size combines two short tables, which make it
  quick to compile and small in a file. They stay in the processor's cache, so that they
  cost less to read than a stored encoding.
- *Counting in turns*, where only the running graph, or a tensor, knows the positions.
"""

from __future__ import annotations

import functools
import math
import operator
from collections.abc import Hashable
from typing import Any, NamedTuple

import keras
import numpy as np
from keras import ops

from keras_posenc import _backend
from keras_posenc._engine.cache import TensorCache
from keras_posenc._engine.spread import (
    PART_DIGITS,
    PARTS,
    SpreadNumbers,
    spread_digits,
    spread_numbers,
)
from keras_posenc._engine.tables import (
    Known,
    channel_axes,
    graph_tables,
    grid_table,
    point_table,
    table_sizes,
)
from keras_posenc._engine.turns import (
    Digits,
    counted_digits,
    host_digits,
    largest_digit,
    split_digits,
    split_of,
    turn_rows,
    turned_sines,
)
from keras_posenc._engine.waves import (
    Grid,
    Recipe,
    Spread,
    WaveSource,
    is_host_grid,
)

# Bytes that eager calls cache in a process: over a million positions of 64 channels.
_tables = TensorCache(max_bytes=300 * 10**6)
_ITEM_BYTES = {"float16": 2, "bfloat16": 2, "float32": 4, "float64": 8}
# Up to so many numbers, the host computes them at each call in 0.1 ms or less: the
# starts of a decoder differ at every step, so that a table would be of one use.
_FEW_NUMBERS = 2**13
# Given as an array, so many positions and channels are computed on the host, in 2 ms or
# less. Beyond, the device is faster.
_FEW_POINTS = 2**17


def precision_for(dtype: str) -> str:
    """The dtype to compute in, before rounding to `dtype`."""
    return "float64" if dtype == "float64" else "float32"


def _rounded(values: Any, dtype: str) -> Any:
    return values if dtype == precision_for(dtype) else ops.cast(values, dtype)


# --- Grids ---------------------------------------------------------------------------


def find_table(like: Any, grid: Grid, recipe: Recipe, dtype: str) -> Any | None:
    """What `encode_grid` has cached for a grid of known sizes, for an eager `like`."""
    return _tables.get(recipe.source, _key(like, grid, recipe, dtype))


def _key(like: Any, grid: Grid, recipe: Recipe, dtype: str) -> Hashable:
    return grid, recipe.channels, dtype, _backend.device_of(like)


def encode_grid(like: Any, grid: Grid, recipe: Recipe, dtype: str) -> Any:
    """The encoding of a grid, where the tensor `like` is, in `dtype`.

    It has a batch of one, or that of the starts. Everything is computed in float32 or
    better, and rounded once.
    """
    if not _backend.is_eager(like):
        plan = _plan(like, grid, recipe, dtype)
        given = _grid_constants(like, plan, recipe)
        with _backend.device_scope(like):
            return _planned(plan, grid.sizes, grid.starts, given)
    if is_host_grid(grid):
        numbers = math.prod(grid.sizes) * recipe.channels
        if any(grid.starts) and numbers <= _FEW_NUMBERS:
            return _new_table(like, grid, recipe, dtype)
        nbytes = numbers * _ITEM_BYTES[dtype]
        if _tables.has_room_for(nbytes):
            with _backend.outside_traces(like):
                table = _new_table(like, grid, recipe, dtype)
            if _backend.outlasts_call(table):
                key = _key(like, grid, recipe, dtype)
                _tables.put(recipe.source, key, table, nbytes)
            return table
    plan = _plan(like, grid, recipe, dtype)
    given = _grid_constants(like, plan, recipe)
    with _backend.device_scope(like):
        return _backend.one_call(_planned)(plan, grid.sizes, grid.starts, given)


def _new_table(like: Any, grid: Grid, recipe: Recipe, dtype: str) -> Any:
    values = _backend.aligned(grid_table(recipe, grid, precision_for(dtype)))
    table = _rounded(_backend.put_like(values, like), dtype)
    return table if grid.prefix is None else _as_tokens(table, grid.dims, grid.prefix)


class _Counted(NamedTuple):
    """An axis whose size or start only the running graph, or a tensor, knows."""

    size: Any | None  # None for a tensor, which does not hash
    spread: SpreadNumbers | None


class _Plan(NamedTuple):
    """How a graph computes the encoding of a grid: no tensor is in it."""

    axes: tuple[Known | _Counted, ...]
    dims: tuple[int, ...]
    channel_dim: int
    channels: int
    dtype: str
    # Tokens before and after the first of the grid. The latter is None where each axis
    # has a dimension of its own until all are computed.
    prefix: int | None
    tokens: Any | None

    @property
    def ndim(self) -> int:
        return max(*self.dims, self.channel_dim) + 1


def _plan(like: Any, grid: Grid, recipe: Recipe, dtype: str) -> _Plan:
    dims, channel_dim, tokens = grid.dims, grid.channel_dim, None
    if grid.prefix is not None and not all(map(_backend.is_known, grid.sizes)):
        # Each token then counts its own place on each axis.
        tokens = _backend.shape(like)[dims[0]] - grid.prefix
        channel_dim -= (len(dims) - 1) * (channel_dim > dims[0])
        dims = (dims[0],) * len(dims)
    axes: list[Known | _Counted] = []
    for axis, (size, start) in enumerate(zip(grid.sizes, grid.starts, strict=True)):
        if tokens is None and _backend.is_known(size) and _backend.is_known(start):
            # `index` makes a number of what torch.compile may keep open.
            axes.append(Known(operator.index(size), operator.index(start)))
        else:
            static = None if _backend.is_tensor(size) else size
            axes.append(_Counted(static, _spread_of(*recipe, axis)))
    return _Plan(
        tuple(axes), dims, channel_dim, recipe.channels, dtype, grid.prefix, tokens
    )


@_backend.host_constant  # torch.compile would take these numbers for symbols
def _spread_of(source: WaveSource, channels: int, axis: int) -> SpreadNumbers | None:
    coordinate = source.waves(channels).coordinates[axis]
    return spread_numbers(coordinate) if isinstance(coordinate, Spread) else None


class _Constants(NamedTuple):
    """Tensors from the host, beside a plan."""

    tables: Any | None  # of all known axes, in one
    turns: tuple[Any | None, ...]  # of each other axis


def _grid_constants(like: Any, plan: _Plan, recipe: Recipe) -> _Constants:
    precision = precision_for(plan.dtype)
    known = tuple(axis if isinstance(axis, Known) else None for axis in plan.axes)
    tables = None
    if any(axis is not None for axis in known):
        columns = plan.channel_dim < plan.dims[0]
        values = graph_tables(*recipe, precision, known, columns)
        tables = _backend.to_tensor(values, like)
    shape = tuple(-1 if dim == plan.channel_dim else 1 for dim in range(plan.ndim))
    turns = tuple(
        None
        if isinstance(of_axis, Known)
        else _constant(like, recipe, _axis_turns, (precision, axis, shape))
        for axis, of_axis in enumerate(plan.axes)
    )
    return _Constants(tables, turns)


def _constant(like: Any, recipe: Recipe, make: Any, how: tuple[Any, ...]) -> Any:
    """What `make` computes on the host, as a tensor, which eager calls share."""
    if not _backend.is_eager(like):
        return _backend.to_tensor(make(*recipe, *how), like)
    key = (make, recipe.channels, how, _backend.device_of(like))
    found = _tables.get(recipe.source, key)
    if found is None:
        values = make(*recipe, *how)
        with _backend.outside_traces(like):
            found = _backend.to_tensor(values, like)
        if _backend.outlasts_call(found):
            _tables.put(recipe.source, key, found, values.nbytes)
    return found


_COUNT_DIGITS = 3


@_backend.host_constant
def _axis_turns(
    source: WaveSource,
    channels: int,
    precision: str,
    axis: int,
    shape: tuple[int, ...],
) -> np.ndarray:
    """What `turned_sines` takes for one axis, each row of this shape."""
    waves = source.waves(channels)
    coordinate = waves.coordinates[axis]
    if isinstance(coordinate, Spread):
        line, digits = coordinate.shared(PARTS), PART_DIGITS
    else:
        line, digits = coordinate.given(), _COUNT_DIGITS
    rows = turn_rows(*waves.along(axis, line), 1.0, digits)
    return rows.reshape(len(rows), *shape).astype(precision)


def _planned(
    plan: _Plan, sizes: tuple[Any, ...], starts: tuple[Any, ...], given: _Constants
) -> Any:
    """The encoding of a grid, as operations of a graph."""
    precision = precision_for(plan.dtype)
    terms, first = [], 0
    for axis, (counts, size) in enumerate(_axis_counts(plan, sizes)):
        of_axis, dim = plan.axes[axis], plan.dims[axis]
        if isinstance(of_axis, Known):
            lengths = table_sizes(of_axis.size, plan.channels)
            place = _Place(plan.ndim, dim, plan.channel_dim, plan.channels)
            terms.append(_added_sines(given.tables, first, lengths, size, place))
            first += sum(lengths)
            continue
        counts = ops.reshape(counts, _vector_shape(plan.ndim, dim))
        if of_axis.spread is not None:
            digits = spread_digits(counts, size, of_axis.spread, precision)
        else:
            start = starts[axis]
            if len(getattr(start, "shape", ())) == 1:  # one for each of the batch
                start = ops.reshape(start, _vector_shape(plan.ndim, 0))
            digits = counted_digits(start, counts, precision)
        terms.append(turned_sines(digits, given.turns[axis]))
    # Summed before `x` is added: in the other order, XLA and torch take 5% longer.
    encoding = _rounded(functools.reduce(operator.add, terms), plan.dtype)
    if plan.prefix is None:
        return encoding
    if plan.tokens is None:
        return _as_tokens(encoding, plan.dims, plan.prefix)
    return _after_prefix(encoding, plan.dims[0], plan.prefix)


def _axis_counts(plan: _Plan, sizes: tuple[Any, ...]) -> list[tuple[Any, Any]]:
    """For each axis its positions, counted from 0, and how many there are."""
    known = [getattr(axis, "size", None) for axis in plan.axes]
    sizes = tuple(
        size if of_axis is None else of_axis
        for size, of_axis in zip(sizes, known, strict=True)
    )
    if plan.tokens is not None:
        pairs, index = [], ops.arange(0, plan.tokens, dtype="int32")
        for size in map(_backend.as_int32, reversed(sizes)):
            pairs.append((index % size, size))
            index = index // size
        return pairs[::-1]
    counts = [
        None if isinstance(axis, Known) else ops.arange(0, size, dtype="int32")
        for axis, size in zip(plan.axes, sizes, strict=True)
    ]
    # A sum, since exporters know no size as a number to divide by.
    return [
        (of_axis, size if of_axis is None else ops.sum(ops.ones_like(of_axis)))
        for of_axis, size in zip(counts, sizes, strict=True)
    ]


class _Place(NamedTuple):
    """How a table of one axis lies to broadcast: its dimensions, out of `ndim`."""

    ndim: int
    dim: int
    channel_dim: int
    channels: int


def _added_sines(
    tables: Any, first: int, lengths: tuple[int, ...], size: Any, place: _Place
) -> Any:
    """The sines of the positions below `size`, of the tables from row `first` on."""
    if len(lengths) == 1:
        return _laid_out(tables, first, lengths[0], place)
    # The fine positions get a dimension of their own, after that of the coarse ones.
    dim, channel_dim = place.dim, place.channel_dim + (place.channel_dim > place.dim)
    coarse = _Place(place.ndim + 1, dim, channel_dim, place.channels)
    fine = coarse._replace(dim=dim + 1)
    parts = []
    for length, where in zip(lengths, (coarse, coarse, fine, fine), strict=True):
        parts.append(_laid_out(tables, first, length, where))
        first += length
    coarse_sine, coarse_cosine, fine_sine, fine_cosine = parts
    sines = coarse_sine * fine_cosine + coarse_cosine * fine_sine
    shape = list(sines.shape)
    shape[dim : dim + 2] = [shape[dim] * shape[dim + 1]]
    return ops.reshape(sines, shape)[(slice(None),) * dim + (slice(size),)]


def _laid_out(tables: Any, first: int, length: int, place: _Place) -> Any:
    """`length` rows from `first` on, ready to broadcast."""
    index: list[slice | None] = [None] * place.ndim
    index[place.dim] = slice(first, first + length)
    index[place.channel_dim] = slice(place.channels)
    return _backend.indexed(tables, tuple(index))


def _vector_shape(ndim: int, dim: int) -> tuple[int, ...]:
    """The shape that lays a vector along one of `ndim` dimensions."""
    return tuple(-1 if other == dim else 1 for other in range(ndim))


def _as_tokens(encoding: Any, dims: tuple[int, ...], prefix: int) -> Any:
    """A grid as a flat sequence, zeros before it."""
    # Only the batch may be unknown, where each element of it has a start of its own.
    shape = [-1 if size is None else size for size in encoding.shape]
    shape[dims[0] : dims[-1] + 1] = [math.prod(shape[dims[0] : dims[-1] + 1])]
    return _after_prefix(ops.reshape(encoding, shape), dims[0], prefix)


def _after_prefix(encoding: Any, dim: int, prefix: int) -> Any:
    if not prefix:
        return encoding
    padding = [[0, 0] for _ in encoding.shape]
    padding[dim][0] = prefix
    return ops.pad(encoding, padding)


# --- Given positions -----------------------------------------------------------------


def encode_positions(
    positions: Any, recipe: Recipe, dtype: str, like: Any = None
) -> Any:
    """The encoding of each of `positions`, along a new last dimension.

    For several axes, it takes the place of the one that holds the coordinates.
    `positions` is a tensor, or a NumPy array: that is split before float32 blurs it,
    and put where the tensor `like` is.
    """
    precision = precision_for(dtype)
    if not isinstance(positions, np.ndarray):
        split = split_of(*recipe, keras.backend.standardize_dtype(positions.dtype))
        how = _How(recipe.rank > 1, split, dtype)
        rows, axes = _point_constants(positions, recipe, how)
        evaluate = _positioned
        if _backend.is_eager(positions):
            evaluate = _backend.one_call(_positioned)
        with _backend.device_scope(positions):
            return evaluate(how, positions, rows, axes)
    points = positions.size // recipe.rank * recipe.channels
    if points <= _FEW_POINTS:
        values = positions if recipe.rank > 1 else positions[..., None]
        table = point_table(recipe.source.waves(recipe.channels), values)
        return _rounded(_backend.put_like(table.astype(precision), like), dtype)
    split = split_of(*recipe, str(positions.dtype), largest_digit(positions))
    how = _How(recipe.rank > 1, split, dtype)
    digits = host_digits(positions, split, precision)
    digits = digits.map(lambda values: _backend.put_like(values, like))
    like = digits.values[0]
    with _backend.device_scope(like):
        return _of_digits(how, digits, *_point_constants(like, recipe, how))


class _How(NamedTuple):
    """How the encoding of given positions is computed: no tensor is in it."""

    several_axes: bool
    split: Any
    dtype: str


def _point_constants(like: Any, recipe: Recipe, how: _How) -> tuple[Any, Any | None]:
    split = (precision_for(how.dtype), how.split.unit, how.split.count)
    rows = _constant(like, recipe, _point_turns, split)
    if not how.several_axes:
        return rows, None
    return rows, _constant(like, recipe, channel_axes, ())


@_backend.host_constant
def _point_turns(
    source: WaveSource, channels: int, precision: str, unit: float, digits: int
) -> np.ndarray:
    """What `turned_sines` takes for positions that each channel has of its own axis."""
    frequency, phase = source.waves(channels).given()
    return turn_rows(frequency, phase, unit, digits).astype(precision)


def _positioned(how: _How, positions: Any, rows: Any, axes: Any | None) -> Any:
    digits = split_digits(positions, how.split, precision_for(how.dtype))
    return _of_digits(how, digits, rows, axes)


def _of_digits(how: _How, digits: Digits, rows: Any, axes: Any | None) -> Any:
    if how.several_axes:
        digits = digits.map(lambda digit: ops.take(digit, axes, axis=-1))
    else:
        digits = digits.map(lambda digit: ops.expand_dims(digit, -1))
    return _rounded(turned_sines(digits, rows), how.dtype)
