"""Times candidates side by side in one process."""

from __future__ import annotations

import contextlib
import gc
import random
import time
from collections.abc import Callable, Iterator, Sequence
from sys import stdout
from typing import Any

import keras
import numpy as np
from rich.progress import Progress

BACKEND = keras.backend.backend()
# A median of fewer says little, however slow the slowest candidate is.
MIN_ROUNDS = 5
# How often arrays that a target depends on are made anew.
PLACEMENTS = 5


class Times:
    """Seconds per round of each candidate. One that did not run has NaN."""

    def __init__(self, seconds: dict[str, np.ndarray], calls: int):
        self.seconds = seconds
        self.calls = calls

    def __iter__(self) -> Iterator[str]:
        return iter(self.seconds)

    def median(self, name: str) -> float:
        """Seconds per call."""
        return float(np.median(self.seconds.get(name, np.nan))) / self.calls

    def ratio(self, name: str, base: str) -> float:
        """The median of the ratios within each round.

        Not the ratio of the medians: what slows the machine for a while slows both
        candidates of a round, and leaves their ratio alone.
        """
        dividend, divisor = (self.seconds.get(of, np.nan) for of in (name, base))
        return float(np.median(dividend / divisor))


def measure_anew(
    make: Callable[[], tuple[dict[str, Callable[[Any], Any]], Any]],
    *,
    rounds: int,
    seconds: float,
    title: str,
    placements: int = PLACEMENTS,
) -> Times:
    """Measures the candidates and the input that `make` returns, made several times.

    Where arrays happen to lie in memory moves a ratio by a tenth, for as long as they
    live: more than what is to be measured. So they are made anew, and the earlier ones
    kept meanwhile, since new ones would take their place.
    """
    kept, parts = [], []
    for _ in range(placements):
        calls, x = make()
        kept.append((calls, x))
        share = {"rounds": -(-rounds // placements), "seconds": seconds / placements}
        parts.append(measure(calls, [x], title=title, **share))
    # The candidates of one round stay side by side, so that ratios are of one round.
    joined = {
        name: np.concatenate([part.seconds[name] for part in parts])
        for name in parts[0]
    }
    return Times(joined, calls=1)


def measure(
    candidates: dict[str, Callable[[Any], Any]],
    inputs: Sequence[Any],
    *,
    rounds: int,
    seconds: float = 10.0,
    title: str = "",
) -> Times:
    """Calls each candidate on each input, in every round, in an order drawn anew.

    An order that stays would give each candidate what the same predecessor leaves in
    the processor's caches. The first round warms up and is not counted. Rounds end
    early after `seconds`, but never below `MIN_ROUNDS`.
    """
    draw = random.Random(0)
    kept: dict[str, list[float]] = {name: [] for name in candidates}
    # Not refreshed by a thread of its own, which would run while candidates do.
    shown = {"auto_refresh": False, "transient": True, "disable": not stdout.isatty()}
    with Progress(**shown) as progress:
        task = progress.add_task(title, total=rounds)
        one_round(candidates, inputs, draw)
        end = time.perf_counter() + seconds
        with no_garbage_collection():
            for done in range(rounds):
                if done >= MIN_ROUNDS and time.perf_counter() > end:
                    break
                for name, spent in one_round(candidates, inputs, draw).items():
                    kept[name].append(spent)
                progress.update(task, advance=1, refresh=True)
    return Times({name: np.array(kept[name]) for name in kept}, len(inputs))


@contextlib.contextmanager
def no_garbage_collection() -> Iterator[None]:
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def one_round(
    candidates: dict[str, Callable[[Any], Any]],
    inputs: Sequence[Any],
    draw: random.Random,
) -> dict[str, float]:
    """Seconds that each candidate spent on all inputs."""
    spent = dict.fromkeys(candidates, 0.0)
    for x in draw.sample(inputs, len(inputs)):
        for name in draw.sample(list(candidates), len(candidates)):
            spent[name] += time_call(candidates[name], x)
    return spent


def time_call(candidate: Callable[[Any], Any], x: Any) -> float:
    """Seconds until the result is there; it is freed after the clock has stopped."""
    start = time.perf_counter()
    result = candidate(x)
    wait_for(result)
    return time.perf_counter() - start


def _waiter() -> Callable[[Any], Any]:
    """What waits until the device has computed a result."""
    if BACKEND == "jax":
        import jax

        return jax.block_until_ready
    if BACKEND == "torch":
        import torch

        if torch.cuda.is_available():
            return lambda result: torch.cuda.synchronize()
    if BACKEND == "tensorflow":
        import tensorflow as tf

        if tf.config.list_physical_devices("GPU"):
            return lambda result: tf.test.experimental.sync_devices()
    return lambda result: None  # The call itself has waited.


wait_for = _waiter()
