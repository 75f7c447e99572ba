"""Checks of constructor arguments, and the one form of their error messages."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import keras
import numpy as np

T = TypeVar("T")

_COMPUTE_DTYPES = ("float16", "bfloat16", "float32", "float64")


def positive_integer(name: str, value: Any, *, hint: str = "") -> int:
    """`value` as a plain `int`, so that NumPy integers survive a JSON config."""
    kind = f"a positive integer{hint}"
    return _read(name, value, kind, lambda: _integer(value, lambda number: number > 0))


def non_negative_integer(name: str, value: Any) -> int:
    kind = "an integer, not negative"
    return _read(name, value, kind, lambda: _integer(value, lambda number: number >= 0))


def integer(name: str, value: Any) -> int:
    return _read(name, value, "an integer", lambda: _index(value))


def integer_below(name: str, value: Any, limit: int) -> int:
    number = integer(name, value)
    if not -limit < number < limit:
        raise ValueError(
            f"`{name}` must be an integer, less than {limit} from 0. "
            f"Received: {name}={value!r}"
        )
    return number


def _read(name: str, value: Any, kind: str, read: Callable[[], T]) -> T:
    """What `read` makes of `value`, or its error in the words of the package."""
    try:
        return read()
    except (TypeError, ValueError) as error:
        # Not written before: torch.compile cannot write out numbers that it keeps open.
        raise type(error)(
            f"`{name}` must be {kind}. Received: {name}={value!r}"
        ) from None


def _integer(value: Any, valid: Callable[[int], bool]) -> int:
    number = _index(value)
    if not valid(number):
        raise ValueError
    return number


def _index(value: Any) -> int:
    """`operator.index`, but for `True` and `False`, which count nothing."""
    if isinstance(value, bool):
        raise TypeError
    return operator.index(value)


def optional_positive_integer(name: str, value: Any) -> int | None:
    return None if value is None else positive_integer(name, value, hint=" or None")


# What NumPy, which makes the tables, has, and the kernels of torch.
_MAX_DIMENSIONS = 64


def grid_rank(name: str, value: Any, *, hint: str = "") -> int:
    """A number of axes that fits into an array, beside batch and channels."""
    rank = positive_integer(name, value)
    if rank > _MAX_DIMENSIONS - 2:
        raise ValueError(
            f"`{name}` must be at most {_MAX_DIMENSIONS - 2}: arrays have up to "
            f"{_MAX_DIMENSIONS} dimensions, two of them for batch and channels{hint}. "
            f"Received: {name}={rank}"
        )
    return rank


def grid_shape(name: str, value: Any) -> tuple[int, ...]:
    """A size, or a non-empty sequence of sizes, as a tuple of plain `int`s."""
    message = (
        f"`{name}` must be a non-negative integer, or a sequence of one or more. "
        f"Received: {name}={value!r}"
    )
    try:
        sizes = tuple(
            _index(size) for size in (value if np.iterable(value) else (value,))
        )
    except TypeError:
        raise TypeError(message) from None
    if not sizes or min(sizes) < 0:
        raise ValueError(message)
    return sizes


def grid_of_tokens(name: str, value: Any, rank: int) -> tuple[int, ...] | None:
    """A positive size for each axis, or None."""
    if value is None:
        return None
    return _integers(
        value,
        f"`{name}` must hold a positive size for each of the {rank} axes, or be None. "
        f"Received: {name}={value!r}",
        lambda sizes: len(sizes) == rank and min(sizes) > 0,
    )


def positive_per_axis(name: str, value: Any, rank: int) -> float | tuple[float, ...]:
    """A positive number, or a sequence with one positive number per axis."""
    return _per_axis(name, value, rank, "positive finite", lambda number: number > 0)


def finite_per_axis(name: str, value: Any, rank: int) -> float | tuple[float, ...]:
    """A finite number, or a sequence with one per axis."""
    return _per_axis(name, value, rank, "finite", lambda number: True)


def _per_axis(
    name: str, value: Any, rank: int, kind: str, valid: Callable[[float], bool]
) -> float | tuple[float, ...]:
    message = (
        f"`{name}` must be a {kind} number, or one per axis. Received: {name}={value!r}"
    )
    numbers = _sequence(value)
    if numbers is None:
        return _number(value, message, valid)
    if len(numbers) != rank:
        raise ValueError(
            f"`{name}` must be a number or hold one number for each of the "
            f"{rank} axes. Received: {name}={value!r} (of length {len(numbers)})"
        )
    return tuple(_number(number, message, valid) for number in numbers)


def finite_number(name: str, value: Any) -> float:
    return _read(name, value, "a finite number", lambda: _number(value, ""))


def non_negative_number(name: str, value: Any) -> float:
    kind = "a finite number, not negative"
    return _read(
        name, value, kind, lambda: _number(value, "", lambda number: number >= 0)
    )


def number_range(name: str, value: Any) -> tuple[float, float] | None:
    """A pair of numbers, the lower one first, or None."""
    if value is None:
        return None
    kind = "a pair of finite numbers, the lower one first, or None"
    return _read(name, value, kind, lambda: _low_and_high(value))


def _low_and_high(value: Any) -> tuple[float, float]:
    numbers = _sequence(value)
    if numbers is None:
        raise TypeError
    if len(numbers) != 2:
        raise ValueError
    low, high = (_number(number, "") for number in numbers)
    if low >= high:
        raise ValueError
    return low, high


def frequency_lists(
    name: str, value: Any, rank: int
) -> tuple[float, ...] | tuple[tuple[float, ...], ...] | None:
    """Finite numbers, or one list of them per axis, or None."""
    if value is None:
        return None
    message = (
        f"`{name}` must be a list of finite numbers, or one list for each of the "
        f"{rank} axes, or None. Received: {name}={value!r}"
    )
    items = _sequence(value)
    if items is None:
        raise TypeError(message)
    lists = [_sequence(item) for item in items]
    if not any(item is not None for item in lists):
        return tuple(_number(number, message) for number in items)
    if len(lists) != rank or None in lists:
        raise ValueError(message)
    return tuple(tuple(_number(n, message) for n in item or ()) for item in lists)


def permutation(name: str, value: Any, rank: int) -> tuple[int, ...] | None:
    """Each axis once, or None."""
    if value is None:
        return None
    return _integers(
        value,
        f"`{name}` must name each of the axes 0 to {rank - 1} once, or be None. "
        f"Received: {name}={value!r}",
        lambda axes: sorted(axes) == list(range(rank)),
    )


def split_per_axis(name: str, value: Any, rank: int) -> tuple[int, ...] | None:
    """An even number of channels for each axis, or None."""
    if value is None:
        return None
    return _integers(
        value,
        f"`{name}` must hold an even number of channels, not negative, for each of "
        f"the {rank} axes, or be None. Received: {name}={value!r}",
        lambda parts: (
            len(parts) == rank and not any(part < 0 or part % 2 for part in parts)
        ),
    )


def _integers(
    value: Any, message: str, valid: Callable[[tuple[int, ...]], bool]
) -> tuple[int, ...]:
    numbers = _sequence(value)
    if numbers is None:
        raise TypeError(message)
    try:
        integers = tuple(_index(number) for number in numbers)
    except TypeError:
        raise TypeError(message) from None
    if not valid(integers):
        raise ValueError(message)
    return integers


def _sequence(value: Any) -> Sequence[Any] | None:
    """A sequence of numbers, or None if `value` is no sequence."""
    if isinstance(value, np.ndarray):
        value = value.tolist()
    if isinstance(value, Sequence) and not isinstance(value, (str, bytes)):
        return value
    return None


def _number(
    number: Any, message: str, valid: Callable[[float], bool] = lambda number: True
) -> float:
    if isinstance(number, (bool, np.bool_, str, bytes)):
        raise TypeError(message)
    try:
        number = float(number)
    except (TypeError, ValueError):
        raise TypeError(message) from None
    except OverflowError:
        raise ValueError(message) from None
    # Not by `isfinite`: torch.compile has none of numbers that it keeps open.
    if not (-math.inf < number < math.inf and valid(number)):
        raise ValueError(message)
    return number


def true_or_false(name: str, value: Any) -> bool:
    if not isinstance(value, (bool, np.bool_)):
        raise TypeError(f"`{name}` must be True or False. Received: {name}={value!r}")
    return bool(value)


# The two orders of channels that have names.
_LAYOUTS = {"interleaved": "axis freq phase", "concatenated": "axis phase freq"}


def layout_words(name: str, value: Any) -> tuple[str, ...]:
    """The order in which axis, freq and phase flatten into channels, slowest first."""
    message = (
        f"`{name}` must be 'interleaved', 'concatenated', or the words axis, freq and "
        f"phase in any order. Received: {name}={value!r}"
    )
    if not isinstance(value, str):
        raise TypeError(message)
    words = tuple(_LAYOUTS.get(value, value).split())
    if sorted(words) != ["axis", "freq", "phase"]:
        raise ValueError(message)
    return words


def one_of(name: str, value: Any, valid: Sequence[str]) -> str:
    listed = ", ".join(repr(item) for item in valid)
    message = f"`{name}` must be one of {listed}. Received: {name}={value!r}"
    if not isinstance(value, str):
        raise TypeError(message)
    if value not in valid:
        raise ValueError(message)
    return value


def float_policy(dtype: Any, dtype_override: Any = None) -> keras.DTypePolicy:
    """The dtype policy that `dtype` and its legacy twin `dtype_override` name."""
    policy = _float_policy("dtype", dtype)
    if dtype_override is None:
        return policy
    override = _float_policy("dtype_override", dtype_override)
    serialize = keras.dtype_policies.serialize
    if dtype is not None and serialize(override) != serialize(policy):
        raise ValueError(
            "`dtype` and `dtype_override` are two names of one argument: give one "
            "of them, or the same value. "
            f"Received: dtype={dtype!r}, dtype_override={dtype_override!r}"
        )
    return override


def _float_policy(name: str, value: Any) -> keras.DTypePolicy:
    try:
        policy = keras.dtype_policies.get(value)
    except (ValueError, TypeError) as error:
        raise ValueError(_dtype_message(name, value)) from error
    require_float(name, value, policy.compute_dtype, policy.quantization_mode)
    return policy


def require_float(name: str, value: Any, dtype: str, quantization: Any) -> None:
    """Raises where `value` means to compute in this `dtype`, which is no float."""
    # A quantized policy is for layers that have weights to quantize.
    if dtype not in _COMPUTE_DTYPES or quantization:
        raise ValueError(_dtype_message(name, value))


def _dtype_message(name: str, value: Any) -> str:
    # The second of two numbers may have been meant as a length.
    second = name == "dtype_override" and type(value) is int
    length = " There is no length to give: any is taken." if second else ""
    return (
        f"`{name}` must be a floating-point dtype ({', '.join(_COMPUTE_DTYPES)}; as "
        "a string or as a NumPy, TensorFlow, torch or JAX dtype) or a dtype policy "
        f"that computes in one, not quantized.{length} Received: {name}={value!r}"
    )
