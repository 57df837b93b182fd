"""A small GPT-2 trained on one process, and cut between two that really run; and two of which a
sum is forgotten.

    one = alone(batches, rate=0.003)
    two = run_on_two_processes(batches, rate=0.003)  # [of process 0, of process 1]
"""

from collections.abc import Mapping, Sequence
from unittest import mock

import torch
from torch import Tensor

from deepdive.layers.collectives import ProcessGroup
from deepdive.models.generative import gpt2, megatron
from deepdive.models.generative.gpt import GPT
from deepdive.models.generative.megatron import Megatron
from deepdive.training.objectives.generative import next_token_loss
from deepdive_book.ch05.processes import run_processes

SIZE = megatron.TINY.but(vocab_size=128)  # letters by their numbers in ASCII
Batches = Sequence[Sequence[Sequence[int]]]
FORGOTTEN = {
    "way out": "deepdive.layers.tensor_parallel.all_reduce",
    "way back": "deepdive.layers.tensor_parallel.broadcast_in",
}


def trained(model: GPT, batches: Batches, rate: float) -> dict[str, Tensor]:
    """Train by Adam; return the losses, the logits of the first batch before and after, the norm's
    weights behind the last layer.
    """
    first = torch.tensor(batches[0])
    with torch.no_grad():
        found = {"before": model(first)}
    moves, losses = torch.optim.Adam(model.parameters(), lr=rate), []
    for batch in batches:
        tokens = torch.tensor(batch)
        moves.zero_grad()
        if isinstance(model, Megatron):
            loss = model.loss(tokens)
        else:
            loss = next_token_loss(model(tokens), tokens)
        loss.backward()
        losses.append(loss.detach())
        moves.step()
    with torch.no_grad():
        found["after"] = model(first)
    norm = model.decoder.stack.norm
    assert norm is not None
    weight = norm.get_parameter("weight").detach().clone()
    return found | {"losses": torch.stack(losses), "norm": weight}


def alone(batches: Batches, rate: float) -> dict[str, Tensor]:
    """Train the whole model in this process, in float64; return its weights too."""
    torch.manual_seed(0)
    model = gpt2.gpt2(SIZE, dropout=0.0).double()
    found = trained(model, batches, rate)
    return found | {f"weight.{name}": tensor for name, tensor in model.state_dict().items()}


def run_on_two_processes(batches: Batches, rate: float) -> list[dict[str, Tensor]]:
    """Return what each of two processes finds, as `alone`; with each sum forgotten, under
    `way out: ` and `way back: `; and of one step the sizes of its messages, and the weights held.
    """
    return run_processes(shard, 2, batches=batches, rate=rate)


def shard(batches: Batches, rate: float) -> Mapping[str, Tensor]:
    """Be one of two: train a share of the model."""
    machines = ProcessGroup()

    def share() -> Megatron:
        torch.manual_seed(0)
        return megatron.megatron(SIZE, machines, dropout=0.0).double()

    model = share()
    found = trained(model, batches, rate)
    found |= {f"weight.{name}": tensor for name, tensor in megatron.whole(model).items()}
    for name, target in FORGOTTEN.items():
        with mock.patch(target, lambda x, machines: x):
            wrong = trained(share(), batches, rate)
        found |= {f"{name}: {key}": tensor for key, tensor in wrong.items()}
    return found | messages(share(), torch.tensor(batches[0]), machines)


def messages(model: Megatron, tokens: Tensor, machines: ProcessGroup) -> dict[str, Tensor]:
    """How many numbers each message of a step has, forwards and backwards; and what is held."""
    machines.told.clear()
    loss = model.loss(tokens)
    out = [size for _, size in machines.told]
    machines.told.clear()
    loss.backward()
    return {
        "out": torch.tensor(out),
        "back": torch.tensor([size for _, size in machines.told]),
        "held": torch.tensor(sum(p.numel() for p in model.parameters())),
    }
