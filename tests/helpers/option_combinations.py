"""Combinations of options in which every pair of values occurs, where it may."""

from __future__ import annotations

import functools
import itertools
import math
import random
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest

import keras_posenc as kp
from helpers import reference

TWO_PI = 2 * math.pi

# Kinds of values; `_values` makes values of them that suit a rank and its channels.
FACTORS: dict[str, list[Any]] = {
    # No size below is a number of channels too: torch.compile takes equal sizes for
    # one, and torch 2.13 fails for 1 x n positions with n channels.
    "sizes": [(6,), (1,), (3, 6), (1, 6), (2, 3, 6), (3, 1, 2)],
    "written": ["divisible", "odd", "half-more"],
    "inputs": ["same", "fewer", "more"],
    "bands": ["default", "short", "per-axis", "rising", "endpoint", "flat", "nested"],
    "layout": [
        "interleaved",
        "concatenated",
        "freq axis phase",
        "freq phase axis",
        "phase axis freq",
        "phase freq axis",
    ],
    "cos_first": [False, True],
    "axis_order": ["none", "reversed", "rotated"],
    "split": ["none", "uneven", "zero"],
    "remainder": ["truncate", "pad", "error"],
    "offset": [0.0, 0.5, 1.0, -1.25, "per-axis"],
    "scale": [1.0, math.pi, -0.5, "per-axis"],
    "coordinates": ["count", "range", "corners", "eps", "large-eps", "around-zero"],
}
# (One kind, kinds that contradict it.) `frequencies` that serve all axes are as many as
# each axis has, and what does not divide is what "error" is about.
_CONTRADICTIONS = {
    ("written", "odd"): [
        ("split", "uneven"),
        ("split", "zero"),
        ("remainder", "error"),
    ],
    ("written", "half-more"): [("remainder", "error")],
    ("bands", "flat"): [("split", "uneven"), ("split", "zero")],
}
_COORDINATES: dict[str, dict[str, Any]] = {
    "count": {},
    "range": {"coordinate_range": [0.0, TWO_PI]},
    "corners": {"coordinate_range": [0.0, TWO_PI], "align_corners": True},
    "eps": {"coordinate_range": [0.0, TWO_PI], "eps": 1e-6},
    "large-eps": {"coordinate_range": [0.0, 1.0], "eps": 1.5},
    "around-zero": {"coordinate_range": [-1.0, 1.0]},
}
_BY_KIND: dict[str, dict[str, Any]] = {
    "default": {},
    "short": {"max_wavelength": 20.0},
    "per-axis": {"max_wavelength": [10.0, 50.0, 1e6]},
    "rising": {"max_wavelength": 0.5},
    "endpoint": {"endpoint": True},
    "flat": {},
    "nested": {},
}


@dataclass(frozen=True)
class Combination:
    """A grid, the channels written and those of the input, and options."""

    name: str
    sizes: tuple[int, ...]
    channels: int
    inputs: int
    options: dict[str, Any]

    @property
    def rank(self) -> int:
        return len(self.sizes)

    def shape(self, batch: int = 2) -> tuple[int, ...]:
        return (batch, *self.sizes, self.inputs)

    def encoding(self) -> Any:
        return reference.encode_options(
            self.sizes, self.channels, self.inputs, **self.options
        )


def _contradict(first: tuple[str, Any], second: tuple[str, Any]) -> bool:
    return second in _CONTRADICTIONS.get(first, ()) or first in _CONTRADICTIONS.get(
        second, ()
    )


def _pairs(row: dict[str, Any]) -> Iterator[tuple[Any, ...]]:
    return itertools.combinations(row.items(), 2)


def pairwise() -> list[dict[str, Any]]:
    """Rows with a kind of each factor, in which every possible pair occurs."""
    left = {
        ((one, a), (other, b))
        for one, other in itertools.combinations(FACTORS, 2)
        for a in FACTORS[one]
        for b in FACTORS[other]
        if not _contradict((one, a), (other, b))
    }
    rng, rows = random.Random(0), []
    while left:
        # The best of a few rows, each built about a pair that is still missing.
        rows.append(
            max(
                (_row(rng, left) for _ in range(20)),
                key=lambda row: len(left.intersection(_pairs(row))),
            )
        )
        left.difference_update(_pairs(rows[-1]))
    return rows


