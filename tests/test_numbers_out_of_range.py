"""Numbers at the end of their range: an error of the package, NaN, or the unit circle.

Never two zeros for sine and cosine, never a bare warning of NumPy, never an error of
another kind, and no work without a bound.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from typing import Any

import keras
import ml_dtypes
import numpy as np
import pytest

import keras_posenc as kp
from helpers.entry_points import CHANNELS, ENTRIES, TENSOR_ENTRIES, entered, entry_point
from helpers.run_modes import BACKEND, KNOWN, with_known_sizes
from helpers.tensors import to_numpy, to_tensor, zeros

each_entry = pytest.mark.parametrize("entry", ENTRIES)
# The norm of a pair, computed in float32 from what float64 has no digits for.
CIRCLE = 1e-3


def assert_on_circle(rows: np.ndarray) -> None:
    norms = rows[..., 0::2] ** 2 + rows[..., 1::2] ** 2
    np.testing.assert_allclose(norms, 1, atol=CIRCLE)


HUGE = [1e20, -1e25, 1e30, -1e30]


@pytest.mark.parametrize("form", ["list", "float64", "float32"])
@each_entry
def test_huge_positions_stay_on_the_circle(entry: str, form: str):
    positions: Any = np.array(HUGE, "float32" if form == "float32" else "float64")
    assert_on_circle(entered(entry, HUGE if form == "list" else positions))


@pytest.mark.parametrize("mode", KNOWN)
@pytest.mark.parametrize("entry", TENSOR_ENTRIES)
@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float64"])
def test_huge_positions_of_a_tensor_stay_on_the_circle(
    dtype: str, entry: str, mode: str
):
    if (BACKEND, dtype) == ("jax", "float64"):
        pytest.skip("JAX has no float64 here.")
    function = with_known_sizes(entry_point(entry), mode)
    given = to_tensor(np.array([*HUGE, 1.0]), dtype)
    assert_on_circle(to_numpy(function(given)))


@pytest.mark.parametrize("mode", KNOWN)
@pytest.mark.parametrize("entry", TENSOR_ENTRIES)
def test_the_largest_tensors_are_no_numbers_or_stay_on_the_circle(
    entry: str, mode: str
):
    function = with_known_sizes(entry_point(entry), mode)
    found = to_numpy(function(to_tensor(np.array([3e38, -3e38, 1.0]), "float32")))
    norms = found[:, 0::2] ** 2 + found[:, 1::2] ** 2
    np.testing.assert_allclose(norms[np.isfinite(norms)], 1, atol=CIRCLE)
    assert np.isfinite(norms[2]).all()


@each_entry
def test_positions_beyond_float32_stay_on_the_circle(entry: str):
    assert_on_circle(entered(entry, np.array([1e39, 1e100, -1e300])))


@pytest.mark.parametrize("form", ["list", "array", "tensor", "half"])
@pytest.mark.parametrize("value", [np.inf, -np.inf, np.nan])
@each_entry
def test_no_number_becomes_no_number(entry: str, value: float, form: str):
    given: Any = np.array([value, 1.0], "float32")
    if form == "list":
        given = [value, 1.0]
    elif form == "tensor":
        given = to_tensor(given)
    elif form == "half":
        given = given.astype(ml_dtypes.bfloat16)
    found = entered(entry, given)
    assert np.isnan(found[0]).all()
    assert np.isfinite(found[1]).all()


def test_a_huge_start_stays_on_the_circle():
    layer = kp.PositionalEncoding1D(CHANNELS)
    for start in (2**62, -(2**62), 2**63 - 5):
        found = to_numpy(layer(zeros(1, 5, CHANNELS), start_index=start))
        assert_on_circle(found[0])


# Options whose products are no numbers.

MAKERS: dict[str, Callable[..., Any]] = {
    "1d": lambda **options: kp.PositionalEncoding1D(CHANNELS, **options),
    "rank1": lambda **options: kp.PositionalEncoding(1, CHANNELS, **options),
    "permute1d": lambda **options: kp.PositionalEncodingPermute1D(CHANNELS, **options),
    "values": lambda **options: kp.CoordinateEncoding(CHANNELS, **options),
    "encode": lambda **options: kp.encode([0, 1, 2], CHANNELS, **options),
    "table": lambda **options: kp.sinusoidal_table(4, CHANNELS, **options),
    "table-of-positions": lambda **options: kp.sinusoidal_table(
        None, CHANNELS, positions=[0, 1, 2], **options
    ),
}
INFINITE: dict[str, dict[str, Any]] = {
    "frequency-and-scale": {"frequencies": [1e308, 1, 1, 1], "scale": 1e10},
    "offset-and-scale": {"offset": 1e200, "scale": 1e200},
    "frequency-and-offset": {"frequencies": [1e200, 1, 1, 1], "offset": 1e200},
    "all-three": {"frequencies": [1e150, 1, 1, 1], "offset": 1e100, "scale": 1e100},
    "range-and-scale": {"coordinate_range": (0, 1e200), "scale": 1e200},
    "wide-range": {"coordinate_range": (-1.7e308, 1.7e308)},
}


def use(name: str, **options: Any) -> Any:
    """Makes the layer and calls it, or calls the function."""
    made = MAKERS[name](**options)
    if not isinstance(made, keras.layers.Layer):
        return made
    if name == "values":
        return made(np.array([0.0, 1.0, 2.0]))
    first = name.startswith("permute")
    return made(zeros(1, CHANNELS, 4) if first else zeros(1, 4, CHANNELS))


@pytest.mark.parametrize("infinite", INFINITE)
@pytest.mark.parametrize("name", MAKERS)
def test_options_whose_product_is_no_number_are_refused(name: str, infinite: str):
    with pytest.raises(ValueError, match=r"must be finite.*Received: ") as raised:
        use(name, **INFINITE[infinite])
    assert len(str(raised.value)) < 600


LARGE: dict[str, dict[str, Any]] = {
    "offset": {"offset": 1e308},
    "negative-offset": {"offset": -1e308},
    "scale": {"scale": 1e308},
    "frequency": {"frequencies": [1e308, 1, 1, 1]},
    "wavelength": {"max_wavelength": 1e-300},
    "long-wavelength": {"max_wavelength": 1e308},
    "small-scale": {"scale": 1e-320},
    "range": {"coordinate_range": (-8e307, 8e307)},
    "large-of-all": {"offset": 1e100, "scale": 1e100, "frequencies": [1e100, 1, 1, 1]},
}


@pytest.mark.parametrize("large", LARGE)
@pytest.mark.parametrize("name", MAKERS)
def test_large_options_are_refused_or_stay_on_the_circle(name: str, large: str):
    # Warnings are errors here, those of NumPy too.
    try:
        found = to_numpy(use(name, **LARGE[large]))
    except ValueError as error:
        assert "Received: " in str(error)  # noqa: PT017
        return
    found = np.moveaxis(found, 1, -1) if name.startswith("permute") else found
    norms = found[..., 0::2] ** 2 + found[..., 1::2] ** 2
    np.testing.assert_allclose(norms[np.isfinite(norms)], 1, atol=CIRCLE)


@pytest.mark.parametrize("mode", KNOWN)
@pytest.mark.parametrize("large", LARGE)
def test_large_options_in_a_graph_stay_on_the_circle(large: str, mode: str):
    try:
        layer = kp.PositionalEncoding1D(CHANNELS, **LARGE[large])
        layer(zeros(1, 4, CHANNELS))
    except ValueError:
        return
    for function in (layer, lambda x: layer(x, positions=x[0, :, 0] + 1)):
        found = to_numpy(with_known_sizes(function, mode)(zeros(1, 4, CHANNELS)))
        norms = found[..., 0::2] ** 2 + found[..., 1::2] ** 2
        np.testing.assert_allclose(norms[np.isfinite(norms)], 1, atol=CIRCLE)


# Integers that no float holds.

TAKE: dict[str, Callable[[Any], Any]] = {
    "channels-1d": lambda n: kp.PositionalEncoding1D(n),
    "channels-3d": lambda n: kp.PositionalEncoding3D(n),
    "channels-permute": lambda n: kp.PositionalEncodingPermute2D(n),
    "channels-rank2": lambda n: kp.PositionalEncoding(2, n),
    "channels-values": lambda n: kp.CoordinateEncoding(n),
    "channels-encode": lambda n: kp.encode([1], n),
    "channels-table": lambda n: kp.sinusoidal_table(3, n),
    "channels-table-of-positions": lambda n: kp.sinusoidal_table(
        None, n, positions=[1]
    ),
    "channels-preset": lambda n: kp.PositionalEncoding1D.from_preset("ddpm", n),
    "hidden_dim": lambda n: kp.SinusoidEncoding(n),
    "rank": lambda n: kp.PositionalEncoding(n, 8),
    "rank-values": lambda n: kp.CoordinateEncoding(8, n),
    "rank-encode": lambda n: kp.encode([[1, 2]], 8, rank=n),
    "max_wavelength": lambda n: kp.PositionalEncoding1D(8, max_wavelength=n),
    "frequencies": lambda n: kp.PositionalEncoding1D(8, frequencies=[n, 1, 1, 1]),
    "offset": lambda n: kp.PositionalEncoding1D(8, offset=n),
    "offsets": lambda n: kp.PositionalEncoding2D(8, offset=[n, 1]),
    "scale": lambda n: kp.CoordinateEncoding(8, scale=n),
    "scale-encode": lambda n: kp.encode([1], 8, scale=n),
    "coordinate_range": lambda n: kp.PositionalEncoding1D(8, coordinate_range=(0, n)),
    "eps": lambda n: kp.PositionalEncoding1D(8, coordinate_range=(0, 1), eps=n),
    "split": lambda n: kp.PositionalEncoding2D(8, split=[n, 8]),
    "axis_order": lambda n: kp.PositionalEncoding2D(8, axis_order=[n, 0]),
    "table-size": lambda n: kp.sinusoidal_table(n, 8),
    "table-sizes": lambda n: kp.sinusoidal_table((3, n), 8),
    "start_index": lambda n: kp.PositionalEncoding1D(8)(zeros(1, 2, 8), start_index=n),
    "grid-of-the-call": lambda n: kp.PositionalEncoding2D(8)(
        zeros(1, 4, 8), grid=(n, None)
    ),
}
BEYOND = [10**400, -(10**400)]


@pytest.mark.parametrize("value", BEYOND, ids=["huge", "negative"])
@pytest.mark.parametrize("taker", TAKE)
def test_integers_that_no_float_holds_are_refused(taker: str, value: int):
    with pytest.raises(ValueError, match=r"must .*Received: ") as raised:
        TAKE[taker](value)
    assert len(str(raised.value)) < 600


@pytest.mark.parametrize("value", BEYOND, ids=["huge", "negative"])
@each_entry
def test_positions_that_no_float_holds_are_refused(entry: str, value: int):
    with pytest.raises((ValueError, TypeError), match=r"must .*Received: ") as raised:
        entered(entry, [value, 1])
    assert len(str(raised.value)) < 600


# What would take work or memory without a bound.

MANY: dict[str, Callable[[], Any]] = {
    "channels": lambda: kp.PositionalEncoding1D(2**24 + 1),
    "channels-3d": lambda: kp.PositionalEncoding3D(10**12),
    "channels-values": lambda: kp.CoordinateEncoding(2**24 + 1),
    "channels-encode": lambda: kp.encode([1], 2**24 + 1),
    "channels-table": lambda: kp.sinusoidal_table(1, 2**24 + 1),
    "hidden_dim": lambda: kp.SinusoidEncoding(2**24 + 1),
    "rank": lambda: kp.PositionalEncoding(63, 8),
    "rank-values": lambda: kp.CoordinateEncoding(8, rank=63),
    "rank-of-thousands": lambda: kp.CoordinateEncoding(8, rank=6000),
    "rank-of-millions": lambda: kp.CoordinateEncoding(8, rank=10**7),
    "rank-encode": lambda: kp.encode(np.zeros((1, 10**7)), 8, rank=10**7),
    "table": lambda: kp.sinusoidal_table(10**23, 4),
    "table-of-a-plane": lambda: kp.sinusoidal_table((10**10, 10**10), 8),
    "table-of-terabytes": lambda: kp.sinusoidal_table(10**12, 8),
    "table-of-many-axes": lambda: kp.sinusoidal_table((2,) * 63, 8),
    "table-of-a-preset": lambda: kp.sinusoidal_table(10**23, 64, preset="ddpm"),
}


@pytest.mark.parametrize("many", MANY)
def test_work_without_a_bound_is_refused_at_once(many: str):
    begin = time.perf_counter()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        with pytest.raises(ValueError, match=r"must .*Received: ") as raised:
            MANY[many]()
    assert len(str(raised.value)) < 600
    assert not caught
    assert time.perf_counter() - begin < 2


@pytest.mark.parametrize("made", ["values", "grids"])
def test_a_rank_from_a_file_is_refused_at_once(made: str):
    layer: Any = kp.CoordinateEncoding(8)
    layer = kp.PositionalEncoding(1, 8) if made == "grids" else layer
    config = {**layer.get_config(), "rank": 10**7}
    begin = time.perf_counter()
    # Keras puts words of its own around what a constructor raises here.
    with pytest.raises((TypeError, ValueError), match="`rank` must be at most 62"):
        type(layer).from_config(config)
    assert time.perf_counter() - begin < 2


def test_what_is_within_the_bounds_is_made():
    """A test of an absence: the bounds are no lower than they say."""
    assert kp.PositionalEncoding1D(2**24).channels == 2**24
    with pytest.warns(UserWarning, match="not encoded"):
        assert kp.CoordinateEncoding(8, rank=62).rank == 62
    with pytest.warns(UserWarning, match="not encoded"):
        assert kp.PositionalEncoding(62, 8).rank == 62
