"""Every run says which backend it tests; a lane makes sure that it tests only that."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import sys
from collections.abc import Callable, Iterator
from typing import Any

import keras
import pytest

BACKENDS = ("jax", "tensorflow", "torch")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--only-backend",
        choices=BACKENDS,
        help="fail at once unless Keras runs on this backend and no other can be "
        "imported",
    )


def pytest_sessionstart(session: pytest.Session) -> None:
    wanted = session.config.getoption("--only-backend")
    if wanted is None:
        return
    if keras.backend.backend() != wanted:
        pytest.exit(f"Keras runs on {keras.backend.backend()}, not on {wanted}.", 3)
    others = [name for name in BACKENDS if name != wanted and _installed(name)]
    if others:
        pytest.exit(f"A lane for {wanted} alone can import {', '.join(others)}.", 3)


def pytest_report_header(config: pytest.Config) -> str:
    import keras_posenc

    versions = [f"keras {keras.__version__}"]
    # By the module: TensorFlow comes in distributions of several names.
    distributions = importlib.metadata.packages_distributions()
    versions += [
        f"{name} {importlib.metadata.version(distributions[name][0])}"
        for name in BACKENDS
        if _installed(name)
    ]
    return (
        f"backend: {keras.backend.backend()} ({', '.join(versions)}); "
        f"testing {keras_posenc.__file__}"
    )


def _installed(name: str) -> bool:
    return importlib.util.find_spec(name) is not None


@pytest.fixture
def global_policy() -> Iterator[Callable[[Any], None]]:
    """Sets Keras's global policy, and resets it afterwards."""
    before = keras.config.dtype_policy()
    yield keras.config.set_dtype_policy
    keras.config.set_dtype_policy(before)


@pytest.fixture
def impatient() -> Iterator[None]:
    """Threads take turns as often as they can."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


@pytest.fixture
def empty_cache() -> Iterator[None]:
    """No other test has left anything in the cache of tables."""
    # Not above: some folders of tests do without the inside of the package.
    from helpers import internals

    with internals.empty_cache():
        yield


@pytest.fixture
def builds(empty_cache: None) -> Iterator[list[tuple[int, ...]]]:
    """The sizes of each table that is built while the test runs."""
    from helpers import internals

    with internals.counted_table_builds() as built:
        yield built
