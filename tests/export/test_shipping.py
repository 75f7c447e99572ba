"""What runs an exported model gives the numbers of `predict`."""

from __future__ import annotations

import dataclasses
import itertools
from pathlib import Path
from typing import Any

import keras
import numpy as np
import pytest

import keras_posenc as kp
from helpers.export_formats import TOOLS, Runtime, Shape, dynamic_sizes, litert
from helpers.export_support import BACKENDS, OPEN, SUPPORT, is_supported
from helpers.layer_cases import LAYERS, Case, open_shape
from helpers.run_modes import BACKEND

# Asked for. Kept tables and tables of a graph differ in the last place; positions that
# are counted are right to 2e-7; and a normalisation of numbers below 8 rounds twice.
TOLERANCE = 1e-5

# What the exporters themselves warn of.
_NATIVE = (
    "ignore:The `(native_serialization|enable_xla)` parameter is deprecated"
    ":DeprecationWarning"
)
_LEAF_SPEC = "ignore:`isinstance.treespec, LeafSpec.` is deprecated:FutureWarning"
WARNINGS = {
    # Keras 3.15 gives jax2tf options that have one value left.
    ("SavedModel", "jax"): [_NATIVE],
    ("OpenVINO", "jax"): [_NATIVE],
    # Keras 3.15 looks for a name that NumPy 2 has retired.
    ("ONNX", "tensorflow"): [r"ignore:In the future `np\.object`:FutureWarning"],
    # torch 2.13 copies what it has deprecated; for open sizes, Keras 3.15 takes the
    # old exporter, which says that it is, and that constants stay constant.
    ("ONNX", "torch"): [
        _LEAF_SPEC,
        "ignore:You are using the legacy TorchScript-based ONNX:DeprecationWarning",
        "ignore:The feature will be removed:DeprecationWarning",
        "ignore:Converting a tensor to a Python integer:torch.jit.TracerWarning",
        "ignore:torch.as_tensor results are registered:torch.jit.TracerWarning",
    ],
    ("LiteRT", "torch"): [_LEAF_SPEC],
    # Keras 3.15 gives OpenVINO a trace, a way that torch is about to leave.
    ("OpenVINO", "torch"): [r"ignore:`torch\.jit\.trace:DeprecationWarning"],
}


def quiet(tool: str) -> list[pytest.MarkDecorator]:
    warnings = WARNINGS.get((tool, BACKEND), [])
    return [pytest.mark.filterwarnings(warning) for warning in warnings]


@pytest.fixture(autouse=True)
def no_telemetry(monkeypatch: pytest.MonkeyPatch):
    """Without it, OpenVINO's converter reports each of its uses over the network."""
    monkeypatch.setenv("CI", "true")


# The tool that every layer goes through; the others get one of each kind.
MAIN = "ExportedProgram" if BACKEND == "torch" else "SavedModel"
SOME = ("1d", "permute2d", "sum-of-2d")


def _with_more_positions(case: Case) -> Case:
    """The case, or for the one layer that has a maximum, the same with a larger one."""
    if case.name != "sinusoid":
        return case
    return dataclasses.replace(case, make=lambda: kp.SinusoidEncoding(10, 5000))


CASES = [_with_more_positions(case) for case in LAYERS]
BY_NAME = {case.name: case for case in CASES}
# So many numbers that a graph adds angles, and has no table of all of them.
ADDED_ANGLES = Case(
    "added-angles", lambda: kp.Summer(kp.PositionalEncoding1D(512)), (1, 1100, 512)
)


def sizes_of(case: Case, batch_size: int, longest: int | None = None) -> Shape:
    """The shape of the case with another batch size, and perhaps one long axis."""
    shape = [batch_size, *case.shape[1:]]
    if longest is not None:
        shape[1 if case.channel_dim == -1 else 2] = longest
    return tuple(shape)


def short_and_long(case: Case) -> list[Shape]:
    # In one axis, positions above 4,096 have a second digit when they are counted.
    longest = 5000 if len(case.shape) == 3 else 300
    return [sizes_of(case, 3), sizes_of(case, 1, longest)]


