"""Calls compiled by jax.jit, tf.function(jit_compile=True) or torch.compile.

Each layer is compiled on its own, for the shape that it is called on (on torch with
`fullgraph=True`). Times are medians in milliseconds, ratios are medians of ratios.
"""

from __future__ import annotations

import functools
from typing import Any

import candidates as c
import report
from measure import BACKEND, measure_anew

# As a multiple of the stored table: for one axis, and for more.
LIMITS_1D = {"jax": 0.95, "tensorflow": 0.95, "torch": 1.0}
LIMITS_ND = {"jax": 0.9, "tensorflow": 0.95, "torch": 1.03}


def main() -> None:
    args = report.arguments(__doc__)
    shapes = c.QUICK_SHAPES if args.quick else c.SHAPES
    rounds = 5 if args.quick else 300
    found = report.Report("compiled", __doc__)
    one_axis, more_axes = {}, {}
    for shape in shapes:
        times = measure_anew(
            functools.partial(compiled, shape),
            rounds=rounds,
            seconds=1.5,
            title=str(shape),
        )
        (one_axis if len(shape) == 3 else more_axes)[str(shape)] = times
    found.times("Median time of a call", one_axis | more_axes)
    found.ratios("Compiled, 1D", one_axis, {c.STORED: LIMITS_1D[BACKEND]})
    found.ratios("Compiled, 2D and 3D", more_axes, {c.STORED: LIMITS_ND[BACKEND]})
    found.write(args.output)


def compiled(shape: tuple[int, ...]) -> tuple[dict[str, c.Call], Any]:
    x = c.random_tensor(shape)
    return c.compiled(c.yardsticks_and_summer(shape), x), x


if __name__ == "__main__":
    main()
