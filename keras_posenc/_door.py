"""The way of a call into a layer: around `keras.Layer.__call__`, or through it.

Between Python and `call`, Keras takes 40 us on torch, 60 on JAX and 75 on TensorFlow:
as long as it takes to add an encoding to half a megabyte. torch.compile guards all that
it looked at there, which takes another 40 us in every call. So a call that Keras would
only hand on goes to `call` at once. `can_skip_keras` says which, step by step;
`tests/test_keras_call_source.py` fails for a Keras whose steps nobody has read.
"""

from __future__ import annotations

from typing import Any

import keras
import numpy as np
from keras import ops

from keras_posenc import _backend
from keras_posenc._hints import warn
from keras_posenc._positions import HostValues

# The arguments of `call` that say where positions are, in their order, with what they
# are if they are not given.
PLACES: dict[str, Any] = {"start_index": 0, "positions": None, "grid": None}


def can_skip_keras(layer: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    """Whether `Layer.__call__` would only hand these arguments to `call`.

    What it does (Keras 3.10 to 3.15), and why nothing is left of it here:

    1. It refuses a layer whose `Layer.__init__` never ran: ours has, as `call` is of
       this package.
    2. It makes tensors of arrays and numbers, and casts them to the compute dtype. The
       input is a tensor; layers of this package cast it themselves (`autocast=False`),
       and take numbers and arrays for the other arguments as they are.
    3. It enforces that positional arguments are tensors: the input is the only one. It
       compares them with an `input_spec`: there is none.
    4. It takes `training`, and other context arguments, from the caller or from the
       layer around. No `call` of this package asks for any.
    5. It looks for masks on the tensors, hands them to `call`, and hangs what
       `compute_mask` makes of the input's on the result. The input has none, and
       `compute_mask` is Keras's.
    6. It builds the layer, if it is not: it is.
    7. It makes a KerasTensor and a node of a model where any argument is symbolic: none
       is, in any depth.
    8. It opens a scope for names and for autocasting. No operation of an eager call,
       or of torch.compile, has a name; autocasting is about weights, of which there
       are none.
    9. Within a `RematScope`, it has the backward pass compute again what the layer
       would remember. A sum remembers nothing.
    10. It divides inputs or outputs among devices if there is a
        `keras.distribution`: there is none.
    11. It adds the losses of an activity regularizer: there is none.
    12. On torch, `torch.nn.Module.__call__` runs hooks of the layer and of all modules,
        or what `Module.compile` has made: there is none of it. torch.compile follows
        no hooks on this way.
    """
    return (
        len(args) == 1
        and layer.built
        and (_backend.is_eager(args[0]) or _backend.is_torch_compiled(args[0]))
        and not _backend.has_mask(args[0])
        and all(
            name in PLACES and not is_symbolic(value) for name, value in kwargs.items()
        )
        and call_is_plain(layer)
        and not is_distributed()
    )


def call_is_plain(layer: Any) -> bool:
    """Whether a call of `layer` does what `call` of this package does, and no more."""
    return (
        layer._call_is_ours
        and layer.activity_regularizer is None
        and layer.input_spec is None
        and not _backend.has_hooks(layer)
    )


def is_distributed() -> bool:
    return keras.distribution.distribution() is not None


def is_symbolic(value: Any) -> bool:
    if isinstance(value, (tuple, list)):
        return any(map(is_symbolic, value))
    return isinstance(value, keras.KerasTensor)


def for_keras(
    layer: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """The same arguments, checked, in forms that Keras leaves as they are."""
    args, kwargs = _by_name(args, kwargs)
    inputs = _inputs(layer, args, kwargs)
    if "mask" in kwargs and "mask" not in layer.call_signature_parameters:
        hint = ", and `positions_from_mask(mask)` makes `positions` of one"
        takes_positions = "positions" in layer.call_signature_parameters
        raise TypeError(
            f"{type(layer).__name__} takes no `mask`: masks pass through"
            f"{hint if takes_positions else ''}."
        )
    layer._check_inputs(inputs)
    layer._check_places(
        tuple(inputs.shape), **{name: kwargs.get(name, PLACES[name]) for name in PLACES}
    )
    warn_of_foreign(layer, inputs)
    return args, _unconverted(kwargs, symbolic=is_symbolic(inputs))


def _by_name(
    args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """The same arguments, all but the input by name, unless Keras refuses them."""
    named = dict(zip(PLACES, args[1:], strict=False))
    if len(args) > 1 + len(PLACES) or named.keys() & kwargs.keys():
        return args, kwargs
    return args[:1], {**named, **kwargs}


def _inputs(layer: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    name = layer.call_signature_parameters[0]
    if not args and name not in kwargs:
        given = ", ".join(map(repr, kwargs)) or "no argument"
        raise TypeError(f"{type(layer).__name__} takes `{name}`. Received: {given}")
    inputs = args[0] if args else kwargs[name]
    if inputs is None:
        raise TypeError(
            f"{type(layer).__name__} expects a tensor or an array. "
            f"Received: {name}=None, which is no value"
        )
    return inputs


def warn_of_foreign(layer: Any, inputs: Any) -> None:
    """Warns where `inputs` are of another backend: Keras makes its own of them."""
    owner = _backend.foreign_backend(inputs)
    if owner is not None:
        warn(
            f"{type(layer).__name__} got a tensor of {owner}, and returns one of "
            f"{_backend.BACKEND}, which Keras runs on. To stay in {owner}, set the "
            f"environment variable KERAS_BACKEND={owner} before keras is imported."
        )


def _unconverted(kwargs: dict[str, Any], *, symbolic: bool) -> dict[str, Any]:
    """The same arguments in forms that `Layer.__call__` does not convert."""
    changed = {}
    for name in ("start_index", "grid"):
        value = kwargs.get(name)
        if isinstance(value, (np.integer, np.ndarray)):
            # Keras would make a tensor of it, which on JAX has 32 bits.
            changed[name] = value.tolist()
        elif isinstance(value, (tuple, list)) and any(map(_has_tensor, value)):
            changed[name] = tuple(map(_as_tensor, value))
        elif isinstance(value, (tuple, list)):
            changed[name] = [
                n.item() if isinstance(n, np.integer) else n for n in value
            ]
    positions = kwargs.get("positions")
    if not (symbolic or positions is None or _backend.is_tensor(positions)):
        changed["positions"] = HostValues(positions)
    return {**kwargs, **changed}


def _has_tensor(part: Any) -> bool:
    return _backend.is_tensor(part) or isinstance(part, keras.Variable)


def _as_tensor(part: Any) -> Any:
    # Keras takes no numbers and tensors side by side.
    if part is None or isinstance(part, keras.KerasTensor):
        return part
    return ops.convert_to_tensor(part)
