"""What is asked for sizes that no machine has room for, where memory is short; Linux.

`python -m helpers.out_of_memory NAME ...` prints for each, as JSON, the error that it
raises, the seconds of work until then, and the bytes that the cache has gained.
"""

from __future__ import annotations

import json
import resource
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import keras_posenc as kp
from helpers.internals import cached_bytes
from helpers.tensors import to_tensor

# Beyond what the process has: enough to load and run whatever a backend still needs,
# and a sixteenth of the smallest array that is asked for.
ROOM = 2**30
MANY = 2**31
TOO_MUCH: dict[str, Callable[[], Any]] = {
    "table-of-a-sequence": lambda: kp.sinusoidal_table(2**33, 8),
    "table-of-a-plane": lambda: kp.sinusoidal_table((2**17, 2**17), 8),
    "table-of-channels": lambda: kp.sinusoidal_table(3, MANY),
    "table-beyond-64-bits": lambda: kp.sinusoidal_table(2**70, 8),
    "table-of-channels-beyond-64-bits": lambda: kp.sinusoidal_table(3, 2**70),
    "encode-channels": lambda: kp.encode([0, 1], MANY),
    "encode-channels-beyond-64-bits": lambda: kp.encode([0, 1], 2**70),
    "encode-channels-of-a-tensor": lambda: kp.encode(to_tensor(np.zeros(2)), MANY),
    # Empty, and so it is there; what a layer would make for it is not.
    "layer": lambda: kp.PositionalEncoding1D()(to_tensor(np.zeros((0, 3, MANY), "f4"))),
    "summer": lambda: kp.Summer(kp.PositionalEncoding1D())(
        to_tensor(np.zeros((0, 3, MANY), "f4"))
    ),
    "encode-positions": lambda: kp.encode(np.broadcast_to(0, (2**34,)), 8),
}


def main(names: list[str]) -> None:
    # What a first call loads is not what is measured.
    kp.encode([0], 4)
    layer = kp.PositionalEncoding1D(8)  # named, so that what it keeps stays
    layer(to_tensor(np.zeros((1, 3, 8), "float32")))
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    limit = pages * resource.getpagesize() + ROOM
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    sys.stdout.write(json.dumps({name: outcome(TOO_MUCH[name]) for name in names}))


def outcome(call: Callable[[], Any]) -> dict[str, Any]:
    held, start, error = cached_bytes(), time.process_time(), None
    try:
        call()
    except Exception as raised:
        error = raised
    return {
        "error": [cls.__name__ for cls in type(error).__mro__],
        "message": str(error),
        "seconds": time.process_time() - start,
        "kept": cached_bytes() - held,
    }


if __name__ == "__main__":
    main(sys.argv[1:])
