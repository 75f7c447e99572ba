"""The few questions that `keras.ops` cannot answer, one function each.

This is the only module that imports a backend, always inside a function and only
the one that runs, so that importing the package never pulls in another.

In this order: what a number or a tensor is, what is around a call, constants for
compilers, tensors that are made, and operations.
"""

from __future__ import annotations

import contextlib
import functools
import itertools
import operator
from collections.abc import Callable, Iterator
from typing import Any, ParamSpec, TypeVar

import keras
import numpy as np
from keras import ops

# Keras reads it once, too. Asked for in every call, it would take its share of time.
BACKEND = keras.backend.backend()

# Numbers between the rows of a table that a graph reads. torch reads it as it lies, and
# a multiple of 4 KB apart, rows that are read together would contend for one place in
# the cache of the processor, and take 10% longer. XLA makes constants of its own.
ROW_PADDING = 32 if BACKEND == "torch" else 0

P = ParamSpec("P")
R = TypeVar("R")


def shape(x: Any) -> tuple[Any, ...]:
    """The sizes of `x`: an `int` where known, else what the backend counts with."""
    # `ops.shape` builds TensorFlow's dynamic shape even where nothing is unknown.
    return ops.shape(x) if None in tuple(x.shape) else x.shape


def has_dtype(x: Any, dtype: str) -> bool:
    if BACKEND == "torch":
        import torch

        return x.dtype is getattr(torch, dtype)
    return x.dtype == dtype


def is_known(size: Any) -> bool:
    """Whether a size is a number now, not a tensor or symbol for a later one.

    Symbols of JAX and torch and the sizes inside a TorchScript trace would convert
    to `int`, which freezes them at the size that happens to be traced.
    """
    if type(size) is not int:
        return False
    if BACKEND == "torch":
        import torch

        if torch.compiler.is_compiling():
            # A size that torch.compile keeps open looks like an `int` there.
            from torch.fx.experimental.symbolic_shapes import has_static_value

            return has_static_value(size)
    return True


def is_dense(x: Any) -> bool:
    """Whether `x` is an ordinary tensor: neither sparse nor ragged."""
    if isinstance(x, keras.KerasTensor):
        return not (x.sparse or getattr(x, "ragged", False))
    if BACKEND == "tensorflow":
        import tensorflow as tf

        return not isinstance(x, (tf.SparseTensor, tf.RaggedTensor, tf.IndexedSlices))
    if BACKEND == "jax":
        from jax.experimental.sparse import JAXSparse

        return not isinstance(x, JAXSparse)
    if BACKEND == "torch":
        import torch

        return not isinstance(x, torch.Tensor) or (
            x.layout is torch.strided and not x.is_nested
        )
    return True


_MODULES = {"jax": "jax", "jaxlib": "jax", "tensorflow": "tensorflow", "torch": "torch"}


def foreign_backend(x: Any) -> str | None:
    """The backend that `x` is a tensor of, if that is not the one of Keras."""
    owner = _MODULES.get(type(x).__module__.partition(".")[0])
    return None if owner == BACKEND else owner


def is_tensor(value: Any) -> bool:
    return ops.is_tensor(value) or isinstance(value, keras.KerasTensor)


@functools.cache
def hide_from_jax(cls: type) -> None:
    """Lets instances of `cls` through what JAX transforms, such as `RematScope`."""
    if BACKEND == "jax":
        import jax

        jax.tree_util.register_static(cls)


def are_untied(size: Any, other: Any) -> bool:
    """Whether jax.export has two symbols for sizes that have to be equal."""
    return BACKEND == "jax" and None not in (size, other) and size != other


def dtype_of(number: Any) -> str:
    """That of a tensor; of a number the one that counts with it."""
    if is_tensor(number):
        return keras.backend.standardize_dtype(number.dtype)
    return (
        "int64" if type(number) is int and not -(2**31) <= number < 2**31 else "int32"
    )


