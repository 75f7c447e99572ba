"""Checks of arguments, all in one form: "`name` must be ... Received: name=..."."""

from __future__ import annotations

import math
import operator
import reprlib
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import numpy as np

T = TypeVar("T")

# A float32 row of so many channels takes 64 MB. More are a mistake, such as a batch
# size in the wrong place, and nothing behind this check has to think of them.
MAX_CHANNELS = 2**24
# A loop over so many axes still takes less than a second.
MAX_RANK = 2**10
# NumPy, which makes the tables, has 64 dimensions, and so have the kernels of torch.
_MAX_DIMENSIONS = 64
# Numbers in a table: 8 TB of float64, which no machine of today has room for.
_MAX_NUMBERS = 2**40

_LONGEST = 320  # four lines of a terminal
_SHORT = reprlib.Repr()
_SHORT.maxlist = _SHORT.maxtuple = _SHORT.maxdict = _SHORT.maxset = 16
_SHORT.maxlevel, _SHORT.maxstring, _SHORT.maxother = 3, 120, 240


def shown(value: Any) -> str:
    """`repr(value)` as far as a line can hold it."""
    if isinstance(value, np.ndarray) and value.size > 16:
        return f"<array of shape {value.shape} and dtype {value.dtype}>"
    if isinstance(value, int) and value.bit_length() > 256:
        return f"<integer of {value.bit_length()} bits>"  # Python writes no long ones
    try:
        text = _SHORT.repr(value)
    except ValueError:  # for such an integer inside of a list
        return f"<{type(value).__name__}>"
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]} ..."


def expect(name: str, value: Any, kind: str, parse: Callable[[Any], T]) -> T:
    """What `parse` makes of `value`.

    `parse` raises a TypeError or a ValueError, whose text does not matter: the caller
    sees one that says what `kind` of value was expected.
    """
    # One clause for each: torch.compile follows no choice of a class.
    try:
        return parse(value)
    except TypeError:
        raise TypeError(message(name, value, kind)) from None
    except (ValueError, OverflowError):
        raise ValueError(message(name, value, kind)) from None


def message(name: str, value: Any, kind: str) -> str:
    return f"`{name}` must be {kind}. Received: {name}={shown(value)}"


def refusal(rule: str, **received: Any) -> ValueError:
    """An error about arguments that do not go together."""
    given = ", ".join(f"{name}={shown(value)}" for name, value in received.items())
    return ValueError(f"{rule}. Received: {given}")


def require(valid: bool) -> None:
    """For a `parse`: a ValueError unless `valid`."""
    if not valid:
        raise ValueError


# --- What `parse` can be made of -----------------------------------------------------


def index(value: Any) -> int:
    """`operator.index`, but for `True` and `False`, which count nothing."""
    if isinstance(value, bool):
        raise TypeError
    return operator.index(value)


def number(value: Any) -> float:
    """A finite number as a float."""
    if isinstance(value, (bool, np.bool_, str, bytes)):
        raise TypeError
    value = float(value)
    # Not by `isfinite`: torch.compile has none of numbers that it keeps open.
    require(-math.inf < value < math.inf)
    return value


def sequence(value: Any) -> Sequence[Any]:
    if isinstance(value, np.ndarray):
        value = value.tolist()
    if not is_sequence(value):
        raise TypeError
    return value


def is_sequence(value: Any) -> bool:
    """Whether `value` is a list, a tuple or an array of at least one dimension."""
    if isinstance(value, np.ndarray):
        return value.ndim > 0
    return isinstance(value, Sequence) and not isinstance(value, (str, bytes))


# --- Integers ------------------------------------------------------------------------


def integer(name: str, value: Any) -> int:
    return expect(name, value, "an integer", index)


def integer_below(name: str, value: Any, limit: int) -> int:
    number = integer(name, value)
    if not -limit < number < limit:
        kind = f"an integer, less than {limit} from 0"
        raise ValueError(message(name, value, kind))
    return number


def positive_integer(name: str, value: Any, *, hint: str = "") -> int:
    """`value` as a plain `int`, so that NumPy integers survive a JSON config."""

    def parse(value: Any) -> int:
        count = index(value)
        require(count > 0)
        return count

    return expect(name, value, f"a positive integer{hint}", parse)


def non_negative_integer(name: str, value: Any) -> int:
    def parse(value: Any) -> int:
        count = index(value)
        require(count >= 0)
        return count

    return expect(name, value, "an integer, not negative", parse)


def channel_count(name: str, value: Any, *, hint: str = "") -> int:
    """A number of channels that a machine can have."""
    count = positive_integer(name, value, hint=hint)
    if count > MAX_CHANNELS:
        raise refusal(f"`{name}` must be at most {MAX_CHANNELS}", **{name: value})
    return count


