"""One layer in two models: each has its numbers, in a file and in threads as well."""

from __future__ import annotations

from pathlib import Path

import keras
import numpy as np
import pytest

import keras_posenc as kp
from helpers.internals import limit_cache
from helpers.tensors import to_numpy, to_tensor
from helpers.threads import together
from helpers.tolerances import COUNTING, SUM_ROUNDING

THREADS = 8


def two_models(layer: keras.Layer) -> list[keras.Model]:
    """One that knows its length, and one that does not, of one and the same layer."""
    known, unknown = keras.Input((7, 8)), keras.Input((None, 8))
    return [
        keras.Model(known, layer(known)),
        keras.Model(unknown, layer(keras.layers.Rescaling(2.0)(unknown))),
    ]


SHARED = {
    "1d": lambda: kp.PositionalEncoding1D(8),
    "sum-of-1d": lambda: kp.Summer(kp.PositionalEncoding1D(8)),
    "sinusoid": lambda: kp.SinusoidEncoding(8),
}


@pytest.mark.parametrize("name", SHARED)
def test_two_models_share_a_layer(name: str):
    layer = SHARED[name]()
    first, second = two_models(layer)
    x = np.random.default_rng(0).normal(size=(2, 7, 8)).astype("float32")
    longer = np.concatenate([x, x], axis=1)
    assert first.layers[-1] is second.layers[-1] is layer
    for model, inputs, expected in [
        (first, x, layer(x)),
        (second, longer, layer(2 * longer)),
        (first, x, layer(x)),
    ]:
        np.testing.assert_allclose(
            model.predict(inputs, verbose=0),
            to_numpy(expected),
            rtol=0,
            # A graph that counts, against what the host computes.
            atol=SUM_ROUNDING + COUNTING,
        )


@pytest.mark.parametrize("name", SHARED)
def test_two_models_that_share_a_layer_are_saved(name: str, tmp_path: Path):
    x = np.random.default_rng(0).normal(size=(2, 7, 8)).astype("float32")
    models = two_models(SHARED[name]())
    paths = [tmp_path / "first.keras", tmp_path / "second.keras"]
    [model.save(path) for model, path in zip(models, paths, strict=True)]
    loaded = [keras.models.load_model(path) for path in paths]
    assert loaded[0].layers[-1] is not loaded[1].layers[-1]
    expected = [to_numpy(model(x)) for model in models]
    np.testing.assert_array_equal([to_numpy(model(x)) for model in loaded], expected)


@pytest.mark.usefixtures("impatient", "empty_cache")
@pytest.mark.parametrize("name", SHARED)
def test_threads_run_two_models_that_share_a_layer(name: str):
    limit_cache(3000)
    layer = SHARED[name]()
    models = two_models(layer)
    rng = np.random.default_rng(0)
    inputs = [rng.normal(size=(2, 7, 8)).astype("float32") for _ in range(THREADS)]
    expected = [
        to_numpy(layer(to_tensor(x * (1 + i % 2)))) for i, x in enumerate(inputs)
    ]
    results = together(
        [
            lambda m=models[i % 2], x=x: [to_numpy(m(to_tensor(x))) for _ in range(5)]
            for i, x in enumerate(inputs)
        ]
    )
    np.testing.assert_array_equal(results, [[table] * 5 for table in expected])