def _row(rng: random.Random, left: set[Any]) -> dict[str, Any]:
    # Sorted: the order of a set differs from process to process.
    chosen = dict(rng.choice(sorted(left, key=repr)))
    others = [name for name in FACTORS if name not in chosen]
    rng.shuffle(others)
    for name in others:
        possible = [
            (name, kind)
            for kind in FACTORS[name]
            if not any(_contradict((name, kind), item) for item in chosen.items())
        ]
        rng.shuffle(possible)

        def gain(item: tuple[str, Any]) -> int:
            return sum(
                (item, other) in left or (other, item) in left
                for other in chosen.items()
            )

        chosen.update([max(possible, key=gain)])
    return {name: chosen[name] for name in FACTORS}


def _combination(number: int, kinds: dict[str, Any]) -> Combination:
    sizes = kinds["sizes"]
    rank = len(sizes)
    whole = 4 * max(rank, 2)
    channels = {"divisible": whole, "odd": whole - 1, "half-more": whole + 2}
    written = channels[kinds["written"]]
    inputs = written + {"same": 0, "fewer": -3, "more": 7}[kinds["inputs"]]
    options = dict(_values(rank, written, kinds))
    name = f"{number:02}-{'x'.join(map(str, sizes))}"
    return Combination(name, sizes, written, inputs, options)


def _values(
    rank: int, channels: int, kinds: dict[str, Any]
) -> Iterator[tuple[str, Any]]:
    axes = range(rank)
    if kinds["split"] == "none":
        split = None
        down = channels // (2 * rank)
        up = -(-channels // (2 * rank))
        bands = [down if kinds["remainder"] == "pad" else up] * rank
    else:
        # All for the first axis, or two for each of the others.
        others = 0 if kinds["split"] == "zero" else 2
        split = [channels - others * (rank - 1)] + [others] * (rank - 1)
        bands = [part // 2 for part in split]
        yield "split", split
    for name, value in _BY_KIND[kinds["bands"]].items():
        yield name, value[:rank] if isinstance(value, list) else value
    if kinds["bands"] == "flat":
        yield "frequencies", [1.0 / (1 + band) for band in range(bands[0])]
    if kinds["bands"] == "nested":
        yield (
            "frequencies",
            [[(axis + 1) * 0.7**band for band in range(bands[axis])] for axis in axes],
        )
    orders = {"reversed": [*axes[::-1]], "rotated": [*axes[1:], 0]}
    if kinds["axis_order"] in orders:
        yield "axis_order", orders[kinds["axis_order"]]
    defaults = {"layout": "interleaved", "cos_first": False, "remainder": "truncate"}
    for name, default in defaults.items():
        if kinds[name] != default:
            yield name, kinds[name]
    per_axis = {"offset": [0.5, -3.0, 2.25], "scale": [1.0, TWO_PI, -0.25]}
    for name, default in {"offset": 0.0, "scale": 1.0}.items():
        if kinds[name] == "per-axis":
            yield name, per_axis[name][:rank]
        elif kinds[name] != default:
            yield name, kinds[name]
    yield from _COORDINATES[kinds["coordinates"]].items()


@functools.cache
def combinations() -> list[Combination]:
    return [_combination(number, row) for number, row in enumerate(pairwise())]


COMBINATIONS = combinations()
each_combination = pytest.mark.parametrize(
    "case", COMBINATIONS, ids=lambda case: case.name
)


def every_third(first: int) -> pytest.MarkDecorator:
    """Where a call is slow: test_frozen_outputs.py has all of them in every form."""
    chosen = COMBINATIONS[first::3]
    return pytest.mark.parametrize("case", chosen, ids=lambda case: case.name)


# Splits with a zero and few channels leave an axis silent, and some inputs have more
# channels than there are: the tests below that say so check these warnings.
in_silence = pytest.mark.filterwarnings(
    "ignore:.* has no channel for axis .* not encoded:UserWarning",
    "ignore:.* which are all that the encoding has:UserWarning",
)


def layer_for(case: Combination, **kwargs: Any) -> kp.PositionalEncoding:
    return kp.PositionalEncoding(case.rank, case.channels, **case.options, **kwargs)


def by_what_differs(value: Any) -> str:
    return "-".join(value) or "default"
