"""Puts the targets of all programs and backends into one page.

    python benchmarks/summary.py

reads `results/<backend>/*.md` and writes `results/README.md`.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from report import BACKEND_NAMES, RESULTS, markdown_table

HEADER = """\
# Targets and measurements

Each cell has what was measured, and in brackets the most that it may be; bold is what
was missed. Each name of a program leads to the times behind it, with machine, versions
and date."""
NO_TARGET = "Has no target, but a table of times."


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--output", type=Path, default=RESULTS, help="folder")
    folder = parser.parse_args().output
    parts = [HEADER]
    for program in sorted({page.stem for page in folder.glob("*/*.md")}):
        pages = {
            page.parent.name: page for page in sorted(folder.glob(f"*/{program}.md"))
        }
        links = [f"[{title(name)}]({name}/{program}.md)" for name in pages]
        parts += [f"## {program}: {', '.join(links)}", table(pages)]
    (folder / "README.md").write_text("\n\n".join(parts) + "\n")


def title(folder: str) -> str:
    """What a folder's results are about: `torch-gpu` is PyTorch on a GPU."""
    backend, _, device = folder.partition("-")
    return BACKEND_NAMES[backend] + (" on a GPU" if device else "")


def table(pages: dict[str, Path]) -> str:
    """A row for each target, a column for each folder."""
    targets = {name: targets_of(page) for name, page in pages.items()}
    names = dict.fromkeys(what for found in targets.values() for what in found)
    rows = [
        [what, *(found.get(what, "-") for found in targets.values())] for what in names
    ]
    return markdown_table(["", *map(title, targets)], rows) if rows else NO_TARGET


def targets_of(page: Path) -> dict[str, str]:
    """What `Report.write` put below the heading of its targets."""
    _, _, below = page.read_text().partition("## Targets")
    rows = [line.strip("| ").split(" | ") for line in below.splitlines() if "|" in line]
    return {
        what: f"{measured if kept == 'met' else f'**{measured}**'} ({target})"
        for what, target, measured, kept in rows[2:]
    }


if __name__ == "__main__":
    main()
