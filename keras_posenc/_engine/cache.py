"""Tensors that eager calls share: bounded in bytes, and none outlives its owner."""

from __future__ import annotations

import threading
import weakref
from collections import OrderedDict
from collections.abc import Hashable
from typing import Any, NamedTuple

from keras_posenc import _backend
from keras_posenc._engine.waves import Recipe

# What a tensor takes beside its numbers, so that many small ones are bounded as well.
_RECORD_BYTES = 1024

_Owner = weakref.ref[Any]


class _Cached(NamedTuple):
    tensor: Any
    nbytes: int


class _Owned(NamedTuple):
    """What one owner has: of owners that are equal, the one that came first."""

    reference: _Owner
    keys: set[Hashable]


class TensorCache:
    """At most `max_bytes` of tensors; the least recently used is the first to go.

    A tensor is found by its owner and a key. Owners are compared by value and held
    weakly: a tensor goes when the owner goes that it was made for. All tensors lie
    outside the layers, so that no copy, pickle or file of a layer has any.
    """

    def __init__(self, max_bytes: int):
        self.max_bytes = max_bytes
        self.nbytes = 0
        self._cached: OrderedDict[tuple[_Owner, Hashable], _Cached] = OrderedDict()
        self._owned: dict[_Owner, _Owned] = {}
        # Reentrant: Python may collect garbage, and so run anything, while in here.
        self._lock = threading.RLock()

    def has_room_for(self, nbytes: int) -> bool:
        return nbytes + _RECORD_BYTES <= self.max_bytes

    def get(self, owner: Any, key: Hashable) -> Any | None:
        # While an owner lives, `weakref.ref` returns one object for it, which keeps its
        # hash, and is equal to itself without a look at the owner.
        where = (weakref.ref(owner), key)
        with self._lock:
            found = self._cached.get(where)
            if found is None:
                return None
            self._cached.move_to_end(where)
            return found.tensor

    def put(self, owner: Any, key: Hashable, tensor: Any, nbytes: int) -> None:
        """Adds `tensor`, unless another thread has added its like meanwhile."""
        with self._lock:
            owned = self._owned_by(owner)
            if key in owned.keys:
                return
            owned.keys.add(key)
            self._cached[owned.reference, key] = _Cached(tensor, nbytes + _RECORD_BYTES)
            self.nbytes += nbytes + _RECORD_BYTES
            while self.nbytes > self.max_bytes:
                reference, oldest = next(iter(self._cached))
                self._drop(self._owned[reference], oldest)

    def _owned_by(self, owner: Any) -> _Owned:
        reference = weakref.ref(owner)
        if reference not in self._owned:
            self._owned[reference] = _Owned(reference, set())
            # At exit, everything goes anyway.
            weakref.finalize(owner, self._drop_owner, reference).atexit = False
        return self._owned[reference]

    def _drop(self, owned: _Owned, key: Hashable) -> None:
        self.nbytes -= self._cached.pop((owned.reference, key)).nbytes
        owned.keys.discard(key)

    def _drop_owner(self, reference: _Owner) -> None:
        with self._lock:
            owned = self._owned.pop(reference)
            for key in tuple(owned.keys):
                self._drop(owned, key)


# Bytes that eager calls cache in a process: over a million positions of 64 channels.
tables = TensorCache(max_bytes=300 * 10**6)


def constant(like: Any, recipe: Recipe, make: Any, *how: Any) -> Any:
    """What `make` computes on the host, as a tensor, which eager calls share."""
    if not _backend.is_eager(like):
        return _backend.to_tensor(make(*recipe, *how), like)
    key = (make, recipe.channels, how, _backend.device_of(like))
    found = tables.get(recipe.source, key)
    if found is None:
        values = make(*recipe, *how)
        with _backend.outside_traces(like):
            found = _backend.to_tensor(values, like)
        if _backend.outlasts_call(found):
            tables.put(recipe.source, key, found, values.nbytes)
    return found
