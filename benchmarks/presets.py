"""Does the encoding of a preset cost more than the default one?

`Summer` adds the encoding of `positional-encodings-5`, in which all sines of an axis
come before all its cosines, to inputs of one to three axes. It may take as long as the
default encoding may (eager, compiled). Times are medians in milliseconds, ratios are
medians of ratios.
"""

from __future__ import annotations

import functools
from typing import Any

import candidates as c
import compiled
import eager
import report
from measure import BACKEND, measure_anew

import keras_posenc as kp

NAME = "positional-encodings-5"
OF_PRESET = f"Summer of {NAME}"


def main() -> None:
    args = report.arguments(__doc__)
    shapes = c.QUICK_SHAPES if args.quick else c.SHAPES
    found = report.Report("presets", __doc__)
    how = {"rounds": 5 if args.quick else 200, "seconds": 1.5}
    called, one_axis, more_axes = {}, {}, {}
    for shape in shapes:
        title = str(shape)
        called[title] = measure_anew(
            functools.partial(candidates, shape), title=title, **how
        )
        in_graphs = one_axis if len(shape) == 3 else more_axes
        in_graphs[title] = measure_anew(
            functools.partial(compiled_candidates, shape), title=title, **how
        )
    stored = eager.LIMITS[BACKEND][c.STORED]
    for title, results, limit in (
        ("Eager", called, stored),
        ("Compiled, 1D", one_axis, compiled.LIMITS_1D[BACKEND]),
        ("Compiled, 2D and 3D", more_axes, compiled.LIMITS_ND[BACKEND]),
    ):
        found.times(f"{title}, median time of a call", results)
        found.ratios(title, results, {c.STORED: limit}, subject=OF_PRESET)
    found.write(args.output)


def candidates(shape: tuple[int, ...]) -> tuple[dict[str, c.Call], Any]:
    encoding = c.encoding_class(shape).from_preset(NAME, channels=shape[-1])
    calls = c.yardsticks_and_summer(shape) | {OF_PRESET: kp.Summer(encoding)}
    return calls, c.random_tensor(shape)


def compiled_candidates(shape: tuple[int, ...]) -> tuple[dict[str, c.Call], Any]:
    calls, x = candidates(shape)
    return c.compiled(calls, x), x


if __name__ == "__main__":
    main()
