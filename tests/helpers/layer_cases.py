"""Every layer, with an input that suits it, for the checks that all of them pass."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import keras
import numpy as np
import pytest

import keras_posenc as kp
from helpers import reference
from helpers.tolerances import COMPUTED, HALF_UNIT, ROUNDING, SUM_ROUNDING, assert_close


@dataclass(frozen=True)
class Case:
    """A layer to test, and the shape of an input (distinct sizes, off the square)."""

    name: str
    make: Callable[..., keras.layers.Layer]
    shape: tuple[int, ...]
    channel_dim: int = -1
    adds: bool = False

    def inputs(self, dtype: str = "float32") -> np.ndarray:
        values = np.random.default_rng(0).normal(scale=3, size=self.shape)
        return values.astype(dtype)

    def encoding(self) -> np.ndarray:
        """What the formula gives for one element of the batch, in float64."""
        shape = list(self.shape[1:])
        channels = shape.pop(self.channel_dim if self.channel_dim < 0 else 0)
        table = reference.encode(tuple(shape), channels)
        return table if self.channel_dim < 0 else np.moveaxis(table, -1, 0)

    def expected(self, inputs: np.ndarray) -> np.ndarray:
        added = inputs.astype("float64") if self.adds else np.zeros(inputs.shape)
        return added + self.encoding()


def _summer(inner: Callable[..., keras.layers.Layer]) -> Callable[..., Any]:
    def make(**kwargs: Any) -> kp.Summer:
        # The encoding in the dtype of the sum, as a user with one policy has it.
        dtype = {"dtype": kwargs["dtype"]} if "dtype" in kwargs else {}
        return kp.Summer(inner(**dtype), **kwargs)

    return make


def _part(cls: type, *args: Any, **fixed: Any) -> Callable[..., Any]:
    return lambda **kwargs: cls(*args, **fixed, **kwargs)


_ENCODE_1D = _part(kp.PositionalEncoding1D, 10)
_ENCODE_2D = _part(kp.PositionalEncoding2D, 8)
_ENCODE_3D = _part(kp.PositionalEncoding3D, 11)
_PERMUTE_1D = _part(kp.PositionalEncodingPermute1D, 10)
_PERMUTE_2D = _part(kp.PositionalEncodingPermute2D, 7)
_PERMUTE_3D = _part(kp.PositionalEncodingPermute3D, 11)
_ENCODE_2D_FIRST = _part(kp.PositionalEncoding2D, 8, data_format="channels_first")
_RANK2 = _part(kp.PositionalEncoding, 2, 8)
_RANK3_FIRST = _part(kp.PositionalEncoding, 3, 12, data_format="channels_first")
_ANY_CHANNELS = _part(kp.PositionalEncoding2D)

ENCODERS = [
    Case("1d", _ENCODE_1D, (2, 6, 10)),
    Case("2d", _ENCODE_2D, (2, 6, 3, 8)),
    Case("3d", _ENCODE_3D, (2, 5, 6, 4, 11)),
    Case("permute1d", _PERMUTE_1D, (2, 10, 6), channel_dim=1),
    Case("permute2d", _PERMUTE_2D, (2, 7, 6, 3), channel_dim=1),
    Case("permute3d", _PERMUTE_3D, (2, 11, 5, 6, 4), channel_dim=1),
    Case("2d-channels-first", _ENCODE_2D_FIRST, (2, 8, 6, 3), channel_dim=1),
    Case("rank2", _RANK2, (2, 6, 3, 8)),
    Case("rank3-channels-first", _RANK3_FIRST, (2, 12, 5, 6, 4), channel_dim=1),
    Case("2d-any-channels", _ANY_CHANNELS, (2, 6, 3, 8)),
]
SUMMERS = [
    Case("sum-of-1d", _summer(_ENCODE_1D), (2, 6, 10), adds=True),
    Case("sum-of-2d", _summer(_ENCODE_2D), (2, 6, 3, 8), adds=True),
    Case("sum-of-3d", _summer(_ENCODE_3D), (2, 5, 6, 4, 11), adds=True),
    Case(
        "sum-of-permute1d", _summer(_PERMUTE_1D), (2, 10, 6), channel_dim=1, adds=True
    ),
    Case(
        "sum-of-permute2d", _summer(_PERMUTE_2D), (2, 7, 6, 3), channel_dim=1, adds=True
    ),
    Case(
        "sum-of-permute3d",
        _summer(_PERMUTE_3D),
        (2, 11, 5, 6, 4),
        channel_dim=1,
        adds=True,
    ),
    Case("sinusoid", _part(kp.SinusoidEncoding, 10, 50), (2, 6, 10), adds=True),
]
LAYERS = ENCODERS + SUMMERS

each_layer = pytest.mark.parametrize("case", LAYERS, ids=lambda case: case.name)
each_encoder = pytest.mark.parametrize("case", ENCODERS, ids=lambda case: case.name)
each_summer = pytest.mark.parametrize("case", SUMMERS, ids=lambda case: case.name)
BY_NAME = {case.name: case for case in LAYERS}


def open_shape(case: Case) -> tuple[int | None, ...]:
    """The shape of the case with everything unknown but the channels."""
    shape: list[int | None] = [None] * len(case.shape)
    shape[case.channel_dim] = case.shape[case.channel_dim]
    return tuple(shape)


def assert_right(outputs: Any, case: Case, inputs: np.ndarray) -> None:
    """The outputs are those of the formula, rounded once."""
    atol = SUM_ROUNDING if case.adds else ROUNDING["float32"]
    assert_close(outputs, case.expected(inputs), atol)


def bound(case: Case, inputs: np.ndarray, dtype: str, inner: str | None = None) -> Any:
    """How far from the formula each number may be.

    Input and sum are rounded to `dtype`, the encoding to `inner` and then to `dtype`.
    """
    encoding = np.abs(case.encoding())
    total = COMPUTED[dtype] + encoding * HALF_UNIT[dtype]
    if inner is not None:
        total = total + COMPUTED[inner] + encoding * HALF_UNIT[inner]
    if not case.adds:
        return np.broadcast_to(total, inputs.shape)
    total = total + np.abs(inputs) * HALF_UNIT[dtype]
    return total + (np.abs(case.expected(inputs)) + total) * HALF_UNIT[dtype]


# One for each way through the code, and of each rank: JAX compiles every operation for
# every shape, and torch takes seconds for a graph.
SEVERAL = [
    BY_NAME[name]
    for name in (
        *("1d", "3d", "permute2d"),
        *("sum-of-2d", "sum-of-permute1d", "sinusoid"),
    )
]
each_of_several = pytest.mark.parametrize("case", SEVERAL, ids=lambda case: case.name)