def is_eager(x: Any) -> bool:
    """Whether `x` holds numbers now, and what is made for it can be used again.

    What is made while a graph is traced, or for one of the tensors that tracing goes
    by, belongs to that graph. Sparse tensors and the like are none of ours.
    """
    if BACKEND == "tensorflow":
        import tensorflow as tf

        return tf.executing_eagerly() and isinstance(x, tf.Tensor)
    if BACKEND == "jax":
        import jax

        return isinstance(x, jax.Array) and not isinstance(x, jax.core.Tracer)
    if BACKEND == "torch":
        import torch

        return (
            not torch.compiler.is_compiling()
            and type(x) in (torch.Tensor, torch.nn.Parameter)
            and x.layout is torch.strided
            and not (x.is_nested or x.is_meta or torch.jit.is_tracing())
        )
    return False


def is_torch_compiled(x: Any) -> bool:
    """Whether torch.compile traces what becomes of the tensor `x`."""
    if BACKEND != "torch":
        return False
    import torch

    return torch.compiler.is_compiling() and isinstance(x, torch.Tensor)


def has_mask(x: Any) -> bool:
    """Whether Keras has hung a mask on the tensor `x`."""
    if BACKEND == "tensorflow":
        # It takes 3 us to tell `getattr` that there is none.
        return x.__dict__.get("_keras_mask") is not None
    return getattr(x, "_keras_mask", None) is not None


def has_hooks(layer: Any) -> bool:
    """Whether torch is to call something of the user's around calls of `layer`."""
    if BACKEND != "torch":
        return False
    import torch
    from torch.nn.modules import module

    # torch.compile follows no hooks of a layer that it goes around, and would guard
    # each of these.
    return not torch.compiler.is_compiling() and bool(
        layer._compiled_call_impl
        or layer._forward_hooks
        or layer._forward_pre_hooks
        or layer._backward_hooks
        or layer._backward_pre_hooks
        or module._global_forward_hooks
        or module._global_forward_pre_hooks
        or module._global_backward_hooks
        or module._global_backward_pre_hooks
    )


def host_integers(tensor: Any) -> np.ndarray | None:
    """The integers of an eager tensor, where it costs next to nothing to read them.

    JAX would have to be waited for, and so would a GPU.
    """
    if not is_eager(tensor):
        return None
    if BACKEND == "tensorflow":
        return tensor.numpy()
    if BACKEND == "torch" and tensor.device.type == "cpu" and outlasts_call(tensor):
        return tensor.detach().numpy()
    return None


# --- Constants for compilers ---------------------------------------------------------


def host_constant(function: Callable[P, R]) -> Callable[P, R]:
    """Marks a pure function of hashable arguments as a constant to compilers.

    torch.compile would trace into it, and rewrite its NumPy as torch operations.
    """
    if BACKEND != "torch":
        return function
    import torch

    called: Callable[..., Any] = function

    # It rebuilds a NamedTuple that was made in the trace only inside of another tuple.
    def unpacked(*arguments: Any) -> Any:
        given = [a[0] if isinstance(a, tuple) else a for a in arguments]
        return called(*given)

    constant = torch.compiler.assume_constant_result(unpacked)

    @functools.wraps(function)
    def packed(*arguments: P.args, **_: P.kwargs) -> R:
        return constant(*[(a,) if isinstance(a, tuple) else a for a in arguments])

    return packed


def settled(number: Any) -> Any:
    """`number`, which torch.compile is then to take for the constant that it is now."""
    if BACKEND == "torch" and type(number) is float:
        import torch

        if torch.compiler.is_compiling():
            from torch.fx.experimental.symbolic_shapes import guard_scalar

            return guard_scalar(number)
    return number


def is_torch_compiling() -> bool:
    if BACKEND != "torch":
        return False
    import torch

    return torch.compiler.is_compiling()


def aligned(values: np.ndarray) -> np.ndarray:
    """`values` where vector instructions read them fastest: at a multiple of 64 bytes.

    NumPy starts 16 bytes off, and torch reads them in place: adding a table took 1.1
    times as long.
    """
    room = np.empty(values.nbytes + 64, "uint8")
    first = -room.ctypes.data % 64
    moved = room[first : first + values.nbytes].view(values.dtype).reshape(values.shape)
    moved[...] = values
    return moved


