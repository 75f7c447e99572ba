"""Several devices: layers leave a tensor where it is, and training loses nothing by it.

The devices are parts of a CPU, or processes; how many there are is settled as a process
starts, so that the calls are made in processes of their own.
"""

from __future__ import annotations

import json
import os
import subprocess
from typing import Any

import numpy as np
import pytest

from helpers import sharded_model
from helpers.layer_cases import LAYERS, Case
from helpers.processes import command, environment
from helpers.run_modes import BACKEND
from helpers.tolerances import ROUNDING, SUM_ROUNDING

Facts = dict[str, Any]
# Seconds. It takes 20, or a minute on a busy machine.
PATIENCE = 600
ENVIRONMENT = {
    **environment(),
    # A GPU would be a device by itself.
    "CUDA_VISIBLE_DEVICES": "-1",
    "JAX_PLATFORMS": "cpu",
}
if BACKEND == "jax":
    flags = os.environ.get("XLA_FLAGS", "")
    ENVIRONMENT["XLA_FLAGS"] = f"{flags} --xla_force_host_platform_device_count=8"
STRATEGIES = {
    "jax": ["DataParallel", "ModelParallel"],
    "tensorflow": ["MirroredStrategy"],
    "torch": ["DistributedDataParallel"],
}


def start(helper: str, *arguments: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        command(helper, *arguments),
        env=ENVIRONMENT,
        stdout=subprocess.PIPE,
        text=True,
    )


@pytest.fixture(scope="module")
def facts(tmp_path_factory: pytest.TempPathFactory) -> Facts:
    """What the script of this backend prints."""
    if BACKEND == "torch":
        meeting = str(tmp_path_factory.mktemp("torch") / "meeting")
        processes = [start("sharded_torch", meeting, number) for number in "01"]
    else:
        processes = [start(f"sharded_{BACKEND}")]
    try:
        printed = [process.communicate(timeout=PATIENCE)[0] for process in processes]
    finally:
        for process in processes:
            process.kill()  # what waits for ever, or for another that has failed
    assert [process.returncode for process in processes] == [0] * len(processes)
    return json.loads(printed[0])


@pytest.mark.parametrize("strategy", STRATEGIES[BACKEND])
def test_the_loss_is_that_of_one_device(strategy: str, facts: Facts):
    losses = facts["losses"]
    assert len(losses["one"]) == sharded_model.EPOCHS
    # Gradients are added in another order: 1e-6 was measured.
    np.testing.assert_allclose(losses[strategy], losses["one"], rtol=0, atol=1e-5)


def test_the_loss_depends_on_the_encoding():
    losses = [sharded_model.fitted(max_wavelength) for max_wavelength in (100, 101)]
    assert np.abs(np.subtract(*losses)).max() > 1e-4


if BACKEND == "jax":
    from helpers.sharded_jax import CASES, LONG, SPREADS, WAYS
    from helpers.tolerances import COUNTING

    def tolerance(case: Case) -> float:
        if case not in LONG:
            return SUM_ROUNDING if case.adds else ROUNDING["float32"]
        # Four tables, multiplied in float32. A sum, of one in a million numbers with
        # a deviation of 3, reaches 16, where the last place is twice as large.
        return COUNTING + (2 * SUM_ROUNDING if case.adds else 0)

    each_case = pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
    each_spread = pytest.mark.parametrize("spread", SPREADS)

    @each_case
    @each_spread
    @pytest.mark.parametrize("way", WAYS)
    def test_the_output_is_sharded_as_the_input(
        case: Case, spread: str, way: str, facts: Facts
    ):
        found = facts["layers"][f"{case.name}-{spread}-{way}"]
        assert found["parts"] == [found["part"]] * 8
        assert found["alike"]
        assert found["error"] <= tolerance(case)

    @each_case
    @each_spread
    def test_cached_tables_are_sharded_too(case: Case, spread: str, facts: Facts):
        found = facts["layers"][f"{case.name}-{spread}-eager"]
        assert 0 < found["largest_kept"] <= found["part_of_one_element"]

    @each_case
    @each_spread
    def test_devices_exchange_nothing(case: Case, spread: str, facts: Facts):
        found = facts["layers"][f"{case.name}-{spread}-jit"]
        # Of four tables, neighbours exchange a few positions.
        allowed = {"collective-permute"} if case in LONG else set()
        assert set(found["exchanges"]) <= allowed
        # Not even the encoding of one device's part of one element of the batch.
        assert found["temporary"] < 4 * found["part_of_one_element"]

    @each_spread
    @pytest.mark.parametrize("way", WAYS)
    def test_a_gathered_copy_would_be_seen(spread: str, way: str, facts: Facts):
        found = facts["gathered"][f"{spread}-{way}"]
        assert found["parts"] != [found["part"]] * 8
        assert not found["alike"]
        if way == "eager":
            assert found["largest_kept"] > found["part_of_one_element"]
        else:
            assert found["exchanges"] == ["all-gather"]


if BACKEND == "tensorflow":
    from helpers.sharded_tensorflow import WAYS

    @pytest.mark.parametrize("case", LAYERS, ids=lambda case: case.name)
    @pytest.mark.parametrize("way", WAYS)
    def test_each_replica_computes_on_its_own_device(
        case: Case, way: str, facts: Facts
    ):
        found = facts["layers"][f"{case.name}-{way}"]
        assert found["devices"] == ["0", "1"]
        assert found["error"] <= (SUM_ROUNDING if case.adds else ROUNDING["float32"])
