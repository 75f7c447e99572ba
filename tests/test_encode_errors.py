"""`encode`: what is no position, and what is no argument, is refused."""

from __future__ import annotations

import fractions
import re
from typing import Any

import keras
import numpy as np
import pytest

import keras_posenc as kp
from helpers.run_modes import BACKEND
from helpers.tensors import to_tensor

BAD_POSITIONS: dict[str, tuple[Any, str]] = {
    "boolean": (True, "bool"),
    "list-of-booleans": ([True, False], "bool"),
    "complex": (1j, "complex128"),
    "string": ("1", "<U1"),
    "list-of-strings": (["1", "22"], "<U2"),
    "bytes": (b"1", r"\|S1"),
    "list-with-none": ([1, None], "object"),
    "mapping": ({"a": 1}, "object"),
    "fraction": (fractions.Fraction(1, 2), "object"),
    "large-integer": (2**64, "object"),
    "object-array": (np.array([1, 2], object), "object"),
    "date": (np.datetime64("2024-01-01"), r"datetime64\[D\]"),
    "duration": (np.array([1, 2], "timedelta64[s]"), r"timedelta64\[s\]"),
}


@pytest.mark.parametrize("name", BAD_POSITIONS)
def test_positions_that_are_no_numbers_are_refused(name: str):
    positions, dtype = BAD_POSITIONS[name]
    with pytest.raises(
        TypeError,
        match=r"^`positions` must be integers or real numbers\. "
        rf"Received: positions of dtype {dtype}$",
    ):
        kp.encode(positions, 8)


def test_no_positions_are_refused():
    message = (
        r"^`positions` must be integers or real numbers\. Received: positions=None$"
    )
    with pytest.raises(TypeError, match=message):
        kp.encode(None, 8)


@pytest.mark.parametrize("dtype", ["bool", "complex64"])
def test_tensors_that_are_no_numbers_are_refused(dtype: str):
    positions = to_tensor(np.zeros(3, dtype))
    with pytest.raises(
        TypeError, match=rf"^`positions` must be .* of dtype .*{dtype}.*$"
    ):
        kp.encode(positions, 8)


def test_inputs_of_a_model_that_are_no_numbers_are_refused():
    with pytest.raises(TypeError, match=r"^`positions` must be .* of dtype bool$"):
        kp.encode(keras.Input((3,), dtype="bool"), 8)


WRONG_SHAPES = {
    "number": (3, 2, "()"),
    "list": ([1.0, 2.0, 3.0], 2, "(3,)"),
    "rows": ([[1, 2, 3]], 2, "(1, 3)"),
    "empty": ([], 2, "(0,)"),
    "column": (np.zeros((4, 1)), 3, "(4, 1)"),
}


@pytest.mark.parametrize("tensor", [False, True], ids=["array", "tensor"])
@pytest.mark.parametrize("name", WRONG_SHAPES)
def test_positions_of_another_rank_are_refused(name: str, tensor: bool):
    positions, rank, shape = WRONG_SHAPES[name]
    if tensor:
        positions = to_tensor(np.asarray(positions, "float32"))
    message = (
        rf"^`positions` must have shape \(\.\.\., {rank}\), with a coordinate on each "
        rf"of the rank={rank} axes\. Received: positions of shape {re.escape(shape)}$"
    )
    with pytest.raises(ValueError, match=message):
        kp.encode(positions, 8, rank=rank)


def test_inputs_of_a_model_with_an_unknown_number_of_coordinates_are_refused():
    message = r"^`positions` must have shape .* of shape \(None, None, None\)$"
    with pytest.raises(ValueError, match=message):
        kp.encode(keras.Input((None, None)), 8, rank=2)


def test_a_ragged_list_is_refused():
    with pytest.raises(ValueError, match=r"^`positions` must .* Received: positions="):
        kp.encode([[1, 2], [3]], 8)


BAD_INTEGERS = [(0, ValueError), (-1, ValueError), (2.5, TypeError), (True, TypeError)]


@pytest.mark.parametrize(("value", "error"), BAD_INTEGERS, ids=repr)
@pytest.mark.parametrize("argument", ["channels", "rank"])
def test_bad_channels_and_ranks_are_refused(
    argument: str, value: Any, error: type[Exception]
):
    arguments = {"channels": 8, "rank": 1, argument: value}
    message = (
        rf"^`{argument}` must be a positive integer\. Received: {argument}={value}$"
    )
    with pytest.raises(error, match=message):
        kp.encode([1, 2], **arguments)


def test_channels_none_is_refused():
    message = r"^`channels` must be a positive integer\. Received: channels=None$"
    with pytest.raises(TypeError, match=message):
        kp.encode([1, 2], None)


@pytest.mark.parametrize("name", ["max_wave_length", "dtype_override", "data_format"])
def test_an_unknown_option_is_refused(name: str):
    with pytest.raises(
        ValueError,
        match=rf"^Unrecognized options\. Expected: max_wavelength.*\. "
        rf"Received: {{'{name}': 1}}$",
    ):
        kp.encode([1, 2], 8, **{name: 1})


def test_a_bad_max_wavelength_is_refused():
    with pytest.raises(ValueError, match=r"`max_wavelength` .* for each of the 2 axes"):
        kp.encode([[1, 2]], 8, rank=2, max_wavelength=[1.0, 2.0, 3.0])


def test_a_dtype_that_is_no_float_is_refused():
    with pytest.raises(ValueError, match=r"^`dtype` must be a floating-point dtype"):
        kp.encode([1, 2], 8, dtype="int32")


@pytest.mark.parametrize("rest", [(2,), (1, "float32")], ids=str)
def test_rank_and_dtype_are_keyword_only(rest: tuple[Any, ...]):
    with pytest.raises(TypeError, match="positional argument"):
        kp.encode([[1, 2]], 8, *rest)


def sparse_positions() -> Any:
    if BACKEND == "tensorflow":
        import tensorflow as tf

        return tf.sparse.from_dense([[1.0, 0.0]])
    if BACKEND == "torch":
        import torch

        return torch.tensor([[1.0, 0.0]]).to_sparse()
    import jax.numpy as jnp
    from jax.experimental import sparse

    return sparse.BCOO.fromdense(jnp.array([[1.0, 0.0]]))


def test_sparse_positions_are_refused():
    with pytest.raises(ValueError, match=r"^`positions` must be .*dense"):
        kp.encode(sparse_positions(), 8)


if BACKEND == "tensorflow":

    def test_ragged_positions_are_refused():
        import tensorflow as tf

        with pytest.raises(ValueError, match=r"^`positions` must be .*dense"):
            kp.encode(tf.ragged.constant([[1.0, 2.0], [3.0]]), 8)

    def test_a_tensor_of_strings_is_refused():
        import tensorflow as tf

        with pytest.raises(TypeError, match=r"^`positions` must be integers or real"):
            kp.encode(tf.constant(["1"]), 8)
