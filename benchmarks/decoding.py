"""What a decoded token costs: one element, another start at each call, eager.

Nothing can be stored for a start that was never met before. So the encoding is made in
each call: on the host where the start is a number, by the device where it is a tensor.
The stored table, from which a Keras layer takes one row, is beside it. The last two are
a few values, such as the timesteps of a diffusion model.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import candidates as c
import keras
import numpy as np
import report
from keras import ops
from measure import BACKEND, measure

import keras_posenc as kp

CHANNELS, LONGEST = 512, 4096
# Milliseconds, on two cores of a CPU.
INT, NONE = 0.15, 0.06
TENSOR = {"torch": 0.3, "jax": 0.5, "tensorflow": 1.5}[BACKEND]


class StoredRow(keras.layers.Layer):
    """Adds the row of a table that lies on the device already."""

    def __init__(self) -> None:
        super().__init__()
        rows = kp.sinusoidal_table(LONGEST, CHANNELS)
        self.table = ops.convert_to_tensor(rows[:, None])

    def call(self, inputs: Any, start_index: int = 0) -> Any:
        return inputs + self.table[start_index]


def main() -> None:
    args = report.arguments(__doc__)
    calls, rounds = (3, 3) if args.quick else (50, 100)
    found = report.Report("decoding", __doc__)
    token = c.random_tensor((1, 1, CHANNELS))
    layers = {
        "PositionalEncoding1D": kp.PositionalEncoding1D(CHANNELS),
        c.SUMMER: kp.Summer(kp.PositionalEncoding1D(CHANNELS)),
    }
    times = {
        form: measure(
            {name: stepping(layer, form) for name, layer in layers.items()}
            | ({c.STORED: stepping(StoredRow(), form)} if form == "int" else {}),
            inputs=[token] * calls,
            rounds=rounds,
            seconds=4,
            title=form,
        )
        for form in ("no start", "int", "scalar tensor")
    }
    values = {
        form: measure(
            {
                "encode": of_values(encode, form),
                "CoordinateEncoding": of_values(layer, form),
            },
            inputs=[token] * calls,
            rounds=rounds,
            seconds=4,
            title=f"values, {form}",
        )
        for layer in [kp.CoordinateEncoding(CHANNELS)]
        for form in ("array", "tensor")
    }
    found.times("One token", times, "us")
    found.times("Four values", values, "us")
    limits = {"no start": NONE, "int": INT, "scalar tensor": TENSOR}
    for form, limit in limits.items():
        for name in layers:
            measured = 1e3 * times[form].median(name)
            found.target(f"{form}: {name}, ms", limit, measured)
    for form, limit in {"array": INT, "tensor": TENSOR}.items():
        for name in values[form]:
            measured = 1e3 * values[form].median(name)
            found.target(f"four values, {form}: {name}, ms", limit, measured)
    found.write(args.output)


def encode(values: Any) -> Any:
    return kp.encode(values, CHANNELS)


def stepping(layer: Callable[..., Any], form: str) -> Callable[[Any], Any]:
    """The layer at the next start in each call; starts are made beforehand."""
    if form == "no start":
        return layer
    starts: Any = range(1, LONGEST)
    if form == "scalar tensor":
        starts = [ops.convert_to_tensor(np.int32(start)) for start in starts]
    following = itertools.cycle(starts)
    return lambda x: layer(x, start_index=next(following))


def of_values(function: Callable[[Any], Any], form: str) -> Callable[[Any], Any]:
    """The function of four other values in each call, whatever the input."""
    given: list[Any] = [np.arange(4) + step for step in range(1000)]
    if form == "tensor":
        given = [ops.convert_to_tensor(values.astype("int32")) for values in given]
    following = itertools.cycle(given)
    return lambda x: function(next(following))


if __name__ == "__main__":
    main()
