"""Hooks that torch has for all modules see the layers of this package as well."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import keras
import pytest

import keras_posenc as kp
from helpers.layer_cases import Case, each_layer
from helpers.run_modes import BACKEND
from helpers.tensors import zeros

if BACKEND != "torch":
    pytest.skip("torch has hooks.", allow_module_level=True)

import torch
from torch.nn.modules import module

REGISTER: dict[str, Callable[..., Any]] = {
    "forward": module.register_module_forward_hook,
    "forward-pre": module.register_module_forward_pre_hook,
}
BACKWARD: dict[str, Callable[..., Any]] = {
    "backward": module.register_module_full_backward_hook,
    "backward-pre": module.register_module_full_backward_pre_hook,
}


@pytest.mark.parametrize("kind", REGISTER)
@each_layer
def test_a_hook_of_all_modules_runs(case: Case, kind: str):
    layer, x, seen = case.make(), zeros(*case.shape), []
    layer(x)
    handle = REGISTER[kind](lambda module, *rest: seen.append(module))
    try:
        layer(x)
    finally:
        handle.remove()
    assert layer in seen
    assert seen.count(layer) == 1
    before = len(seen)
    layer(x)
    assert len(seen) == before


@pytest.mark.parametrize("kind", REGISTER)
def test_a_hook_of_all_modules_sees_the_layer_inside_a_sum(kind: str):
    layer, x, seen = kp.Summer(kp.PositionalEncoding1D(8)), zeros(2, 4, 8), []
    layer(x)
    handle = REGISTER[kind](lambda module, *rest: seen.append(module))
    try:
        layer(x)
    finally:
        handle.remove()
    assert {layer, layer.penc} <= set(seen)


@pytest.mark.parametrize("kind", BACKWARD)
@pytest.mark.parametrize("name", ["sum", "sinusoid"])
def test_a_hook_of_all_backward_passes_runs(name: str, kind: str):
    layer: keras.layers.Layer = (
        kp.Summer(kp.PositionalEncoding1D(8))
        if name == "sum"
        else kp.SinusoidEncoding(8)
    )
    x, seen = torch.ones(2, 4, 8, requires_grad=True), []
    layer(x)
    handle = BACKWARD[kind](lambda module, *rest: seen.append(module))
    try:
        layer(x).sum().backward()
    finally:
        handle.remove()
    assert layer in seen


@pytest.mark.parametrize("places", ["values", "start", "positions"])
@pytest.mark.parametrize("kind", REGISTER)
def test_a_hook_of_all_modules_runs_beside_places(kind: str, places: str):
    layer: Any = kp.PositionalEncoding1D(8)
    call: Any = {
        "start": lambda: layer(zeros(1, 4, 8), start_index=3),
        "positions": lambda: layer(zeros(1, 4, 8), positions=torch.arange(4)),
        "values": lambda: layer(torch.arange(4)),
    }[places]
    layer = kp.CoordinateEncoding(8) if places == "values" else layer
    call()
    seen: list[Any] = []
    handle = REGISTER[kind](lambda module, *rest: seen.append(module))
    try:
        call()
    finally:
        handle.remove()
    assert seen == [layer]


def test_a_forward_hook_may_replace_the_result():
    layer, x = kp.PositionalEncoding1D(8), zeros(2, 4, 8)
    layer(x)
    handle = module.register_module_forward_hook(
        lambda module, args, output: output * 0 if module is layer else None
    )
    try:
        assert not layer(x).any()
    finally:
        handle.remove()
    assert layer(x).any()


@pytest.mark.parametrize("kind", ["forward", "forward-pre"])
def test_a_hook_of_one_layer_runs(kind: str):
    layer, x, seen = kp.PositionalEncoding1D(8), zeros(2, 4, 8), []
    layer(x)
    register = (
        layer.register_forward_hook
        if kind == "forward"
        else layer.register_forward_pre_hook
    )
    handle = register(lambda *args: seen.append(1))
    layer(x)
    handle.remove()
    assert seen == [1]
