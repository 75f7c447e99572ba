"""Layers, and the model of sharded_model, on 2 devices; prints what was found as JSON.

TensorFlow divides a CPU once in a process: tests/test_sharding.py runs it in one of its
own.
"""

from __future__ import annotations

import json
import sys
import warnings
from typing import Any

import numpy as np
import tensorflow as tf

from helpers import sharded_model
from helpers.layer_cases import LAYERS, Case
from helpers.tensors import to_numpy

DEVICES = 2


WAYS = {"eager": lambda run: run, "graph": tf.function}


def found(case: Case, strategy: tf.distribute.Strategy, way: str) -> dict[str, Any]:
    """A layer in each replica, which has one element of the batch, called twice.

    The second eager call finds what the first one has kept.
    """
    layer, x, devices = case.make(), case.inputs(), [""] * DEVICES
    parts = strategy.experimental_distribute_values_from_function(
        lambda context: tf.constant(np.split(x, DEVICES)[number(context)])
    )

    def in_replica(part: Any) -> Any:
        outputs = layer(part)
        # What a graph returns says nothing of where it was made.
        devices[number(tf.distribute.get_replica_context())] = outputs.device
        return outputs

    call = WAYS[way](lambda parts: strategy.run(in_replica, args=(parts,)))
    for _ in range(2):
        outputs = strategy.experimental_local_results(call(parts))
    values = np.concatenate([to_numpy(output) for output in outputs])
    return {
        "devices": [device.rpartition(":")[-1] for device in devices],
        "error": np.abs(values - case.expected(x)).max(),
    }


def number(context: Any) -> int:
    """The number of a replica, in what tells a function where it runs."""
    number = context.replica_id_in_sync_group
    return number if isinstance(number, int) else int(tf.get_static_value(number))


def main() -> None:
    (cpu,) = tf.config.list_physical_devices("CPU")
    parts = [tf.config.LogicalDeviceConfiguration()] * DEVICES
    tf.config.set_logical_device_configuration(cpu, parts)
    warnings.simplefilter("error")
    devices = [device.name for device in tf.config.list_logical_devices("CPU")]
    strategy = tf.distribute.MirroredStrategy(devices)
    layers = {
        f"{case.name}-{way}": found(case, strategy, way)
        for case in LAYERS
        for way in WAYS
    }
    losses = {"one": sharded_model.fitted()}
    with strategy.scope():
        losses["MirroredStrategy"] = sharded_model.fitted()
    facts = {"layers": layers, "losses": losses}
    sys.stdout.write(json.dumps(facts, default=float))


if __name__ == "__main__":
    main()
