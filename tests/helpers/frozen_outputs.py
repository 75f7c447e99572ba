"""Hashes of what eager calls return, to see that a rewrite leaves every bit as it was.

`PYTHONPATH=tests python tests/helpers/frozen_outputs.py OUT.json` writes them for the
backend that Keras runs on. `tests/golden/frozen` has those of one commit,
and `tests/test_frozen_outputs.py` compares. All are of grids that are counted from
integers, in eager calls: these take tables that NumPy makes. What a graph makes, or a
tensor of positions, is right to 2e-7 and may differ from version to version.
"""

from __future__ import annotations

import functools
import hashlib
import itertools
import json
import math
import platform
import subprocess
import sys
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import keras
import numpy as np
from keras import ops

import keras_posenc as kp
from helpers.option_combinations import Combination, combinations

ROOT = Path(__file__).parents[2]
BACKEND = keras.backend.backend()
# What computes one output.
Case = Callable[[], Any]

DTYPES = (
    "float16",
    "bfloat16",
    "float32",
    "float64",
    "mixed_bfloat16",
    "mixed_float16",
)
HALVES = ("float16", "bfloat16", "mixed_bfloat16", "mixed_float16")
# Of the inner layer and of the `Summer` around it.
PAIRS = (
    ("float16", "float32"),
    ("bfloat16", "float32"),
    ("float32", "float16"),
    ("float32", "bfloat16"),
    ("float64", "float32"),
    ("float32", "float64"),
    ("float16", "bfloat16"),
    ("bfloat16", "float16"),
    ("mixed_bfloat16", "float32"),
    ("float32", "mixed_float16"),
)
SIZES = (3, 4, 2, 5)
CLASSES: dict[str, tuple[int, Callable[..., Any]]] = {
    **{
        f"PositionalEncoding({rank})": (
            rank,
            lambda *args, _rank=rank, **kwargs: kp.PositionalEncoding(
                _rank, *args, **kwargs
            ),
        )
        for rank in (1, 2, 3, 4)
    },
    "PositionalEncoding1D": (1, kp.PositionalEncoding1D),
    "PositionalEncoding2D": (2, kp.PositionalEncoding2D),
    "PositionalEncoding3D": (3, kp.PositionalEncoding3D),
    "PositionalEncodingPermute1D": (1, kp.PositionalEncodingPermute1D),
    "PositionalEncodingPermute2D": (2, kp.PositionalEncodingPermute2D),
    "PositionalEncodingPermute3D": (3, kp.PositionalEncodingPermute3D),
}


# --- What is hashed ------------------------------------------------------------------


def values(*shape: int, dtype: str = "float32") -> Any:
    """A tensor for a layer, the same every time."""
    numbers = np.random.default_rng(0).normal(scale=3, size=shape)
    return ops.convert_to_tensor(numbers.astype(dtype))


def called(layer: Any, inputs: Any, **where: Any) -> Any:
    """What a layer returns: at its first call, and again where a table is kept."""
    first = layer(inputs, **where)
    if digest(layer(inputs, **where)) != digest(first):
        raise AssertionError("a second call gives other bits")
    return first


def digest(output: Any) -> str:
    """A hash of dtype, shape and bits."""
    dtype = keras.backend.standardize_dtype(output.dtype)
    if isinstance(output, np.ndarray):
        array = output.astype("float32") if dtype == "bfloat16" else output
    else:
        # Exact, and the same in every backend: NumPy has no bfloat16 of its own.
        exact = ops.cast(output, "float32") if dtype == "bfloat16" else output
        array = ops.convert_to_numpy(exact)
    # Every zero and every byte counts, also the sign of a zero.
    raw = np.ascontiguousarray(array).tobytes()
    head = f"{dtype} {tuple(output.shape)} ".encode()
    return hashlib.sha256(head + raw).hexdigest()[:16]


