"""Positions that a user gives: what they may be, and how a mask counts them."""

from __future__ import annotations

import operator
from typing import Any

import keras
import numpy as np
from keras import ops

from keras_posenc import _backend, _checks
from keras_posenc._placing import product

# Python's integers go on for ever, those of tensors do not.
_LIMIT = 2**63


class HostValues:
    """Numbers that are no tensor, on their way through `Layer.__call__`.

    Keras would make a tensor of an array, which on JAX has float32 at best: too few
    digits for a timestamp.
    """

    def __init__(self, values: Any):
        _backend.hide_from_jax(HostValues)
        self.values = values

    @property
    def shape(self) -> tuple[int, ...]:
        return np.shape(self.values)


def checked_numbers(name: str, values: Any) -> Any:
    """A tensor as it is, anything else as an array of float64 or of integers."""
    if isinstance(values, HostValues):
        values = values.values
    given = values
    if isinstance(values, keras.Variable):
        values = ops.convert_to_tensor(values)
    if not _backend.is_dense(values):
        rule = f"`{name}` must be dense; make sparse and ragged tensors dense first"
        raise _checks.refusal(rule, **{name: values})
    if not _backend.is_tensor(values):
        array = _as_array(values)
        if array is None:  # lists of different lengths
            rule = f"`{name}` must be numbers, or lists of as many numbers each"
            raise _checks.refusal(rule, **{name: values})
        values = array
    if not (_is_integer(values.dtype) or _is_real(values.dtype)):
        of_dtype = f" of dtype {values.dtype}"
        raise TypeError(
            f"`{name}` must be integers or real numbers. "
            f"Received: {name}{'=None' if given is None else of_dtype}"
        )
    return values


def _as_array(values: Any) -> np.ndarray | None:
    try:
        return np.asarray(values)
    except ValueError:
        return None


def _holds_large_integers(array: np.ndarray) -> bool:
    """Whether NumPy has no type for these integers."""
    return array.dtype == object and all(isinstance(n, int) for n in array.flat)


def _is_integer(dtype: Any) -> bool:
    name = _dtype_name(dtype)
    return name != "bool" and keras.backend.is_int_dtype(name)


def _is_real(dtype: Any) -> bool:
    return keras.backend.is_float_dtype(_dtype_name(dtype))


def _dtype_name(dtype: Any) -> str:
    """The name that Keras has for a dtype; "bool" for one that is none of numbers."""
    try:
        return keras.backend.standardize_dtype(dtype)
    except ValueError:
        return "bool"


def known_shape(value: Any) -> tuple[Any, ...] | None:
    """That of a tensor or an array, unless a graph knows not even its rank."""
    if not (isinstance(value, np.ndarray) or _backend.is_tensor(value)):
        return None
    return None if getattr(value.shape, "rank", 0) is None else tuple(value.shape)


def require_coordinates(name: str, shape: tuple[Any, ...], rank: int) -> None:
    """Raises where several axes do not have one coordinate each."""
    if rank > 1 and (not shape or shape[-1] != rank):
        raise ValueError(
            f"`{name}` must have shape (..., {rank}), with a coordinate on each of "
            f"the rank={rank} axes. Received: {name} of shape {shape}"
        )


def checked_positions(
    positions: Any, sizes: tuple[Any, ...], rank: int, batch: Any
) -> Any:
    """Positions for dimensions of these sizes, with a dimension for the batch.

    One of 1, if they are the same for all its elements.
    """
    positions = checked_numbers("positions", positions)
    expected = (*sizes, rank) if rank > 1 else sizes
    shape = tuple(positions.shape)
    if len(shape) == len(expected):
        shape, positions = (1, *shape), positions[None]
    fits = len(shape) == len(expected) + 1 and (
        shape[0] == 1 or _may_be(shape[0], batch)
    )
    if not (fits and all(map(_may_be, shape[1:], expected))):
        raise ValueError(
            f"`positions` must have shape {expected}, or {(batch, *expected)} with "
            "those of each element of the batch. "
            f"Received: positions of shape {tuple(positions.shape)}"
        )
    if any(map(_backend.are_untied, shape[1:], expected)):
        raise ValueError(
            f"`positions` have lengths {shape[1:]}, and inputs {expected}, which "
            "jax.export takes for different ones. Give both the same symbol, as "
            '`jax.export.symbolic_shape("b, n")` makes them, or export with known '
            "lengths."
        )
    return positions


def _may_be(size: Any, wanted: Any) -> bool:
    return not (type(size) is int and type(wanted) is int and size != wanted)


