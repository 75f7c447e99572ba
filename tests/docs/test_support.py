"""The README's table of what a model can be shipped as says what the tests expect."""

from __future__ import annotations

from pathlib import Path

from helpers.export_support import SUPPORT

README = Path(__file__).parents[2] / "README.md"
HEADER = "| shipped as | TensorFlow | PyTorch | JAX |\n|---|---|---|---|\n"


def test_the_readme_has_the_table_of_export_support():
    _, found, after = README.read_text().partition(HEADER)
    assert found
    table, *_ = after.partition("\n\n")
    rows = [
        [cell.strip() for cell in row.split("|")[1:-1]] for row in table.split("\n")
    ]
    assert {name: tuple(cells) for name, *cells in rows} == SUPPORT
