"""Time per element of an eager call, as inputs grow.

One axis from 2^8 to 2^20, and two from 8 to 1,024 each, with 64 channels and a batch of
one. A candidate that took too long for one size is left out from the next on. Times are
medians in nanoseconds per element.
"""

from __future__ import annotations

import math
from pathlib import Path

import candidates as c
import plot
import report
from measure import BACKEND, Times, measure

CHANNELS = 64
TOO_LONG = 0.3  # seconds of a call
Sweep = dict[tuple[int, ...], Times]


def main() -> None:
    args = report.arguments(__doc__)
    exponents = range(4, 7) if args.quick else range(8, 21, 2)
    sides = (4, 8) if args.quick else (8, 16, 32, 64, 128, 256, 512, 1024)
    found = report.Report("growth", __doc__)
    names = [*c.MAKERS, c.KERAS_HUB, c.PEER]
    one_axis = sweep([(1, 2**exponent, CHANNELS) for exponent in exponents], names)
    two_axes = sweep([(1, side, side, CHANNELS) for side in sides], names)
    report_sweep(found, "One axis", one_axis)
    report_sweep(found, "Two axes", two_axes)
    draw(one_axis, two_axes, found.path(args.output, "png"))
    found.note("![Time per element](growth.png)")
    if BACKEND == "torch":
        lengths = (16, 32) if args.quick else (64, 256, 1024, 4096, 16_384)
        names = [c.STORED, c.SUMMER, c.PEER]
        report_lead(found, sweep([(8, length, 512) for length in lengths], names))
    found.write(args.output)


def sweep(shapes: list[tuple[int, ...]], names: list[str]) -> Sweep:
    results: Sweep = {}
    for shape in shapes:
        calls = c.yardsticks_and_summer(shape) | c.peers(shape)
        calls = {name: calls[name] for name in names if name in calls}
        x = c.random_tensor(shape)
        results[shape] = measure(calls, [x], rounds=50, seconds=0.15, title=str(shape))
        names = [name for name in calls if results[shape].median(name) < TOO_LONG]
    return results


def nanoseconds(results: Sweep, name: str) -> list[float]:
    return [
        1e9 * times.median(name) / math.prod(shape) for shape, times in results.items()
    ]


def report_sweep(found: report.Report, title: str, results: Sweep) -> None:
    names = report.names_in(results)
    columns = [map(report.number, nanoseconds(results, name)) for name in names]
    rows = [[str(shape), *row] for shape, *row in zip(results, *columns, strict=True)]
    found.table(f"{title}, nanoseconds per element", ["input", *names], rows)


def draw(one_axis: Sweep, two_axes: Sweep, path: Path) -> None:
    drawn, (left, right) = plot.figure(2)
    left.set_ylabel("time per element [ns]")
    for axis, results, label in (
        (left, one_axis, "length (one axis)"),
        (right, two_axes, "side (two axes)"),
    ):
        sizes = [shape[1] for shape in results]
        for name in report.names_in(results):
            plot.line(axis, name, sizes, nanoseconds(results, name))
        axis.set_xscale("log", base=2)
        axis.set_yscale("log")
        axis.set_xlabel(label)
    plot.save(drawn, path)


def report_lead(found: report.Report, results: Sweep) -> None:
    """From which size on `Summer` is ahead of a plain torch module."""
    rows, lead = [], "at no size of this table"
    for shape, times in results.items():
        ratios = [times.ratio(c.SUMMER, base) for base in (c.PEER, c.STORED)]
        rows.append([str(shape), *(report.number(ratio, ".2f") for ratio in ratios)])
        if not ratios[0] <= 1:
            lead = "at no size of this table"
        elif lead.startswith("at no"):
            lead = f"from {shape} on"
    columns = ["input", f"{c.SUMMER} / {c.PEER}", f"{c.SUMMER} / {c.STORED}"]
    found.table("Against a torch module, for a batch of 8", columns, rows)
    found.note(
        f"`Summer` is ahead of `{c.PEER}` {lead}. It pays for the call of a Keras "
        "layer, which does not grow; the peer keeps its encoding once for each element "
        "of the batch, and reads all of that."
    )


if __name__ == "__main__":
    main()
