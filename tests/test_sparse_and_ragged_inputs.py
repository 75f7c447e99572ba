"""Sparse and ragged tensors are refused, and the error says what to do."""

from __future__ import annotations

from typing import Any

import keras
import numpy as np
import pytest

from helpers.layer_cases import Case, each_layer, each_of_several
from helpers.run_modes import BACKEND


def sparse_tensor(shape: tuple[int, ...]) -> Any:
    if BACKEND == "tensorflow":
        import tensorflow as tf

        return tf.sparse.from_dense(np.ones(shape, "float32"))
    if BACKEND == "torch":
        import torch

        return torch.ones(shape).to_sparse()
    from jax.experimental import sparse

    return sparse.BCOO.fromdense(np.ones(shape, "float32"))


def ragged_tensor(shape: tuple[int, ...]) -> Any:
    """A tensor whose rows differ in length, as the backend has it."""
    rows = [np.ones(shape[1:], "float32"), np.ones((1, *shape[2:]), "float32")]
    if BACKEND == "tensorflow":
        import tensorflow as tf

        return tf.ragged.stack(rows)
    import torch

    return torch.nested.nested_tensor([torch.tensor(row) for row in rows])


DENSIFY = r"^\w+ expects a dense tensor; make sparse and ragged tensors dense first\. "


@each_of_several
def test_sparse_tensors_are_refused(case: Case):
    with pytest.raises(ValueError, match=DENSIFY):
        case.make()(sparse_tensor(case.shape))


if BACKEND != "jax":  # which has no ragged tensors
    # torch says so of every tensor of a kind that it may still change.
    @pytest.mark.filterwarnings("ignore:The PyTorch API of nested tensors:UserWarning")
    @each_layer
    def test_ragged_tensors_are_refused(case: Case):
        with pytest.raises(ValueError, match=DENSIFY):
            case.make()(ragged_tensor(case.shape))


if BACKEND != "torch":  # on which Keras has no sparse inputs

    @each_layer
    def test_sparse_inputs_of_a_model_are_refused(case: Case):
        with pytest.raises(ValueError, match=DENSIFY):
            case.make()(keras.Input(case.shape[1:], sparse=True))


if BACKEND == "tensorflow":  # the only one on which Keras has ragged inputs

    @each_layer
    def test_ragged_inputs_of_a_model_are_refused(case: Case):
        with pytest.raises(ValueError, match=DENSIFY):
            case.make()(keras.Input((None, *case.shape[2:]), ragged=True))
