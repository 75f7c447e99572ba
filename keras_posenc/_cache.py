"""Tensors kept for the next call: bounded in bytes, and none outlives its owner."""

from __future__ import annotations

import itertools
import threading
import weakref
from collections import OrderedDict
from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import Any

# What a tensor takes beside its numbers, so that many small ones are bounded as well.
_RECORD_BYTES = 1024


@dataclass
class _Kept:
    tensor: Any
    nbytes: int
    last_use: int


@dataclass
class _Owned:
    """What is kept for one owner, the least recently used first."""

    nbytes: int = 0
    kept: OrderedDict[Hashable, _Kept] = field(default_factory=OrderedDict)

    def add(self, key: Hashable, new: _Kept) -> None:
        self.kept[key] = new
        self.nbytes += new.nbytes

    def drop_first(self) -> None:
        self.nbytes -= self.kept.popitem(last=False)[1].nbytes

    def oldest_use(self) -> int:
        return next(iter(self.kept.values())).last_use


class TensorCache:
    """At most `max_bytes` of tensors; the least recently used is the first to go.

    A tensor is found by its owner and a key. Owners are compared by value and held
    weakly: what is kept for one goes when it goes, also for those that are equal. All
    of it lies outside the layers, so that no copy, pickle or file of a layer has any
    of it.
    """

    def __init__(self, max_bytes: int):
        self.max_bytes = max_bytes
        self._owners: dict[weakref.ref[Any], _Owned] = {}
        self._uses = itertools.count()
        # Reentrant: Python may collect garbage, and so run anything, while in here.
        self._lock = threading.RLock()

    @property
    def nbytes(self) -> int:
        with self._lock:
            return sum(owned.nbytes for owned in self._all_owned())

    def has_room_for(self, nbytes: int) -> bool:
        return nbytes + _RECORD_BYTES <= self.max_bytes

    def get(self, owner: Any, key: Hashable) -> Any | None:
        with self._lock:
            # The same object each time, while its owner lives. Where the owner is the
            # one that it was kept for, no hash and no equality is asked for.
            owned = self._owners.get(weakref.ref(owner))
            found = owned.kept.get(key) if owned else None
            if owned is None or found is None:
                return None
            found.last_use = next(self._uses)
            owned.kept.move_to_end(key)
            return found.tensor

    def keep(self, owner: Any, key: Hashable, tensor: Any, nbytes: int) -> None:
        """Keeps `tensor`, unless another thread has kept its like meanwhile."""
        with self._lock:
            owned = self._owned(owner)
            if key in owned.kept:
                return
            owned.add(key, _Kept(tensor, nbytes + _RECORD_BYTES, next(self._uses)))
            while self.nbytes > self.max_bytes:
                filled = [owned for owned in self._all_owned() if owned.kept]
                min(filled, key=_Owned.oldest_use).drop_first()

    def _owned(self, owner: Any) -> _Owned:
        reference = weakref.ref(owner)
        if reference not in self._owners:
            self._owners[reference] = _Owned()
            # At exit, everything goes anyway.
            weakref.finalize(owner, self._owners.pop, reference, None).atexit = False
        return self._owners[reference]

    def _all_owned(self) -> list[_Owned]:
        # A list, made in one step: owners may go at any time, in any thread.
        return list(self._owners.values())