def checked_starts(start_index: Any, rank: int, batch: Any) -> tuple[Any, ...]:
    """From where each axis counts."""
    if is_zero(start_index):
        return (0,) * rank
    if rank > 1:
        if not isinstance(start_index, (tuple, list)) or len(start_index) != rank:
            rule = f"`start_index` must hold one integer for each of the {rank} axes"
            raise _checks.refusal(rule, start_index=start_index)
        kind = "must be an integer, or a tensor of one"
        return tuple(
            _checked_integer("start_index", start, start_index, kind)
            for start in start_index
        )
    kind = (
        "must be an integer, or a tensor of one or of one for each element of the batch"
    )
    start = _checked_integer("start_index", start_index, start_index, kind, dims=1)
    if (
        _backend.is_tensor(start)
        and len(start.shape)
        and not _may_be(start.shape[0], batch)
    ):
        rule = f"`start_index` must be an integer, or hold one for each of the {batch} "
        shape = tuple(start.shape)
        raise ValueError(
            f"{rule}elements of the batch. Received: start_index of shape {shape}"
        )
    return (start,)


def is_zero(start_index: Any) -> bool:
    """Whether it is the number 0, which tensors never are."""
    return (
        isinstance(start_index, (int, np.integer))
        and not isinstance(start_index, bool)
        and _backend.is_known(start_index)
        and start_index == 0
    )


def _checked_integer(
    name: str, value: Any, received: Any, kind: str, *, dims: int = 0
) -> Any:
    """An `int`, or a tensor of integers of so many dimensions at most."""
    if isinstance(value, keras.Variable):
        value = ops.convert_to_tensor(value)
    if not (_backend.is_tensor(value) or isinstance(value, (bool, np.bool_))):
        try:
            # torch.compile would settle an `int` that it keeps open.
            number = value if type(value) is int else operator.index(value)
        except TypeError:
            value = _as_array(value)
        else:
            if _backend.is_known(number) and not -_LIMIT <= number < _LIMIT:
                raise _checks.refusal(f"`{name}` must fit 64 bits", **{name: received})
            return number
    if isinstance(value, np.ndarray) and _holds_large_integers(value):
        raise _checks.refusal(f"`{name}` must fit 64 bits", **{name: received})
    integers = _is_integer(getattr(value, "dtype", bool))
    if not integers or len(value.shape) > dims:
        # Not before: torch.compile cannot write out the tensor that was received.
        message = f"`{name}` {kind}. Received: {_described(name, received)}"
        raise ValueError(message) if integers else TypeError(message)
    if not _backend.is_tensor(value):
        return _as_tensor(name, value)
    # A step of a decoder is then computed on the host, like one from an `int`.
    read = None if len(value.shape) else _backend.host_integers(value)
    return value if read is None else int(read)


def _described(name: str, received: Any) -> str:
    shape = known_shape(received) or ()
    if len(shape) > 1:  # a second input, and none that a line can hold
        return f"{name} of shape {shape} and dtype {received.dtype}"
    return f"{name}={_checks.shown(received)}"


def _as_tensor(name: str, numbers: np.ndarray) -> Any:
    """The same integers, in a type of the backend that holds them."""
    tensor = ops.convert_to_tensor(numbers)
    limits = np.iinfo(keras.backend.standardize_dtype(tensor.dtype))
    if numbers.size and not (
        limits.min <= numbers.min() <= numbers.max() <= limits.max
    ):
        rule = (
            f"`{name}` must lie between {limits.min} and {limits.max} where it becomes "
            "a tensor"
        )
        raise _checks.refusal(rule, **{name: numbers.tolist()})
    return tensor


def largest_start(start_index: Any) -> int | None:
    """The largest of what is known now to be an integer, or several."""
    if type(start_index) is int:
        return start_index if _backend.is_known(start_index) else None
    parts = start_index if isinstance(start_index, (list, tuple)) else [start_index]
    if not all(isinstance(part, (int, np.integer, np.ndarray)) for part in parts):
        return None
    starts = np.asarray(start_index)
    return int(starts.max()) if starts.size else None


