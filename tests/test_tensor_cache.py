"""The cache class by itself, with owners that are equal where their names are."""

from __future__ import annotations

import gc
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from keras_posenc._engine.cache import TensorCache

RECORD = 1024  # what the cache adds to the size of a tensor that it keeps


@dataclass(frozen=True)
class Owner:
    name: str


def test_a_kept_tensor_is_found():
    cache, owner = TensorCache(10_000), Owner("a")
    cache.put(owner, "key", "tensor", 100)
    assert cache.get(owner, "key") == "tensor"
    assert cache.nbytes == 100 + RECORD


def test_nothing_is_found_by_another_key_or_for_another_owner():
    cache, owner, other = TensorCache(10_000), Owner("a"), Owner("b")
    cache.put(owner, "key", "tensor", 100)
    assert cache.get(owner, "another key") is None
    assert cache.get(other, "key") is None


def test_owners_that_are_equal_share():
    cache, owner, twin = TensorCache(10_000), Owner("a"), Owner("a")
    cache.put(owner, "key", "tensor", 100)
    assert cache.get(twin, "key") == "tensor"
    cache.put(twin, "key", "another", 100)
    assert cache.get(owner, "key") == "tensor"
    assert cache.nbytes == 100 + RECORD


def test_two_owners_keep_tensors_under_the_same_key():
    cache, owner, other = TensorCache(10_000), Owner("a"), Owner("b")
    cache.put(owner, "key", "tensor", 100)
    cache.put(other, "key", "another", 200)
    assert (cache.get(owner, "key"), cache.get(other, "key")) == ("tensor", "another")
    assert cache.nbytes == 300 + 2 * RECORD


def test_kept_tensors_go_with_their_owner():
    cache, owner, other = TensorCache(10_000), Owner("a"), Owner("b")
    cache.put(owner, "key", "tensor", 100)
    cache.put(other, "key", "another", 200)
    del owner
    gc.collect()
    assert cache.nbytes == 200 + RECORD
    assert cache.get(Owner("a"), "key") is None
    assert cache.get(other, "key") == "another"


def test_a_twin_whose_owner_has_gone_keeps_its_own():
    cache, owner, twin = TensorCache(10_000), Owner("a"), Owner("a")
    cache.put(owner, "key", "tensor", 100)
    del owner
    gc.collect()
    cache.put(twin, "key", "another", 200)
    assert cache.get(twin, "key") == "another"
    assert cache.nbytes == 200 + RECORD


def test_an_owner_whose_tensors_went_is_forgotten():
    cache = TensorCache(2 * RECORD)
    owners = [Owner(str(number)) for number in range(10)]
    for owner in owners:
        cache.put(owner, "key", "tensor", RECORD)
    owner = None
    owners.clear()
    gc.collect()
    assert cache.nbytes == 0


def room_for(count: int, nbytes: int = 100) -> TensorCache:
    """A cache for so many tensors of this size."""
    return TensorCache(count * (nbytes + RECORD))


def test_the_least_recently_used_goes_first():
    cache, owner = room_for(3), Owner("a")
    for key in "abc":
        cache.put(owner, key, key, 100)
    cache.get(owner, "a")
    cache.put(owner, "d", "d", 100)
    assert [cache.get(owner, key) for key in "abcd"] == ["a", None, "c", "d"]


def test_the_least_recently_used_of_all_owners_goes_first():
    cache, owner, other = room_for(3), Owner("a"), Owner("b")
    cache.put(owner, "a", "a", 100)
    cache.put(other, "b", "b", 100)
    cache.put(owner, "c", "c", 100)
    cache.get(owner, "a")
    cache.put(other, "d", "d", 100)
    assert [cache.get(owner, key) for key in "ac"] == ["a", "c"]
    assert [cache.get(other, key) for key in "bd"] == [None, "d"]


def test_a_large_tensor_takes_the_place_of_several():
    cache, owner = room_for(4), Owner("a")
    for key in "abcd":
        cache.put(owner, key, key, 100)
    cache.put(owner, "e", "e", 3 * (100 + RECORD) - RECORD)
    found = [cache.get(owner, key) for key in "abcde"]
    assert found == [None, None, None, "d", "e"]
    assert cache.nbytes == cache.max_bytes


@pytest.mark.parametrize(
    ("nbytes", "fits"), [(0, True), (5000, True), (5001, False), (10**12, False)]
)
def test_there_is_room_for_what_is_no_larger_than_the_bound(nbytes: int, fits: bool):
    cache, owner = TensorCache(5000 + RECORD), Owner("a")
    cache.put(owner, "another", "tensor", 4000)  # can go
    assert cache.has_room_for(nbytes) is fits


MANY = {
    "of-one-owner": lambda number: (0, number),
    "of-ten-owners": lambda number: (number % 10, number),
    "of-an-owner-each": lambda number: (number, 0),
}


@pytest.mark.parametrize("nbytes", [0, 8, 3000])
@pytest.mark.parametrize("way", MANY)
def test_many_small_tensors_stay_within_the_bound(way: str, nbytes: int):
    cache = TensorCache(50_000)
    owners = [Owner(str(number)) for number in range(300)]
    held = []
    for number in range(300):
        owner, key = MANY[way](number)
        cache.put(owners[owner], key, "tensor", nbytes)
        held.append(cache.nbytes)
    assert max(held) <= 50_000
    assert max(held) > 50_000 - (nbytes + RECORD)


@pytest.mark.usefixtures("impatient")
def test_owners_may_go_while_another_thread_counts():
    cache = TensorCache(10**9)
    owners = [Owner(str(number)) for number in range(3000)]
    for number in range(3000):
        cache.put(owners[number], "key", "tensor", 1)
    dying = threading.Thread(target=lambda: [owners.pop() for _ in range(3000)])
    dying.start()
    held = []
    while dying.is_alive():
        held.append(cache.nbytes)
    assert held == sorted(held, reverse=True)
    assert cache.nbytes == 0


@pytest.mark.usefixtures("impatient")
def test_many_threads_keep_and_find_at_once():
    cache = room_for(5)
    owners = [Owner(str(number)) for number in range(4)]

    def use(seed: int) -> list[tuple[Any, Any]]:
        rng = np.random.default_rng(seed)
        pairs = rng.integers(0, 4, (500, 2)).tolist()
        return [(pair, keep_and_find(*pair)) for pair in map(tuple, pairs)]

    def keep_and_find(owner: int, key: int) -> Any:
        cache.put(owners[owner], key, (owner, key), 100)
        return cache.get(owners[owner], key)

    with ThreadPoolExecutor(8) as pool:
        found = [pair for pairs in pool.map(use, range(8)) for pair in pairs]
    # Another thread may have pushed it out in between.
    assert {pair for pair in found if pair[1] not in (None, pair[0])} == set()
    assert cache.nbytes <= cache.max_bytes
