"""Models with every layer in them, to be saved in one process and loaded in another.

    python -m helpers.saved_models FOLDER

saves each as `.keras`, `.h5` and JSON with a file of weights, beside its inputs and
its outputs.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import keras
import numpy as np

import keras_posenc as kp
from helpers.layer_cases import LAYERS, Case


def _case(name: str, make: Callable[..., keras.layers.Layer], *shape: int) -> Case:
    return Case(name, make, shape)


MORE = [
    _case("sum-of-dense", lambda: kp.Summer(keras.layers.Dense(8)), 2, 5, 8),
    _case(
        "sum-of-sum-of-1d",
        lambda: kp.Summer(kp.Summer(kp.PositionalEncoding1D(8))),
        2,
        5,
        8,
    ),
    _case("bfloat16", lambda: kp.PositionalEncoding1D(8, dtype="bfloat16"), 1, 300, 8),
    _case(
        "wavelengths",
        lambda: kp.PositionalEncoding2D(8, max_wavelength=[20.0, 1e6]),
        *(2, 5, 4, 8),
    ),
]
SAVED = {case.name: case for case in LAYERS + MORE}


def model_with(case: Case) -> keras.Model:
    """A model of unknown sizes around the layer, with weights behind it."""
    keras.utils.set_random_seed(0)
    sizes: list[int | None] = [None] * (len(case.shape) - 1)
    channel = case.channel_dim - 1 if case.channel_dim > 0 else -1
    sizes[channel] = case.shape[case.channel_dim]
    inputs = keras.Input(sizes)
    scale = keras.layers.BatchNormalization(axis=case.channel_dim)
    return keras.Model(inputs, scale(case.make()(inputs)))


def save(folder: Path) -> None:
    for name, case in SAVED.items():
        model, inputs = model_with(case), case.inputs()
        model.save(folder / f"{name}.keras")
        model.save(folder / f"{name}.h5")
        (folder / f"{name}.json").write_text(model.to_json())
        model.save_weights(folder / f"{name}.weights.h5")
        outputs = np.asarray(model.predict(inputs, verbose=0), "float32")
        np.savez(folder / f"{name}.npz", inputs=inputs, outputs=outputs)


# What a user's process does that loads a file: no custom_objects, no other import.
LOAD = """
import sys
from pathlib import Path
import keras, numpy as np
import keras_posenc

def load(path):
    if path.suffix != ".json":
        return keras.models.load_model(path)
    model = keras.models.model_from_json(path.read_text())
    model.load_weights(path.with_suffix(".weights.h5"))
    return model

for folder in map(Path, sys.argv[1:]):
    files = [path.with_suffix(suffix) for path in sorted(folder.glob("*.npz"))
        for suffix in (".keras", ".h5", ".json")]
    for path in files:
        saved = np.load(path.with_suffix(".npz"))
        model = load(path)
        outputs = np.asarray(model.predict(saved["inputs"], verbose=0), "float32")
        loaded = f"{path.name}-{keras.backend.backend()}.npy"
        np.save(folder / loaded, outputs)
"""

if __name__ == "__main__":
    save(Path(sys.argv[1]))
