"""A thousand different lengths in a row: what is kept, and what is traced again.

`Summer` and `x + 1` run in a process each, eagerly, on inputs (1, n, 512), with each n
from 500 to 1,499 once, in random order.
"""

from __future__ import annotations

import os
import random
from pathlib import Path

import candidates as c
import meter
import plot
import report
from measure import BACKEND, wait_for

MB = 1e6
FLOAT32 = 4
CHANNELS = 512
CANDIDATES = (c.PLUS_ONE, c.SUMMER)
STEP = 20  # lengths from one point of the curve to the next


def main() -> None:
    args = report.arguments(__doc__)
    lengths = list(range(5, 45) if args.quick else range(500, 1500))
    random.Random(0).shuffle(lengths)
    found = report.Report("thousand", __doc__)
    if meter.AVAILABLE:
        report_lengths(found, lengths, found.path(args.output, "png"))
    if BACKEND == "tensorflow":
        found.target("Traces of a tf.function", 1, traces(lengths), ".0f")
    found.write(args.output)


def report_lengths(found: report.Report, lengths: list[int], path: Path) -> None:
    """Draws what is held after so many lengths. The later half must add little."""
    # Compiled in haste: how fast it runs is no matter here.
    flags = os.environ.get("XLA_FLAGS", "")
    os.environ["XLA_FLAGS"] = f"{flags} --xla_backend_optimization_level=0".strip()
    drawn, (axis,) = plot.figure(1)
    axis.set(xlabel="different lengths so far", ylabel="memory held [MB]")
    grown = {}
    tasks = [(name, lengths) for name in CANDIDATES]
    curves = meter.in_fresh_processes(held_after_each, tasks)
    for name, curve in zip(CANDIDATES, curves, strict=True):
        grown[name] = curve[-1] - curve[len(curve) // 2 - 1]
        plot.line(axis, name, range(STEP, len(lengths) + 1, STEP), curve)
    plot.save(drawn, path)
    found.table(
        "Memory that the second half of the lengths added, MB",
        ["", *grown],
        [[f"(1, n, {CHANNELS})", *(f"{added:.1f}" for added in grown.values())]],
    )
    tables = FLOAT32 * CHANNELS * sum(lengths[len(lengths) // 2 :]) / MB
    found.note(f"Tables for these would take {tables:.0f} MB.")
    found.note(f"![Memory held after so many lengths]({path.name})")
    beyond = grown[c.SUMMER] - max(grown[c.PLUS_ONE], 0)
    found.target("Growth beyond that of x + 1, MB", tables / 10, beyond, ".1f")


def held_after_each(name: str, lengths: list[int]) -> list[float]:
    """Megabytes after every `STEP` lengths, beyond those before the first."""
    call = c.MAKERS[name]((1, max(lengths), CHANNELS))
    start, curve = meter.held(), []
    for number, length in enumerate(lengths, start=1):
        wait_for(call(c.random_tensor((1, length, CHANNELS))))
        if number % STEP == 0:
            curve.append((meter.held() - start) / MB)
    return curve


def traces(lengths: list[int]) -> int:
    """How often TensorFlow traces `Summer` for a length that it does not know."""
    import tensorflow as tf

    summer = c.MAKERS[c.SUMMER]((1, 1, CHANNELS))
    signature = tf.TensorSpec((None, None, CHANNELS))
    function = tf.function(lambda x: summer(x), input_signature=[signature])
    for length in lengths:
        function(c.random_tensor((1, length, CHANNELS)))
    return function.experimental_get_tracing_count()


if __name__ == "__main__":
    main()
