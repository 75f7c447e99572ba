"""What all layers of the package share: dtype, checks before `call`, masks."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any, ClassVar, TypedDict

import keras
from keras import ops

from keras_posenc import _backend, _checks, _door, _dtypes
from keras_posenc._hints import hint_at_arguments, warn
from keras_posenc._sinusoidal import WaveArguments

Shape = tuple[int | None, ...]


class LayerArguments(TypedDict, total=False):
    """The arguments of every Keras layer, for type checkers and editors."""

    name: str | None
    dtype: Any
    trainable: bool
    activity_regularizer: Any


class OptionArguments(WaveArguments, LayerArguments, total=False):
    """Wave options and base layer arguments, for type checkers and editors."""


class ReadOnly:
    """A constructor argument as an attribute, which cannot be set.

    It is read from the record that the layer works with: a second copy could differ.
    """

    def __init__(self, record: str, field: str | None = None):
        self._record, self._field = record, field

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, layer: Any, owner: type) -> Any:
        if layer is None:
            return self
        return getattr(getattr(layer, self._record), self._field or self._name)

    def __set__(self, layer: Any, value: Any) -> None:
        # A subclass may repeat what it has passed on.
        if self._record in layer.__dict__:
            own = self.__get__(layer, type(layer))
            if type(own) is type(value) and own == value:
                return
        raise AttributeError(
            f"`{self._name}` of a layer cannot be set, since others depend on it. Make "
            f"a new {type(layer).__name__} instead. "
            f"Received: {self._name}={_checks.shown(value)}"
        )


class EncodingLayer(keras.layers.Layer):
    """Base of the layers: one dense tensor in, a float tensor out, no weights.

    A subclass says in `_check_shape` and `_check_places` what does not fit, and asks
    them in `call` for what it has not met before: `TimeDistributed` calls no other.
    """

    # The arguments that a hint may name, if the constructor gets one unknown.
    _known: ClassVar[tuple[str, ...]] = ()
    # Whether `call` is of this package, and `compute_mask` of Keras. Others may ask for
    # what only `Layer.__call__` knows, such as `training`.
    _call_is_ours: ClassVar[bool] = False

    def __init_subclass__(cls, **kwargs: Any):
        super().__init_subclass__(**kwargs)
        ours = cls.call.__module__.startswith("keras_posenc.")
        cls._call_is_ours = ours and cls.compute_mask is keras.Layer.compute_mask

    def __init__(self, **kwargs: Any):
        kwargs["dtype"] = _dtypes.float_policy(kwargs.get("dtype"))
        if kwargs.pop("autocast", False):
            raise ValueError(
                "`autocast` must be left out or False: Keras would round positions to "
                "the compute dtype along with the input. Received: autocast=True"
            )
        try:
            super().__init__(autocast=False, **kwargs)
        except ValueError:
            known = LayerArguments.__annotations__
            unknown = {name: kwargs[name] for name in kwargs if name not in known}
            if not unknown:
                raise
            # As Keras says it, which repeats all of what it was given.
            hint = hint_at_arguments(unknown, (*self._known, *known))
            raise ValueError(
                f"Unrecognized keyword arguments passed to {type(self).__name__}: "
                f"{_checks.shown(unknown)}{'.' if hint else ''}{hint}"
            ) from None
        self.supports_masking = True

    @keras.layers.Layer.dtype_policy.setter  # with the getter that Keras has
    def dtype_policy(self, value: Any) -> None:
        keras.layers.Layer.dtype_policy.fset(self, _dtypes.float_policy(value))

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
        if _door.can_skip_keras(self, args, kwargs):
            return self.call(args[0], **kwargs)
        args, kwargs = _door.for_keras(self, args, kwargs)
        return super().__call__(*args, **kwargs)

    def build(self, input_shape: Any) -> None:
        # A map of policies may have one for the path of the layer, known from here on.
        policy, quantized = self.dtype_policy, self.quantization_mode
        _dtypes.require_float(self.compute_dtype, quantized, policy)
        self._check_built_shape(tuple(input_shape))

    def compute_output_shape(self, input_shape: Any) -> Shape:
        self._check_built_shape(tuple(input_shape))
        return tuple(input_shape)

    def compute_output_spec(self, inputs: Any, **places: Any) -> keras.KerasTensor:
        shape = self.compute_output_shape(inputs.shape)
        return keras.KerasTensor(shape, dtype=self.available_dtype)

    def _broadcast_output(self, inputs: Any, **places: Any) -> Any | None:
        """What `call` returns, with a batch of one where all elements get the same.

        None if only a call can tell. This is all that `Summer` asks of a layer.
        """
        return None

    def _check_shape(self, shape: Shape) -> None:
        """Raises a ValueError where inputs of `shape` do not fit this layer."""

    def _check_built_shape(self, shape: Shape) -> None:
        """The same before it is known which other arguments come with the inputs."""
        self._check_shape(shape)

    def _check_places(self, shape: Shape, **places: Any) -> None:
        """Raises where the other arguments of `call` do not fit inputs of `shape`."""

    def _as_float(self, inputs: Any, dtype: str) -> Any:
        """`inputs` in `dtype`. A cast that changes nothing would cost 2 to 5 us."""
        if _backend.has_dtype(inputs, dtype):
            return inputs
        if "complex" in str(inputs.dtype):  # of which a cast would drop a half
            raise TypeError(
                f"{type(self).__name__} expects real numbers to add an encoding to. "
                f"Received: inputs of dtype {inputs.dtype}"
            )
        return ops.cast(inputs, dtype)

    def _check_inputs(self, inputs: Any) -> None:
        """Raises where `inputs` are no dense tensor of known rank."""
        name = type(self).__name__
        if not _backend.is_dense(inputs):
            rule = (
                f"{name} expects a dense tensor; make sparse and ragged tensors dense"
            )
            raise _checks.refusal(f"{rule} first", inputs=inputs)
        if not hasattr(inputs, "shape"):
            given = f"{_checks.shown(inputs)} (of type {type(inputs).__name__})"
            raise TypeError(
                f"{name} expects one tensor or array. Received: inputs={given}"
            )
        if getattr(inputs.shape, "rank", 0) is None:
            raise _checks.refusal(
                f"{name} expects a tensor of known rank", inputs=inputs
            )

    def _warn_of_rounded(self, name: str, values: Any) -> None:
        """Warns where a mixed policy has rounded real numbers before they got here."""
        dtype = keras.backend.standardize_dtype(getattr(values, "dtype", "float32"))
        policies = (keras.config.dtype_policy(), self.dtype_policy)
        mixed = [p for p in policies if p.compute_dtype in _dtypes.HALF_DTYPES]
        if dtype in _dtypes.HALF_DTYPES and mixed:
            warn(
                f"{type(self).__name__} got `{name}` in {dtype}, which has 3 digits: "
                f"under the policy {mixed[0].name!r}, the layer before it has rounded "
                "them. Give that layer `dtype='float32'`, or give the numbers to this "
                "layer first."
            )


# The default of an argument that is missed with a better message than Python's.
REQUIRED: Any = inspect.Parameter.empty


def shows(options: Mapping[str, Any]) -> Any:
    """Makes `help`, `inspect` and editors show the `options` that `**kwargs` takes."""

    def show(init: Any) -> Any:
        signature = inspect.signature(init)
        *before, base = signature.parameters.values()
        shown = [
            inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default)
            for name, default in options.items()
        ]
        base = base.replace(annotation=inspect.Parameter.empty)
        init.__signature__ = signature.replace(parameters=[*before, *shown, base])
        return init

    return show


def shape_error(penc: keras.layers.Layer, encoded: Shape, shape: Shape) -> ValueError:
    """What `Summer` raises for an encoding that would broadcast."""
    return ValueError(
        f"`Summer` expects an encoding of its input's shape {shape}; it never "
        f"broadcasts. Received: an encoding of shape {encoded} from penc={penc!r}"
    )
