"""Every layer, with an input that suits it, for the checks that all of them pass."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import keras
import numpy as np
import pytest
from keras import ops

import keras_posenc as kp
from helpers import reference


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


def to_numpy(x: Any) -> np.ndarray:
    """A tensor of any dtype as float64: every float dtype fits in it exactly."""
    if keras.backend.standardize_dtype(x.dtype) == "bfloat16":
        x = ops.cast(x, "float32")
    return ops.convert_to_numpy(x).astype("float64")


def dtype_of(x: Any) -> str:
    return keras.backend.standardize_dtype(x.dtype)


def to_tensor(values: np.ndarray, dtype: str | None = None) -> Any:
    return ops.convert_to_tensor(values, dtype=dtype)


# Half a unit of the last place near 1, and the rounding of float32 that comes first.
ROUNDING = {
    "float16": 2.0**-12 + 2e-7,
    "bfloat16": 2.0**-9 + 2e-7,
    "float32": 2.0**-25 + 1e-11,  # float64 angles up to 10,000 are right to 2e-12
    "float64": 1e-12,  # and those up to 2,000 to this
}
# One rounding of a float32 sum below 16, beside that of the encoding in it.
SUM_ROUNDING = 2.0**-21 + ROUNDING["float32"]
# What a graph computes from tables of float32, or counts where only it knows a length:
# the largest error measured below 2^24 was 1.5e-7 (tests/test_exactness.py).
COUNTING = 2e-7
