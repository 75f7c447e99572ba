"""Eager calls, of the same shape as before.

Each layer is called on its own, outside any compiled function, on a shape that it has
seen. Times are medians in milliseconds, ratios are medians of ratios.
"""

from __future__ import annotations

import functools
from typing import Any

import candidates as c
import numpy as np
import report
from measure import BACKEND, Times, measure_anew

LIMITS = {
    "jax": {c.STORED: 1.15, c.KERAS_HUB: 0.2},
    "tensorflow": {c.STORED: 1.25, c.KERAS_HUB: 0.2, c.PEER: 0.8},
    "torch": {c.STORED: 1.15, c.KERAS_HUB: 0.4},
}
SLOWER_OF_TWO = 1.05  # on torch
WHY_A_TORCH_MODULE_IS_FASTER = """\
`positional-encodings` is a plain torch module. A Keras layer on torch goes through
`keras.Layer.__call__` first, which takes a fixed time (`overhead.md`) that the stored
table pays, and that `Summer` leaves out where it is of no use. What is left weighs the
more the smaller the input is: `growth.md` has the size from which on `Summer` leads."""


def main() -> None:
    args = report.arguments(__doc__)
    shapes = c.QUICK_SHAPES if args.quick else c.SHAPES
    rounds = 5 if args.quick else 200
    found = report.Report("eager", __doc__)
    results = {}
    for shape in shapes:
        results[str(shape)] = measure_anew(
            functools.partial(eager, shape),
            rounds=rounds,
            seconds=1.5,
            title=str(shape),
        )
    found.times("Median time of a call", results)
    found.ratios("Eager", results, LIMITS[BACKEND])
    if BACKEND == "torch":
        ratios = [ratio_to_slower(times) for times in results.values()]
        found.target(
            "Eager: Summer / slower of (peer, stored table)",
            SLOWER_OF_TWO,
            float(np.median(ratios)),
        )
        found.note(WHY_A_TORCH_MODULE_IS_FASTER)
    found.write(args.output)


def eager(shape: tuple[int, ...]) -> tuple[dict[str, c.Call], Any]:
    calls = c.yardsticks_and_summer(shape) | c.peers(shape)
    return calls, c.random_tensor(shape)


def ratio_to_slower(times: Times) -> float:
    return min(times.ratio(c.SUMMER, base) for base in (c.PEER, c.STORED))


if __name__ == "__main__":
    main()
