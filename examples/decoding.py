"""Write text one character at a time, with `start_index` and a cache of what was read.

A causal transformer learns the characters of Python's language reference, as in
text.py. Then it writes 8 texts at once. Written plainly, each character takes a pass
over all that was written so far. With a cache of keys and values a step looks at one
character; its place goes to the encoding as `Summer(...)(x, start_index=place)`. The
place is an input of the model, so that one graph serves all steps.

    pip install -e ".[jax,examples]"      # or torch, or tensorflow
    KERAS_BACKEND=jax python examples/decoding.py

It prints the largest difference between the logits of steps and of a full pass over the
same text, and the time of each. The picture has both times for each length. (Texts
longer than those of training make no sense, but take the same time as better ones.)
"""

import sys
import time
from pathlib import Path
from typing import Any

import keras
import numpy as np
from common import AXIS_COLORS, TEXT, new_figure, parse_arguments
from keras import layers, ops
from text import load_text, windows

from keras_posenc import PositionalEncoding1D, Summer

CHANNELS, HEADS, BLOCKS = 64, 4, 2
TEXTS, PROMPT, LENGTH = 8, 16, 64
LENGTHS = (LENGTH, 128, 256, 512)

# Float32 sums in another order: 1e-5 was measured. A wrong place would move some by 1.
TOLERANCE = 1e-3


class CachedAttention(layers.Layer):
    """Causal attention, which keeps the keys and values of earlier calls."""

    def __init__(self, length: int):
        super().__init__()
        self.length = length
        self.project = layers.Dense(3 * CHANNELS)

    def build(self, input_shape: tuple) -> None:
        self.project.build(input_shape)

    def call(self, x: Any, start: Any, cache: Any = 0) -> tuple[Any, Any]:
        """Reads `x` from place `start` on. `cache` has what came before."""
        places = ops.expand_dims(start, 1) + ops.arange(x.shape[1])
        query, new = ops.split(self.project(x), [CHANNELS], axis=-1)
        # Adds each new key and value to the row of its place, which was zero.
        rows = ops.expand_dims(places, -1) == ops.arange(self.length)
        cache = cache + ops.einsum("bnl,bnc->blc", ops.cast(rows, x.dtype), new)
        heads = [
            ops.reshape(y, (-1, y.shape[1], HEADS, CHANNELS // HEADS))
            for y in (query, *ops.split(cache, 2, axis=-1))
        ]
        seen = ops.expand_dims(places, -1) >= ops.arange(self.length)
        y = ops.dot_product_attention(*heads, mask=ops.expand_dims(seen, 1))
        return ops.reshape(y, (-1, x.shape[1], CHANNELS)), cache


def build_model(kinds: int, length: int, step: bool) -> keras.Model:
    """Reads `length` characters at once, or one, its place, and the caches."""
    characters = keras.Input((1 if step else length,), dtype="int32")
    place = keras.Input((), dtype="int32")
    caches = [keras.Input((length, 2 * CHANNELS)) for _ in range(BLOCKS if step else 0)]
    start = place if step else ops.zeros_like(characters[:, 0])
    unit = keras.initializers.RandomNormal(stddev=1)  # as large as the encoding
    x = layers.Embedding(kinds, CHANNELS, embeddings_initializer=unit)(characters)
    encoding = PositionalEncoding1D(CHANNELS, max_wavelength=1000)
    x = Summer(encoding)(x, start_index=start)
    new_caches = []
    for block in range(BLOCKS):
        y = layers.LayerNormalization()(x)
        y, cache = CachedAttention(length)(y, start, *caches[block : block + 1])
        new_caches.append(cache)
        x = x + layers.Dense(CHANNELS)(y)
        y = layers.Dense(2 * CHANNELS, activation="relu")(
            layers.LayerNormalization()(x)
        )
        x = x + layers.Dense(CHANNELS)(y)
    logits = layers.Dense(kinds)(layers.LayerNormalization()(x))
    if not step:
        return keras.Model(characters, logits)
    return keras.Model([characters, place, caches], [logits[:, 0], new_caches])


def write(model: keras.Model, prompts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Returns prompts, continued to the length of the caches, and all logits."""
    _, _, caches = model.input
    caches = [np.zeros((len(prompts), *c.shape[1:]), "float32") for c in caches]
    texts, all_logits = prompts, []
    for place in range(caches[0].shape[1]):
        inputs = [texts[:, place : place + 1], np.full(len(prompts), place), caches]
        logits, caches = model.predict_on_batch(inputs)
        all_logits.append(logits)
        if place >= PROMPT - 1:  # the most likely character
            texts = np.concatenate([texts, logits.argmax(-1)[:, None]], axis=1)
    return texts[:, :-1], np.stack(all_logits, axis=1)


def milliseconds(model: keras.Model, inputs: Any) -> float:
    """Returns the median time of a call that is compiled already."""
    times = []
    for _ in range(11):
        begin = time.perf_counter()
        model.predict_on_batch(inputs)
        times.append(time.perf_counter() - begin)
    return 1e3 * float(np.median(times))


def draw(full: list[float], step: list[float], path: Path) -> None:
    figure = new_figure(3.4)
    axis = figure.subplots()
    axis.loglog(LENGTHS, full, "o-", color=TEXT, label="full pass")
    axis.loglog(LENGTHS, step, "o-", color=AXIS_COLORS[0], label="step, with a cache")
    axis.set(xlabel="characters in the text", ylabel="milliseconds per character")
    axis.set_xticks(LENGTHS, LENGTHS)
    axis.minorticks_off()
    axis.legend()
    figure.savefig(path)


def main() -> None:
    args = parse_arguments(__doc__, epochs=3, seeds=None)
    keras.utils.set_random_seed(0)
    train, test, kinds = load_text()
    trained = build_model(len(kinds), LENGTH, step=False)
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    trained.compile(keras.optimizers.Adam(0.003), loss)
    trained.fit(*windows(train, LENGTH), batch_size=64, epochs=args.epochs)

    prompts = windows(test, PROMPT)[0][:TEXTS]
    full_times, step_times, differences = [], [], []
    for length in LENGTHS:
        full, step = (build_model(len(kinds), length, step) for step in (False, True))
        full.set_weights(trained.get_weights())
        step.set_weights(trained.get_weights())
        texts, logits = write(step, prompts)
        if length == LENGTH:
            print("\n" + "".join(kinds[texts[0]]))
        differences.append(np.abs(logits - full.predict_on_batch(texts)).max())
        full_times.append(milliseconds(full, texts))
        caches = [np.zeros((TEXTS, length, 2 * CHANNELS), "float32")] * BLOCKS
        inputs = [texts[:, -1:], np.full(TEXTS, length - 1), caches]
        step_times.append(milliseconds(step, inputs))

    print(f"\nwriting {TEXTS} texts with a step for each character")
    for row in zip(LENGTHS, full_times, step_times, differences, strict=True):
        print(
            "{:4} characters: full pass {:6.1f} ms, step {:5.1f} ms, ".format(*row),
            end="",
        )
        print(f"largest difference {row[-1]:.0e}")
    draw(full_times, step_times, args.output / "decoding.png")
    print(f"picture: {args.output / 'decoding.png'}")
    if not max(differences) <= TOLERANCE:  # NaN must not pass
        sys.exit(f"Steps and the full pass differ by more than {TOLERANCE}.")


if __name__ == "__main__":
    main()
