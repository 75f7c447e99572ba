"""The examples on real data are run, with one seed and one epoch.

`nox -s examples` runs them on JAX, so each runs here on one of the other backends.
"""

from __future__ import annotations

import math
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"
# A mean, and the lowest and highest of the seeds, or nothing to show.
CELL = re.compile(r"(\S+) \((\S+) - (\S+)\)|-")


def run(name: str, backend: str, output: Path, *options: str) -> str:
    """Returns what an example prints, once it has drawn its picture in silence."""
    options += ("--epochs=1", f"--output={output}")
    done = subprocess.run(
        [sys.executable, EXAMPLES / f"{name}.py", *options],
        env={**os.environ, "KERAS_BACKEND": backend},
        cwd=output,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert "Warning" not in done.stderr
    assert [path.name for path in output.iterdir()] == [f"{name}.png"]
    return done.stdout


def run_table(name: str, backend: str, output: Path) -> dict[str, list[float]]:
    """Returns the means of the table, `{row: [one of each column]}`."""
    printed = run(name, backend, output, "--seeds=1")
    _, table = printed.split(f" ({backend})\n")
    _, *lines = table.splitlines()
    rows = {}
    for line in lines:
        if not line.startswith("picture"):
            means = [cell[1] or "nan" for cell in CELL.finditer(line, 12)]
            rows[line.split()[0]] = [float(mean) for mean in means]
    return rows


def test_text(tmp_path: Path):
    bits = run_table("text", "torch", tmp_path)
    assert list(bits) == ["none", "sinusoidal", "learned"]
    # Half a bit was measured on JAX, with each of three seeds.
    assert bits["sinusoidal"][0] < bits["none"][0] - 0.2
    assert not math.isnan(bits["sinusoidal"][1])
    assert math.isnan(bits["learned"][1])


def test_images(tmp_path: Path):
    accuracies = run_table("images", "tensorflow", tmp_path)
    assert list(accuracies) == ["none", "counted", "placed", "learned"]
    # On the grid of training, the places are those that are counted.
    assert accuracies["counted"][0] == accuracies["placed"][0]
    assert all(0 <= a <= 1 for row in accuracies.values() for a in row)


def test_volumes(tmp_path: Path):
    unexplained = run_table("volumes", "torch", tmp_path)
    assert list(unexplained) == ["none", "sinusoidal", "learned"]
    # A hidden patch is told from its neighbours: on JAX, losses of the second epoch
    # were 0.13 and 0.21 with each of three seeds.
    assert unexplained["sinusoidal"][0] < unexplained["none"][0]


def test_series(tmp_path: Path):
    errors = run_table("series", "tensorflow", tmp_path)
    assert list(errors) == ["none", "counted", "sinusoidal", "learned", "line"]
    assert errors["sinusoidal"][0] < errors["none"][0]
    # No training enters this one.
    assert errors["line"] == [1.083]


@pytest.mark.parametrize("backend", ["tensorflow", "torch"])
def test_decoding(backend: str, tmp_path: Path):
    printed = run("decoding", backend, tmp_path)
    found = re.findall(r"^ *(\d+) characters: .* difference (\S+)$", printed, re.M)
    assert [length for length, _ in found] == ["64", "128", "256", "512"]
    # Float32 sums in another order.
    assert all(float(difference) <= 1e-4 for _, difference in found)
