"""The table of presets in the guide for porters is that of the code."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from helpers.internals import ANY, PRESETS, Preset

GUIDE = (Path(__file__).parents[2] / "docs/porting.md").read_text()
HEAD = ["| preset | axes | options | what it is |", "|---|---|---|---|"]
# Where options follow from the number of channels, the table has an example.
CHANNELS = 96


def text(value: Any) -> str:
    if isinstance(value, list):
        items = [text(item) for item in value]
        if len(items) > 4:
            items = [*items[:2], "...", items[-1]]
        return f"[{', '.join(items)}]"
    if isinstance(value, float):
        if value in (math.pi, 2 * math.pi):
            return "pi" if value == math.pi else "2 * pi"
        return repr(value) if len(repr(value)) < 8 else f"{value:.4g}"
    return repr(value)


def options(row: Preset, rank: int) -> str:
    given = row.by_rank[rank]
    axes = rank or 3
    values = row.options(axes, CHANNELS)
    listed = ", ".join(f"{name}={text(value)}" for name, value in values.items())
    if not listed:
        return "the defaults"
    if isinstance(given, Mapping):
        return f"`{listed}`"
    of_axes = f" of {axes} axes" if rank == ANY else ""
    return f"with {CHANNELS} channels{of_axes}: `{listed}`"


def table() -> list[str]:
    lines = []
    for row in PRESETS.values():
        by_options: dict[str, list[str]] = {}
        for rank in row.by_rank:
            axes = "any" if rank == ANY else str(rank)
            by_options.setdefault(options(row, rank), []).append(axes)
        lines += [
            f"| `{row.name}` | {', '.join(axes)} | {made} | {row.sentence} |"
            for made, axes in by_options.items()
        ]
    return [*HEAD, *lines]


def test_the_guide_has_the_table_of_presets():
    """`PYTHONPATH=tests python tests/docs/test_porting.py` prints it."""
    _, _, section = GUIDE.partition("\n## The presets\n")
    found = [line for line in section.splitlines() if line.startswith("|")]
    assert found == table()


if __name__ == "__main__":
    print("\n".join(table()))  # noqa: T201
