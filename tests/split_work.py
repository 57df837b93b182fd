"""What each of several processes does in the proofs of `deepdive.models.generative.megatron`."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import nullcontext
from pathlib import Path
from unittest import mock

import torch
from torch import Tensor

from deepdive.decoding import greedy
from deepdive.layers.collectives import ProcessGroup
from deepdive.models.generative import gpt2, megatron
from deepdive.models.generative.gpt import GPT
from deepdive.models.generative.megatron import Megatron
from deepdive.published import load
from deepdive.training.objectives.generative import next_token_loss

TEXTS = torch.randint(4, 28, (3, 7), generator=torch.Generator().manual_seed(0))
FAULTS = {
    "": None,
    "no sum on the way out": ("deepdive.layers.tensor_parallel.all_reduce", lambda x, machines: x),
    "no sum on the way back": (
        "deepdive.layers.tensor_parallel.broadcast_in",
        lambda x, machines: x,
    ),
    "columns of another machine": (
        "deepdive.layers.tensor_parallel.share",
        lambda whole, machines, axis=0, parts=1: torch.cat(
            [p.chunk(machines.ways, axis)[0] for p in whole.chunk(parts, axis)], axis
        ),
    ),
    "tokens of another machine": (
        "deepdive.layers.tensor_parallel.own_shard",
        lambda tokens, width, machines: (tokens % width, tokens // width != machines.rank),
    ),
}


def weighed(logits: Tensor) -> Tensor:
    """A fixed random sum of the logits."""
    draws = torch.Generator().manual_seed(3)
    direction = torch.randn(logits.shape, generator=draws, dtype=torch.float64)
    return (logits * direction.to(logits)).sum()


def told(model: GPT) -> dict[str, Tensor]:
    """Logits and their gradients, the loss and its gradients, and all after a step of Adam; of a
    model that is split, this machine's share.
    """
    found: dict[str, Tensor] = {}
    logits = model(TEXTS)
    weighed(logits).backward()  # type: ignore[no-untyped-call]
    found |= {f"first.{n}": p.grad for n, p in model.named_parameters() if p.grad is not None}
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    losses = []
    for _ in range(2):
        optimizer.zero_grad()
        loss = model.loss(TEXTS) if isinstance(model, Megatron) else next_token_loss(
            model(TEXTS), TEXTS
        )  # fmt: skip
        loss.backward()
        losses.append(loss.detach())
        found |= {f"loss.{n}": p.grad for n, p in model.named_parameters() if p.grad is not None}
        optimizer.step()
    found["logits"], found["losses"] = logits.detach(), torch.stack(losses)
    with torch.no_grad():
        found["after"] = model(TEXTS)
        found["written"] = torch.tensor(greedy(model, prompt=TEXTS[:, :2], max_length=5, eos=None))
    return {name: tensor.clone() for name, tensor in found.items()}


def worked(folder: str) -> Mapping[str, Tensor]:
    """Load GPT-2 as it is published, split it, and tell everything, gradients made whole too: as it
    is, then with each fault; and what a step says. All names begin with the fault's.
    """
    found: dict[str, Tensor] = {}
    torch.set_default_dtype(torch.float64)
    for fault, broken in FAULTS.items():
        with mock.patch(*broken) if broken else nullcontext():
            found |= {f"{fault}/{name}": tensor for name, tensor in one_half(folder).items()}
    torch.set_default_dtype(torch.float32)
    return found | {f"counted/{name}": tensor for name, tensor in counted().items()}


def one_half(folder: str) -> dict[str, Tensor]:
    machines = ProcessGroup()
    model = megatron.split(load(Path(folder)).double(), machines)  # type: ignore[arg-type]
    found = told(model)
    for kind in ("first", "loss"):
        for name, parameter in model.named_parameters():
            parameter.data = found.pop(f"{kind}.{name}")
        found |= {f"{kind}.{name}": tensor for name, tensor in megatron.whole(model).items()}
    return {name: tensor.clone() for name, tensor in found.items()}


def counted() -> Mapping[str, Tensor]:
    """How many numbers each of the messages of a step has, forwards and backwards; how many weights
    this machine holds; and whether both together drew what one draws from the same seed.
    """
    machines = ProcessGroup()
    torch.manual_seed(0)
    model = megatron.megatron(megatron.TINY, machines)
    loss = model.loss(TEXTS)
    forwards = [size for _, size in machines.told]
    machines.told.clear()
    loss.backward()  # type: ignore[no-untyped-call]
    backwards = [size for _, size in machines.told]
    torch.manual_seed(0)
    drawn, both = gpt2.gpt2(megatron.TINY).state_dict(), megatron.whole(model)
    return {
        "forwards": torch.tensor(forwards),
        "backwards": torch.tensor(backwards),
        "held": torch.tensor(sum(p.numel() for p in model.parameters())),
        "same": torch.tensor(all(torch.equal(both[name], drawn[name]) for name in drawn)),
    }


def failing() -> Mapping[str, Tensor]:
    """The first fails; the second waits for it."""
    machines = ProcessGroup()
    if machines.rank == 0:
        raise ValueError("the first process fails on purpose")
    machines.total(torch.ones(1))
    return {}
