"""The model of sharded_model in 2 processes; the first prints the losses as JSON.

`python -m helpers.sharded_torch FILE NUMBER`, twice, with NUMBER 0 and 1: the processes
find each other by the file, which there must not be yet.
"""

from __future__ import annotations

import json
import sys
import warnings
from pathlib import Path

import torch
from torch import distributed
from torch.nn.parallel import DistributedDataParallel

from helpers import sharded_model

PROCESSES = 2


def trained(model: torch.nn.Module, number: int, count: int) -> list[float]:
    """The loss of each epoch for a model that gets one of `count` parts of a batch."""
    x, y = map(torch.as_tensor, sharded_model.data())
    optimizer = torch.optim.Adam(model.parameters(), 0.01)
    losses = []
    for _ in range(sharded_model.EPOCHS):
        total = torch.zeros(())
        for first in range(0, len(x), sharded_model.BATCH):
            part = slice(first + number, first + sharded_model.BATCH, count)
            loss = torch.mean((model(x[part]) - y[part]) ** 2)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.detach()
        if count > 1:
            distributed.all_reduce(total)
        losses.append(total.item() / count / sharded_model.STEPS)
    return losses


def main(rendezvous: str, number: int) -> None:
    warnings.simplefilter("error")
    distributed.init_process_group(
        "gloo",
        init_method=Path(rendezvous).resolve().as_uri(),
        rank=number,
        world_size=PROCESSES,
    )
    # No name for the model, so that it goes before the process group does: the other
    # way round, its destructor may wait for a thread that waits for the interpreter.
    together = trained(
        DistributedDataParallel(sharded_model.build()), number, PROCESSES
    )
    losses = {"DistributedDataParallel": together}
    distributed.destroy_process_group()
    if number == 0:
        losses["one"] = trained(sharded_model.build(), 0, 1)
        sys.stdout.write(json.dumps({"losses": losses}))


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
