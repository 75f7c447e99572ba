"""Eager calls, of another length at every call.

A hundred lengths from 500 to 1,000, in an order drawn anew for every pass, after one
pass over all of them. The stored table is as long as the longest and is sliced,
`x + table[:, :n]`. Times are medians of passes, per call; ratios are medians of ratios
of passes, so that a slow call now and then counts.
"""

from __future__ import annotations

import candidates as c
import report
from measure import measure

CHANNELS = 512
LIMIT = 1.5


def main() -> None:
    args = report.arguments(__doc__)
    lengths = range(5, 9) if args.quick else range(500, 1000, 5)
    found = report.Report("lengths", __doc__)
    results = {}
    for batch in (8, 1):
        longest = (batch, max(lengths), CHANNELS)
        calls = c.yardsticks_and_summer(longest)
        calls[c.STORED] = c.SlicedTable(c.random_table(longest))
        calls |= c.peers(longest)
        del calls[c.KERAS_HUB]  # It stores nothing, and so does what `eager.md` shows.
        inputs = [c.random_tensor((batch, n, CHANNELS)) for n in lengths]
        title = f"({batch}, n, {CHANNELS})"
        results[title] = measure(calls, inputs, rounds=10, seconds=3, title=title)
    found.times("Mean time of a call", results)
    found.ratios("Changing lengths", results, {c.STORED: LIMIT})
    found.write(args.output)


if __name__ == "__main__":
    main()
