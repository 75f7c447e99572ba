"""Files that are not what was saved: refused, and no code of theirs is run."""

from __future__ import annotations

import json
import sys
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import keras
import numpy as np
import pytest

import keras_posenc as kp
from helpers.internals import WaveOptions
from helpers.tensors import to_numpy

Record = dict[str, Any]


def saved(layer: keras.Layer, path: Path, change: Callable[[Record], None]) -> Path:
    """A model with this layer in a file, in which the record of the layer differs."""
    inputs = keras.Input((None, 8))
    keras.Model(inputs, layer(inputs)).save(path / "saved.keras")
    with zipfile.ZipFile(path / "saved.keras") as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    config = json.loads(members["config.json"])
    change(config["config"]["layers"][1])
    members["config.json"] = json.dumps(config).encode()
    with zipfile.ZipFile(path / "changed.keras", "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return path / "changed.keras"


MADE: dict[str, Callable[[], keras.Layer]] = {
    "1d": lambda: kp.PositionalEncoding1D(8),
    "any-rank": lambda: kp.PositionalEncoding(1, 8),
    "sinusoid": lambda: kp.SinusoidEncoding(8),
    "sum-of-1d": lambda: kp.Summer(kp.PositionalEncoding1D(8)),
}


def with_option(name: str, value: Any) -> Callable[[Record], None]:
    return lambda record: record["config"].update({name: value})


def without_option(name: str) -> Callable[[Record], None]:
    return lambda record: record["config"].pop(name)


def with_penc(penc: Any) -> Callable[[Record], None]:
    return lambda record: record["config"].update(penc=penc)


def in_penc(change: Callable[[Record], None]) -> Callable[[Record], None]:
    return lambda record: change(record["config"]["penc"])


def not_a_layer(value: Any) -> Any:
    return keras.saving.serialize_keras_object(value)


LAYER_ONLY = r"`penc` must be a Keras layer that returns .* Received: penc="
WRONG: dict[str, tuple[str, Callable[[Record], None], str]] = {
    "unknown-option": (
        "1d",
        with_option("stretch", 2),
        r"Unrecognized keyword arguments .*'stretch': 2",
    ),
    "unknown-option-of-a-summer": (
        "sum-of-1d",
        with_option("stretch", 2),
        r"Unrecognized keyword arguments .*'stretch': 2",
    ),
    "unknown-option-of-an-inner-layer": (
        "sum-of-1d",
        in_penc(with_option("stretch", 2)),
        r"Unrecognized keyword arguments .*'stretch': 2",
    ),
    "text-for-a-number": (
        "1d",
        with_option("channels", "8"),
        r"`channels` must be a positive integer or None\. Received: channels='8'",
    ),
    "real-for-an-integer": (
        "sinusoid",
        with_option("hidden_dim", 8.5),
        r"`hidden_dim` must be a positive integer\. Received: hidden_dim=8\.5",
    ),
    "record-for-a-number": (
        "1d",
        with_option("max_wavelength", {"value": 10.0}),
        r"`max_wavelength` must be a positive finite number",
    ),
    "record-for-a-number-of-an-inner-layer": (
        "sum-of-1d",
        in_penc(with_option("channels", [8])),
        r"`channels` must be a positive integer or None\. Received: channels=\[8\]",
    ),
    "negative": (
        "1d",
        with_option("channels", -8),
        r"`channels` must be a positive integer or None\. Received: channels=-8",
    ),
    "unknown-word": (
        "1d",
        with_option("data_format", "channels_middle"),
        r"`data_format` must be one of 'channels_last', 'channels_first'\.",
    ),
    "integer-dtype": (
        "1d",
        with_option("dtype", "int8"),
        r"`dtype` must be a floating-point dtype",
    ),
    "no-rank": ("any-rank", without_option("rank"), "PositionalEncoding needs `rank`"),
    "no-hidden_dim": (
        "sinusoid",
        without_option("hidden_dim"),
        r"missing .* argument: 'hidden_dim'",
    ),
    "no-penc": ("sum-of-1d", without_option("penc"), LAYER_ONLY),
    "penc-of-nothing": ("sum-of-1d", with_penc(None), LAYER_ONLY),
    "penc-of-text": ("sum-of-1d", with_penc("PositionalEncoding1D"), LAYER_ONLY),
    "penc-of-an-array": (
        "sum-of-1d",
        with_penc(not_a_layer(np.zeros(3))),
        LAYER_ONLY,
    ),
    "penc-of-an-optimizer": (
        "sum-of-1d",
        with_penc(not_a_layer(keras.optimizers.SGD())),
        LAYER_ONLY,
    ),
    "penc-of-a-policy": (
        "sum-of-1d",
        with_penc(not_a_layer(keras.DTypePolicy("float32"))),
        LAYER_ONLY,
    ),
    "penc-of-an-unknown-class": (
        "sum-of-1d",
        in_penc(
            lambda record: record.update(
                class_name="X", registered_name="keras_posenc>X"
            )
        ),
        r"Could not locate class 'X'",
    ),
    "penc-of-our-own-that-is-no-layer": (
        "sum-of-1d",
        with_penc(
            {
                "module": WaveOptions.__module__,
                "class_name": "WaveOptions",
                "config": {"rank": 1},
                "registered_name": None,
            }
        ),
        r"Could not locate class 'WaveOptions'",
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_file_that_was_changed_is_refused(name: str, tmp_path: Path):
    made, change, message = WRONG[name]
    path = saved(MADE[made](), tmp_path, change)
    with pytest.raises((TypeError, ValueError), match=f"(?s){message}"):
        keras.models.load_model(path)


@pytest.mark.parametrize("made", MADE)
def test_a_file_that_was_not_changed_is_loaded(made: str, tmp_path: Path):
    """Shows that it is the changes that are refused."""
    path = saved(MADE[made](), tmp_path, lambda record: None)
    assert isinstance(keras.models.load_model(path).layers[1], type(MADE[made]()))


def of_module(class_name: str, config: Any) -> Callable[[Record], None]:
    """A class, or a function, of a module that leaves its mark when it is imported."""
    return lambda record: record.update(
        module="leaves_its_mark",
        class_name=class_name,
        config=config,
        registered_name=None if class_name != "function" else "run",
    )


CODE = {
    "layer-of-a-module": ("1d", of_module("Runs", {})),
    "penc-of-a-module": ("sum-of-1d", in_penc(of_module("Runs", {}))),
    "penc-of-a-function": ("sum-of-1d", in_penc(of_module("function", "run"))),
    "dtype-of-a-module": (
        "1d",
        lambda record: of_module("Runs", {})(record["config"]["dtype"]),
    ),
    "option-of-a-module": (
        "1d",
        with_option(
            "max_wavelength",
            {"module": "leaves_its_mark", "class_name": "Runs", "config": {}},
        ),
    ),
}


@pytest.fixture
def mark(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A file that is there once the code of a module on the path has run."""
    path = tmp_path / "mark.txt"
    code = f"open({str(path)!r}, 'w').close()\nclass Runs: pass\ndef run(x): return x\n"
    (tmp_path / "leaves_its_mark.py").write_text(code)
    monkeypatch.syspath_prepend(tmp_path)
    yield path
    sys.modules.pop("leaves_its_mark", None)


@pytest.mark.parametrize("safe_mode", [True, False], ids=["safe", "unsafe"])
@pytest.mark.parametrize("name", CODE)
def test_loading_imports_no_module_that_a_file_names(
    name: str, safe_mode: bool, tmp_path: Path, mark: Path
):
    made, change = CODE[name]
    path = saved(MADE[made](), tmp_path, change)
    # Keras answers a dtype of no policy with an AttributeError, for its own layers too.
    with pytest.raises((TypeError, ValueError, AttributeError)):
        keras.models.load_model(path, safe_mode=safe_mode)
    assert not mark.exists()


def test_the_module_would_leave_its_mark(mark: Path):
    __import__("leaves_its_mark")
    assert mark.exists()


def lambda_that_leaves(mark: str) -> keras.Layer:
    """A layer whose code comes out of the file."""
    code = f"lambda x: (open({mark!r}, 'w').close(), x)[1]"
    return keras.layers.Lambda(eval(code))


UNSAFE = r"`Lambda` layer .* passing `safe_mode=False`"


def test_safe_mode_refuses_a_lambda_as_penc(tmp_path: Path):
    mark = tmp_path / "mark.txt"
    path = saved(
        kp.Summer(lambda_that_leaves(str(mark))), tmp_path, lambda record: None
    )
    mark.unlink()
    with pytest.raises(ValueError, match=UNSAFE):
        keras.models.load_model(path)
    with pytest.raises(ValueError, match=UNSAFE):
        kp.Summer.from_config(kp.Summer(lambda_that_leaves(str(mark))).get_config())
    assert not mark.exists()


def test_a_lambda_as_penc_is_run_by_whoever_trusts_the_file(tmp_path: Path):
    """Shows that safe mode is what kept the code above from running."""
    mark = tmp_path / "mark.txt"
    path = saved(
        kp.Summer(lambda_that_leaves(str(mark))), tmp_path, lambda record: None
    )
    mark.unlink()
    loaded = keras.models.load_model(path, safe_mode=False)
    assert mark.exists()
    x = np.ones((1, 3, 8), "float32")
    np.testing.assert_array_equal(to_numpy(loaded(x)), 2 * x)
