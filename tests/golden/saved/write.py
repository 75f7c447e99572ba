"""Models with every layer, class and option, as a version of the package saved them.

    KERAS_BACKEND=jax python tests/golden/saved/write.py

writes into the folder of the version that is installed, beside each file its inputs and
outputs. Those must load for ever, so that what is there is never written again: a later
version adds a folder of its own, or files for what is new.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import keras
import numpy as np

import keras_posenc as kp

Sizes = tuple[int | None, ...]


def _policy_map() -> keras.dtype_policies.DTypePolicyMap:
    policies = keras.dtype_policies.DTypePolicyMap(default_policy="float32")
    policies["places"] = "bfloat16"
    return policies


# The layer, the sizes that its model is built for, and those that it is run with.
MODELS: dict[str, tuple[Callable[[], keras.Layer], Sizes, tuple[int, ...]]] = {
    "1d": (lambda: kp.PositionalEncoding1D(10), (None, 10), (7, 10)),
    "1d-any-channels": (lambda: kp.PositionalEncoding1D(), (None, 6), (7, 6)),
    "1d-more-channels": (lambda: kp.PositionalEncoding1D(64), (None, 6), (7, 6)),
    "1d-base": (
        lambda: kp.PositionalEncoding1D(8, max_wavelength=20.0),
        *((None, 8), (40, 8)),
    ),
    "1d-frozen": (
        lambda: kp.PositionalEncoding1D(8, trainable=False, name="places"),
        *((None, 8), (7, 8)),
    ),
    "1d-float16": (
        lambda: kp.PositionalEncoding1D(8, dtype="float16"),
        *((None, 8), (40, 8)),
    ),
    "1d-bfloat16": (
        lambda: kp.PositionalEncoding1D(8, dtype_override="bfloat16"),
        *((None, 8), (40, 8)),
    ),
    "1d-float64": (
        lambda: kp.PositionalEncoding1D(8, dtype="float64"),
        *((None, 8), (40, 8)),
    ),
    "1d-mixed": (
        lambda: kp.PositionalEncoding1D(8, dtype=keras.DTypePolicy("mixed_float16")),
        *((None, 8), (40, 8)),
    ),
    "1d-policy-map": (
        lambda: kp.PositionalEncoding1D(8, dtype=_policy_map(), name="places"),
        *((None, 8), (40, 8)),
    ),
    "2d": (lambda: kp.PositionalEncoding2D(8), (None, None, 8), (6, 3, 8)),
    "2d-bases": (
        lambda: kp.PositionalEncoding2D(8, max_wavelength=[20.0, 1e6]),
        *((None, None, 8), (6, 3, 8)),
    ),
    "2d-first": (
        lambda: kp.PositionalEncoding2D(7, data_format="channels_first"),
        *((7, None, 3), (7, 6, 3)),
    ),
    "3d": (lambda: kp.PositionalEncoding3D(11), (None, None, None, 11), (3, 4, 2, 11)),
    "permute1d": (lambda: kp.PositionalEncodingPermute1D(10), (10, 6), (10, 6)),
    "permute2d": (lambda: kp.PositionalEncodingPermute2D(7), (7, None, 3), (7, 6, 3)),
    "permute3d": (
        lambda: kp.PositionalEncodingPermute3D(11),
        *((11, None, 3, 2), (11, 4, 3, 2)),
    ),
    "rank4": (
        lambda: kp.PositionalEncoding(4, 16, max_wavelength=100.0),
        *((None, 2, None, 2, 16), (3, 2, 4, 2, 16)),
    ),
    "rank2-first": (
        lambda: kp.PositionalEncoding(2, 8, data_format="channels_first"),
        *((8, None, 3), (8, 6, 3)),
    ),
    "sinusoid": (lambda: kp.SinusoidEncoding(8, 50), (None, 8), (7, 8)),
    "sinusoid-bfloat16": (
        lambda: kp.SinusoidEncoding(8, dtype="mixed_bfloat16"),
        *((None, 8), (7, 8)),
    ),
    "sum": (lambda: kp.Summer(kp.PositionalEncoding1D(8)), (None, 8), (7, 8)),
    "sum-permute2d": (
        lambda: kp.Summer(kp.PositionalEncodingPermute2D(7)),
        *((7, None, 3), (7, 6, 3)),
    ),
    "sum-two-policies": (
        lambda: kp.Summer(kp.PositionalEncoding1D(8, dtype="float16"), dtype="float32"),
        *((None, 8), (40, 8)),
    ),
    "sum-of-sum": (
        lambda: kp.Summer(kp.Summer(kp.PositionalEncoding2D(8))),
        *((None, None, 8), (6, 3, 8)),
    ),
    "sum-of-dense": (lambda: kp.Summer(keras.layers.Dense(8)), (None, 8), (7, 8)),
    "steps": (
        lambda: keras.layers.TimeDistributed(kp.Summer(kp.PositionalEncoding1D(8))),
        *((3, None, 8), (3, 5, 8)),
    ),
    "coordinates": (lambda: kp.CoordinateEncoding(8, scale=100.0), (None,), (7,)),
    "points": (lambda: kp.CoordinateEncoding(8, 2, cos_first=True), (None, 2), (7, 2)),
    "1d-frequencies": (
        lambda: kp.PositionalEncoding1D(
            7, frequencies=[1.0, 0.5, 0.1], remainder="pad"
        ),
        *((None, 7), (40, 7)),
    ),
    "2d-order": (
        lambda: kp.PositionalEncoding2D(
            8, layout="freq axis phase", axis_order=[1, 0], offset=[1.0, 0.5]
        ),
        *((None, None, 8), (6, 3, 8)),
    ),
    "2d-range": (
        lambda: kp.PositionalEncoding2D(
            8, coordinate_range=[0.0, 6.0], eps=1e-6, offset=1.0, endpoint=True
        ),
        *((None, None, 8), (6, 3, 8)),
    ),
    "2d-tokens": (
        lambda: kp.PositionalEncoding2D(
            8, layout="concatenated", axis_order=[1, 0], grid=[2, 3], prefix_tokens=1
        ),
        *((7, 8), (7, 8)),
    ),
    "3d-split": (
        lambda: kp.PositionalEncoding3D(
            16, split=[8, 4, 4], align_corners=True, coordinate_range=[-1.0, 1.0]
        ),
        *((None, None, None, 16), (3, 4, 2, 16)),
    ),
}
# Of the layers themselves, which Keras looks up by other names in the older format.
ALSO_H5 = ("2d-bases", "permute2d", "rank4", "sinusoid", "sum", "sum-of-dense")


def model_of(make: Callable[[], keras.Layer], sizes: Sizes) -> keras.Model:
    """Two outputs: what the layer returns, and that after a layer with weights."""
    inputs = keras.Input(sizes)
    encoded = make()(inputs)
    return keras.Model(inputs, [encoded, keras.layers.Dense(2)(encoded)])


def as_float32(outputs: Any) -> list[np.ndarray]:
    """Arrays that NumPy can keep in a file: all but those of float64 are exact."""
    return [np.asarray(output, "float32") for output in outputs]


def write(folder: Path) -> None:
    folder.mkdir(exist_ok=True)
    new = [name for name in MODELS if not (folder / f"{name}.npz").exists()]
    if not new:
        raise SystemExit(f"{folder} has all of them, and stays as it is.")
    for name in new:
        make, sizes, shape = MODELS[name]
        keras.utils.set_random_seed(1)
        model = model_of(make, sizes)
        for extension in ("keras", "h5") if name in ALSO_H5 else ("keras",):
            path = folder / f"{name}.{extension}"
            if path.exists():
                raise SystemExit(f"{path} is there, and stays as it is.")
            model.save(path)
        inputs = np.random.default_rng(2).normal(size=(2, *shape)).astype("float32")
        encoded, head = as_float32(model.predict(inputs, verbose=0))
        arrays = {"inputs": inputs, "encoded": encoded, "head": head}
        np.savez_compressed(folder / f"{name}.npz", **arrays)


if __name__ == "__main__":
    write(Path(__file__).parent / kp.__version__)
