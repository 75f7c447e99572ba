"""Processes of their own, for what a process can settle or measure only once."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

TESTS = Path(__file__).parents[1]


def environment(**settings: str) -> dict[str, str]:
    """The variables of this process and `settings`, and a path to the helpers."""
    paths = [str(TESTS), *filter(None, [os.environ.get("PYTHONPATH")])]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(paths), **settings}


def command(helper: str, *arguments: str) -> list[str]:
    """What runs a module of this folder as a program.

    With `-P`, for the folder that it runs in could have a package of the same name.
    """
    return [sys.executable, "-P", "-m", f"helpers.{helper}", *arguments]


def run_helper(
    helper: str, *arguments: str, timeout: float | None = None, **settings: str
) -> str:
    """What a module of this folder prints, run as a program with these variables."""
    done = subprocess.run(
        command(helper, *arguments),
        env=environment(**settings),
        check=True,
        stdout=subprocess.PIPE,
        text=True,
        timeout=timeout,
    )
    return done.stdout
