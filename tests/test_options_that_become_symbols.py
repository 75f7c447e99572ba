"""torch.compile makes symbols of numbers that change between calls, options too.

The second value of a float is when that happens; the graph stays one whole.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import keras_posenc as kp
from helpers.run_modes import BACKEND, whole_torch_graph
from helpers.tensors import to_numpy

if BACKEND != "torch":
    pytest.skip("torch makes symbols of floats.", allow_module_level=True)

import torch

CHANNELS = 8
POSITIONS = {
    "integers": torch.arange(5),
    "reals": torch.arange(5) / 4 + 3,
    "array": np.arange(5) / 4 + 3,
}
# Options, made of one number that changes.
OPTIONS: dict[str, Callable[[float], dict[str, Any]]] = {
    "scale": lambda s: {"scale": s},
    "offset": lambda s: {"offset": s},
    "max_wavelength": lambda s: {"max_wavelength": 100 * s},
    "both": lambda s: {"scale": s, "max_wavelength": 100 * s},
    "frequencies": lambda s: {"frequencies": [s, s / 2, s / 4, s / 8]},
    "scale-list": lambda s: {"scale": [s]},
    "coordinate_range": lambda s: {"coordinate_range": (0.0, s)},
    "eps": lambda s: {"coordinate_range": (0.0, 1.0), "eps": s},
    "preset": lambda s: {"preset": "whisper", "scale": s},
}
NUMBERS = [1.0, 2.0, 3.25]


@pytest.mark.parametrize("dynamic", [None, True])
@pytest.mark.parametrize("given", ["integers", "reals"])
@pytest.mark.parametrize("options", OPTIONS)
def test_options_of_encode_may_change(options: str, given: str, dynamic: bool | None):
    def function(positions: Any, number: float) -> Any:
        return kp.encode(positions, CHANNELS, **OPTIONS[options](number))

    graph, positions = whole_torch_graph(function, dynamic), POSITIONS[given]
    for number in NUMBERS:
        found, expected = graph(positions, number), function(positions, number)
        np.testing.assert_allclose(to_numpy(found), to_numpy(expected), atol=2e-6)


@pytest.mark.parametrize("dynamic", [None, True])
@pytest.mark.parametrize("option", ["scale", "offset", "max_wavelength"])
def test_options_of_a_plane_may_change(option: str, dynamic: bool | None):
    points = torch.stack([torch.arange(5), 3 * torch.arange(5)], dim=-1)

    def function(points: Any, first: float, second: float) -> Any:
        options = {option: [first, second]}
        return kp.encode(points, CHANNELS, rank=2, **options)

    graph = whole_torch_graph(function, dynamic)
    for first, second in [(1.0, 2.0), (2.0, 3.0), (0.5, 0.25)]:
        found, expected = graph(points, first, second), function(points, first, second)
        np.testing.assert_allclose(to_numpy(found), to_numpy(expected), atol=2e-6)


@pytest.mark.parametrize("dynamic", [None, True])
def test_channels_may_change(dynamic: bool | None):
    def function(positions: Any, channels: int) -> Any:
        return kp.encode(positions, channels)

    graph = whole_torch_graph(function, dynamic)
    for channels in (8, 12, 16):
        found = graph(POSITIONS["reals"], channels)
        expected = function(POSITIONS["reals"], channels)
        np.testing.assert_allclose(to_numpy(found), to_numpy(expected), atol=2e-6)


@pytest.mark.parametrize("dynamic", [None, True])
@pytest.mark.parametrize("name", ["1d", "sum", "sinusoid"])
def test_starts_may_change(name: str, dynamic: bool | None):
    layer: Any = {
        "1d": lambda: kp.PositionalEncoding1D(CHANNELS),
        "sum": lambda: kp.Summer(kp.PositionalEncoding1D(CHANNELS)),
        "sinusoid": lambda: kp.SinusoidEncoding(CHANNELS),
    }[name]()
    x = torch.zeros(2, 6, CHANNELS)
    layer(x)
    graph = whole_torch_graph(lambda x, start: layer(x, start_index=start), dynamic)
    for start in (0, 3, 7, 1000):
        np.testing.assert_allclose(
            to_numpy(graph(x, start)),
            to_numpy(layer(x, start_index=start)),
            atol=2e-6,
        )


@pytest.mark.parametrize("dynamic", [None, True])
def test_sizes_of_a_grid_may_change(dynamic: bool | None):
    layer, x = kp.PositionalEncoding2D(CHANNELS), torch.zeros(2, 12, CHANNELS)
    layer(x, grid=(3, 4))
    graph = whole_torch_graph(lambda x, h, w: layer(x, grid=(h, w)), dynamic)
    for sizes in [(3, 4), (4, 3), (2, 6), (12, 1)]:
        np.testing.assert_allclose(
            to_numpy(graph(x, *sizes)), to_numpy(layer(x, grid=sizes)), atol=2e-6
        )


@pytest.mark.parametrize("bad", [0.0, -1.0, float("nan"), float("inf")])
def test_a_bad_option_is_refused_in_a_graph_too(bad: float):
    def function(positions: Any, number: float) -> Any:
        return kp.encode(positions, CHANNELS, max_wavelength=number)

    graph = whole_torch_graph(function, None)
    graph(POSITIONS["reals"], 1.0)
    with pytest.raises(Exception, match="max_wavelength"):
        graph(POSITIONS["reals"], bad)
