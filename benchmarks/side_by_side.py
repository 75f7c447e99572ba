"""Runs programs that measure no time all at once, and shows what each printed.

    KERAS_BACKEND=jax python benchmarks/side_by_side.py memory thousand accuracy

What follows the names, such as `--quick`, goes to each.
"""

from __future__ import annotations

import itertools
import subprocess
import sys
from pathlib import Path

FOLDER = Path(__file__).parent


def main() -> None:
    words = sys.argv[1:]
    names = list(itertools.takewhile(lambda word: not word.startswith("-"), words))
    options = words[len(names) :]
    running = {name: start(name, options) for name in names}
    for process in running.values():
        output, _ = process.communicate()
        sys.stdout.write(output)
    failed = [name for name, process in running.items() if process.returncode]
    if failed:
        sys.exit(f"failed: {', '.join(failed)}")


def start(name: str, options: list[str]) -> subprocess.Popen[str]:
    command = [sys.executable, str(FOLDER / f"{name}.py"), *options]
    return subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )


if __name__ == "__main__":
    main()
