"""Bytes that are held now, and at most since the last reset, and processes to count in.

On a GPU these are the backend's own counts of tensors there; on a CPU, the pages of the
process, which only Linux counts in a way that can be reset.
"""

from __future__ import annotations

import ctypes
import gc
import multiprocessing
import os
import sys
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from pathlib import Path
from typing import Any

from measure import BACKEND
from report import device
from rich.progress import track

PROC = Path("/proc/self")
ON_GPU = device() != "CPU"
AVAILABLE = ON_GPU or PROC.exists()


def held() -> float:
    """Bytes in use, once what is free has been given back."""
    gc.collect()
    if ON_GPU:
        return _gpu_counts()[0]
    if hasattr(libc := ctypes.CDLL(None), "malloc_trim"):
        libc.malloc_trim(0)
    return _pages("VmRSS")


def reset_peak() -> None:
    held()  # Otherwise a call could use what is free, and would not show.
    if not ON_GPU:
        (PROC / "clear_refs").write_text("5")
    elif BACKEND == "torch":
        import torch

        torch.cuda.reset_peak_memory_stats()
    elif BACKEND == "tensorflow":
        import tensorflow as tf

        tf.config.experimental.reset_memory_stats("GPU:0")
    # JAX can't: its peak is that of the whole process, the first call included.


def peak() -> float:
    return _gpu_counts()[1] if ON_GPU else _pages("VmHWM")


def _pages(name: str) -> float:
    for line in (PROC / "status").read_text().splitlines():
        if line.startswith(name):
            return 1024 * float(line.split()[1])
    raise LookupError(name)


def _gpu_counts() -> tuple[float, float]:
    """Bytes of tensors now, and at the peak."""
    if BACKEND == "torch":
        import torch

        return torch.cuda.memory_allocated(), torch.cuda.max_memory_allocated()
    if BACKEND == "tensorflow":
        import tensorflow as tf

        counts = tf.config.experimental.get_memory_info("GPU:0")
        return counts["current"], counts["peak"]
    import jax

    stats = jax.devices()[0].memory_stats()
    return stats["bytes_in_use"], stats["peak_bytes_in_use"]


def in_fresh_processes(function: Callable[..., Any], tasks: list[tuple]) -> list[Any]:
    """The results of `function`, each computed by a process that did nothing before."""
    # With oneDNN, TensorFlow keeps what is freed, and a peak would not show.
    os.environ["TF_ENABLE_ONEDNN_OPTS"] = "0"
    with ThreadPoolExecutor(2) as threads:
        results = threads.map(lambda task: _in_fresh_process(function, task), tasks)
        return list(track(results, total=len(tasks), disable=not sys.stdout.isatty()))


def _in_fresh_process(function: Callable[..., Any], arguments: tuple) -> Any:
    spawn = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(1, mp_context=spawn) as pool:
        return pool.submit(function, *arguments).result()
