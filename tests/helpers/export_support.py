"""What a model with our layers can be shipped as: one table, for tests and README.

A cell is "yes", or why not. `tests/export` exports and runs what says "yes", and sees
the rest refused. Where nothing says otherwise, the cause lies outside this package: any
layer that asks for a size meets it.
"""

from __future__ import annotations

BACKENDS = ("tensorflow", "torch", "jax")
OPEN = ", unknown sizes"  # ends the names of rows

_ELSEWHERE = "no: PyTorch's own"
_NO_LITERT = "no: not by Keras"
_XLA_CALLS = "no: OpenVINO has no XlaCallModule"
_TORCH_XLA = "needs torch_xla"

# For each row, a cell for each of BACKENDS.
SUPPORT = {
    "SavedModel": ("yes", _TORCH_XLA, "yes"),
    f"SavedModel{OPEN}": ("yes", _TORCH_XLA, "yes"),
    "ONNX": ("yes", "yes", "yes"),
    f"ONNX{OPEN}": ("yes", "yes", "the batch alone: jax2onnx"),
    "LiteRT": ("yes", "yes", _NO_LITERT),
    f"LiteRT{OPEN}": ("yes", "no: Keras makes them 1", _NO_LITERT),
    "OpenVINO": ("yes", "yes", _XLA_CALLS),
    f"OpenVINO{OPEN}": ("yes", "yes", _XLA_CALLS),
    "ExportedProgram": (_ELSEWHERE, "yes", _ELSEWHERE),
    f"ExportedProgram{OPEN}": (_ELSEWHERE, "yes", _ELSEWHERE),
}


def is_supported(feature: str, backend: str) -> bool:
    return SUPPORT[feature][BACKENDS.index(backend)] == "yes"
