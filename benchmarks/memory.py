"""Memory at the peak of a call.

Every number comes from a process of its own. The peak is that of a call after two to
warm up. It may be the input, the output and one table without a batch. "Held" is what
the process held just before that call, beyond what it held before anything of this
shape existed; "added" is what the call added. Both count, less what `x + 1` shows in
excess of its input and output. But what torch.compile leaves behind in a process is
more than a table: there the input counts, and "added".
"""

from __future__ import annotations

import math
from typing import Any

import candidates as c
import meter
import report
from measure import BACKEND, wait_for

MB = 1e6
FLOAT32 = 4
ACCURACY = 2.0  # MB by which one process differs from the next


def main() -> None:
    args = report.arguments(__doc__)
    shape = (2, 4, 4, 4, 12) if args.quick else (8, 32, 32, 32, 48)
    found = report.Report("memory", __doc__)
    whole = FLOAT32 * math.prod(shape) / MB
    table = FLOAT32 * math.prod(shape[1:]) / MB
    found.note(
        f"For {shape}, input and output take {whole:.1f} MB each, a table takes "
        f"{table:.1f} MB."
    )
    tasks = [(name, mode, shape) for mode in ("eager", "compiled") for name in c.MAKERS]
    results = dict(zip(tasks, meter.in_fresh_processes(peak, tasks), strict=True))
    rows = [
        [f"{name}, {mode}", report.number(held, ".1f"), report.number(added, ".1f")]
        for (name, mode, _), (held, added) in results.items()
    ]
    found.table("Peak of a call, MB", ["", "held", "added"], rows)

    for mode in ("eager", "compiled"):
        held, added = results[c.SUMMER, mode, shape]
        excess = max(sum(results[c.PLUS_ONE, mode, shape]) - 2 * whole, 0)
        if BACKEND == "torch" and mode == "compiled":
            held, excess = whole, 0
        limit = 2 * whole + table + ACCURACY
        found.target(f"Peak, {mode}, MB", limit, held + added - excess, ".1f")
    found.write(args.output)


def peak(name: str, mode: str, shape: tuple[int, ...]) -> tuple[float, float]:
    """Megabytes held before a call, and added by it."""
    # First calls load what stays: the second and third still do on JAX.
    for batch in (1, 2, 3) if mode == "eager" else (1,):
        tiny = (batch, *(2 for _ in shape[2:]), shape[-1])
        warmed_up(name, mode, c.random_tensor(tiny))
    start = meter.held()
    x = c.random_tensor(shape)
    call = warmed_up(name, mode, x)
    meter.reset_peak()
    before = meter.held()
    wait_for(call(x))
    return (before - start) / MB, (meter.peak() - before) / MB


def warmed_up(name: str, mode: str, x: Any) -> c.Call:
    call = c.MAKERS[name](tuple(x.shape))
    if mode == "compiled":
        call = c.to_compile(call)
    for _ in range(2):  # The first builds the layer, which may compile it again.
        wait_for(call(x))
    return call


if __name__ == "__main__":
    main()