def model_of(case: Case, shape: Shape) -> keras.Model:
    """A model with weights, which gives the layer something other than its input."""
    keras.utils.set_random_seed(0)
    inputs = keras.Input(batch_shape=shape)
    scaled = keras.layers.Rescaling(0.5)(inputs)
    normalized = keras.layers.BatchNormalization(
        axis=case.channel_dim,
        beta_initializer="random_normal",
        gamma_initializer=keras.initializers.RandomUniform(0.5, 1.5),
    )
    return keras.Model(inputs, normalized(case.make()(scaled)))


def largest_difference(model: keras.Model, runtime: Runtime, shape: Shape) -> float:
    x = np.random.default_rng(0).normal(size=shape).astype("float32")
    outputs, predicted = runtime(x), model.predict(x, verbose=0)
    assert outputs.shape == predicted.shape == shape
    return float(np.abs(outputs - predicted).max())


def tools(ending: str) -> list[str]:
    return [tool for tool in TOOLS if is_supported(tool + ending, BACKEND)]


def shipped(ending: str) -> list[Any]:
    """The tools of this backend, each with the layers that go through it."""
    return [
        pytest.param(tool, case, id=f"{tool}-{case.name}", marks=quiet(tool))
        for tool in tools(ending)
        for case in CASES
        if tool == MAIN or case.name in SOME
    ]


@pytest.mark.parametrize("length", ["short", "long"])
@pytest.mark.parametrize(("tool", "case"), shipped(""))
def test_exported_with_known_sizes_equals_predict(
    tool: str, case: Case, length: str, tmp_path: Path
):
    shape = short_and_long(case)[length == "long"]
    model = model_of(case, shape)
    runtime = TOOLS[tool].export(model, shape, tmp_path)
    assert largest_difference(model, runtime, shape) <= TOLERANCE


@pytest.mark.parametrize(
    "tool", [pytest.param(tool, marks=quiet(tool)) for tool in tools("")]
)
def test_exported_graph_that_adds_angles_equals_predict(tool: str, tmp_path: Path):
    """A length that is known and so large that the graph adds angles."""
    # jax2onnx leaves the batch open, though no other size.
    open_batch = (tool, BACKEND) == ("ONNX", "jax") or tool in tools(OPEN)
    batch_sizes = (1, 3) if open_batch else (1,)
    shape = (None if open_batch else 1, *ADDED_ANGLES.shape[1:])
    model = model_of(ADDED_ANGLES, shape)
    runtime = TOOLS[tool].export(model, shape, tmp_path)
    shapes = [sizes_of(ADDED_ANGLES, batch_size) for batch_size in batch_sizes]
    differences = [largest_difference(model, runtime, shape) for shape in shapes]
    assert max(differences) <= TOLERANCE


@pytest.mark.parametrize(("tool", "case"), shipped(OPEN))
def test_one_export_serves_all_sizes(tool: str, case: Case, tmp_path: Path):
    model = model_of(case, open_shape(case))
    runtime = TOOLS[tool].export(model, open_shape(case), tmp_path)
    differences = [
        largest_difference(model, runtime, shape) for shape in short_and_long(case)
    ]
    assert max(differences) <= TOLERANCE


# What cannot be had, and what says so.
REFUSALS = {
    ("SavedModel", "torch"): "requires the torch_xla module",
    # It would need torch_xla too, but does not come to that.
    (f"SavedModel{OPEN}", "torch"): "mismatch between the structure of `inputs`",
    (f"ONNX{OPEN}", "jax"): "dim_0_1",
    ("LiteRT", "jax"): "LiteRT export requires TensorFlow or PyTorch",
    (f"LiteRT{OPEN}", "jax"): "LiteRT export requires TensorFlow or PyTorch",
    # Not the export, but the interpreter that is asked to be strict.
    (f"LiteRT{OPEN}", "torch"): "only allows mutating unknown dimensions",
    ("OpenVINO", "jax"): "No conversion rule found for operations: XlaCallModule",
    (f"OpenVINO{OPEN}", "jax"): "No conversion rule found for operations: XlaCall",
    ("ExportedProgram", "jax"): "Torch export requires PyTorch",
    (f"ExportedProgram{OPEN}", "jax"): "Torch export requires PyTorch",
    ("ExportedProgram", "tensorflow"): "Torch export requires PyTorch",
    (f"ExportedProgram{OPEN}", "tensorflow"): "Torch export requires PyTorch",
}


