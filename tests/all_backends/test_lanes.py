"""The check that a lane tests its own backend alone is seen to fail."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]


@pytest.mark.parametrize(
    ("running", "message"),
    [
        ("jax", "A lane for jax alone can import tensorflow, torch."),
        ("torch", "Keras runs on torch, not on jax."),
    ],
)
def test_a_lane_that_is_not_what_it_says_fails(running: str, message: str):
    lane = subprocess.run(
        [sys.executable, "-m", "pytest", "--only-backend", "jax", "test_table.py"],
        cwd=TESTS,
        env={**os.environ, "KERAS_BACKEND": running},
        capture_output=True,
        text=True,
    )
    assert lane.returncode == 3
    assert message in lane.stdout + lane.stderr