def outcome(case: Case) -> str:
    """The hash of its output. That an input is refused may not change either."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return digest(case())
        except ValueError:
            return "refused"


# --- Cases, by group: at most a few hundred in each, which make one test --------------


def groups() -> dict[str, Callable[[], Iterator[tuple[str, Case]]]]:
    found: dict[str, Callable[[], Iterator[tuple[str, Case]]]] = {
        f"combinations {kind}": functools.partial(_of_combinations, kind)
        for kind in _COMBINED
    }
    for rank in (1, 2, 3, 4):
        found[f"presets of {rank} axes"] = functools.partial(_of_presets, rank)
    for name, (rank, make) in CLASSES.items():
        found[name] = functools.partial(_of_class, rank, make, fixed="Permute" in name)
    return {
        **found,
        "SinusoidEncoding": _of_sinusoid,
        "start_index of one axis": _of_starts,
        "start_index of several axes": _of_tuples,
        "tokens": _of_tokens,
        "angle addition": _of_long_axes,
        "one table": _of_large_tables,
        "empty and tiny": _of_few,
        "sinusoidal_table": _of_tables,
        "global policy": _of_global_policies,
    }


def cases(group: str) -> Iterator[tuple[str, Case]]:
    return groups()[group]()


# Every pair of values of any two options: see tests/combinations.py.

STARTS = (1, 7, -5, 10**6, 2**31 + 5, -(2**31) - 7, 2**40)


def _starts(number: int, rank: int) -> Any:
    """One for each axis, others for each number."""
    chosen = tuple(STARTS[(number + 3 * axis) % len(STARTS)] for axis in range(rank))
    return chosen if rank > 1 else chosen[0]


def _layer(case: Combination, **kwargs: Any) -> Any:
    return kp.PositionalEncoding(case.rank, case.channels, **case.options, **kwargs)


def _first(number: int, case: Combination) -> Any:
    layer = _layer(case, data_format="channels_first")
    return called(layer, values(2, case.inputs, *case.sizes))


def _half(number: int, case: Combination) -> Any:
    layer = _layer(case, dtype=HALVES[number % len(HALVES)])
    return called(layer, values(1, *case.sizes, case.inputs))


def _sum(number: int, case: Combination) -> Any:
    inner, outer = PAIRS[number % len(PAIRS)]
    summer = kp.Summer(_layer(case, dtype=inner), dtype=outer)
    return called(summer, values(*case.shape(1)))


def _start(number: int, case: Combination) -> Any:
    # A range spreads over the size: there, nothing counts from anywhere.
    of_range = ("coordinate_range", "align_corners", "eps")
    options = {k: v for k, v in case.options.items() if k not in of_range}
    layer = kp.PositionalEncoding(case.rank, case.channels, **options)
    where = {"start_index": _starts(number, case.rank)}
    return called(layer, values(*case.shape(1)), **where)


def _table(dtype: str) -> Callable[[int, Combination], Any]:
    return lambda number, case: kp.sinusoidal_table(
        case.sizes, case.channels, dtype=dtype, **case.options
    )


_COMBINED: dict[str, Callable[[int, Combination], Any]] = {
    "float32": lambda _, case: called(_layer(case), values(*case.shape(1))),
    "float64": lambda _, case: called(
        _layer(case, dtype="float64"), values(*case.shape(1))
    ),
    "channels_first": _first,
    "half precision": _half,
    "Summer": lambda _, case: called(kp.Summer(_layer(case)), values(*case.shape(3))),
    "Summer of two dtypes": _sum,
    "start_index": _start,
    "table float64": _table("float64"),
    "table float32": _table("float32"),
}


def _of_combinations(kind: str) -> Iterator[tuple[str, Case]]:
    for number, case in enumerate(combinations()):
        yield (
            case.name,
            lambda number=number, case=case: _COMBINED[kind](number, case),
        )


def combinations_digest() -> str:
    """A hash of the options, to tell that these have changed and not the numbers."""
    text = repr([(c.sizes, c.channels, c.inputs, c.options) for c in combinations()])
    return hashlib.sha256(text.encode()).hexdigest()[:16]


# Presets.


def _of_presets(rank: int) -> Iterator[tuple[str, Case]]:
    sizes = SIZES[:rank]
    for preset in kp.presets(rank):

        def make(
            channels: int | None = 48, _preset: str = preset, **kwargs: Any
        ) -> Any:
            return kp.PositionalEncoding.from_preset(
                _preset, channels, rank=rank, **kwargs
            )

        def table(_preset: str = preset, **kwargs: Any) -> Any:
            return kp.sinusoidal_table(sizes, 48, preset=_preset, **kwargs)

        def tokens(make: Any = make, **kwargs: Any) -> Any:
            layer = make(grid=sizes, prefix_tokens=2, **kwargs)
            return called(layer, values(1, 2 + math.prod(sizes), 48))

        def plain(channels: int = 48, make: Any = make, **kwargs: Any) -> Any:
            return called(make(channels, **kwargs), values(1, *sizes, channels))

        by_name: dict[str, Case] = {
            "float32": plain,
            "float64": lambda plain=plain: plain(dtype="float64"),
            "bfloat16, batch 3": lambda make=make: called(
                make(dtype="bfloat16"), values(3, *sizes, 48)
            ),
            "50 channels": lambda plain=plain: plain(50),
            "32 of 48 channels": lambda make=make: called(
                make(), values(1, *sizes, 32)
            ),
            "52 of 48 channels": lambda make=make: called(
                make(), values(1, *sizes, 52)
            ),
            "no channels": lambda make=make: called(make(None), values(1, *sizes, 24)),
            "channels_first": lambda make=make: called(
                make(data_format="channels_first"), values(1, 48, *sizes)
            ),
            "Summer": lambda make=make: called(
                kp.Summer(make()), values(3, *sizes, 48)
            ),
            "tokens": tokens,
            "start_index": lambda make=make: called(
                make(), values(1, *sizes, 48), start_index=_starts(1, rank)
            ),
            "table float32": table,
            "table float64": lambda table=table: table(dtype="float64"),
        }
        for name, case in by_name.items():
            yield f"{preset}, {name}", case


# Each class.


def _inputs(layer: Any, channels: int, sizes: tuple[int, ...], batch: int = 1) -> Any:
    if layer.data_format == "channels_first":
        return values(batch, channels, *sizes)
    return values(batch, *sizes, channels)


def _of_class(
    rank: int, make: Callable[..., Any], *, fixed: bool
) -> Iterator[tuple[str, Case]]:
    sizes = SIZES[:rank]

    def plain(written: int | None, channels: int, batch: int, dtype: str) -> Any:
        layer = make(written, dtype=dtype)
        return called(layer, _inputs(layer, channels, sizes, batch))

    for dtype in DTYPES:
        yield f"{dtype}, 13 channels", lambda d=dtype: plain(13, 13, 1, d)
    # Fewer than there are, more, and as many as the input has.
    for written, channels in ((13, 7), (13, 20), (16, 13), (2, 20), (None, 7), (1, 1)):
        yield (
            f"{channels} of {written} channels",
            lambda w=written, c=channels: plain(w, c, 3, "float32"),
        )
    for written, channels in ((13, 7), (2, 20)):
        yield (
            f"bfloat16, {channels} of {written} channels",
            lambda w=written, c=channels: plain(w, c, 1, "bfloat16"),
        )

    def summed(inner: str, outer: str, of: str, batch: int) -> Any:
        layer = make(12, dtype=inner)
        inputs = ops.cast(_inputs(layer, 12, sizes, batch), of)
        return called(kp.Summer(layer, dtype=outer), inputs)

    for inner, outer in (*((dtype, dtype) for dtype in DTYPES), *PAIRS):
        yield (
            f"Summer {outer} of {inner}",
            lambda i=inner, o=outer: summed(i, o, "float32", 1),
        )
    yield "Summer, batch 3", lambda: summed("float32", "float32", "float32", 3)
    for of in ("float16", "int32", "bool"):
        yield (
            f"Summer of {of} inputs",
            lambda of=of: summed("float32", "float32", of, 1),
        )

    def formatted(data_format: str) -> Any:
        layer = make(12, data_format=data_format)
        return called(layer, _inputs(layer, 12, sizes))

    # Permute layers have one format, which is theirs.
    for data_format in () if fixed else ("channels_first", "channels_last"):
        yield data_format, lambda f=data_format: formatted(f)


def _of_sinusoid() -> Iterator[tuple[str, Case]]:
    def plain(dtype: str, of: str, batch: int, start: Any, channels: int) -> Any:
        layer = kp.SinusoidEncoding(channels, 2**41, dtype=dtype)
        inputs = ops.cast(values(batch, 9, channels), of)
        return called(layer, inputs, start_index=start)

    for dtype, batch, start in itertools.product(DTYPES, (1, 3), (0, *STARTS[2:6])):
        yield (
            f"{dtype}, batch {batch}, start {start}",
            lambda d=dtype, b=batch, s=start: plain(d, "float32", b, s, 14),
        )
    for of, channels in itertools.product(("float16", "int32", "bool"), (1, 7, 12)):
        yield (
            f"{channels} channels of {of}",
            lambda o=of, c=channels: plain("float32", o, 2, 0, c),
        )


# Where positions start.


def _of_starts() -> Iterator[tuple[str, Case]]:
    numpy_starts = (
        np.int64(9),
        np.int32(-3),
        np.uint8(200),
        np.int64(2**40),
        np.int64(0),
        np.array(4),
    )
    makes: dict[str, Callable[[str], Any]] = {
        "1D": lambda dtype: kp.PositionalEncoding1D(10, dtype=dtype),
        "1D with options": lambda dtype: kp.PositionalEncoding1D(
            10, dtype=dtype, offset=0.5, scale=0.3, layout="concatenated"
        ),
        "Permute1D": lambda dtype: kp.PositionalEncodingPermute1D(10, dtype=dtype),
        "Summer": lambda dtype: kp.Summer(
            kp.PositionalEncoding1D(10, dtype=dtype), dtype=dtype
        ),
    }
    for (name, make), start, dtype in itertools.product(
        makes.items(), (0, *STARTS, *numpy_starts), ("float32", "bfloat16", "float64")
    ):
        if isinstance(start, np.ndarray) and dtype != "float32":
            continue
        shape = (2, 10, 6) if name == "Permute1D" else (2, 6, 10)
        yield (
            f"{name}, {dtype}, {type(start).__name__} {start}",
            lambda m=make, d=dtype, s=start, shape=shape: called(
                m(d), values(*shape), start_index=s
            ),
        )


def _of_tuples() -> Iterator[tuple[str, Case]]:
    # Of plain integers: Keras makes tensors of NumPy's in a tuple, or refuses them.
    by_rank: dict[int, list[tuple[Any, ...]]] = {
        2: [(0, 0), (0, 7), (-3, 10**6), (2**31 + 1, 0)],
        3: [(1, 2, 3), (0, 0, 2**31), (-4, 9, 10**6)],
        4: [(1, 0, -1, 2**33), (10**6, 2, 3, 60_000)],
    }
    for rank, starts in by_rank.items():
        sizes = SIZES[:rank]
        for start, form in itertools.product(starts, (tuple, list)):
            for dtype in ("float32", "float16" if rank == 2 else "float64"):
                given = form(start)
                label = f"{given}, {dtype}"

                def plain(
                    kind: str,
                    rank: int = rank,
                    start: Any = given,
                    dtype: str = dtype,
                    sizes: tuple[int, ...] = sizes,
                ) -> Any:
                    first = kind == "first"
                    layer = kp.PositionalEncoding(
                        rank,
                        18,
                        dtype=dtype,
                        data_format="channels_first" if first else "channels_last",
                    )
                    inputs = _inputs(layer, 18, sizes, 2)
                    if kind == "sum":
                        layer = kp.Summer(layer, dtype=dtype)
                    return called(layer, inputs, start_index=start)

                for kind in ("last", "first", "sum"):
                    yield (
                        f"{kind}, {label}",
                        lambda plain=plain, kind=kind: plain(kind),
                    )


def _of_tokens() -> Iterator[tuple[str, Case]]:
    # Of as many tokens each: JAX compiles for every new shape, which takes the time.
    grids: list[tuple[int, ...]] = [(12,), (3, 4), (2, 3, 2), (2, 1, 2, 3)]
    for grid, prefix, data_format in itertools.product(
        grids, (0, 3), ("channels_last", "channels_first")
    ):

        def plain(
            summed: bool,
            start: bool,
            dtype: str,
            channels: int = 14,
            grid: tuple[int, ...] = grid,
            prefix: int = prefix,
            data_format: str = data_format,
        ) -> Any:
            layer = kp.PositionalEncoding(
                len(grid),
                14,
                grid=grid,
                prefix_tokens=prefix,
                data_format=data_format,
                dtype=dtype,
            )
            inputs = _inputs(layer, channels, (prefix + math.prod(grid),), 2)
            where = {"start_index": _starts(2, len(grid))} if start else {}
            layer = kp.Summer(layer, dtype=dtype) if summed else layer
            return called(layer, inputs, **where)

        label = f"{'x'.join(map(str, grid))} after {prefix}, {data_format}"
        yield label, lambda p=plain: p(False, False, "float32")
        yield f"{label}, 9 of 14", lambda p=plain: p(False, False, "float32", 9)
        yield f"{label}, sum", lambda p=plain: p(True, False, "float32")
        yield f"{label}, start", lambda p=plain: p(False, True, "float32")
        yield f"{label}, bfloat16", lambda p=plain: p(False, True, "bfloat16")
        yield f"{label}, float64", lambda p=plain: p(True, False, "float64")


# Sizes.

# More numbers than one table has: two tables each of coarse and of fine positions.
LONG: dict[str, tuple[tuple[int, ...], int, dict[str, Any]]] = {
    "5000 x 512": ((5000,), 512, {}),
    "4097 x 128": ((4097,), 128, {}),
    "70000 x 8": ((70_000,), 8, {"layout": "concatenated"}),
    "600000 x 1": ((600_000,), 1, {}),
    "9000 x 60, options": (
        (9000,),
        60,
        {"offset": 0.5, "scale": 0.7, "max_wavelength": 50.0, "cos_first": True},
    ),
    "9000 x 60, range": (
        (9000,),
        60,
        {"coordinate_range": [-1.0, 5.0], "align_corners": True, "endpoint": True},
    ),
    "2 x 9000 x 64": ((2, 9000), 64, {}),
    "9000 x 2 x 64": ((9000, 2), 64, {"axis_order": [1, 0]}),
    "2 x 3 x 9000 x 60": ((2, 3, 9000), 60, {}),
    "1 x 1 x 9000 x 1 x 61": ((1, 1, 9000, 1), 61, {}),
}
# Up to 2**19 numbers for each axis.
LARGE: dict[str, tuple[tuple[int, ...], int, dict[str, Any]]] = {
    "4096 x 128": ((4096,), 128, {}),
    "2000 x 64": ((2000,), 64, {"max_wavelength": 1e6}),
    "300 x 300 x 64": ((300, 300), 64, {}),
    "50 x 40 x 30 x 24": ((50, 40, 30), 24, {"layout": "freq axis phase"}),
    "12 x 11 x 10 x 9 x 17": ((12, 11, 10, 9), 17, {}),
}


def _of_sizes(rows: dict[str, Any]) -> Iterator[tuple[str, Case]]:
    for number, (name, (sizes, channels, options)) in enumerate(rows.items()):

        def plain(
            dtype: str = "float32",
            data_format: str = "channels_last",
            summed: bool = False,
            sizes: tuple[int, ...] = sizes,
            channels: int = channels,
            options: dict[str, Any] = options,
            **where: Any,
        ) -> Any:
            layer = kp.PositionalEncoding(
                len(sizes), channels, dtype=dtype, data_format=data_format, **options
            )
            inputs = _inputs(layer, channels, sizes)
            layer = kp.Summer(layer, dtype=dtype) if summed else layer
            return called(layer, inputs, **where)

        rank = len(sizes)
        yield name, plain
        if number % 2:
            yield f"{name}, bfloat16", lambda p=plain: p("bfloat16")
        yield f"{name}, float64", lambda p=plain: p("float64")
        yield (
            f"{name}, channels_first",
            lambda p=plain: p(data_format="channels_first"),
        )
        yield f"{name}, sum", lambda p=plain: p(summed=True)
        start = _starts(number, rank)
        yield f"{name}, start {start}", lambda p=plain, s=start: p(start_index=s)


def _of_long_axes() -> Iterator[tuple[str, Case]]:
    yield from _of_sizes(LONG)
    sequence = values(2, 5000, 120)
    for dtype in ("float32", "mixed_bfloat16"):
        yield (
            f"SinusoidEncoding, {dtype}",
            lambda d=dtype: called(kp.SinusoidEncoding(120, dtype=d), sequence),
        )
    tokens = kp.PositionalEncoding2D(64, grid=(2, 9000), prefix_tokens=1)
    yield "tokens", lambda: called(tokens, values(1, 18_001, 64))


def _of_large_tables() -> Iterator[tuple[str, Case]]:
    yield from _of_sizes(LARGE)


def _of_few() -> Iterator[tuple[str, Case]]:
    shapes: list[tuple[int, ...]] = [
        (0, 3, 8),
        (1, 0, 8),
        (1, 1, 8),
        (1, 1, 1),
        (2, 1, 1, 4),
        (2, 0, 3, 4),
        (1, 1, 2, 1, 1, 2, 1, 12),
    ]
    for shape, dtype in itertools.product(shapes, ("float32", "float16")):

        def plain(
            summed: bool, shape: tuple[int, ...] = shape, dtype: str = dtype
        ) -> Any:
            layer: Any = kp.PositionalEncoding(len(shape) - 2, dtype=dtype)
            layer = kp.Summer(layer) if summed else layer
            return called(layer, values(*shape))

        name = f"{'x'.join(map(str, shape))}, {dtype}"
        yield name, lambda p=plain: p(False)
        yield f"{name}, sum", lambda p=plain: p(True)


# The function that returns an array.


def _of_tables() -> Iterator[tuple[str, Case]]:
    for shape, dtype in itertools.product(
        (1, 17, (17,), (3, 4), (4, 3, 2), (2, 3, 2, 2), (0,), (1, 1)), DTYPES
    ):
        for channels in (1, 6, 13, 32):
            yield (
                f"{shape} x {channels}, {dtype}",
                lambda s=shape, c=channels, d=dtype: kp.sinusoidal_table(s, c, dtype=d),
            )
    for name, (sizes, channels, options) in {**LONG, **LARGE}.items():
        for dtype in ("float32", "float64"):
            yield (
                f"{name}, {dtype}",
                lambda s=sizes, c=channels, o=options, d=dtype: kp.sinusoidal_table(
                    s, c, dtype=d, **o
                ),
            )


def _of_global_policies() -> Iterator[tuple[str, Case]]:
    def under(policy: str, make: Callable[..., Any], sizes: Any, summed: bool) -> Any:
        before = keras.config.dtype_policy()
        keras.config.set_dtype_policy(policy)
        try:
            layer = make(12)
            inputs = _inputs(layer, 12, sizes)
            return called(kp.Summer(layer) if summed else layer, inputs)
        finally:
            keras.config.set_dtype_policy(before)

    for (name, (rank, make)), policy, summed in itertools.product(
        CLASSES.items(), ("mixed_bfloat16", "float16", "float64"), (False, True)
    ):
        yield (
            f"{'Summer of ' * summed}{name} under {policy}",
            lambda p=policy, m=make, r=rank, s=summed: under(p, m, SIZES[:r], s),
        )


# --- The file ------------------------------------------------------------------------


def sine_digest() -> str:
    """A hash of what NumPy's sine and power give in float64.

    Versions of NumPy, and processors with other vector instructions, differ in the
    last place. Rounded to float32 that rarely shows; in float64 it does.
    """
    angles = np.linspace(-1e6, 1e6, 20_001)
    bases = np.float64(10_000.0) ** -(np.arange(512) / 512.0)
    return hashlib.sha256(np.sin(angles).tobytes() + bases.tobytes()).hexdigest()[:16]


def machine() -> dict[str, str]:
    """What the bits depend on beside this package."""
    return {
        "numpy": np.__version__,
        "architecture": platform.machine(),
        "sine": sine_digest(),
    }


def header() -> dict[str, str]:
    described = ["git", "describe", "--always", "--dirty"]
    commit = subprocess.check_output(described, cwd=ROOT, text=True).strip()
    backend = __import__(BACKEND)
    return {
        **machine(),
        "combinations": combinations_digest(),
        "commit": commit,
        "keras": keras.__version__,
        BACKEND: backend.__version__,
    }


def hashes(group: str) -> dict[str, str]:
    found: dict[str, str] = {}
    for name, case in cases(group):
        assert name not in found, f"two cases are named {name!r}"
        found[name] = outcome(case)
    return found


def path() -> Path:
    return ROOT / "tests/golden/frozen" / f"{BACKEND}.json"


def main(target: str) -> None:
    found = {
        f"{group}: {name}": value
        for group in groups()
        for name, value in hashes(group).items()
    }
    written = {"header": header(), "hashes": dict(sorted(found.items()))}
    Path(target).write_text(f"{json.dumps(written, indent=1)}\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
