"""The inside of the package, as far as tests look at it: all of them through here.

Beside this file, only the unit tests of the cache class and of the command line import
private modules. What the package keeps between eager calls is called its cached tables.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from unittest import mock

from keras_posenc import _backend
from keras_posenc._engine import cache, tables
from keras_posenc._engine.cache import TensorCache
from keras_posenc._presets import ANY, PRESETS, Preset
from keras_posenc._sinusoidal import OPTION_NAMES, WaveArguments, WaveOptions

__all__ = [
    "ANY",
    "OPTION_NAMES",
    "PRESETS",
    "RECORD_BYTES",
    "STEPS",
    "Preset",
    "WaveArguments",
    "WaveOptions",
    "cache_has_room_for",
    "cache_limit",
    "cached_bytes",
    "counted_table_builds",
    "empty_cache",
    "failing_at",
    "limit_cache",
]

# What each cached table takes beside its numbers.
RECORD_BYTES = 1024


def cached_bytes() -> int:
    """What all cached tables take, and a record for each."""
    return cache.tables.nbytes


def cache_limit() -> int:
    """The most that cached tables may take."""
    return cache.tables.max_bytes


def cache_has_room_for(nbytes: int) -> bool:
    """Whether a table of so many bytes is cached, whatever has to go for it."""
    return cache.tables.has_room_for(nbytes)


def limit_cache(nbytes: int) -> None:
    """Sets the limit, for as long as an `empty_cache` lasts."""
    cache.tables.max_bytes = nbytes


@contextmanager
def empty_cache() -> Iterator[None]:
    """An empty cache of the same limit takes the place of that of the process."""
    with mock.patch.object(cache, "tables", TensorCache(cache_limit())):
        yield


@contextmanager
def counted_table_builds() -> Iterator[list[tuple[int, ...]]]:
    """The sizes of each table that is built from here on."""
    built: list[tuple[int, ...]] = []
    grid_table = tables.grid_table

    def noting(recipe: Any, grid: Any, dtype: str) -> Any:
        built.append(grid.sizes)
        return grid_table(recipe, grid, dtype)

    with mock.patch.object(tables, "grid_table", noting):
        yield built


# What an eager call does, one after another, where it finds no cached table.
STEPS = {
    "building": (tables, "grid_table"),
    "moving": (_backend, "put_like"),
    "keeping": (TensorCache, "put"),
}


@contextmanager
def failing_at(step: str, error: Exception) -> Iterator[None]:
    """One of `STEPS` raises `error`."""
    with mock.patch.object(*STEPS[step], mock.Mock(side_effect=error)):
        yield
