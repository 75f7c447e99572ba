"""What every layer of the package keeps: dtype, checks before `call`, masks."""

from __future__ import annotations

import dataclasses
import operator
import sys
import warnings
from types import FrameType
from typing import Any, ClassVar, TypedDict, Unpack

import keras
import numpy as np
from keras import ops

from keras_posenc import _backend
from keras_posenc._arguments import float_policy, require_float
from keras_posenc._options import WaveOptions, hint_at_arguments
from keras_posenc._positions import HostPositions, is_tensor

Shape = tuple[int | None, ...]


class LayerArguments(TypedDict, total=False):
    """The arguments of every Keras layer, for type checkers and editors."""

    name: str | None
    dtype: Any
    trainable: bool
    activity_regularizer: Any


class EncodingLayer(keras.layers.Layer):
    """Base of the layers: one dense tensor in, the same shape out, no weights.

    A subclass says in `check_shape` what does not fit, and asks `check_inputs` in
    `call`, for every input that it has not met before: `TimeDistributed` calls that
    directly.
    """

    # The arguments that a hint may name, if the constructor gets one unknown.
    _known: ClassVar[tuple[str, ...]] = ()
    # Whether `call` is of this package. Another one may ask for what only
    # `Layer.__call__` knows, such as `training`.
    _call_is_ours: ClassVar[bool] = False

    def __init_subclass__(cls, **kwargs: Any):
        super().__init_subclass__(**kwargs)
        cls._call_is_ours = cls.call.__module__.startswith("keras_posenc.")

    def __init__(self, *, dtype_override: Any = None, **kwargs: Unpack[LayerArguments]):
        base: dict[str, Any] = dict(kwargs)
        base["dtype"] = float_policy(base.get("dtype"), dtype_override)
        try:
            super().__init__(**base)
        except ValueError as error:
            # Keras repeats the name of an argument that it does not know, and no more.
            known = LayerArguments.__annotations__
            unknown = [name for name in kwargs if name not in known]
            hint = hint_at_arguments(unknown, self._known)
            if not hint:
                raise
            raise ValueError(f"{error}.{hint}") from None
        self.supports_masking = True
        # Keras would round positions to the compute dtype along with the input, which
        # `as_float` casts.
        self.autocast = False

    def set_options(self, options: WaveOptions) -> None:
        """Keeps the record that the layer works with, and attributes to be read."""
        self._options = options
        for name, value in dataclasses.asdict(options).items():
            setattr(self, name, value)

    @property
    def available_dtype(self) -> str:
        """The compute dtype, as far as the backend has it: the dtype of the output.

        JAX without its 64-bit mode has no float64, and would warn at every cast.
        """
        return _backend.available_dtype(self.compute_dtype)

    @property
    def input_dtype(self) -> str:
        """What Keras casts inputs to."""
        return self.available_dtype

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if (
            len(args) == 1
            and kwargs.keys() <= _WHERE.keys()
            and self._is_plain(args[0])
        ):
            return self.call(args[0], **kwargs)
        if len(args) > 1:
            args, kwargs = _by_name(args, kwargs)
        inputs: Any
        inputs = args[0] if args else kwargs.get(self.call_signature_parameters[0])
        symbolic = isinstance(inputs, keras.KerasTensor)
        if symbolic:
            self._check_call(inputs, kwargs)
        self.warn_of_foreign(inputs)
        given = _as_keras_takes_them(kwargs, symbolic=symbolic)
        try:
            return super().__call__(*args, **given)
        except Exception as error:
            # Keras wraps in escape codes what `call` raises. Not checked before, since
            # most calls have a shape that fits, and what costs 1 us when repeated
            # costs 5 between two passes over memory.
            self._check_call(inputs, kwargs)
            known = self.call_signature_parameters
            if "mask" in kwargs and "mask" not in known:
                hint = ", and `positions_from_mask(mask)` makes `positions` of one"
                raise TypeError(
                    f"{type(self).__name__} takes no `mask`: masks pass through"
                    f"{hint if 'positions' in known else ''}."
                ) from error
            if isinstance(error.__context__, MemoryError):
                # NumPy's, which Keras cannot repeat: what it raises has no text.
                raise error.__context__ from None
            raise

    def _check_call(self, inputs: Any, kwargs: dict[str, Any]) -> None:
        self.check_inputs(inputs)
        where = {name: kwargs.get(name, default) for name, default in _WHERE.items()}
        self.check_where(tuple(inputs.shape), **where)

    def warn_of_foreign(self, inputs: Any) -> None:
        """Warns where `inputs` are of another backend: Keras makes its own of them."""
        owner = _backend.foreign_backend(inputs)
        if owner is not None:
            warn(
                f"{type(self).__name__} got a tensor of {owner}, and returns one of "
                f"{_backend.BACKEND}, which Keras runs on. To stay in {owner}, set the "
                f"environment variable KERAS_BACKEND={owner} before keras is imported."
            )

    def _is_plain(self, inputs: Any) -> bool:
        """Whether `Layer.__call__` would do nothing but hand `inputs` to `call`.

        To find that out, it takes 40 us on torch, 60 on JAX and 75 on TensorFlow: as
        long as it takes to add an encoding to half a megabyte. torch.compile guards
        all that it looked at, which takes another 40 us in every call.
        """
        return (
            self.built
            and (_backend.is_eager(inputs) or _backend.is_torch_compiled(inputs))
            and not _backend.has_mask(inputs)
            and self._only_encodes()
        )

    def _only_encodes(self) -> bool:
        """Whether nothing of the user's, or of Keras's, belongs around `call`."""
        return (
            self._call_is_ours
            and self.activity_regularizer is None
            and not _backend.has_hooks(self)
            and keras.distribution.distribution() is None
        )

    def build(self, input_shape: Any) -> None:
        # A map of policies may have one for the path of the layer, known from here on.
        require_float(
            "dtype", self.dtype_policy, self.compute_dtype, self.quantization_mode
        )
        self.check_shape(tuple(input_shape))

    def compute_output_shape(self, input_shape: Any) -> Shape:
        self.check_shape(tuple(input_shape))
        return tuple(input_shape)

    def check_shape(self, shape: Shape) -> None:
        """Raises a ValueError where inputs of `shape` do not fit this layer."""

    def check_where(self, shape: Shape, start_index: Any, positions: Any) -> None:
        """Raises where the arguments of `call` do not fit inputs of `shape`."""

    def as_float(self, inputs: Any, dtype: str) -> Any:
        """`inputs` in `dtype`. A cast that changes nothing would cost 2 to 5 us."""
        if _backend.has_dtype(inputs, dtype):
            return inputs
        if "complex" in str(inputs.dtype):  # of which a cast would drop a half
            raise TypeError(
                f"{type(self).__name__} expects real numbers to add an encoding to. "
                f"Received: inputs of dtype {inputs.dtype}"
            )
        return ops.cast(inputs, dtype)

    def check_inputs(self, inputs: Any) -> None:
        """Raises where `inputs` are no dense tensor, or their shape does not fit."""
        if not _backend.is_dense(inputs):
            raise ValueError(
                f"{type(self).__name__} expects a dense tensor; make sparse and "
                f"ragged tensors dense first. Received: inputs={inputs!r}"
            )
        if not hasattr(inputs, "shape"):
            raise TypeError(
                f"{type(self).__name__} expects one tensor or array. "
                f"Received: inputs={inputs!r} (of type {type(inputs).__name__})"
            )
        if getattr(inputs.shape, "rank", 0) is None:
            raise ValueError(
                f"{type(self).__name__} expects a tensor of known rank. "
                f"Received: inputs={inputs!r}"
            )
        self.check_shape(tuple(inputs.shape))


