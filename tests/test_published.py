"""Tables that the code of other projects produced, each by options of ours.

The file has, for each, the options that make it and the error of the original, which
most often computed in float32.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import keras_posenc as kp
from helpers import reference
from helpers.run_modes import KNOWN, UNKNOWN, with_known_sizes, with_unknown_sizes
from helpers.tensors import to_numpy, to_tensor
from helpers.tolerances import SUM_ROUNDING

GOLDEN = json.loads(
    (Path(__file__).parent / "golden/published_encodings.json").read_text()
)
each_table = pytest.mark.parametrize("golden", GOLDEN, ids=lambda item: item["name"])


def expected(golden: dict[str, Any]) -> np.ndarray:
    return np.reshape(golden["table"], (*golden["shape"], golden["channels"]))


def tolerance(golden: dict[str, Any]) -> float:
    """What is promised to who ports a model, beside the original's own error.

    Ours is 2e-7 at most, and the decimals of the file leave 0.5e-7.
    """
    return 2e-6 + golden["original_error"]


def layer_for(golden: dict[str, Any]) -> kp.PositionalEncoding:
    layer = kp.PositionalEncoding(
        len(golden["shape"]), golden["channels"], **golden["options"]
    )
    layer.build(shape_of(golden))  # torch cannot in a graph
    return layer


def shape_of(golden: dict[str, Any], batch: int = 2) -> tuple[int, ...]:
    return (batch, *golden["shape"], golden["channels"])


def assert_equals_the_original(outputs: Any, golden: dict[str, Any]) -> None:
    table = expected(golden)
    assert tuple(outputs.shape) == (2, *table.shape)
    np.testing.assert_allclose(
        to_numpy(outputs),
        np.broadcast_to(table, outputs.shape),
        rtol=0,
        atol=tolerance(golden),
    )


# Options reach a graph as frequencies and phases: one for each way of those through it.
NAMED = {golden["name"]: golden for golden in GOLDEN}
IN_GRAPHS = [
    NAMED[name]
    for name in (
        "tatp22 1D C=7",
        "HF MusicGen",
        "Deformable DETR",
        "DAB tempH=10 tempW=50",
        "LoFTR (fixed)",
        "PixArt/diffusers 2D base_size=16 interp=2",
        "timm fourier in_pixels log bands",
        "vit-pytorch posemb_sincos_3d C=14",
        "Prithvi 3D D=16",
    )
]


def named(value: Any) -> str:
    return value if isinstance(value, str) else value["name"]


@pytest.mark.parametrize(
    ("golden", "mode"),
    [(golden, "eager") for golden in GOLDEN]
    + [(golden, mode) for mode in KNOWN[1:] for golden in IN_GRAPHS],
    ids=named,
)
def test_a_layer_equals_the_published_table(golden: dict[str, Any], mode: str):
    layer = with_known_sizes(layer_for(golden), mode)
    outputs = layer(to_tensor(np.zeros(shape_of(golden), "float32")))
    assert_equals_the_original(outputs, golden)


@pytest.mark.parametrize("golden", IN_GRAPHS, ids=named)
@pytest.mark.parametrize("mode", UNKNOWN)
def test_a_layer_that_knows_no_size_equals_the_published_table(
    golden: dict[str, Any], mode: str
):
    sizes = [None] * len(golden["shape"])
    signature = (None, *sizes, golden["channels"])
    graph = with_unknown_sizes(layer_for(golden), mode, signature)
    outputs = graph(to_tensor(np.zeros(shape_of(golden), "float32")))
    assert_equals_the_original(outputs, golden)


@each_table
def test_a_sum_equals_the_published_table(golden: dict[str, Any]):
    inputs = np.random.default_rng(0).normal(size=shape_of(golden)).astype("float32")
    outputs = to_numpy(kp.Summer(layer_for(golden))(to_tensor(inputs)))
    np.testing.assert_allclose(
        outputs - inputs.astype("float64"),
        np.broadcast_to(expected(golden), outputs.shape),
        rtol=0,
        atol=tolerance(golden) + SUM_ROUNDING,
    )


@each_table
def test_the_table_equals_the_published_table(golden: dict[str, Any]):
    table = kp.sinusoidal_table(
        golden["shape"], golden["channels"], **golden["options"]
    )
    np.testing.assert_allclose(table, expected(golden), rtol=0, atol=tolerance(golden))


@each_table
def test_the_reference_equals_the_published_table(golden: dict[str, Any]):
    table = reference.encode_options(
        tuple(golden["shape"]), golden["channels"], **golden["options"]
    )
    # The last of seven decimals, beside the original's error: the reference has none.
    np.testing.assert_allclose(
        table, expected(golden), rtol=0, atol=golden["original_error"] + 0.51e-7
    )


def test_the_golden_file_is_whole():
    assert len(GOLDEN) == 37
    assert {len(golden["shape"]) for golden in GOLDEN} == {1, 2, 3}


@each_table
def test_each_option_changes_its_table(golden: dict[str, Any]):
    """Shows that the checks above can fail, where options differ from the defaults."""
    shape, channels = tuple(golden["shape"]), golden["channels"]
    options = golden["options"]
    if options in ({}, {"remainder": "truncate"}):
        pytest.skip("the defaults")
    off = np.abs(reference.encode_options(shape, channels) - expected(golden)).max()
    assert off > 100 * tolerance(golden)