def checked_grid(
    grid: Any, rank: int, tokens: Any, prefix_tokens: int
) -> tuple[Any, ...]:
    """The sizes of a grid of tokens: numbers, or tensors of one.

    `tokens` is how many there are, with those before the grid; the size that is None
    follows from it.
    """
    received = grid
    if _backend.is_tensor(grid) and tuple(grid.shape) == (rank,):
        grid = ops.unstack(grid)
    elif isinstance(grid, np.ndarray):
        grid = grid.tolist()
    kind = "must hold positive integers, or scalar tensors of them"
    whole = isinstance(grid, (tuple, list)) and len(grid) == rank
    if not whole or [*map(type, grid)].count(type(None)) > 1:
        rule = f"`grid` {kind}, one for each of the {rank} axes, and None at most once"
        raise _checks.refusal(rule, grid=received)
    sizes: tuple[Any, ...] = tuple(
        size if size is None else _checked_integer("grid", size, received, kind)
        for size in grid
    )
    if any(size < 1 for size in filter(_backend.is_known, sizes)):
        raise _checks.refusal(f"`grid` {kind}", grid=received)
    of_grid = None if tokens is None else tokens - prefix_tokens
    if any(size is None for size in sizes):
        others = product([size for size in sizes if size is not None])
        missing = None if of_grid is None else of_grid // others
        sizes = tuple(missing if size is None else size for size in sizes)
    known = all(type(size) is int for size in (*sizes, tokens))
    if known and product(sizes) != of_grid:
        expected = prefix_tokens + product(sizes)
        rule = f"Inputs must have {expected} tokens, as `grid` and `prefix_tokens` say"
        given = {"grid": received, "prefix_tokens": prefix_tokens}
        raise _checks.refusal(rule, **given, tokens=tokens)
    return sizes


# So that what is counted from there on fits int32.
_LARGEST_START = 2**30


def positions_from_mask(
    mask: Any,
    rank: int = 1,
    *,
    start: int = 0,
    masked: float | None = None,
    normalize: tuple[float, float] | None = None,
    eps: float = 0.0,
) -> Any:
    """Positions that count the real places along each axis, for `positions=`.

    For batches that are padded, on whichever side, so that the first real place of
    each sample is position `start`, wherever it lies.

    Args:
        mask: Boolean tensor or array of shape `(batch, *sizes)` with `rank` sizes.
            True at what is real, False at padding, as masks are in Keras.
        rank: Integer. Number of axes. Defaults to `1`.
        start: Integer. Position of the first real place. Defaults to `0`.
        masked: Number or `None`. The position of padding. `None` keeps the count
            that has been reached there. Defaults to `None`.
        normalize: Pair of numbers `(low, high)`, or `None`. With `count` the running
            count, which is `start` at the first real place, and `last` what it has
            reached at the end of the axis, positions are
            `low + (high - low) * count / (last + eps)`, or `low` where that divides by
            0. Defaults to `None`.
        eps: Float. See `normalize`. Defaults to `0.0`.

    Returns:
        Tensor of integers, or of float32 with `normalize`, of the mask's shape for
        one axis, else of shape `(batch, *sizes, rank)`.

    Raises:
        TypeError: If an argument is no number, or `start`, or without `normalize`
            `masked`, is no integer.
        ValueError: If `mask` has another number of dimensions, if `normalize` is no
            pair, the lower number first, if a number is not finite, or an integer
            beyond 2^30, if `eps` is negative, or if there is one without `normalize`.

    Example:
        >>> import numpy as np
        >>> import keras
        >>> from keras_posenc import positions_from_mask
        >>> mask = np.array([[True, True, True, False, False]])
        >>> positions = positions_from_mask(mask, start=2, masked=1)  # as in fairseq
        >>> print(keras.ops.convert_to_numpy(positions))
        [[2 3 4 1 1]]

    Reference:
        - Ott et al., 2019, arXiv:1904.01038 (`make_positions` of fairseq).
        - Carion et al., 2020, arXiv:2005.12872 (the normalized count of DETR).
    """
    rank = _checks.positive_integer("rank", rank)
    start = _checks.integer_below("start", start, _LARGEST_START)
    limits = _checks.number_range("normalize", normalize)
    eps = _checks.non_negative_number("eps", eps)
    if eps and limits is None:
        raise _checks.refusal("`eps` needs `normalize`", eps=eps)
    if masked is not None:
        masked = (
            _checks.integer_below("masked", masked, _LARGEST_START)
            if limits is None
            else _checks.finite_number("masked", masked)
        )
    mask = ops.cast(ops.convert_to_tensor(mask), "bool")
    if len(mask.shape) != rank + 1:
        raise ValueError(
            f"`mask` must have shape (batch, *sizes) with rank={rank} sizes. "
            f"Received: mask of shape {tuple(mask.shape)}"
        )
    real = ops.cast(mask, "int32")
    axes = []
    for axis in range(1, rank + 1):
        count = ops.cast(ops.cumsum(real, axis=axis), "int32") + (start - 1)
        if limits is not None:
            low, high = limits
            count = ops.cast(count, "float32")
            last = count[(slice(None),) * axis + (slice(-1, None),)]
            last = last + eps
            # Where nothing is real, or a lone place counts as 0, that is at the lower
            # end.
            nothing = last == 0
            share = ops.where(nothing, 0.0, count / ops.where(nothing, 1.0, last))
            count = low + (high - low) * share
        if masked is not None:
            count = ops.where(mask, count, ops.cast(masked, count.dtype))
        axes.append(count)
    return axes[0] if rank == 1 else ops.stack(axes, axis=-1)
