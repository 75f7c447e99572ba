"""Eager calls return, bit for bit, what they returned at the commit of the file.

`tests/helpers/frozen_outputs.py` has the cases, and writes the file anew where numbers
are meant to change: then say in CHANGELOG.md which.
"""

from __future__ import annotations

import functools
import json
from typing import Any

import pytest

from helpers import frozen_outputs as frozen

each_group = pytest.mark.parametrize("group", frozen.groups())


@functools.cache
def stored() -> dict[str, Any]:
    return json.loads(frozen.path().read_text())


def of_group(group: str) -> dict[str, str]:
    return {
        name.removeprefix(f"{group}: "): found
        for name, found in stored()["hashes"].items()
        if name.startswith(f"{group}: ")
    }


def skip_elsewhere() -> None:
    """Skips where the sine that tables are made of may have another last bit."""
    written, here = stored()["header"], frozen.machine()
    differ = [name for name, value in here.items() if written[name] != value]
    if differ:
        pytest.skip(
            "The hashes hold for another machine or version of NumPy, whose sine may "
            "differ in the last bit: "
            + ", ".join(f"{n} {here[n]}, not {written[n]}" for n in differ)
        )


def differing(expected: dict[str, str], found: dict[str, str]) -> dict[str, Any]:
    """The cases of either that are not the same in both, with both hashes."""
    return {
        name: (expected.get(name, "no such case"), found.get(name, "no such case"))
        for name in sorted({*expected, *found})
        if expected.get(name) != found.get(name)
    }


@each_group
def test_every_bit_is_as_it_was(group: str):
    skip_elsewhere()
    differ = differing(of_group(group), frozen.hashes(group))
    lines = [f"  {name}: was {a}, is {b}" for name, (a, b) in differ.items()]
    assert not differ, f"{len(differ)} outputs of {group!r} differ:\n" + "\n".join(
        lines
    )


def test_the_combinations_are_those_of_the_file():
    """Else the numbers of "combinations" differ for no fault of the code."""
    assert stored()["header"]["combinations"] == frozen.combinations_digest()


def test_the_file_has_these_groups_and_no_others():
    found = {name.partition(": ")[0] for name in stored()["hashes"]}
    assert found == set(frozen.groups())


def test_one_bit_makes_a_difference():
    one = frozen.values(1, 3, 4)
    array = frozen.ops.convert_to_numpy(one).copy()
    array.view("int32")[0, 2, 3] ^= 1
    other = frozen.ops.convert_to_tensor(array)
    assert frozen.digest(one) == frozen.digest(frozen.ops.convert_to_tensor(one))
    assert frozen.digest(one) != frozen.digest(other)
    assert frozen.digest(one) != frozen.digest(one[0])
    assert differing({"a": "1", "b": "2"}, {"a": "1", "c": "2"}).keys() == {"b", "c"}
