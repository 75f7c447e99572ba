"""The memory that a process needs for a call, beyond what any other call needs; Linux.

`python -m helpers.peak_memory FUNCTION MODE` prints bytes, of the input and the output
as well.
"""

from __future__ import annotations

import ctypes
import gc
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from keras import ops

import keras_posenc as kp
from helpers.run_modes import with_known_sizes

SHAPE = (8, 32, 32, 32, 48)
PROCESS = Path("/proc/self")
AVAILABLE = (PROCESS / "clear_refs").exists()


def summer(x: Any) -> Any:
    return _SUMMER(x)


def with_a_copy(x: Any) -> Any:
    """What must not happen, but would be seen: the encoding for the whole batch."""
    return x + _SUMMER.penc(x)


_SUMMER = kp.Summer(kp.PositionalEncoding3D(SHAPE[-1]))


def main(name: str, mode: str) -> None:
    call = with_known_sizes({"summer": summer, "with-a-copy": with_a_copy}[name], mode)
    warmed_up(call, (2, 3, 4, 5, SHAPE[-1]))
    before = pages("VmRSS")
    x = warmed_up(call, SHAPE)
    (PROCESS / "clear_refs").write_text("5")  # a new peak begins
    wait_for(call(x))
    sys.stdout.write(f"{pages('VmHWM') - before}\n")


def warmed_up(call: Callable[[Any], Any], shape: tuple[int, ...]) -> Any:
    """Tensors of this shape, and nothing else that a first call leaves behind."""
    x = ops.ones(shape, "float32")
    for _ in range(2):
        wait_for(call(x))
    gc.collect()
    if hasattr(libc := ctypes.CDLL(None), "malloc_trim"):
        libc.malloc_trim(0)  # or what is free would be used, and not show
    return x


def wait_for(outputs: Any) -> None:
    ops.convert_to_numpy(outputs[:1, :1, :1, :1, :1])


def pages(name: str) -> int:
    for line in (PROCESS / "status").read_text().splitlines():
        if line.startswith(name):
            return 1024 * int(line.split()[1])
    raise LookupError(name)


if __name__ == "__main__":
    main(*sys.argv[1:])
