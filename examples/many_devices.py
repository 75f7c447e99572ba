"""Train a small model on several devices, and see that it learns what one would.

    KERAS_BACKEND=jax python examples/many_devices.py     # or tensorflow, or torch

Encodings need no set-up: they have no weights to share out, and each device makes the
numbers of its own part of the input. What is here is what any Keras model takes. It
runs on a CPU, of which it makes several devices. On real ones,

- JAX: remove `jax.config.update`; `DataParallel()` takes all GPUs or TPUs.
- TensorFlow: remove the three lines that divide the CPU, and the argument of
  `MirroredStrategy`, which then takes all GPUs.
- PyTorch: "nccl" for "gloo", and model and data `.to(number)`, the GPU of a process.
"""

import tempfile
from pathlib import Path

import keras
import numpy as np
from keras import layers

from keras_posenc import PositionalEncoding1D, Summer

DEVICES = 2
BATCH, EPOCHS = 64, 5


def build_model() -> keras.Model:
    """Averages over a sequence, so that only the encoding can tell places apart."""
    keras.utils.set_random_seed(0)
    inputs = keras.Input((None, 4))
    x = layers.Dense(32)(inputs)
    x = Summer(PositionalEncoding1D(32, max_wavelength=100))(x)
    x = layers.Dense(64, activation="relu")(x)
    x = layers.GlobalAveragePooling1D()(x)
    return keras.Model(inputs, layers.Dense(1)(x))


def make_data() -> tuple[np.ndarray, np.ndarray]:
    """Sequences, and the difference of the averages of their two halves."""
    x = np.random.default_rng(0).normal(size=(16 * BATCH, 20, 4)).astype("float32")
    first, second = np.split(x.mean(axis=-1), 2, axis=1)
    return x, 10 * (first - second).mean(axis=1, keepdims=True)


def fit() -> float:
    """Returns the loss of the last epoch."""
    model = build_model()
    model.compile("adam", "mse")
    options = {"batch_size": BATCH, "epochs": EPOCHS, "shuffle": False, "verbose": 0}
    history = model.fit(*make_data(), **options)
    return history.history["loss"][-1]


def run_jax() -> tuple[float, float]:
    import jax

    jax.config.update("jax_num_cpu_devices", DEVICES)
    alone = fit()
    with keras.distribution.DataParallel().scope():
        return alone, fit()


def run_tensorflow() -> tuple[float, float]:
    import tensorflow as tf

    (cpu,) = tf.config.list_physical_devices("CPU")
    parts = [tf.config.LogicalDeviceConfiguration()] * DEVICES
    tf.config.set_logical_device_configuration(cpu, parts)
    strategy = tf.distribute.MirroredStrategy([f"CPU:{i}" for i in range(DEVICES)])
    alone = fit()
    with strategy.scope():
        return alone, fit()


def train_torch(number: int, count: int, folder: Path) -> None:
    """Trains in one of `count` processes, which take one part of each batch."""
    from torch import distributed

    # They find each other by a file.
    meeting = (folder / f"meeting{count}").as_uri()
    distributed.init_process_group("gloo", meeting, rank=number, world_size=count)
    loss = train_part(number, count)
    # The model is gone by now: after the group, it might wait for it for ever.
    distributed.destroy_process_group()
    (folder / f"loss{count}").write_text(str(loss))


def train_part(number: int, count: int) -> float:
    import torch
    from torch import distributed

    model = torch.nn.parallel.DistributedDataParallel(build_model())
    optimizer = torch.optim.Adam(model.parameters())
    x, y = map(torch.as_tensor, make_data())
    for _ in range(EPOCHS):
        mean = torch.zeros(())
        for start in range(0, len(x), BATCH):
            part = slice(start + number, start + BATCH, count)
            loss = torch.mean((model(x[part]) - y[part]) ** 2)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            mean += loss.detach() * BATCH / len(x) / count
    distributed.all_reduce(mean)  # sums the parts
    return mean.item()


def run_torch() -> tuple[float, float]:
    from torch import multiprocessing

    with tempfile.TemporaryDirectory() as folder:
        for count in (1, DEVICES):
            multiprocessing.spawn(train_torch, (count, Path(folder)), nprocs=count)
        files = [Path(folder) / f"loss{count}" for count in (1, DEVICES)]
        alone, together = [float(file.read_text()) for file in files]
    return alone, together


if __name__ == "__main__":
    runs = {"jax": run_jax, "tensorflow": run_tensorflow, "torch": run_torch}
    alone, together = runs[keras.config.backend()]()
    print(f"loss on 1 device     {alone:.6f}")
    print(f"loss on {DEVICES} devices    {together:.6f}")
