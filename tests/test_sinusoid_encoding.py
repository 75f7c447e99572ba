"""`SinusoidEncoding`: its two arguments, and the longest input that it takes."""

from __future__ import annotations

from typing import Any

import keras
import numpy as np
import pytest

import keras_posenc as kp
from helpers.position_cases import BATCH, CHANNELS, LENGTH, counted_from
from helpers.tensors import scalar, to_numpy, zeros
from helpers.tolerances import assert_close


def test_too_long_inputs_are_refused_inside_time_distributed():
    layer = keras.layers.TimeDistributed(kp.SinusoidEncoding(8, max_len=6))
    layer(np.zeros((2, 3, 5, 8), "float32"))
    with pytest.raises(ValueError, match="at most max_len=6 positions, found 9"):
        layer(np.zeros((2, 3, 9, 8), "float32"))
    with pytest.raises(ValueError, match="hidden_dim=8"):
        layer(np.zeros((2, 3, 5, 6), "float32"))


SINUSOID_ERRORS = {
    "too-long": ((1, 51, 8), r"at most max_len=50 positions, found 51\."),
    "other-channels": ((1, 5, 10), r"\(batch, length, hidden_dim=8\)\. .*\(1, 5, 10\)"),
}


@pytest.mark.parametrize("name", SINUSOID_ERRORS)
def test_sinusoid_encoding_refuses_other_shapes(name: str):
    shape, message = SINUSOID_ERRORS[name]
    with pytest.raises(ValueError, match=message):
        kp.SinusoidEncoding(8, 50)(np.zeros(shape, "float32"))


@pytest.mark.parametrize("name", SINUSOID_ERRORS)
def test_sinusoid_encoding_refuses_other_shapes_in_a_model(name: str):
    shape, message = SINUSOID_ERRORS[name]
    with pytest.raises(ValueError, match=message.replace(r"\(1, 5", r"\(None, 5")):
        kp.SinusoidEncoding(8, 50)(keras.Input(shape[1:]))


def test_sinusoid_encoding_takes_its_longest():
    assert tuple(kp.SinusoidEncoding(8, 50)(np.zeros((1, 50, 8))).shape) == (1, 50, 8)


@pytest.mark.parametrize("start", [14, -3])
def test_sinusoid_encoding_takes_starts_up_to_max_len(start: int):
    layer = kp.SinusoidEncoding(CHANNELS, max_len=20)
    outputs = layer(zeros(BATCH, LENGTH, CHANNELS), start_index=start)
    assert_close(outputs, counted_from(start))


BEYOND: dict[str, Any] = {
    "int": 15,
    "NumPy-int": np.int64(15),
    "list": [15, 0, 0],
    "array": np.array([15, -3, 2]),
}


@pytest.mark.parametrize("built", [False, True], ids=["first-call", "later-call"])
@pytest.mark.parametrize("kind", BEYOND)
def test_sinusoid_encoding_refuses_starts_beyond_max_len(kind: str, built: bool):
    layer = kp.SinusoidEncoding(CHANNELS, max_len=20)
    if built:
        layer(zeros(BATCH, LENGTH, CHANNELS))
    with pytest.raises(ValueError, match=r"found 6 from start_index=\D*15.* on"):
        layer(zeros(BATCH, LENGTH, CHANNELS), start_index=BEYOND[kind])


def test_sinusoid_encoding_takes_any_start_that_only_the_graph_knows():
    layer = kp.SinusoidEncoding(CHANNELS, max_len=20)
    outputs = layer(zeros(BATCH, LENGTH, CHANNELS), start_index=scalar(1000))
    assert_close(outputs, counted_from(1000))


SINUSOID_ROWS = [
    [0, 1, 0, 1, 0, 1, 0, 1],
    [0.84147, 0.54030, 0.099833, 0.99500, 0.0099998, 0.99995, 0.001, 1.0],
    [0.90930, -0.41615, 0.19867, 0.98007, 0.019999, 0.99980, 0.002, 1.0],
]


@pytest.mark.parametrize("batch", [1, 2])
def test_sinusoid_encoding_rows_of_the_notebooks(batch: int):
    outputs = kp.SinusoidEncoding(8)(np.zeros((batch, 3, 8), "float32"))
    expected = np.broadcast_to(SINUSOID_ROWS, (batch, 3, 8))
    # The rows of the notebooks are written with five digits.
    np.testing.assert_allclose(to_numpy(outputs), expected, rtol=0, atol=1e-5)
