"""The encoding alone, not added to anything.

The yardsticks are a copy of the stored table to the shape of the output, and a Keras
layer that returns such a copy, which is what the target is held against: to call any
Keras layer takes a fixed time (overhead). (A backend whose arrays can't be changed may
return the same array again, and copy nothing.) Times are medians in milliseconds,
ratios are medians of ratios.
"""

from __future__ import annotations

import functools
from typing import Any

import candidates as c
import report
from measure import BACKEND, measure_anew

COPY = "copy of the table"
LAYER = "layer that copies"
ENCODING = "PositionalEncoding"
WITHOUT_HANDING_OVER = """\
JAX runs a compiled copy, in which there is no arithmetic, on the thread that calls it,
and hands sums to another one, which takes 0.1 to 0.2 ms on two cores: as long as these
copies. So that work is compared with work, all is run here with
`jax_cpu_enable_async_dispatch=False`. With JAX's default, the ratios of compiled
functions to a copy were 2.0, 1.2 and 1.6 for (8, 32, 32, 256), (1, 64, 64, 256) and
(2, 16, 16, 16, 192), where they are 1.0, 0.6 and 0.8 without it."""


class CopiedTable(c.StoredTable):
    """Returns a copy of its table: no layer that keeps an encoding can do less."""

    def call(self, x: Any) -> Any:
        return copy_to(self.table, tuple(x.shape))


def main() -> None:
    args = report.arguments(__doc__)
    shapes = c.QUICK_SHAPES if args.quick else c.SHAPES
    rounds = 5 if args.quick else 300
    found = report.Report("alone", __doc__)
    if BACKEND == "jax":
        import jax

        jax.config.update("jax_cpu_enable_async_dispatch", False)
        found.note(WITHOUT_HANDING_OVER)
    eager, compiled = {}, {}
    for shape in shapes:
        how = {"rounds": rounds, "seconds": 0.6, "title": str(shape)}
        eager[str(shape)] = measure_anew(functools.partial(made, shape), **how)
        compiled[str(shape)] = measure_anew(
            functools.partial(made_compiled, shape), **how
        )
    for mode, results in (("Eager", eager), ("Compiled", compiled)):
        found.times(f"{mode}, median time of a call", results)
        found.ratios(f"{mode}, alone", results, {LAYER: 1.2}, subject=ENCODING)
    found.write(args.output)


def made(shape: tuple[int, ...]) -> tuple[dict[str, c.Call], Any]:
    return encodings(shape) | c.peer_encodings(shape), c.random_tensor(shape)


def made_compiled(shape: tuple[int, ...]) -> tuple[dict[str, c.Call], Any]:
    x = c.random_tensor(shape)
    return c.compiled(encodings(shape), x), x


def encodings(shape: tuple[int, ...]) -> dict[str, c.Call]:
    table = c.random_table(shape)
    return {
        COPY: lambda x: copy_to(table, shape),
        LAYER: CopiedTable(table),
        ENCODING: c.encoding_of(shape),
    }


def copy_to(table: Any, shape: tuple[int, ...]) -> Any:
    """A copy even where `table` has this shape, and broadcasting would return it."""
    has_shape = tuple(table.shape) == shape
    if BACKEND == "torch":
        return table.expand(shape).clone()
    if BACKEND == "jax":
        import jax.numpy as jnp

        return jnp.copy(table) if has_shape else jnp.broadcast_to(table, shape)
    import tensorflow as tf

    if has_shape and tf.executing_eagerly():
        return tf.raw_ops.DeepCopy(x=table)
    return tf.broadcast_to(table, shape)


if __name__ == "__main__":
    main()
