"""Casts and autocast of torch change no encoding."""

from __future__ import annotations

from typing import Any

import keras
import numpy as np
import pytest

import keras_posenc as kp
from helpers import reference
from helpers.layer_cases import LAYERS, Case, bound, each_layer, each_summer
from helpers.run_modes import BACKEND, with_known_sizes, with_unknown_sizes
from helpers.tensors import to_numpy, to_tensor
from helpers.tolerances import assert_within

if BACKEND == "torch":
    import torch

    CASTS = {
        "to": lambda model: model.to(torch.bfloat16),
        "half": lambda model: model.half(),
        "bfloat16": lambda model: model.bfloat16(),
        "double": lambda model: model.double(),
    }

    @each_layer
    @pytest.mark.parametrize("cast", CASTS)
    @pytest.mark.parametrize("called", [False, True], ids=["new", "called"])
    def test_a_cast_of_a_torch_model_changes_no_layer(
        case: Case, cast: str, called: bool
    ):
        """Nothing of the layers can be cast: neither their numbers nor their dtype."""
        model = torch.nn.Sequential(case.make())
        x = to_tensor(case.inputs())
        if called:
            model(x)
        CASTS[cast](model)
        outputs = model(x)
        assert outputs.dtype == torch.float32
        expected = case.expected(case.inputs())
        assert_within(outputs, expected, bound(case, case.inputs(), "float32"))
        assert list(model.state_dict()) == []

    @pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float64])
    @each_summer
    def test_inputs_of_a_model_that_was_cast_are_added_in_float32(
        case: Case, dtype: torch.dtype
    ):
        model = torch.nn.Sequential(case.make()).to(dtype)
        x = to_tensor(case.inputs()).to(dtype)
        outputs = model(x)
        assert outputs.dtype == torch.float32
        given = to_numpy(x)
        assert_within(outputs, case.expected(given), bound(case, given, "float32"))

    def test_a_keras_model_that_was_cast_keeps_its_encoding():
        inputs = keras.Input((6, 16))
        dense = keras.layers.Dense(16, name="dense")
        summer = kp.Summer(kp.PositionalEncoding1D(16))
        model = keras.Model(inputs, [dense(inputs), summer(inputs)])
        model.to(torch.bfloat16)
        assert {weight.dtype for weight in model.parameters()} == {torch.bfloat16}
        _, outputs = model(torch.zeros(1, 6, 16))
        table = reference.encode_1d(6, 16)
        np.testing.assert_allclose(to_numpy(outputs)[0], table, rtol=0, atol=2e-7)

    # What torch casts by itself are products of matrices and the like, before a layer
    # and in it: the latter has none.
    @pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16], ids=str)
    @pytest.mark.parametrize("mode", ["eager", "dynamo", "unknown"])
    @pytest.mark.parametrize("name", ["1d", "sum-of-permute2d"])
    def test_autocast_leaves_layers_as_they_are(
        name: str, mode: str, dtype: torch.dtype
    ):
        case = next(case for case in LAYERS if case.name == name)
        layer, last = case.make(), case.shape[-1]
        linear = torch.nn.Linear(last, last)
        layer(to_tensor(case.inputs()))  # torch cannot build a layer in a graph

        def function(x: Any) -> Any:
            product = linear(x)
            return product, layer(product)

        graph = (
            with_unknown_sizes(function, "dynamo", ())
            if mode == "unknown"
            else with_known_sizes(function, mode)
        )
        with torch.autocast("cpu", dtype):
            product, outputs = graph(to_tensor(case.inputs()))
        assert product.dtype == dtype
        assert outputs.dtype == torch.float32
        given = to_numpy(product.detach())
        bounds = bound(case, given, "float32")
        assert_within(outputs.detach(), case.expected(given), bounds)

    def test_gradients_under_autocast_are_one():
        layer = kp.Summer(kp.PositionalEncoding1D(16))
        x = torch.randn(2, 6, 16, requires_grad=True)
        with torch.autocast("cpu", torch.bfloat16):
            layer(x).sum().backward()
        assert x.grad is not None
        assert (x.grad == 1).all()