# The arguments of `call` that say where its positions are, in their order, with what
# they are if they are not given.
_WHERE: dict[str, Any] = {"start_index": 0, "positions": None}


def _by_name(
    args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """The same arguments, all but the input by name, unless Keras refuses them."""
    named = dict(zip(_WHERE, args[1:], strict=False))
    if len(args) > 1 + len(_WHERE) or named.keys() & kwargs.keys():
        return args, kwargs
    return args[:1], {**named, **kwargs}


def _as_keras_takes_them(kwargs: dict[str, Any], *, symbolic: bool) -> dict[str, Any]:
    """The same arguments in forms that `Layer.__call__` leaves as they are."""
    start, positions = kwargs.get("start_index"), kwargs.get("positions")
    if isinstance(start, (np.integer, np.ndarray)):
        # Keras would make a tensor of it, which on JAX has 32 bits.
        kwargs = {**kwargs, "start_index": start.tolist()}
    if isinstance(start, (tuple, list)) and any(is_tensor(part) for part in start):
        # Keras takes no numbers and tensors side by side.
        kwargs = {**kwargs, "start_index": tuple(map(ops.convert_to_tensor, start))}
    if not (symbolic or positions is None or is_tensor(positions)):
        kwargs = {**kwargs, "positions": HostPositions(positions)}
    return kwargs


def has_dims(shape: Shape, ndim: int, channel_dim: int) -> bool:
    """Whether `shape` has `ndim` dimensions and a known number of channels."""
    if len(shape) != ndim:
        return False
    try:
        # Neither None nor a symbol of `jax.export` says how many waves to make.
        operator.index(shape[channel_dim])  # type: ignore[arg-type]
    except TypeError:
        return False
    return True


def dims_error(
    layer: keras.layers.Layer, shape: Shape, ndim: int, described: str
) -> ValueError:
    """What to raise where `has_dims` is false."""
    expected = f"{type(layer).__name__} expects inputs of shape {described}"
    problem = (
        ", whose number of channels is known when the model is built"
        if len(shape) == ndim
        else f": expected ndim={ndim}, found ndim={len(shape)}"
    )
    return ValueError(f"{expected}{problem}. Received: inputs of shape {shape}")


# The packages whose code lies between a user's line and ours.
_MACHINERY = {"keras", "keras_posenc", "jax", "optree", "tensorflow", "torch"}


@_backend.host_constant  # torch.compile then warns as it traces
def warn(message: str) -> None:
    """Warns at the user's line; Python shows one text at one line once."""
    level, frame = 1, sys._getframe()
    while frame.f_back and _package(frame) in _MACHINERY:
        level, frame = level + 1, frame.f_back
    warnings.warn(message, stacklevel=level)


def _package(frame: FrameType) -> str:
    return frame.f_globals.get("__name__", "").partition(".")[0]
