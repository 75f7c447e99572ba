"""The encoding of a grid, in one of three ways.

It is the broadcast sum of one term per axis, which holds the waves of that axis and
zeros in the channels of the others.

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
from collections.abc import Hashable, Sequence
from typing import Any, NamedTuple

import numpy as np
from keras import ops

from keras_posenc import _backend
from keras_posenc._engine import cache, spread, tables, turns
from keras_posenc._engine.tables import Known
from keras_posenc._engine.waves import Grid, Recipe, Spread, WaveSource

_ITEM_BYTES = {"float16": 2, "bfloat16": 2, "float32": 4, "float64": 8}
# Up to so many numbers, the host computes them at each call in 0.1 ms or less: the
# starts of a decoder differ at every step, so that a table would be of one use.
_FEW_NUMBERS = 2**13


def find_table(like: Any, grid: Grid, recipe: Recipe, dtype: str) -> Any | None:
    """What `encode_grid` has cached for a grid of known sizes, for an eager `like`."""
    return cache.tables.get(recipe.source, _key(like, grid, recipe, dtype))


def _key(like: Any, grid: Grid, recipe: Recipe, dtype: str) -> Hashable:
    return grid, recipe.channels, dtype, _backend.device_of(like)


def encode_grid(like: Any, grid: Grid, recipe: Recipe, dtype: str) -> Any:
    """The encoding of a grid, where the tensor `like` is, in `dtype`.

    It has a batch of one, or that of the starts. Everything is computed in float32 or
    better, and rounded once.
    """
    if _backend.is_eager(like) and grid.is_known:
        numbers = math.prod(grid.sizes) * recipe.channels
        if any(grid.starts) and numbers <= _FEW_NUMBERS:
            return _new_table(like, grid, recipe, dtype)
        nbytes = numbers * _ITEM_BYTES[dtype]
        if cache.tables.has_room_for(nbytes):
            return _cached_table(like, grid, recipe, dtype, nbytes)
    plan = _plan(like, grid, recipe, dtype)
    given = _constants(like, plan, recipe)
    # Numbers are in the plan: as arguments, they would be copied to the device.
    sizes, starts = (
        [number if _backend.is_tensor(number) else None for number in numbers]
        for numbers in (grid.sizes, grid.starts)
    )
    return _backend.in_one_call(like, _planned, plan, sizes, starts, given)


def _cached_table(
    like: Any, grid: Grid, recipe: Recipe, dtype: str, nbytes: int
) -> Any:
    table = find_table(like, grid, recipe, dtype)
    if table is None:
        with _backend.outside_traces(like):
            table = _new_table(like, grid, recipe, dtype)
        if _backend.outlasts_call(table):
            key = _key(like, grid, recipe, dtype)
            cache.tables.put(recipe.source, key, table, nbytes)
    return table


def _new_table(like: Any, grid: Grid, recipe: Recipe, dtype: str) -> Any:
    values = tables.grid_table(recipe, grid, _backend.precision_for(dtype))
    table = _backend.put_like(_backend.aligned(values), like)
    table = _backend.rounded(table, dtype)
    return table if grid.prefix is None else _as_tokens(table, grid.dims, grid.prefix)


class _Counted(NamedTuple):
    """An axis whose size or start only the running graph, or a tensor, knows."""

    size: Any | None  # None for a tensor, which does not hash
    start: Any | None
    spread: spread.SpreadNumbers | None
    digits: int


class _Plan(NamedTuple):
    """How a graph computes the encoding of a grid: no tensor is in it."""

    axes: tuple[Known | _Counted, ...]
    dims: tuple[int, ...]
    channel_dim: int
    channels: int
    dtype: str
    prefix: int | None  # as of `Grid`
    # The number of tokens, each of which then counts its own place on each axis. None
    # where each axis has a dimension of its own until all are computed.
    tokens: Any | None

    @property
    def ndim(self) -> int:
        return max(*self.dims, self.channel_dim) + 1

    def vector_shape(self, dim: int) -> tuple[int, ...]:
        """The shape that lays a vector along one dimension."""
        return tuple(-1 if other == dim else 1 for other in range(self.ndim))


def _plan(like: Any, grid: Grid, recipe: Recipe, dtype: str) -> _Plan:
    dims, channel_dim, tokens = grid.dims, grid.channel_dim, None
    if grid.prefix is not None and not all(map(_backend.is_known, grid.sizes)):
        tokens = _backend.shape(like)[dims[0]] - grid.prefix
        channel_dim -= (len(dims) - 1) * (channel_dim > dims[0])
        dims = (dims[0],) * len(dims)
    axes: list[Known | _Counted] = []
    for axis, (size, start) in enumerate(zip(grid.sizes, grid.starts, strict=True)):
        if tokens is None and _backend.is_known(size) and _backend.is_known(start):
            # `index` makes a number of what torch.compile may keep open.
            axes.append(Known(operator.index(size), operator.index(start)))
        else:
            numbers = _spread_of(*recipe, axis)
            digits = turns.radix_of(*recipe, _backend.dtype_of(start)).digits
            digits = digits if numbers is None else spread.PART_DIGITS
            size, start = _no_tensor(size), _no_tensor(start)
            axes.append(_Counted(size, start, numbers, digits))
    place = (tuple(axes), dims, channel_dim)
    return _Plan(*place, recipe.channels, dtype, grid.prefix, tokens)


def _no_tensor(number: Any) -> Any | None:
    return None if _backend.is_tensor(number) else number


@_backend.host_constant  # torch.compile would take these numbers for symbols
def _spread_of(
    source: WaveSource, channels: int, axis: int
) -> spread.SpreadNumbers | None:
    coordinate = source.waves(channels).coordinates[axis]
    return spread.numbers_of(coordinate) if isinstance(coordinate, Spread) else None


def _constants(like: Any, plan: _Plan, recipe: Recipe) -> tuple[Any, list[Any]]:
    """The tables of all known axes in one tensor, and the turns of each other axis."""
    precision, rows = _backend.precision_for(plan.dtype), None
    known = tuple(axis if isinstance(axis, Known) else None for axis in plan.axes)
    if any(axis is not None for axis in known):
        columns = plan.channel_dim < plan.dims[0]
        values = tables.graph_tables(*recipe, precision, known, columns)
        rows = _backend.to_tensor(values, like)
    how = (precision, plan.vector_shape(plan.channel_dim))
    return rows, [
        cache.constant(like, recipe, _axis_turns, axis, of_axis.digits, *how)
        if isinstance(of_axis, _Counted)
        else None
        for axis, of_axis in enumerate(plan.axes)
    ]


@_backend.host_constant
def _axis_turns(
    source: WaveSource,
    channels: int,
    axis: int,
    digits: int,
    precision: str,
    shape: tuple[int, ...],
) -> np.ndarray:
    """What `turned_sines` takes for one axis, each row of this shape."""
    waves = source.waves(channels)
    coordinate = waves.coordinates[axis]
    if isinstance(coordinate, Spread):
        line = coordinate.shared(spread.PARTS)
    else:
        line = coordinate.given()
    rows = turns.turn_rows(*waves.along(axis, line), 1.0, digits)
    return rows.astype(precision).reshape(len(rows), *shape)


def _planned(
    plan: _Plan, sizes: Sequence[Any], starts: Sequence[Any], given: Any
) -> Any:
    """The encoding of a grid, as operations of a graph."""
    rows, turns_of = given
    terms, first = [], 0
    for axis, (counts, size) in enumerate(_axis_counts(plan, sizes)):
        of_axis, dim = plan.axes[axis], plan.dims[axis]
        if isinstance(of_axis, Known):
            lengths = tables.table_sizes(of_axis.size, plan.channels)
            place = _Place(plan.ndim, dim, plan.channel_dim, plan.channels)
            terms.append(_added_sines(rows, first, lengths, of_axis.size, place))
            first += sum(lengths)
        else:
            counts = ops.reshape(counts, plan.vector_shape(dim))
            start = starts[axis] if of_axis.start is None else of_axis.start
            digits = _axis_digits(plan, of_axis, counts, size, start)
            terms.append(turns.turned_sines(digits, turns_of[axis]))
    # Summed before `x` is added: in the other order, XLA and torch take 5% longer.
    encoding = _backend.rounded(functools.reduce(operator.add, terms), plan.dtype)
    if plan.prefix is None:
        return encoding
    if plan.tokens is None:
        return _as_tokens(encoding, plan.dims, plan.prefix)
    return _backend.after_zeros((plan.dims[0], plan.prefix), encoding)


def _axis_digits(
    plan: _Plan, of_axis: _Counted, counts: Any, size: Any, start: Any
) -> turns.Digits:
    precision = _backend.precision_for(plan.dtype)
    if of_axis.spread is not None:
        return spread.spread_digits(counts, size, of_axis.spread, precision)
    if _backend.is_tensor(start) and len(start.shape):  # one for each of the batch
        start = ops.reshape(start, plan.vector_shape(0))
    return turns.counted_digits(start, counts, of_axis.digits, precision)


def _axis_counts(plan: _Plan, sizes: Sequence[Any]) -> list[tuple[Any, Any]]:
    """For each axis its positions, counted from 0, and how many there are."""
    pairs = []
    index = None if plan.tokens is None else ops.arange(0, plan.tokens, dtype="int32")
    for size, axis in reversed(list(zip(sizes, plan.axes, strict=True))):
        size = size if axis.size is None else axis.size
        if index is not None:
            size = _backend.as_int32(size)
            pairs.append((index % size, size))
            index = index // size
        elif isinstance(axis, Known):
            pairs.append((None, size))
        else:
            counts = ops.arange(0, size, dtype="int32")
            # A sum, since exporters know no size as a number to divide by.
            pairs.append((counts, ops.sum(ops.ones_like(counts))))
    return pairs[::-1]


class _Place(NamedTuple):
    """How a table of one axis lies to broadcast: its dimensions, out of `ndim`."""

    ndim: int
    dim: int
    channel_dim: int
    channels: int


def _added_sines(
    rows: Any, first: int, lengths: tuple[int, ...], size: Any, place: _Place
) -> Any:
    """The sines of the positions below `size`, of the tables from row `first` on."""
    if len(lengths) == 1:
        return _laid_out(rows, first, size, place)
    # The fine positions get a dimension of their own, after that of the coarse ones.
    dim, channel_dim = place.dim, place.channel_dim + (place.channel_dim > place.dim)
    coarse = _Place(place.ndim + 1, dim, channel_dim, place.channels)
    fine = coarse._replace(dim=dim + 1)
    parts = []
    for length, where in zip(lengths, (coarse, coarse, fine, fine), strict=True):
        parts.append(_laid_out(rows, first, length, where))
        first += length
    coarse_sine, coarse_cosine, fine_sine, fine_cosine = parts
    sines = coarse_sine * fine_cosine + coarse_cosine * fine_sine
    shape = list(sines.shape)
    shape[dim : dim + 2] = [shape[dim] * shape[dim + 1]]
    return ops.reshape(sines, shape)[(slice(None),) * dim + (slice(size),)]


def _laid_out(rows: Any, first: int, length: int, place: _Place) -> Any:
    """`length` rows from `first` on, ready to broadcast."""
    index: list[slice | None] = [None] * place.ndim
    index[place.dim] = slice(first, first + length)
    index[place.channel_dim] = slice(place.channels)
    return _backend.indexed(rows, tuple(index))


def _as_tokens(encoding: Any, dims: tuple[int, ...], prefix: int) -> Any:
    """A grid as a flat sequence, zeros before it."""
    # Only the batch may be unknown, where each element of it has a start of its own.
    shape = [-1 if size is None else size for size in encoding.shape]
    shape[dims[0] : dims[-1] + 1] = [math.prod(shape[dims[0] : dims[-1] + 1])]
    return _backend.after_zeros((dims[0], prefix), ops.reshape(encoding, shape))
