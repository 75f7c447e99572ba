"""Layers of tensors that 8 devices have parts of; prints what was found as JSON.

It needs `XLA_FLAGS=--xla_force_host_platform_device_count=8`, which JAX reads once in a
process: tests/test_sharding.py runs it in one of its own.
"""

from __future__ import annotations

import gc
import json
import math
import re
import sys
import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import jax
import numpy as np
from keras import distribution

import keras_posenc as kp
from helpers import sharded_model
from helpers.layer_cases import BY_NAME, Case
from helpers.tensors import to_numpy

Function = Callable[[Any], Any]

ENCODERS = ["1d", "2d", "3d", "permute1d", "permute2d", "permute3d"]
SUMMERS = [
    "sum-of-1d",
    "sum-of-2d",
    "sum-of-3d",
    "sum-of-permute1d",
    "sum-of-permute2d",
    "sum-of-permute3d",
    "sinusoid",
]


def divisible(case: Case) -> Case:
    """The case with a batch and a first axis that 8 devices can share."""
    shape = list(case.shape)
    shape[0], shape[length_dim(case)] = 8, 16
    return replace(case, shape=tuple(shape))


def length_dim(case: Case) -> int:
    return 2 if case.channel_dim == 1 else 1


# 16 positions have one table in a graph. These have four, which need not divide evenly
# among 8 devices.
LONG = [
    Case("1d-long", lambda: kp.PositionalEncoding1D(16), (8, 40_000, 16)),
    Case(
        "sum-of-1d-long",
        lambda: kp.Summer(kp.PositionalEncoding1D(16)),
        (8, 40_000, 16),
        adds=True,
    ),
]
CASES = [divisible(BY_NAME[name]) for name in ENCODERS + SUMMERS] + LONG


@dataclass(frozen=True)
class Spread:
    """A way to divide a tensor: which axes of a mesh of devices go along what."""

    mesh: distribution.DeviceMesh
    batch: str | None = None
    length: str | None = None

    def tensor(self, case: Case) -> Any:
        axes: list[str | None] = [None] * len(case.shape)
        axes[0], axes[length_dim(case)] = self.batch, self.length
        layout = distribution.TensorLayout(axes, self.mesh)
        return distribution.distribute_tensor(case.inputs(), layout)


SPREADS = {
    "batch": lambda: Spread(mesh(data=8), batch="data"),
    "length": lambda: Spread(mesh(model=8), length="model"),
    "both": lambda: Spread(mesh(data=2, model=4), batch="data", length="model"),
}


def mesh(**sizes: int) -> distribution.DeviceMesh:
    return distribution.DeviceMesh(tuple(sizes.values()), list(sizes))


def in_eager_calls(function: Function, x: Any) -> tuple[Any, dict[str, Any]]:
    gc.collect()
    before = {id(array) for array in jax.live_arrays()}
    outputs = function(x)
    kept = [
        max(part.data.size for part in array.addressable_shards)
        for array in jax.live_arrays()
        if id(array) not in before and array is not outputs
    ]
    return outputs, {"largest_kept": max(kept, default=0)}


def in_a_graph(function: Function, x: Any) -> tuple[Any, dict[str, Any]]:
    compiled = jax.jit(function).lower(x).compile()
    exchanges = re.findall(
        r"\b(all-[a-z]+|reduce-scatter|collective-[a-z]+|ragged-[a-z-]+)\(",
        compiled.as_text(),
    )
    return compiled(x), {
        "exchanges": sorted(set(exchanges)),
        "temporary": compiled.memory_analysis().temp_size_in_bytes,
    }


WAYS = {"eager": in_eager_calls, "jit": in_a_graph}


def found(case: Case, function: Function, spread: Spread, way: str) -> dict[str, Any]:
    x = spread.tensor(case)
    outputs, facts = WAYS[way](function, x)
    (part,) = {shard.data.shape for shard in x.addressable_shards}
    return {
        "alike": outputs.sharding.is_equivalent_to(x.sharding, x.ndim),
        "parts": [shard.data.shape for shard in outputs.addressable_shards],
        "part": part,
        "part_of_one_element": math.prod(part[1:]),
        "error": np.abs(to_numpy(outputs) - case.expected(case.inputs())).max(),
        **facts,
    }


def gathering(spread: Spread) -> Function:
    """What must not happen, but would be seen: each device gets all of the tensor."""
    kept = []

    def function(x: Any) -> Any:
        layout = distribution.TensorLayout([None] * x.ndim, spread.mesh)
        kept.append(distribution.distribute_tensor(x, layout))
        return kept[-1] + 1

    return function


def model_parallel() -> distribution.ModelParallel:
    layouts = distribution.LayoutMap(mesh(data=2, model=4))
    layouts[".*hidden.*kernel"] = (None, "model")
    layouts[".*hidden.*bias"] = ("model",)
    # The length of what our layers return is divided, too.
    layouts[".*summer/output"] = ("data", "model", None)
    layouts[".*encoding/output"] = ("data", "model", None)
    return distribution.ModelParallel(layout_map=layouts, batch_dim_name="data")


def fitted_on(spread: distribution.Distribution | None) -> list[float]:
    if spread is None:
        return sharded_model.fitted()
    with spread.scope():
        return sharded_model.fitted()


def main() -> None:
    warnings.simplefilter("error")
    layers, gathered = {}, {}
    for name, make in SPREADS.items():
        spread = make()
        for way in WAYS:
            for case in CASES:
                facts = found(case, case.make(), spread, way)
                layers[f"{case.name}-{name}-{way}"] = facts
            facts = found(CASES[0], gathering(spread), spread, way)
            gathered[f"{name}-{way}"] = facts
    losses = {
        "one": fitted_on(None),
        "DataParallel": fitted_on(distribution.DataParallel()),
        "ModelParallel": fitted_on(model_parallel()),
    }
    facts = {"layers": layers, "gathered": gathered, "losses": losses}
    sys.stdout.write(json.dumps(facts, default=float))


if __name__ == "__main__":
    main()
