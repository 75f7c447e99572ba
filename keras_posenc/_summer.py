"""The layer that adds an encoding to its input."""

from __future__ import annotations

import copy
from typing import Any, Unpack

import keras
from keras import ops

from keras_posenc import _backend
from keras_posenc._base import EncodingLayer, LayerArguments, Shape, shape_error
from keras_posenc._checks import shown
from keras_posenc._door import PLACES
from keras_posenc._dtypes import either_policy
from keras_posenc._positions import HostValues, is_zero


@keras.saving.register_keras_serializable(package="keras_posenc")
class Summer(EncodingLayer):
    """Adds to its input the encoding that a layer makes for it.

    `Summer(penc)(x)` is `x + penc(x)`, added once and in the compute dtype of the
    `Summer`. For the layers of this package the encoding is never spread over the
    batch: each axis is added as it is, by broadcasting. The numbers of the encoding
    are computed in float32 or better, then rounded to the dtype of `penc`. Masks
    pass through, whether or not `penc` knows of them.

    Args:
        penc: Layer. One of this package, or any layer that returns a tensor of its
            input's shape.
        dtype_override: Another name of `dtype`. Defaults to `None`.
        **kwargs: Base layer arguments such as `name` and `dtype`. `dtype` takes a
            string, a NumPy, TensorFlow, torch or JAX dtype, or a dtype policy.

    Call arguments:
        inputs: Tensor of a shape that `penc` takes, of any dtype. Integers and
            booleans become numbers of the compute dtype.
        start_index, positions, grid: Passed on to `penc`, where they are given.

    Returns:
        Tensor of the input's shape, in the layer's compute dtype.

    Raises:
        TypeError: If `penc` is no Keras layer.
        ValueError: When called, if the encoding has another shape than the input, or
            if the input does not suit `penc`, or is sparse or ragged.

    Example:
        >>> import numpy as np
        >>> import keras
        >>> from keras_posenc import PositionalEncoding1D, Summer
        >>> x = np.full((1, 6, 10), 2.0)
        >>> y = Summer(PositionalEncoding1D(10))(x)
        >>> print(keras.ops.convert_to_numpy(y)[0, 0, :4])
        [2. 3. 2. 3.]

    Reference:
        - Vaswani et al., 2017, arXiv:1706.03762, section 3.5.
    """

    def __init__(
        self,
        penc: keras.layers.Layer,
        *,
        dtype_override: Any = None,
        **kwargs: Unpack[LayerArguments],
    ):
        kwargs["dtype"] = either_policy(kwargs.get("dtype"), dtype_override)
        super().__init__(**kwargs)
        self.penc = penc

    def __setattr__(self, name: str, value: Any) -> None:
        if name == "penc" and not isinstance(value, keras.layers.Layer):
            raise TypeError(
                "`penc` must be a Keras layer that returns a tensor of its input's "
                f"shape. Received: penc={shown(value)} (of type {type(value).__name__})"
            )
        super().__setattr__(name, value)

    def build(self, input_shape: Any) -> None:
        super().build(input_shape)
        if isinstance(self.penc, EncodingLayer) and self.penc._call_is_ours:
            if not self.penc.built:
                self.penc.build(input_shape)
            return
        # A symbolic call builds any layer, also one whose `build` is Keras's own,
        # and shows what it returns before there is anything to add.
        x = keras.KerasTensor(tuple(input_shape), dtype=self.compute_dtype)
        _require_shape(self.penc(x), tuple(input_shape), self.penc)

    def call(
        self,
        inputs: Any,
        start_index: Any = 0,
        positions: Any = None,
        grid: Any = None,
    ) -> Any:
        penc, encoding, dtype = self.penc, None, self.available_dtype
        places = {"start_index": start_index, "positions": positions, "grid": grid}
        if isinstance(penc, EncodingLayer):
            encoding = penc._broadcast_output(inputs, **places)
        if encoding is not None:
            if penc.available_dtype != dtype:
                encoding = ops.cast(encoding, dtype)
            return self._as_float(inputs, dtype) + encoding
        self._check_inputs(inputs)
        inputs = self._as_float(inputs, dtype)
        encoding = ops.cast(self._called_encoding(inputs, places), dtype)
        if None in (*inputs.shape, *encoding.shape):
            # Sizes that only TensorFlow's running graph knows: `+` would broadcast
            # what differs, `stack` refuses it.
            return ops.sum(ops.stack([inputs, encoding]), axis=0)
        return inputs + encoding

    def _check_built_shape(self, shape: Shape) -> None:
        """Raises where `penc` does not fit `shape`, or encodes another one."""
        if isinstance(self.penc, EncodingLayer):
            encoded = self.penc.compute_output_shape(shape)
            if _differ(tuple(encoded), tuple(shape)):
                raise shape_error(self.penc, encoded, shape)

    def _check_places(self, shape: Shape, **places: Any) -> None:
        if isinstance(self.penc, EncodingLayer):
            self.penc._check_places(shape, **places)
        self._check_built_shape(shape)

    def get_config(self) -> dict[str, Any]:
        penc = keras.saving.serialize_keras_object(self.penc)
        # The shape that `penc` was built with is no part of what the user wrote, and
        # `build` finds it again.
        penc.pop("build_config", None)
        return {**super().get_config(), "penc": penc}

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> Summer:
        # Some layers of Keras take their own config apart as they read it.
        penc = keras.saving.deserialize_keras_object(copy.deepcopy(config.get("penc")))
        return super().from_config({**config, "penc": penc})

    def _called_encoding(self, inputs: Any, places: dict[str, Any]) -> Any:
        # Only what was given: a layer that does not know it says so itself.
        given = {
            name: value.values if isinstance(value, HostValues) else value
            for name, value in places.items()
            if not (value is PLACES[name] or is_zero(value))
        }
        if not self.penc.supports_masking and _backend.has_mask(inputs):
            # A new tensor leaves the mask behind: Keras would warn that a `penc` which
            # knows no masks loses what Summer passes on.
            inputs = inputs * 1
        encoding = self.penc(inputs, **given)
        _require_shape(encoding, tuple(inputs.shape), self.penc)
        return encoding


def _require_shape(encoding: Any, shape: Shape, penc: keras.layers.Layer) -> None:
    """Raises where `encoding` is known not to have `shape`."""
    if not hasattr(encoding, "shape"):
        raise ValueError(
            f"`penc` must return one tensor. Received: {type(encoding).__name__} "
            f"from penc={penc!r}"
        )
    encoded = tuple(encoding.shape)
    if _differ(encoded, shape):
        raise shape_error(penc, encoded, shape)


def _differ(encoded: Shape, shape: Shape) -> bool:
    """Whether two shapes are known to differ now: in a trace, sizes may be tensors."""
    return len(encoded) != len(shape) or any(
        type(size) is int and type(wanted) is int and size != wanted
        for size, wanted in zip(encoded, shape, strict=True)
    )