def refused(ending: str) -> list[Any]:
    names = [tool for tool in TOOLS if tool not in tools(ending)]
    return [pytest.param(tool, ending, marks=quiet(tool)) for tool in names]


@pytest.mark.parametrize(("tool", "ending"), refused("") + refused(OPEN))
def test_unsupported_formats_are_refused(tool: str, ending: str, tmp_path: Path):
    case = BY_NAME["sum-of-2d"]
    shape = open_shape(case) if ending == OPEN else sizes_of(case, 3)
    with pytest.raises(Exception, match=REFUSALS[tool + ending, BACKEND]):
        TOOLS[tool].export(model_of(case, shape), shape, tmp_path)(case.inputs())


def test_every_refusal_is_a_row_of_the_table():
    gaps = {
        (feature, backend)
        for feature, backend in itertools.product(SUPPORT, BACKENDS)
        if not is_supported(feature, backend)
    }
    assert gaps == set(REFUSALS)


if BACKEND == "torch":

    @pytest.mark.filterwarnings(_LEAF_SPEC)
    @pytest.mark.xfail(
        strict=True,
        raises=AssertionError,
        reason="Keras 3.15 exports a size that is not known as 1, and LiteRT then "
        "broadcasts what was made for one position, unless it is asked to be strict",
    )
    def test_litert_resizes_what_torch_exported_as_one(tmp_path: Path):
        case = BY_NAME["sum-of-2d"]
        model = model_of(case, open_shape(case))
        TOOLS["LiteRT"].export(model, open_shape(case), tmp_path)
        runtime = litert(str(tmp_path / "model.tflite"), strict=False)
        assert largest_difference(model, runtime, case.shape) <= TOLERANCE

    @pytest.mark.filterwarnings(_LEAF_SPEC)
    @pytest.mark.parametrize("name", SOME)
    def test_onnx_from_the_exporter_of_torch_serves_all_sizes(
        name: str, tmp_path: Path
    ):
        """The one that Keras 3.15 does not yet ask where sizes are not known."""
        import torch

        case = BY_NAME[name]
        model = model_of(case, open_shape(case)).eval()
        shapes = short_and_long(case)
        program = torch.onnx.export(
            model,
            (torch.zeros(shapes[0]),),
            dynamic_shapes=[(dynamic_sizes(open_shape(case)),)],
            dynamo=True,
            verbose=False,
        )
        program.save(tmp_path / "model.onnx")
        runtime = TOOLS["ONNX"].load(str(tmp_path / "model.onnx"))
        differences = [largest_difference(model, runtime, shape) for shape in shapes]
        assert max(differences) <= TOLERANCE


if is_supported("SavedModel", BACKEND):
    # Four tables of 64 positions in float32, 1 MB, which JAX writes twice; a table of
    # all positions would take 17 MB. Asked for.
    MOST_BYTES = {"tensorflow": 2e6, "jax": 2.5e6}[BACKEND]

    def bytes_of_saved_model(layer: keras.Layer, folder: Path) -> int:
        case = Case("long", lambda: layer, (1, 4096, 1024))
        TOOLS["SavedModel"].export(model_of(case, case.shape), case.shape, folder)
        return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())

    @pytest.mark.filterwarnings(_NATIVE)
    def test_saved_model_of_a_long_sequence_is_small(tmp_path: Path):
        layer = kp.Summer(kp.PositionalEncoding1D(1024))
        assert 1e6 < bytes_of_saved_model(layer, tmp_path) < MOST_BYTES
