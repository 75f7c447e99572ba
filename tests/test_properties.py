"""What holds for every layer, whatever its sizes, channels, dtype and options.

Hypothesis draws them, the same ones in each run; small sizes, since what it looks for
is at their edges, and JAX compiles every shape anew.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import hypothesis
import keras
import numpy as np
import pytest
from hypothesis import strategies as st

import keras_posenc as kp
from helpers import reference
from helpers.run_modes import BACKEND
from helpers.tensors import dtype_of, to_numpy, to_tensor
from helpers.tolerances import COUNTING, ROUNDING

# Few channels leave an axis without one: test_silent_axes.py checks the warning.
# So does it that of an input which seems to have its channels elsewhere.
pytestmark = pytest.mark.filterwarnings(
    "ignore:.* has no channel for axis .* not encoded:UserWarning",
    "ignore:.* found .* channels in dimension .* data_format=:UserWarning",
)

in_some_examples = hypothesis.settings(
    max_examples=4 if BACKEND == "jax" else 40,
    # The same examples for everyone, and no file of those that failed.
    derandomize=True,
    # A machine may be busy with something else.
    deadline=None,
    suppress_health_check=[hypothesis.HealthCheck.too_slow],
)


@dataclass(frozen=True)
class Place:
    """An input, and the options of a layer for it."""

    sizes: tuple[int, ...]
    channels: int
    written: int | None  # what the layer is told of channels
    dtype: str
    max_wavelength: float
    first: bool  # channels before sizes
    batch: int

    @property
    def rank(self) -> int:
        return len(self.sizes)

    @property
    def data_format(self) -> str:
        return "channels_first" if self.first else "channels_last"

    @property
    def options(self) -> dict[str, Any]:
        return {"dtype": self.dtype, "max_wavelength": self.max_wavelength}

    def laid_out(self, last: np.ndarray) -> np.ndarray:
        """An array (batch, *sizes, channels) as inputs of this place have it."""
        return np.moveaxis(last, -1, 1) if self.first else last

    def inputs(self, seed: int = 0) -> np.ndarray:
        """Whole numbers, which every dtype has exactly, of magnitude 8 at most."""
        shape = (self.batch, *self.sizes, self.channels)
        numbers = np.random.default_rng(seed).integers(-8, 9, shape)
        return self.laid_out(numbers.astype("float32"))

    def positions(self) -> np.ndarray:
        """Those of the grid, of shape (*sizes, rank)."""
        return np.stack(np.indices(self.sizes), axis=-1)

    def encoding(self) -> np.ndarray:
        """What the formula gives, with a batch of one, in float64."""
        channels = self.written or self.channels
        table = reference.exact(self.positions(), channels, self.max_wavelength)
        return self.laid_out(table[None, ..., : self.channels])


def _permute(place: Place) -> keras.Layer:
    cls = getattr(kp, f"PositionalEncodingPermute{place.rank}D")
    return cls(place.written, **place.options)


def _fixed(place: Place) -> keras.Layer:
    cls = getattr(kp, f"PositionalEncoding{place.rank}D")
    return cls(place.written, data_format=place.data_format, **place.options)


def _any_rank(place: Place) -> keras.Layer:
    return kp.PositionalEncoding(
        place.rank, place.written, data_format=place.data_format, **place.options
    )


def _sinusoid(place: Place) -> keras.Layer:
    return kp.SinusoidEncoding(place.channels, dtype=place.dtype)


def _summer(make: Callable[[Place], keras.Layer]) -> Callable[[Place], keras.Layer]:
    return lambda place: kp.Summer(make(place), dtype=place.dtype)


@dataclass(frozen=True)
class Kind:
    """A kind of layers, and the places that they are for."""

    make: Callable[[Place], keras.Layer]
    most_axes: int
    first: tuple[bool, ...] = (False, True)
    adds: bool = False
    plain: bool = False  # without options

    def tolerance(self, place: Place) -> float:
        """The rounding of the encoding, and that of a sum with what is at most 8."""
        return ROUNDING[place.dtype] + self.adds * SUM_ROUNDING[place.dtype]

    def added(self, inputs: np.ndarray) -> np.ndarray:
        return inputs.astype("float64") if self.adds else np.zeros(inputs.shape)


# Half a unit of the last place between 8 and 16.
_BITS = {"float16": 11, "bfloat16": 8, "float32": 24, "float64": 53}
SUM_ROUNDING = {dtype: 2.0 ** (3 - bits) for dtype, bits in _BITS.items()}

KINDS = {
    "any-rank": Kind(_any_rank, 4),
    "fixed": Kind(_fixed, 3),
    "permute": Kind(_permute, 3, first=(True,)),
    "sum-of-any-rank": Kind(_summer(_any_rank), 4, adds=True),
    "sum-of-fixed": Kind(_summer(_fixed), 3, adds=True),
    "sum-of-permute": Kind(_summer(_permute), 3, first=(True,), adds=True),
    "sinusoid": Kind(_sinusoid, 1, first=(False,), adds=True, plain=True),
}
each_kind = pytest.mark.parametrize("name", KINDS)
# Of any rank, channels last and first; in a sum; and what has code of its own.
each_other_kind = pytest.mark.parametrize(
    "name", ["any-rank", "sum-of-permute", "sinusoid"]
)

DTYPES = ["float32", "float16", "bfloat16", "float64"]
if BACKEND == "jax":  # which has no float64 unless it is told to
    DTYPES.remove("float64")
# The longest axis for each number of axes.
LONGEST = {1: 48, 2: 9, 3: 5, 4: 4}


@st.composite
def places(draw: st.DrawFn, kind: Kind, dtype: str | None = None) -> Place:
    rank = draw(st.integers(1, kind.most_axes))
    sizes = st.lists(st.integers(1, LONGEST[rank]), min_size=rank, max_size=rank)
    channels = draw(st.integers(1, 40))
    written = st.none() | st.integers(channels, channels + 20)
    wavelengths = st.floats(0.5, 1e6) | st.just(10_000.0)
    return Place(
        sizes=tuple(draw(sizes)),
        channels=channels,
        written=None if kind.plain else draw(written),
        dtype=dtype or draw(st.sampled_from(DTYPES)),
        max_wavelength=10_000.0 if kind.plain else draw(wavelengths),
        first=draw(st.sampled_from(kind.first)),
        batch=draw(st.integers(1, 3)),
    )


@each_kind
@in_some_examples
@hypothesis.given(data=st.data())
def test_equals_the_formula(name: str, data: st.DataObject):
    kind = KINDS[name]
    place = data.draw(places(kind))
    x = place.inputs()
    outputs = kind.make(place)(to_tensor(x))
    assert dtype_of(outputs) == place.dtype
    assert tuple(outputs.shape) == x.shape
    np.testing.assert_allclose(
        to_numpy(outputs),
        kind.added(x) + place.encoding(),
        rtol=0,
        atol=kind.tolerance(place),
    )


@pytest.mark.parametrize("name", ["permute", "sum-of-permute"])
@in_some_examples
@hypothesis.given(data=st.data())
def test_permute_is_the_transpose(name: str, data: st.DataObject):
    kind = KINDS[name]
    place = data.draw(places(kind))
    last = replace(place, first=False)
    x = last.inputs()
    transposed = kind.make(place)(to_tensor(place.laid_out(x)))
    outputs = KINDS[name.replace("permute", "fixed")].make(last)(to_tensor(x))
    np.testing.assert_array_equal(
        to_numpy(transposed), place.laid_out(to_numpy(outputs))
    )


@each_other_kind
@in_some_examples
@hypothesis.given(data=st.data())
def test_no_element_of_the_batch_depends_on_another(name: str, data: st.DataObject):
    kind = KINDS[name]
    place = data.draw(places(kind))
    layer, x = kind.make(place), place.inputs()
    others = place.inputs(seed=1)
    others[-1] = x[-1]
    outputs = to_numpy(layer(to_tensor(x)))
    np.testing.assert_array_equal(to_numpy(layer(to_tensor(others)))[-1], outputs[-1])
    np.testing.assert_array_equal(to_numpy(layer(to_tensor(x[:1]))), outputs[:1])


@each_other_kind
@in_some_examples
@hypothesis.given(data=st.data())
def test_a_longer_table_begins_with_the_shorter(name: str, data: st.DataObject):
    kind = KINDS[name]
    place = data.draw(places(kind))
    layer, x = kind.make(place), place.inputs()
    sizes = tuple(data.draw(st.integers(1, size)) for size in place.sizes)
    crop = (slice(None), *map(slice, sizes))
    if place.first:
        crop = (slice(None), *crop)
    np.testing.assert_array_equal(
        to_numpy(layer(to_tensor(x[crop]))), to_numpy(layer(to_tensor(x)))[crop]
    )


@pytest.mark.parametrize("name", [name for name in KINDS if KINDS[name].adds])
@in_some_examples
@hypothesis.given(data=st.data())
def test_a_sum_less_its_input_is_the_encoding(name: str, data: st.DataObject):
    kind = KINDS[name]
    place = data.draw(places(kind))
    x = place.inputs()
    summed = to_numpy(kind.make(place)(to_tensor(x)))
    encoding = to_numpy(_any_rank(place)(to_tensor(x)))
    np.testing.assert_allclose(
        summed - x, encoding, rtol=0, atol=SUM_ROUNDING[place.dtype]
    )
    nothing = to_tensor(np.zeros_like(x))
    np.testing.assert_array_equal(to_numpy(kind.make(place)(nothing)), encoding)


@each_kind
@in_some_examples
@hypothesis.given(data=st.data())
def test_what_is_saved_and_loaded_is_the_same(name: str, data: st.DataObject):
    kind = KINDS[name]
    place = data.draw(places(kind))
    layer, x = kind.make(place), to_tensor(place.inputs())
    text = json.dumps(keras.saving.serialize_keras_object(layer))
    loaded = keras.saving.deserialize_keras_object(json.loads(text))
    assert type(loaded) is type(layer)
    assert loaded.get_config() == layer.get_config()
    outputs = loaded(x)
    assert dtype_of(outputs) == place.dtype
    np.testing.assert_array_equal(to_numpy(outputs), to_numpy(layer(x)))


@in_some_examples
@hypothesis.given(place=places(KINDS["any-rank"]))
def test_encode_is_what_the_layer_has_in_its_rows(place: Place):
    place = replace(place, first=False)
    positions = place.positions()
    rows = kp.encode(
        positions if place.rank > 1 else positions[..., 0],
        place.written or place.channels,
        rank=place.rank,
        **place.options,
    )
    assert dtype_of(rows) == place.dtype
    np.testing.assert_allclose(
        to_numpy(rows)[..., : place.channels],
        to_numpy(_any_rank(place)(to_tensor(place.inputs())))[0],
        rtol=0,
        # Both are rounded, and one is counted.
        atol=2 * ROUNDING[place.dtype] + COUNTING * (place.dtype == "float32"),
    )


@in_some_examples
@hypothesis.given(place=places(KINDS["any-rank"], dtype="float32"))
def test_the_table_is_what_the_layer_returns(place: Place):
    place = replace(place, first=False)
    channels = place.written or place.channels
    table = kp.sinusoidal_table(place.sizes, channels, **place.options)
    outputs = to_numpy(_any_rank(place)(to_tensor(place.inputs())))
    np.testing.assert_array_equal(table[..., : place.channels], outputs[0])
