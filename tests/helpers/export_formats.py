"""The formats that a model is shipped in: how Keras writes each, and what runs it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import keras
import numpy as np

Runtime = Callable[[np.ndarray], np.ndarray]
Shape = tuple[int | None, ...]


@dataclass(frozen=True)
class Tool:
    """A format, by the name that Keras has for it, and its runtime."""

    format: str
    suffix: str
    load: Callable[[str], Runtime]

    def export(self, model: keras.Model, shape: Shape, folder: Path) -> Runtime:
        """What the runtime makes of `model`, exported for inputs of `shape`."""
        path = str(folder / f"model{self.suffix}")
        options: dict[str, Any] = {}
        if self.format == "torch" and None in shape:
            options["dynamic_shapes"] = dynamic_sizes(shape)
        model.export(
            path,
            format=self.format,
            verbose=False,
            input_signature=[keras.InputSpec(shape=shape, dtype="float32")],
            **options,
        )
        return self.load(path)


def dynamic_sizes(shape: Shape) -> dict[int, Any]:
    """What keeps torch from taking a size that is open for the one that it traces."""
    import torch

    dynamic = torch.export.Dim.DYNAMIC  # unlike AUTO, it raises if it cannot be
    return {dim: dynamic for dim, size in enumerate(shape) if size is None}


def _saved_model(path: str) -> Runtime:
    import tensorflow as tf

    loaded = tf.saved_model.load(path)
    return lambda x: loaded.serve(tf.constant(x)).numpy()


def _onnx(path: str) -> Runtime:
    import onnxruntime

    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    (argument,) = session.get_inputs()
    return lambda x: session.run(None, {argument.name: x})[0]


def litert(path: str, *, strict: bool = True) -> Runtime:
    """With `strict=False`, the interpreter resizes what was exported as known, too."""
    from ai_edge_litert.interpreter import Interpreter

    def run(x: np.ndarray) -> np.ndarray:
        interpreter = Interpreter(model_path=path)
        (argument,) = interpreter.get_input_details()
        (result,) = interpreter.get_output_details()
        if tuple(argument["shape"]) != x.shape:
            interpreter.resize_tensor_input(argument["index"], x.shape, strict=strict)
        interpreter.allocate_tensors()
        interpreter.set_tensor(argument["index"], x)
        interpreter.invoke()
        return interpreter.get_tensor(result["index"])

    return run


def _openvino(path: str) -> Runtime:
    import openvino

    # It computes in bfloat16 otherwise, on processors that have it.
    precision = {"INFERENCE_PRECISION_HINT": "f32"}
    compiled = openvino.Core().compile_model(path, "CPU", precision)
    return lambda x: compiled(x)[0]


def _exported_program(path: str) -> Runtime:
    import torch

    module = torch.export.load(path).module()
    return lambda x: module(torch.from_numpy(x)).detach().numpy()


TOOLS = {
    "SavedModel": Tool("tf_saved_model", "", _saved_model),
    "ONNX": Tool("onnx", ".onnx", _onnx),
    "LiteRT": Tool("litert", ".tflite", litert),
    "OpenVINO": Tool("openvino", ".xml", _openvino),
    "ExportedProgram": Tool("torch", ".pt2", _exported_program),
}