def grid_rank(name: str, value: Any, *, hint: str = "") -> int:
    """A number of axes that fits into an array, beside batch and channels."""
    rank = positive_integer(name, value)
    if rank > _MAX_DIMENSIONS - 2:
        rule = (
            f"`{name}` must be at most {_MAX_DIMENSIONS - 2}: arrays have up to "
            f"{_MAX_DIMENSIONS} dimensions, two of them for batch and channels{hint}"
        )
        raise refusal(rule, **{name: rank})
    return rank


def grid_shape(name: str, value: Any) -> tuple[int, ...]:
    """A size, or a non-empty sequence of sizes, as a tuple of plain `int`s."""

    def parse(value: Any) -> tuple[int, ...]:
        sizes = tuple(map(index, value if np.iterable(value) else (value,)))
        require(bool(sizes) and min(sizes) >= 0)
        return sizes

    kind = "a non-negative integer, or a sequence of one or more"
    return expect(name, value, kind, parse)


def require_room(name: str, sizes: Sequence[int], channels: int) -> None:
    """Raises for a table that no machine can hold, before any work."""
    if math.prod(sizes) * channels > _MAX_NUMBERS:
        rule = f"`{name}` must ask for at most {_MAX_NUMBERS} numbers in all channels"
        raise refusal(rule, **{name: sizes, "channels": channels})


def integers(
    name: str, value: Any, kind: str, valid: Callable[[tuple[int, ...]], bool]
) -> tuple[int, ...] | None:
    """A `valid` sequence of integers as a tuple, or None."""

    def parse(value: Any) -> tuple[int, ...]:
        counts = tuple(map(index, sequence(value)))
        require(valid(counts))
        return counts

    if value is None:
        return None
    return expect(name, value, f"{kind}, or None", parse)


def permutation(name: str, value: Any, rank: int) -> tuple[int, ...] | None:
    """Each axis once, or None."""
    kind = f"a list of the axes 0 to {rank - 1}, each of them once"
    return integers(name, value, kind, lambda axes: sorted(axes) == list(range(rank)))


# --- Real numbers --------------------------------------------------------------------


def finite_number(name: str, value: Any) -> float:
    return expect(name, value, "a finite number", number)


def non_negative_number(name: str, value: Any) -> float:
    def parse(value: Any) -> float:
        amount = number(value)
        require(amount >= 0)
        return amount

    return expect(name, value, "a finite number, not negative", parse)


def number_range(name: str, value: Any) -> tuple[float, float] | None:
    """A pair of numbers, the lower one first, or None."""

    def parse(value: Any) -> tuple[float, float]:
        numbers = sequence(value)
        require(len(numbers) == 2)
        low, high = map(number, numbers)
        require(low < high)
        return low, high

    if value is None:
        return None
    kind = "a pair of finite numbers, the lower one first, or None"
    return expect(name, value, kind, parse)


def per_axis(
    name: str, value: Any, rank: int, *, positive: bool = False
) -> float | tuple[float, ...]:
    """A finite number, or a sequence with one for each axis."""

    def parse_one(value: Any) -> float:
        amount = number(value)
        require(amount > 0 or not positive)
        return amount

    def parse(value: Any) -> float | tuple[float, ...]:
        if not is_sequence(value):
            return parse_one(value)
        numbers = tuple(map(parse_one, sequence(value)))
        require(len(numbers) == rank)
        return numbers

    kind = f"a {'positive ' if positive else ''}finite number, or one for each of the "
    return expect(name, value, f"{kind}{rank} axes", parse)


def number_lists(
    name: str, value: Any, rank: int
) -> tuple[float, ...] | tuple[tuple[float, ...], ...] | None:
    """Finite numbers, or one list of them per axis, or None."""

    def parse(value: Any) -> tuple[Any, ...]:
        items = sequence(value)
        if not any(map(is_sequence, items)):
            return tuple(map(number, items))
        require(len(items) == rank and all(map(is_sequence, items)))
        return tuple(tuple(map(number, sequence(item))) for item in items)

    if value is None:
        return None
    kind = f"a list of finite numbers, or one list for each of the {rank} axes, or None"
    return expect(name, value, kind, parse)


# --- Words ---------------------------------------------------------------------------


def true_or_false(name: str, value: Any) -> bool:
    def parse(value: Any) -> bool:
        if not isinstance(value, (bool, np.bool_)):
            raise TypeError
        return bool(value)

    return expect(name, value, "True or False", parse)


def word(name: str, value: Any, kind: str, parse: Callable[[str], T]) -> T:
    """What `parse` makes of a string; it raises a ValueError for a wrong one."""

    def parse_word(value: Any) -> T:
        if not isinstance(value, str):
            raise TypeError
        return parse(value)

    return expect(name, value, kind, parse_word)


def one_of(name: str, value: Any, valid: Sequence[str]) -> str:
    def parse(value: str) -> str:
        require(value in valid)
        return value

    return word(name, value, f"one of {', '.join(map(repr, valid))}", parse)
