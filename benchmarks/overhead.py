"""What a call costs beside its work: microseconds for a tiny input.

At this size the sum itself takes next to no time. What the stored table takes more than
the bare function is the price of a Keras layer; what `Summer` takes more than the
stored table is its own.
"""

from __future__ import annotations

import functools

import candidates as c
import report
from measure import Times, measure

SHAPES = [(1, 4, 8), (1, 4, 4, 8), (1, 4, 4, 4, 12)]
FUNCTION = "x + table"


def main() -> None:
    args = report.arguments(__doc__)
    calls, rounds = (3, 3) if args.quick else (50, 100)
    found = report.Report("overhead", __doc__)
    eager, compiled = {}, {}
    for shape in SHAPES:
        title, x = str(shape), c.random_tensor(shape)
        run = functools.partial(
            measure, inputs=[x] * calls, rounds=rounds, seconds=1, title=title
        )
        eager[title] = run(function_and_layers(shape) | c.peers(shape))
        compiled[title] = run(c.compiled(function_and_layers(shape), x))
    found.times("Eager", eager, "us")
    found.times("Compiled", compiled, "us")
    found.note(surplus("Eager", eager))
    found.note(surplus("Compiled", compiled))
    found.write(args.output)


def function_and_layers(shape: tuple[int, ...]) -> dict[str, c.Call]:
    table = c.random_table(shape)
    return {FUNCTION: lambda x: x + table, **c.yardsticks_and_summer(shape)}


def surplus(mode: str, results: dict[str, Times]) -> str:
    """What `Summer` adds to a Keras layer that adds a ready table, in a sentence."""
    differences = [
        1e6 * (times.median(c.SUMMER) - times.median(c.STORED))
        for times in results.values()
    ]
    axes = ", ".join(
        f"{us:+.0f} us ({rank}D)" for rank, us in enumerate(differences, start=1)
    )
    return f"{mode}, `Summer` beyond a Keras layer with a ready table: {axes}."


if __name__ == "__main__":
    main()
