"""Calls in several threads at once; the fixture `impatient` has them take turns."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any


def together(calls: list[Callable[[], Any]]) -> list[Any]:
    """The results of calls that start at the same time, each in a thread of its own."""
    barrier = threading.Barrier(len(calls))

    def start(call: Callable[[], Any]) -> Any:
        barrier.wait(timeout=60)
        return call()

    with ThreadPoolExecutor(len(calls)) as pool:
        return list(pool.map(start, calls))