# --- Tensors that are made -----------------------------------------------------------


def device_of(x: Any) -> Any:
    """Where an eager `x` is, as something to look up by."""
    # On JAX, `device` takes 2 us to tell whether there are several.
    return x.sharding if BACKEND == "jax" else x.device


@contextlib.contextmanager
def outside_traces(x: Any) -> Iterator[None]:
    """A scope in which tensors are made where `x` is, and outlast the call."""
    if BACKEND == "tensorflow":
        import tensorflow as tf

        with tf.device(x.device):
            yield
    elif BACKEND == "jax":
        import jax

        # JAX moves the tensor by itself where `x` is spread over several devices.
        device = x.device if isinstance(x.device, jax.Device) else None
        # `x` can be an array in a function that is being traced, where whatever is
        # made would be a tracer.
        with jax.ensure_compile_time_eval(), jax.default_device(device):
            yield
    elif BACKEND == "torch":
        import torch

        # A tensor made in inference mode is of no use to gradients later.
        with torch.inference_mode(False), torch.no_grad():
            yield
    else:
        yield


def outlasts_call(tensor: Any) -> bool:
    """Whether what was made in `outside_traces` is of use after the call.

    A transform of torch.func or a mode of its dispatcher wraps all that is made in it.
    """
    if BACKEND != "torch":
        return True
    import torch

    if type(tensor) is not torch.Tensor:
        return False
    try:
        return tensor.data_ptr() != 0 or tensor.numel() == 0
    except RuntimeError:  # as some wrappers answer
        return False


def device_scope(x: Any) -> contextlib.AbstractContextManager[Any]:
    """A scope in which `keras.ops` makes tensors where `x` is.

    JAX and TensorFlow move small constants to their operands by themselves. On
    torch, `keras.ops` makes everything on Keras's default device instead.
    """
    if BACKEND == "torch" and not isinstance(x, keras.KerasTensor):
        return keras.device(str(x.device))
    return contextlib.nullcontext()


def to_tensor(values: np.ndarray, x: Any) -> Any:
    """`values`, a constant of a graph or of many calls, as a tensor where `x` is."""
    if BACKEND == "torch" and not isinstance(x, keras.KerasTensor):
        import torch

        # `ops.convert_to_tensor` inspects its argument in a way that torch.compile
        # cannot follow for what `host_constant` returned.
        return torch.as_tensor(values, device=x.device)
    if BACKEND == "jax" and is_eager(x):
        import jax

        # `ops.convert_to_tensor` compiles a copy for each new shape, which takes 15 ms.
        return jax.device_put(values)
    return ops.convert_to_tensor(values)


def put_like(values: np.ndarray, x: Any | None) -> Any:
    """`values`, of a batch of one, as a tensor on the devices that `x` is on.

    Each gets what goes with its part of `x`, once, and not again at every call. Without
    an `x`, on the device where Keras makes tensors.
    """
    if BACKEND == "jax" and (x is None or is_eager(x)):
        import jax

        return jax.device_put(
            values, None if x is None else _jax_parts(x, values.shape)
        )
    return ops.convert_to_tensor(values) if x is None else to_tensor(values, x)


def tied_sizes(encoding: Any, x: Any, channel_dim: int, *, one_goes: bool) -> Any:
    """`encoding`, whose sizes TensorFlow's running graph compares with those of `x`.

    Only it knows them where they are None. Where they differ, `+` would broadcast one
    over the other: `one_goes` for all elements of the batch, and for nothing else.
    `stack` takes equal shapes alone, under XLA too, which drops assertions; of nothing,
    as of these slices, it makes next to no work.
    """
    if BACKEND != "tensorflow" or isinstance(x, keras.KerasTensor):
        return encoding
    ndim, zeros = len(x.shape), []
    for dim in range(one_goes or encoding.shape[0] == 1, ndim):
        if dim != channel_dim and None in (x.shape[dim], encoding.shape[dim]):
            index = [slice(0)] * ndim
            index[dim] = slice(None)
            pair = [ops.cast(x[*index], encoding.dtype), encoding[*index]]
            zeros.append(ops.sum(ops.stack(pair)))
    if one_goes and encoding.shape[0] != 1:
        sizes = (ops.shape(x)[0], *ops.shape(encoding)[1:])
        encoding = ops.broadcast_to(encoding, sizes)
    return sum(zeros, encoding)


