"""What is paid once: import, first call, compilation, and size of an exported model.

Imports are timed in processes of their own, beyond `import keras`, as medians. First
calls and compilations are of new layers in a process in which the backend has run and
compiled something else before; the stored table is there already when its clock starts.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import time
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import candidates as c
import keras
import report
from measure import BACKEND, wait_for

import keras_posenc as kp

IMPORT = """
import time, keras
start = time.perf_counter()
import keras_posenc
print(time.perf_counter() - start)
"""
MEGABYTE = 1e6
EXPORT_LIMITS = {"jax": 2.5, "tensorflow": 2.0}  # MB; JAX writes constants twice


def main() -> None:
    args = report.arguments(__doc__)
    found = report.Report("startup", __doc__)
    eager, compiled, exported = (1, 65536, 512), (1, 65536, 1024), (4096, 1024)
    if args.quick:
        eager = compiled = (1, 64, 8)
        exported = (64, 8)
    seconds = import_seconds(1 if args.quick else 3)
    found.target("import keras_posenc, ms", 30, 1e3 * seconds, ".1f")
    get_compiler_ready()
    rows = []
    for what, shape, clock in (
        ("first eager call", eager, first_call_seconds),
        ("compilation", compiled, compile_seconds),
    ):
        times = {name: clock(name, shape) for name in c.MAKERS}
        rows.append([f"{what}, {shape}", *(f"{times[name]:.3f}" for name in times)])
        if BACKEND == "jax" or what != "compilation":
            found.target(f"Summer, {what}, {shape}, s", 1, times[c.SUMMER])
    found.table("Seconds until the first result", ["", *c.MAKERS], rows)
    if BACKEND in EXPORT_LIMITS and find_spec("tensorflow"):
        size = exported_bytes(exported) / MEGABYTE
        found.target(f"SavedModel, {exported}, MB", EXPORT_LIMITS[BACKEND], size)
    found.write(args.output)


def import_seconds(processes: int) -> float:
    command = [sys.executable, "-c", IMPORT]
    # With bytecode, as users have it.
    how = {"env": {**os.environ, "PYTHONDONTWRITEBYTECODE": ""}, "check": True}
    subprocess.run(command, capture_output=True, **how)  # writes it
    return statistics.median(
        float(subprocess.run(command, capture_output=True, **how).stdout)
        for _ in range(processes)
    )


def seconds_of(call: c.Call, x: Any) -> float:
    start = time.perf_counter()
    wait_for(call(x))
    return time.perf_counter() - start


def first_call_seconds(name: str, shape: tuple[int, ...]) -> float:
    x = c.random_tensor(shape)
    return statistics.median(seconds_of(c.MAKERS[name](shape), x) for _ in range(3))


def compile_seconds(name: str, shape: tuple[int, ...]) -> float:
    """What the first call of a compiled function takes longer than a later one."""
    c.forget_compiled()
    x = c.random_tensor(shape)
    call = c.to_compile(c.MAKERS[name](shape))
    # The second call may compile again, now that the layer is built.
    first, _, third = (seconds_of(call, x) for _ in range(3))
    return first - third


def get_compiler_ready() -> None:
    """Loads what the first compilation of a process loads, and keeps no results."""
    if BACKEND == "torch":
        import torch

        torch.compiler.config.force_disable_caches = True
    c.compiled({"anything": lambda x: x * 2}, c.random_tensor((1, 1)))


def exported_bytes(shape: tuple[int, ...]) -> int:
    """Size of a SavedModel with `Summer` in it; JAX writes it through TensorFlow."""
    summer = kp.Summer(kp.PositionalEncoding1D(shape[-1]))
    model = keras.Sequential([keras.Input(shape), summer])
    with tempfile.TemporaryDirectory() as folder:
        model.export(folder, format="tf_saved_model", verbose=False)
        files = [path for path in Path(folder).rglob("*") if path.is_file()]
        return sum(file.stat().st_size for file in files)


if __name__ == "__main__":
    main()
