"""Fill the gaps of a time series, without and with an encoding of its times.

The series is the weekly record of carbon dioxide at Mauna Loa, 1958 to 2001, that comes
with statsmodels. Of two years of it a transformer gets 16 measurements at irregular
times, and says what was measured at 8 other times. It trains on the years before 1985,
with gaps drawn at random, and is tested on the years after.

- none: the model cannot know what time is asked for.
- counted: the sinusoidal encoding of 0, 1, 2, ..., as if there were no gaps.
- sinusoidal: the encoding of the times. `positions` are real numbers, here years.
- learned: a table with a row for each week of the two years. That there are weeks, and
  not too many, is luck: times that fall anywhere would have to be rounded.

    pip install -e ".[jax,examples]"      # or torch, or tensorflow
    KERAS_BACKEND=jax python examples/series.py

It prints root mean square errors in parts per million, beside that of a straight line
between the measurements before and after. The picture has a gap of the record itself.
"""

from pathlib import Path
from typing import Any

import keras
import numpy as np
from common import (
    COLOURS,
    OTHER_COLOUR,
    TEXT,
    compare,
    new_figure,
    parse_arguments,
    print_table,
    transformer_block,
)
from keras import layers, ops
from statsmodels.datasets import co2

from keras_posenc import PositionalEncoding1D, Summer

WEEKS, KNOWN, ASKED, CHANNELS = 104, 16, 8, 48
WEEK = 7 / 365.25  # in years
PPM = 3.0  # half of what a year moves the record

Sample = tuple[np.ndarray, np.ndarray, np.ndarray]


def learned(x: Any, times: Any) -> Any:
    weeks = ops.cast(ops.round(times / WEEK), "int32")
    start = keras.initializers.RandomNormal(stddev=0.02)
    return x + layers.Embedding(WEEKS, CHANNELS, embeddings_initializer=start)(weeks)


def sinusoidal() -> Summer:
    # A year is 52 steps, so that the fastest wave takes 6 weeks, the slowest 12 years.
    return Summer(PositionalEncoding1D(CHANNELS, max_wavelength=100, scale=52))


ENCODINGS = {
    "none": lambda x, times: x,
    "counted": lambda x, times: Summer(PositionalEncoding1D(CHANNELS))(x),
    "sinusoidal": lambda x, times: sinusoidal()(x, positions=times),
    "learned": learned,
}


def build_model(name: str) -> keras.Model:
    """From values, whether they are asked for, and times, to the values asked for."""
    values, asked, times = (keras.Input((KNOWN + ASKED,)) for _ in range(3))
    x = layers.Dense(CHANNELS)(ops.stack([values, asked], axis=-1))
    x = ENCODINGS[name](x, times)
    for _ in range(2):
        x = transformer_block(x)
    x = layers.Dense(1)(layers.LayerNormalization()(x))
    return keras.Model([values, asked, times], x)


def make_sample(record: np.ndarray, known: np.ndarray, asked: np.ndarray) -> Sample:
    """Returns times, values less the mean of those known, and which are asked for."""
    weeks = np.concatenate([known, asked])
    order = np.argsort(weeks)
    values = (record[weeks] - record[known].mean()) / PPM
    return weeks[order] * WEEK, values[order], (np.arange(len(weeks)) >= KNOWN)[order]


def make_data(record: np.ndarray, count: int, seed: int) -> Sample:
    generator = np.random.default_rng(seed)
    samples = []
    while len(samples) < count:
        start = generator.integers(len(record) - WEEKS)
        window = record[start : start + WEEKS]
        measured = np.flatnonzero(~np.isnan(window))
        if len(measured) >= KNOWN + ASKED:
            chosen = generator.choice(measured, KNOWN + ASKED, replace=False)
            samples.append(make_sample(window, chosen[:KNOWN], chosen[KNOWN:]))
    return tuple(np.stack(part) for part in zip(*samples, strict=True))


def inputs_of(sample: Sample) -> list[np.ndarray]:
    times, values, asked = sample
    return [np.where(asked, 0, values), asked.astype("float32"), times]


def line_error(sample: Sample) -> float:
    """Returns the error of straight lines between the known values, in ppm."""
    errors = [
        np.interp(times[asked], times[~asked], values[~asked]) - values[asked]
        for times, values, asked in zip(*sample, strict=True)
    ]
    return PPM * np.sqrt(np.mean(np.square(errors)))


def draw(record: np.ndarray, models: dict[str, keras.Model], path: Path) -> None:
    """Draws two years with a gap of the record, and what each model says of them."""
    measured = np.flatnonzero(~np.isnan(record))
    known = np.sort(np.random.default_rng(1).choice(measured, KNOWN, replace=False))
    asked = np.arange(WEEKS).reshape(-1, ASKED)  # as many at a time as in training
    years = 1963 + np.arange(WEEKS) * WEEK
    figure = new_figure(3.8)
    axis = figure.subplots()
    axis.plot(years, record, ".", color=TEXT, markersize=3)
    axis.plot(years[known], record[known], "o", color=TEXT, label="given")
    samples = [make_sample(record, known, weeks) for weeks in asked]
    sample = tuple(np.stack(part) for part in zip(*samples, strict=True))
    for name, model in models.items():
        said = model.predict(inputs_of(sample), verbose=0)[sample[2], 0]
        said = said * PPM + record[known].mean()
        colour = COLOURS.get(name, OTHER_COLOUR)
        axis.plot(years, said, color=colour, label=name)
    axis.set(xlabel="year", ylabel="carbon dioxide in ppm", xticks=(1963, 1964, 1965))
    figure.legend(loc="outside upper center", ncols=3)
    figure.savefig(path)


def main() -> None:
    args = parse_arguments(__doc__, epochs=6)
    frame = co2.load_pandas().data
    before, after = frame[:"1984"].co2.to_numpy(), frame["1985":].co2.to_numpy()
    train, test = make_data(before, 4096, seed=0), make_data(after, 1024, seed=1)
    models = {}

    def score(name: str) -> np.ndarray:
        model = models[name] = build_model(name)
        model.compile(keras.optimizers.Adam(0.003), "mse", weighted_metrics=[])
        # The weights: only what is asked for counts.
        model.fit(
            inputs_of(train),
            train[1][..., None],
            sample_weight=train[2],
            batch_size=64,
            epochs=args.epochs,
        )
        error = model.predict(inputs_of(test), verbose=0)[..., 0] - test[1]
        return PPM * np.sqrt(np.mean(error[test[2]] ** 2))

    scores = compare(ENCODINGS, args.seeds, score)
    scores["line"] = np.array([line_error(test)])
    print_table("root mean square error", {"ppm": scores})
    draw(frame["1963":][:WEEKS].co2.to_numpy(), models, args.output / "series.png")
    print(f"picture: {args.output / 'series.png'}")


if __name__ == "__main__":
    main()