def with_count(encoding: Any, sizes: tuple[Any, ...], count: Any) -> Any:
    """`encoding`, if TensorFlow's running graph finds that sizes make so many tokens.

    XLA drops the assertion, and no other backend has one in a graph.
    """
    if BACKEND != "tensorflow" or not any(map(is_tensor, sizes)):
        return encoding
    import tensorflow as tf

    found = functools.reduce(operator.mul, map(as_int32, sizes))
    text = "`grid` must have as many positions as there are tokens of it"
    check = tf.debugging.assert_equal(found, as_int32(count), text)
    with tf.control_dependencies([check]):
        return tf.identity(encoding)


def in_one_call(like: Any, function: Callable[..., Any], *arguments: Any) -> Any:
    """What `function`, whose first argument hashes, returns, made where `like` is.

    In one compiled call, if `like` is eager on JAX: that would compile each operation
    by itself, and take 10 us and more for each.
    """
    with device_scope(like):
        if BACKEND == "jax" and is_eager(like):
            function = _jax_compiled(function)
        return function(*arguments)


@functools.cache
def _jax_compiled(function: Callable[..., Any]) -> Callable[..., Any]:
    import jax

    return jax.jit(function, static_argnums=0)


def over_batch(encoding: Any, x: Any, *, cached: bool) -> Any:
    """`encoding`, of a batch of one, once for each element of the batch of `x`.

    A `cached` one is copied: callers may change what they get in place (torch), donate
    it (JAX) or lend its memory (TensorFlow).
    """
    batch_size, sizes = shape(x)[0], shape(encoding)[1:]
    if not cached and encoding.shape[0] == x.shape[0] and is_known(x.shape[0]):
        return encoding
    if BACKEND == "torch":
        return encoding.expand(batch_size, *sizes).clone()
    if BACKEND == "jax":
        if is_eager(x):
            parts = _jax_parts(x, (batch_size, *sizes))
            return _jax_copies(parts)(encoding, batch_size)
        return _jax_spread(ops.broadcast_to(encoding, (batch_size, *sizes)), x)
    if BACKEND == "tensorflow" and cached and is_eager(x) and batch_size == 1:
        import tensorflow as tf

        return tf.raw_ops.DeepCopy(x=encoding)
    return ops.broadcast_to(encoding, (batch_size, *sizes))


@functools.lru_cache(maxsize=32)
def _jax_copies(parts: Any | None) -> Callable[[Any, int], Any]:
    """Copies of an array of batch size 1; compiled, since JAX takes 50 us otherwise."""
    import jax
    import jax.numpy as jnp

    def copies(array: Any, count: int) -> Any:
        # Without `copy`, JAX would return the very array that it got, if count is 1.
        return jnp.copy(jnp.broadcast_to(array, (count, *array.shape[1:])))

    return jax.jit(copies, static_argnums=1, out_shardings=parts)


def _jax_parts(x: Any, sizes: tuple[Any, ...]) -> Any | None:
    """How to divide among devices an array of these sizes: as `x` is divided.

    All of it goes to each device along a dimension that has another size in `x`. None
    where `x` was left to JAX to put somewhere.
    """
    import jax

    if isinstance(x, jax.core.Tracer):
        sharding = jax.typeof(x).sharding
    elif x.committed:
        sharding = x.sharding
    else:
        return None
    if not isinstance(sharding, jax.sharding.NamedSharding):
        return sharding if len(sharding.device_set) == 1 else None
    dims = itertools.zip_longest(sharding.spec, x.shape, sizes)
    axes = (axis if size == whole else None for axis, whole, size in dims)
    return sharding.update(spec=jax.sharding.PartitionSpec(*axes))


