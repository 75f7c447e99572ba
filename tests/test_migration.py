"""What people write with `positional-encodings`, after changing one word of it."""

from __future__ import annotations

import numpy as np
import pytest

import keras_posenc
from helpers import reference
from helpers.run_modes import BACKEND
from helpers.tensors import dtype_of, to_numpy, to_tensor
from helpers.tolerances import ROUNDING
from keras_posenc import tf_encodings, torch_encodings

TORCH_NAMES = [
    f"PositionalEncoding{permute}{rank}D"
    for permute in ("", "Permute")
    for rank in (1, 2, 3)
]


@pytest.mark.parametrize("name", TORCH_NAMES)
def test_aliases_are_the_same_classes(name: str):
    cls = getattr(keras_posenc, name)
    assert getattr(torch_encodings, name) is cls
    assert getattr(tf_encodings, f"TF{name}") is cls
    assert getattr(keras_posenc, f"TF{name}") is cls


def test_summer_aliases():
    assert torch_encodings.Summer is keras_posenc.Summer
    assert tf_encodings.TFSummer is keras_posenc.TFSummer is keras_posenc.Summer


EXAMPLES = {
    "1d": (lambda: torch_encodings.PositionalEncoding1D(10), (1, 6, 10)),
    "2d": (lambda: torch_encodings.PositionalEncoding2D(8), (1, 6, 2, 8)),
    "3d": (lambda: torch_encodings.PositionalEncoding3D(11), (1, 5, 6, 4, 11)),
    "tf": (lambda: tf_encodings.TFPositionalEncoding2D(170), (1, 8, 6, 2)),
}


@pytest.mark.parametrize("name", EXAMPLES)
def test_readme_examples(name: str):
    make, shape = EXAMPLES[name]
    layer = make()
    outputs = layer(to_tensor(np.zeros(shape, "float32")))
    table = reference.encode(shape[1:-1], layer.org_channels)[..., : shape[-1]]
    assert tuple(outputs.shape) == shape
    np.testing.assert_allclose(
        to_numpy(outputs)[0], table, rtol=0, atol=ROUNDING["float32"]
    )


def test_readme_permute_example():
    layer = torch_encodings.PositionalEncodingPermute3D(11)
    outputs = layer(to_tensor(np.zeros((1, 11, 5, 6, 4), "float32")))
    table = np.moveaxis(reference.encode_3d(5, 6, 4, 11), -1, 0)
    assert tuple(outputs.shape) == (1, 11, 5, 6, 4)
    np.testing.assert_allclose(
        to_numpy(outputs)[0], table, rtol=0, atol=ROUNDING["float32"]
    )


def test_readme_sum_is_exactly_the_sum():
    x = to_tensor(np.random.default_rng(0).random((1, 6, 10), "float32"))
    encoding = torch_encodings.PositionalEncoding1D(10)(x)
    total = torch_encodings.Summer(torch_encodings.PositionalEncoding1D(10))(x)
    np.testing.assert_array_equal(to_numpy(encoding + x), to_numpy(total))


def test_readme_sum_minus_the_encoding():
    encoding = tf_encodings.TFPositionalEncoding2D(170)
    summer = tf_encodings.TFSummer(tf_encodings.TFPositionalEncoding2D(170))
    y = to_tensor(np.ones((1, 8, 6, 2), "float32"))
    # One rounding of a sum below 2.
    np.testing.assert_allclose(to_numpy(summer(y) - encoding(y)), 1, rtol=0, atol=2e-7)


@pytest.mark.parametrize("name", [*TORCH_NAMES, "TFPositionalEncoding2D"])
def test_org_channels_and_penc(name: str):
    layer = getattr(keras_posenc, name)(11)
    assert layer.org_channels == layer.channels == 11
    assert keras_posenc.Summer(layer).penc is layer


LAYERS = {
    "1d": lambda: keras_posenc.PositionalEncoding1D(10),
    "sum-of-1d": lambda: keras_posenc.Summer(keras_posenc.PositionalEncoding1D(10)),
    "sinusoid": lambda: keras_posenc.SinusoidEncoding(10),
}


@pytest.mark.parametrize("name", LAYERS)
def test_backend_tensors_in_give_backend_tensors_out(name: str):
    x = to_tensor(np.zeros((1, 6, 10), "float32"))
    assert type(LAYERS[name]()(x)) is type(x)


@pytest.mark.parametrize("module", [torch_encodings, tf_encodings])
def test_get_emb_interleaves(module):
    angles = to_tensor(np.array([[0.0, 1.0]], "float32"))
    expected = [[0.0, 1.0, np.sin(1), np.cos(1)]]
    # The backend's own sine, right to a unit of the last place.
    np.testing.assert_allclose(
        to_numpy(module.get_emb(angles)), expected, rtol=0, atol=2.0**-23
    )


if BACKEND == "torch":

    def test_dtype_override_as_in_the_head_of_positional_encodings():
        import torch

        layer = torch_encodings.PositionalEncodingPermute1D(
            6, dtype_override=torch.float64
        )
        x = torch.zeros((1, 6, 10), dtype=torch.int64)
        assert layer(x).dtype == torch.float64

    @pytest.mark.parametrize("make", [make for make, _ in EXAMPLES.values()])
    def test_the_encoding_is_on_the_device_of_its_input(make):
        """The one device that every machine has beside the processor is "meta"."""
        import torch

        layer = make()
        x = torch.zeros((1, *(3,) * layer.rank, 4), device="meta")
        assert layer(x).device == x.device
        assert keras_posenc.Summer(layer)(x).device == x.device
        assert layer(torch.zeros(x.shape)).device.type == "cpu"

    def test_layers_are_torch_modules():
        import torch

        model = torch.nn.Sequential(
            torch.nn.Linear(8, 8),
            torch_encodings.Summer(torch_encodings.PositionalEncoding1D(8)),
        )
        model(torch.zeros(1, 3, 8)).sum().backward()
        assert model[0].weight.grad is not None
        assert set(model.state_dict()) == {"0.weight", "0.bias"}

    def test_a_half_precision_torch_model_passes_dtype():
        import torch

        x = torch.zeros((1, 3, 8), dtype=torch.float16)
        assert dtype_of(torch_encodings.PositionalEncoding1D(8)(x)) == "float32"
        layer = torch_encodings.PositionalEncoding1D(8, dtype=torch.float16)
        assert dtype_of(layer(x)) == "float16"
