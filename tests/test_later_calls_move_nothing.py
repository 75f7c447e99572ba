"""What a call needs on the device, the first one has put there.

`jax.transfer_guard("disallow")` stops every copy that nobody has asked for, as
TPU users set it; `keras.layers.Dense` makes none.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import keras
import numpy as np
import pytest

import keras_posenc as kp
from helpers.run_modes import BACKEND
from helpers.tensors import to_tensor, zeros

pytestmark = pytest.mark.skipif(BACKEND != "jax", reason="JAX has transfer guards.")

CHANNELS = 16
INTS = np.array([3, 1, 4, 1, 5, 9], "int32")


@pytest.fixture
def guard() -> Callable[[], Any]:
    import jax

    return lambda: jax.transfer_guard("disallow")


def _sequence(**options: Any) -> Any:
    return kp.PositionalEncoding1D(CHANNELS, **options)


def _plane(**options: Any) -> Any:
    return kp.PositionalEncoding2D(CHANNELS, **options)


SEQUENCES: dict[str, Callable[[], Any]] = {
    "1d": _sequence,
    "sum": lambda: kp.Summer(_sequence()),
    "sum-of-sum": lambda: kp.Summer(kp.Summer(_sequence())),
    "sinusoid": lambda: kp.SinusoidEncoding(CHANNELS),
    "half": lambda: _sequence(dtype="bfloat16"),
    "mixed": lambda: kp.Summer(_sequence(), dtype="mixed_bfloat16"),
    "scaled": lambda: _sequence(scale=1e-3, offset=0.5),
    "whisper": lambda: kp.PositionalEncoding1D.from_preset("whisper", CHANNELS),
}
PLACES: dict[str, Callable[[int], dict[str, Any]]] = {
    "nothing": lambda i: {},
    "start": lambda i: {"start_index": to_tensor(np.array(i, "int32"))},
    "starts": lambda i: {"start_index": to_tensor(np.array([i, 5], "int32"))},
    "integers": lambda i: {"positions": to_tensor(INTS + i)},
    "reals": lambda i: {"positions": to_tensor((INTS + i / 2).astype("float32"))},
    "for-each": lambda i: {"positions": to_tensor(np.stack([INTS, INTS + i]))},
    "batch-of-one": lambda i: {"positions": to_tensor(INTS[None] + i)},
}


@pytest.mark.parametrize("places", PLACES)
@pytest.mark.parametrize("name", SEQUENCES)
def test_later_calls_of_sequences_move_nothing(name: str, places: str, guard: Any):
    layer = SEQUENCES[name]()
    x = zeros(2, 6, CHANNELS)
    given = [PLACES[places](i) for i in range(4)]
    layer(x, **given[0])
    layer(x, **given[1])
    with guard():
        for each in given[2:]:
            layer(x, **each)


PLANE_PLACES: dict[str, Callable[[int], dict[str, Any]]] = {
    "nothing": lambda i: {},
    "start": lambda i: {
        "start_index": (to_tensor(np.int32(i)), to_tensor(np.int32(2 * i)))
    },
    "positions": lambda i: {"positions": to_tensor(np.ones((2, 3, 2), "int32") * i)},
    "reals": lambda i: {"positions": to_tensor(np.ones((2, 3, 2), "float32") * i)},
}


@pytest.mark.parametrize("places", PLANE_PLACES)
@pytest.mark.parametrize("summed", [False, True])
def test_later_calls_of_planes_move_nothing(summed: bool, places: str, guard: Any):
    layer = kp.Summer(_plane()) if summed else _plane()
    x = zeros(2, 2, 3, CHANNELS)
    given = [PLANE_PLACES[places](i) for i in range(4)]
    layer(x, **given[0])
    layer(x, **given[1])
    with guard():
        for each in given[2:]:
            layer(x, **each)


TOKEN_PLACES: dict[str, Callable[[int], dict[str, Any]]] = {
    "ints": lambda i: {"grid": (2, 3)},
    "tensors": lambda i: {
        "grid": (to_tensor(np.int32([2, 3][i % 2])), to_tensor(np.int32([3, 2][i % 2])))
    },
    "positions": lambda i: {"positions": to_tensor(np.ones((6, 2), "float32") * i)},
}


@pytest.mark.parametrize("places", TOKEN_PLACES)
@pytest.mark.parametrize("prefix", [0, 1])
def test_later_calls_of_tokens_move_nothing(prefix: int, places: str, guard: Any):
    layer = kp.Summer(_plane(prefix_tokens=prefix))
    x = zeros(2, prefix + 6, CHANNELS)
    given = [TOKEN_PLACES[places](i) for i in range(4)]
    layer(x, **given[0])
    layer(x, **given[1])
    with guard():
        for each in given[2:]:
            layer(x, **each)


VALUES: dict[str, Callable[[], Any]] = {
    "values": lambda: kp.CoordinateEncoding(CHANNELS),
    "values-of-a-preset": lambda: kp.CoordinateEncoding.from_preset("ddpm", CHANNELS),
    "encode": lambda: lambda values: kp.encode(values, CHANNELS),
    "encode-half": lambda: lambda values: kp.encode(values, CHANNELS, dtype="bfloat16"),
}


@pytest.mark.parametrize("dtype", ["int32", "float32", "uint8"])
@pytest.mark.parametrize("name", VALUES)
def test_later_calls_with_values_move_nothing(name: str, dtype: str, guard: Any):
    call = VALUES[name]()
    given = [to_tensor((INTS + i).astype(dtype)) for i in range(4)]
    call(given[0])
    call(given[1])
    with guard():
        for each in given[2:]:
            call(each)


@pytest.mark.parametrize("function", [False, True], ids=["values", "encode"])
def test_later_calls_with_points_move_nothing(function: bool, guard: Any):
    layer: Any = kp.CoordinateEncoding(CHANNELS, 2)
    if function:

        def layer(points: Any) -> Any:
            return kp.encode(points, CHANNELS, rank=2)

    given = [to_tensor(np.ones((5, 2), "float32") * i) for i in range(4)]
    layer(given[0])
    layer(given[1])
    with guard():
        for each in given[2:]:
            layer(each)


def test_a_dense_layer_moves_nothing(guard: Any):
    """What all of this is measured against."""
    layer, x = keras.layers.Dense(4), zeros(2, 6, CHANNELS)
    layer(x)
    with guard():
        layer(x)


def test_the_guard_stops_a_copy(guard: Any):
    """A test of an absence: the guard does stop what it should."""
    x = zeros(2, 6, CHANNELS)
    with guard(), pytest.raises(Exception, match="Disallowed host-to-device transfer"):
        x + np.ones(CHANNELS, "float32")