def _jax_spread(tensor: Any, x: Any) -> Any:
    """`tensor`, in a graph, divided among devices as `x` is.

    Nothing else ties it to `x`: one device would make all of it.
    """
    import jax

    if jax.device_count() == 1:
        return tensor
    from jax.experimental.shard_alike import shard_alike

    mesh = jax.typeof(x).sharding.mesh
    if not mesh.empty and mesh.are_all_axes_explicit:  # a part of the type there
        tensor = jax.sharding.reshard(tensor, _jax_parts(x, tensor.shape))
    # There may be fewer channels than `x` has: as the first of those.
    first = tuple(slice(size if is_known(size) else None) for size in tensor.shape)
    return shard_alike(jax.lax.stop_gradient(x[first]), tensor)[1]


def indexed(x: Any, index: tuple[slice | None, ...]) -> Any:
    """`x[index]`, in which None is a new dimension of one."""
    if BACKEND == "openvino" and not isinstance(x, np.ndarray):
        # Keras 3.15 puts all that are new before the others there.
        x = x[tuple(part for part in index if part is not None)]
        for dim, part in enumerate(index):
            x = ops.expand_dims(x, dim) if part is None else x
        return x
    return x[index]


def nearest(x: Any) -> Any:
    """`ops.round`, which on torch has decimals, and is known to few exporters."""
    if BACKEND == "torch" and not isinstance(x, keras.KerasTensor):
        import torch

        return torch.round(x)
    return ops.round(x)


def sine(angles: Any) -> Any:
    """The sines in the dtype of `angles`: Keras makes float32 of JAX's float64."""
    if BACKEND == "jax" and not isinstance(angles, keras.KerasTensor):
        import jax.numpy as jnp

        return jnp.sin(angles)
    return ops.sin(angles)


def widened(integers: Any) -> Any:
    """Integers in a type that holds them, and 4096, and that backends can divide."""
    dtype = keras.backend.standardize_dtype(integers.dtype)
    if dtype in ("int8", "int16", "uint8", "uint16"):
        return ops.cast(integers, "int32")
    if dtype.startswith("uint") and BACKEND == "torch":
        return ops.cast(integers, "int64")
    return integers


def as_int32(size: Any) -> Any:
    """A size as it is, if it is a number or a symbol, else as a tensor of int32."""
    return ops.cast(size, "int32") if is_tensor(size) else size


def after_zeros(where: tuple[int, int], tokens: Any) -> Any:
    """`tokens`, with zeros before them: along which dimension, and how many."""
    dim, count = where
    if not count:
        return tokens
    if BACKEND == "torch" and not isinstance(tokens, keras.KerasTensor):
        import torch

        # `ops.pad` makes an operation of a new name each time, for which torch.compile
        # would make a new graph.
        after = [0, 0] * (len(tokens.shape) - 1 - dim)
        return torch.nn.functional.pad(tokens, [*after, count, 0])
    padding = [[0, 0] for _ in tokens.shape]
    padding[dim][0] = count
    return ops.pad(tokens, padding)


def precision_for(dtype: str) -> str:
    """The dtype to compute in, before rounding to `dtype`."""
    return "float64" if dtype == "float64" else "float32"


def rounded(values: Any, dtype: str) -> Any:
    """What was computed for `dtype`, in that."""
    return values if dtype == precision_for(dtype) else ops.cast(values, dtype)


def tensors_lose_digits() -> bool:
    """Whether Keras rounds float64 when it makes a tensor of an array."""
    return BACKEND == "jax"


def available_dtype(dtype: str) -> str:
    """`dtype`, or float32 where there is no float64: JAX without its 64-bit mode.

    JAX would give float32 all the same, with a warning at every operation.
    """
    if dtype == "float64" and BACKEND in ("numpy", "openvino"):
        # Keras makes float32 of NumPy's float64, and OpenVINO computes in float32.
        return "float32"
    if dtype == "float64" and BACKEND == "jax":
        import jax

        return dtype if jax.config.jax_enable_x64 else "float32"
    return dtype
