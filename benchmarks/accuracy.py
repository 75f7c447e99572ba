"""How far the numbers are from the formula.

Errors are the largest absolute differences from the exact value of the formula. The
first tables are about the first positions of a sequence, with 64 channels, the last
ones about what this package promises. Matrix products may use TF32 where the device has
it.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import candidates as c
import keras
import numpy as np
import report
from keras import ops
from measure import BACKEND
from rich.progress import track

import keras_posenc as kp

# The exact values, and the positions that are hard: the same as in the tests.
sys.path.append(str(Path(__file__).parents[1] / "tests"))

from helpers import reference
from helpers.hard_positions import TIMESTAMPS, integers, reals
from helpers.run_modes import KNOWN, UNKNOWN, with_known_sizes, with_unknown_sizes

LENGTHS = [512, 4096, 65_536, 1_000_000]
CHANNELS = 64
OURS = "keras-posenc"
POLICIES = {"float32": "float32", "bfloat16": "mixed_bfloat16"}
WAVELENGTHS = [20.0, 1e4, 1e6]


def main() -> None:
    args = report.arguments(__doc__)
    found = report.Report("accuracy", __doc__)
    allow_tf32()
    lengths = LENGTHS[:2] if args.quick else LENGTHS
    for dtype in POLICIES:
        compare(found, dtype, lengths)
    check(found, quick=args.quick)
    found.write(args.output)


def allow_tf32() -> None:
    """What a user may have set for speed: none of it may touch an encoding."""
    if BACKEND == "jax":
        import jax

        jax.config.update("jax_default_matmul_precision", "tensorfloat32")
    elif BACKEND == "torch":
        import torch

        torch.set_float32_matmul_precision("high")
        torch.backends.cudnn.allow_tf32 = True
    else:
        import tensorflow as tf

        tf.config.experimental.enable_tensor_float_32_execution(True)


# --- Beside other packages -----------------------------------------------------------


def compare(found: report.Report, dtype: str, lengths: list[int]) -> None:
    encodings = encodings_in(dtype)
    rows = []
    for length in track(lengths, f"Errors in {dtype}", transient=True):
        zeros = ops.zeros((1, length, CHANNELS), dtype)
        tables = (encode(zeros) for encode in encodings.values())
        errors = [error_of_rows(to_float32(table)[0]) for table in tables]
        rows.append([f"{length:,}", *(report.number(error, ".1e") for error in errors)])
    found.table(f"Largest error in {dtype}", ["first positions", *encodings], rows)
    if dtype != "float32":
        count_rows(found, dtype, encodings)


def encodings_in(dtype: str) -> dict[str, c.Call]:
    """The encoding of each package, for inputs of `dtype`."""
    import keras_hub

    policy = POLICIES[dtype]
    found: dict[str, c.Call] = {
        OURS: kp.PositionalEncoding1D(CHANNELS, dtype=policy),
        c.KERAS_HUB: keras_hub.layers.SinePositionEncoding(dtype=policy),
    }
    if BACKEND != "jax":
        found[c.PEER] = c.of_peer("PositionalEncoding1D")(CHANNELS)
    if BACKEND == "torch":
        import torch

        found[c.PEER].to(torch.get_default_device())
    return found


def count_rows(found: report.Report, dtype: str, encodings: dict[str, c.Call]) -> None:
    """Two positions with the same row are one position to a model."""
    length = 4096
    zeros = ops.zeros((1, length, CHANNELS), dtype)
    tables = {name: encode(zeros) for name, encode in encodings.items()}
    rows = [
        [
            name,
            keras.backend.standardize_dtype(table.dtype),
            f"{len(np.unique(to_float32(table)[0], axis=0)):,}",
        ]
        for name, table in tables.items()
    ]
    columns = ["package", "dtype of the output", "distinct rows"]
    found.table(f"Rows that differ among {length:,} in {dtype}", columns, rows)


def to_float32(x: Any) -> np.ndarray:
    return ops.convert_to_numpy(ops.cast(x, "float32"))


def error_of_rows(table: np.ndarray) -> float:
    """The error of a long table, in parts, as the exact values take much memory."""
    parts = range(0, len(table), 2**16)
    return max(
        np.abs(part - reference.exact_1d(start + np.arange(len(part)), CHANNELS)).max()
        for start, part in ((start, table[start : start + 2**16]) for start in parts)
    )


# --- What is promised ----------------------------------------------------------------

# What makes a function of one tensor run in some way. It is told the shape that a graph
# may count on, for the ways that let it count on little, and the dtype.
Run = Callable[[c.Call, tuple[int | None, ...], str], c.Call]
LAYERS = [kp.PositionalEncoding1D, kp.PositionalEncoding2D, kp.PositionalEncoding3D]


def ways() -> dict[str, Run]:
    """Every way to run a function: those that know the sizes, and those that do not."""
    # The quicker of the two that make a graph on torch is for tests alone.
    known, unknown = (
        [mode.replace("dynamo", "inductor") for mode in modes]
        for modes in (KNOWN, UNKNOWN)
    )
    found: dict[str, Run] = {
        mode: lambda call, shape, dtype, mode=mode: with_known_sizes(call, mode)
        for mode in known
    }
    for mode in unknown:
        found[f"{mode}, {OPEN}"] = functools.partial(run_open, mode)
    return found


OPEN = "sizes unknown"


def run_open(
    mode: str, call: c.Call, shape: tuple[int | None, ...], dtype: str
) -> c.Call:
    return with_unknown_sizes(call, mode, shape, dtype)


@dataclass(frozen=True)
class Promise:
    """An error that is promised, how to measure it, and which ways it holds for."""

    what: str
    limit: float
    error: Callable[[Run], float]
    holds: Callable[[str], bool] = lambda way: True


def check(found: report.Report, *, quick: bool) -> None:
    """Measures each promise, in each way that it holds for."""
    runs, rows = ways(), []
    for promise in track(promises(quick), "What is promised", transient=True):
        errors = [
            promise.error(run) if promise.holds(way) else np.nan
            for way, run in runs.items()
        ]
        rows.append([promise.what, *(report.number(error, ".1e") for error in errors)])
        found.target(promise.what, promise.limit, np.nanmax(errors), ".1e")
    found.table("What is promised: the largest errors", ["", *runs], rows)


def promises(quick: bool) -> list[Promise]:
    length, open_length = (2_000, 5_000) if quick else (131_072, 1_000_000)

    def known(way: str) -> bool:
        return OPEN not in way

    def unknown(way: str) -> bool:
        return OPEN in way

    def eager(way: str) -> bool:
        return way == "eager"

    found = [
        Promise(
            f"known length {length:,}, 64 channels, 1 to 3 axes",
            2e-7,
            functools.partial(layer_error, length, 64),
            known,
        ),
        Promise(
            f"known length {length:,}, 1,024 channels, some rows",
            2e-7,
            functools.partial(sampled_error, length, 1024),
            known,
        ),
        Promise(
            f"unknown length {open_length:,}, 1 to 3 axes",
            1e-6,
            functools.partial(layer_error, open_length, 12),
            unknown,
        ),
        *(
            Promise(what, limit, functools.partial(encode_error, positions))
            for what, limit, positions in [
                ("integers below 2^24", 2e-6, integers(2**24).astype("int32")),
                ("integers below 2^31", 5e-6, integers(2**31).astype("int32")),
                ("float32 numbers below 10^6", 2e-6, reals(1e6)),
            ]
        ),
        Promise(
            "float64 timestamps near 1.7e9",
            5e-6,
            functools.partial(encode_error, TIMESTAMPS),
            eager,  # they are the host's
        ),
    ]
    for dtype in ("bfloat16", "float16"):
        error = functools.partial(excess_error, dtype, length)
        found.append(Promise(f"{dtype}, beyond half a unit", 2e-7, error))
    if BACKEND != "jax":
        error = functools.partial(double_error, 2_001)
        found.append(Promise("float64, length 2,001", 1e-12, error))
        error = functools.partial(double_error_per_position, open_length)
        found.append(
            Promise(f"float64, length {open_length:,}, / position", 2.0**-52, error)
        )
    return found


def layer_error(length: int, channels: int, run: Run) -> float:
    """The largest of one to three axes, and, for one, of three wavelengths.

    (The tests have every pair. To compile those takes torch two minutes.)
    """
    grids = [*((1, base) for base in WAVELENGTHS), (2, 1e4), (3, 1e4)]
    return max(
        reference.grid_error(encode_grid(run, axes, length, channels, base), base)
        for axes, base in grids
    )


def encode_grid(
    run: Run,
    axes: int,
    length: int,
    channels: int,
    base: float,
    dtype: str = "float32",
) -> np.ndarray:
    """The encoding of a grid with one long side, without its batch."""
    sizes = [(length,), (2, length), (1, length, 2)][axes - 1]
    layer = LAYERS[axes - 1](channels, max_wavelength=base, dtype=dtype)
    call = run(layer, (None,) * (axes + 1) + (channels,), "float32")
    outputs = call(ops.zeros((1, *sizes, channels), "float32"))
    if dtype == "bfloat16":
        outputs = ops.cast(outputs, "float32")  # NumPy has none
    return ops.convert_to_numpy(outputs)[0]


def sampled_error(length: int, channels: int, run: Run) -> float:
    """Of rows at random, and about powers of two: all would take minutes to check."""
    rows = integers(length, 300)
    rows = np.unique(np.append(rows[rows >= 0], length - 1))
    return max(
        np.abs(
            encode_grid(run, 1, length, channels, base)[rows]
            - reference.exact_1d(rows, channels, base)
        ).max()
        for base in WAVELENGTHS
    )


def encode_all(positions: Any) -> Any:
    """The encodings for each of `WAVELENGTHS`, in one graph."""
    # Written out: torch.compile with `dynamic=True` takes a variable for unknown too.
    return ops.stack(
        [
            kp.encode(positions, 64, max_wavelength=20.0),
            kp.encode(positions, 64, max_wavelength=1e4),
            kp.encode(positions, 64, max_wavelength=1e6),
        ]
    )


def encode_error(positions: np.ndarray, run: Run) -> float:
    host = positions.dtype == "float64"
    x = positions if host else ops.convert_to_tensor(positions)
    call = run(encode_all, (None,), positions.dtype.name)
    expected = [reference.exact_1d(positions, CHANNELS, base) for base in WAVELENGTHS]
    return np.abs(ops.convert_to_numpy(call(x)) - np.stack(expected)).max()


def excess_error(dtype: str, length: int, run: Run) -> float:
    """What half a unit of the last place does not explain."""
    expected = reference.exact_rows(length, 12, 1e4)
    off = np.abs(encode_grid(run, 1, length, 12, 1e4, dtype) - expected)
    return (off - reference.half_a_unit(expected, dtype)).max()


def double_error(length: int, run: Run) -> float:
    return _double_errors(length, run).max()


def double_error_per_position(length: int, run: Run) -> float:
    positions = np.arange(2_001, length)[:, None]
    return (_double_errors(length, run)[2_001:] / positions).max(initial=0)


def _double_errors(length: int, run: Run) -> np.ndarray:
    expected = reference.exact_rows(length, 12, 20.0)
    return np.abs(encode_grid(run, 1, length, 12, 20.0, "float64") - expected)


if __name__ == "__main__":
    main()
