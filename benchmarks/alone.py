"""The encoding alone, not added to anything.

The yardsticks are a copy of the stored table to the shape of the output, and a Keras
layer that returns such a copy: a call of any Keras layer takes a fixed time (overhead),
which a copy alone does not, and which a compiled call does not take on JAX and
TensorFlow. The target is held against the layer in eager mode, and against the copy in
compiled mode. (A backend whose arrays can't be changed may return the same array again,
and copy nothing.) Times are medians in milliseconds, ratios are medians of ratios.
"""

from __future__ import annotations

import functools
from typing import Any

import candidates as c
import report
from measure import BACKEND, measure

COPY = "copy of the table"
LAYER = "layer that copies"
ENCODING = "PositionalEncoding"


class CopiedTable(c.StoredTable):
    """Returns a copy of its table: no layer that keeps an encoding can do less."""

    def call(self, x: Any) -> Any:
        return copy_to(self.table, tuple(x.shape))


def main() -> None:
    args = report.arguments(__doc__)
    shapes = c.QUICK_SHAPES if args.quick else c.SHAPES
    rounds = 5 if args.quick else 300
    found = report.Report("alone", __doc__)
    eager, compiled = {}, {}
    for shape in shapes:
        title, x = str(shape), c.random_tensor(shape)
        run = functools.partial(
            measure, inputs=[x], rounds=rounds, seconds=1, title=title
        )
        eager[title] = run(encodings(shape) | c.peer_encodings(shape))
        compiled[title] = run(c.compiled(encodings(shape), x))
    for mode, results, base in (
        ("Eager", eager, LAYER),
        ("Compiled", compiled, COPY),
    ):
        found.times(f"{mode}, median time of a call", results)
        found.ratios(f"{mode}, alone", results, {base: 1.2}, subject=ENCODING)
    found.write(args.output)


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
