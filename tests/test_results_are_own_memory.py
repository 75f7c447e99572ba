"""What a call returns is the caller's to change: no later call sees it."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from helpers.layer_cases import Case, assert_right, each_of_several
from helpers.run_modes import BACKEND
from helpers.tensors import to_numpy, to_tensor

pytestmark = pytest.mark.usefixtures("empty_cache")


def changed_by_torch(outputs: Any) -> None:
    outputs += 1


def changed_by_torch_through_numpy(outputs: Any) -> None:
    outputs.numpy()[...] = 7


def donated_by_jax(outputs: Any) -> None:
    import jax

    jax.jit(lambda x: x + 1, donate_argnums=0)(outputs)
    assert outputs.is_deleted()


def deleted_by_jax(outputs: Any) -> None:
    outputs.delete()


def changed_through_dlpack(outputs: Any) -> None:
    array = np.from_dlpack(Exported(outputs))
    # NumPy takes it for read-only; others that share the memory would not.
    ctypes.memset(array.ctypes.data, 0x40, array.nbytes)
    assert to_numpy(outputs).min() > 3


class Exported:
    """A TensorFlow tensor for whoever takes what dlpack gives."""

    def __init__(self, tensor: Any):
        self.tensor = tensor

    def __dlpack__(self, **_: Any) -> Any:
        import tensorflow as tf

        return tf.experimental.dlpack.to_dlpack(self.tensor)

    def __dlpack_device__(self) -> tuple[int, int]:
        return 1, 0  # a CPU, the first


CHANGES = {
    "jax": [donated_by_jax, deleted_by_jax],
    "tensorflow": [changed_through_dlpack],
    "torch": [changed_by_torch, changed_by_torch_through_numpy],
}[BACKEND]


@each_of_several
@pytest.mark.parametrize("batch", [1, 2])
@pytest.mark.parametrize("change", CHANGES, ids=lambda change: change.__name__)
def test_changing_a_result_changes_no_later_one(
    case: Case, batch: int, change: Callable[[Any], None]
):
    layer, x = case.make(), case.inputs()[:batch]
    change(layer(to_tensor(x)))
    # The second call finds what the first has made, and its own is changed as well.
    change(layer(to_tensor(x)))
    assert_right(layer(to_tensor(x)), case, x)


if BACKEND == "torch":

    @each_of_several
    @pytest.mark.parametrize("batch", [1, 2])
    def test_a_result_is_an_ordinary_tensor(case: Case, batch: int):
        outputs = case.make()(to_tensor(case.inputs()[:batch]))
        outputs.view(-1)  # which only what is contiguous has
        assert not outputs.requires_grad
