"""A small decoder with one layer of experts, and what became of its tokens.

    row = measure(shakespeare(), weight=0.01, room=None, seed=0)

Letters of tinyshakespeare, two layers, 64 wide, 64 letters of context, 16 stretches a step. In the
second layer eight feed-forward layers stand in the place of one, and each letter meets one of them.
A run has the operations of `steps` steps of the decoder without experts: what the router takes is
paid for in steps. Read `records` first: text, rows and judging are its own.
"""

from functools import partial
from typing import Any

import torch
from torch import Tensor, nn

from deepdive.core import (
    Block,
    FeedForward,
    MultiHeadAttention,
    Position,
    PreNorm,
    RMSNorm,
    gelu_tanh,
)
from deepdive.core.embeddings import TiedHead, TokenEmbedding
from deepdive.core.hooks import collect_losses, record
from deepdive.core.stack import Stack
from deepdive.layers import SparseExperts, SwitchRouter
from deepdive.layers.heads import initialize
from deepdive.models.transformer.decoder_only import DecoderOnly
from deepdive.models.transformer.transformer import Decoder
from deepdive.positions import RotaryPosition
from deepdive.training import fit
from deepdive.training.optim import adam, cosine
from deepdive_book.ch06a.runs.decoder_ablations import Text, evaluate, loss
from deepdive_book.kit.flops import count_flops
from deepdive_book.tasks.stream import random_windows, sequential_windows

D_MODEL, D_FF, HEADS, LAYERS, LENGTH, ROWS, EXPERTS = 64, 256, 4, 2, 64, 16, 8
RATE, STEPS = 4e-3, 400
ROOMS = (4, 6, 8, 10, 12, 16, 24, 32)  # of which 8 would do if all experts were asked equally often


def decoder(vocab_size: int, weight: float | None, room: int | None = None) -> DecoderOnly:
    """Build the decoder; `weight` is that of the balance loss, None: without experts."""

    def feed_forward(layer: int) -> nn.Module:
        if weight is None or layer < LAYERS - 1:
            return FeedForward(D_MODEL, D_FF, gelu_tanh, bias=False)
        router = SwitchRouter(D_MODEL, EXPERTS)
        return SparseExperts(router, D_MODEL, D_FF, gelu_tanh, capacity=room, balance_weight=weight)

    def block(layer: int) -> Block:
        position = RotaryPosition(D_MODEL // HEADS)
        attention = MultiHeadAttention(D_MODEL, HEADS, bias=False, position=position)
        return Block(attention, feed_forward(layer), residual=partial(PreNorm, norm=RMSNorm))

    embedding = TokenEmbedding(vocab_size, D_MODEL)
    stack = Stack(block, LAYERS, RMSNorm(D_MODEL))
    model = DecoderOnly(Decoder(embedding, Position(), stack), TiedHead(embedding))
    initialize(model)
    for name, tensor in model.named_parameters():
        if ".experts." in name:  # as `initialize` draws a layer that is not an expert
            nn.init.trunc_normal_(tensor, std=0.02, a=-0.04, b=0.04)
        if name.endswith(".out.weight"):
            tensor.data /= (2 * LAYERS) ** 0.5
    return model


def both_losses(model: nn.Module, batch: Tensor) -> Tensor:
    """The loss of the next letter, and that of the balance."""
    with collect_losses(model) as extra:
        return loss(model, batch) + extra.total()


def step_flops(model: nn.Module, vocab_size: int) -> int:
    """Return the operations of one step, forward and backward."""
    batch = torch.randint(vocab_size, (ROWS, LENGTH + 1))
    return count_flops(lambda: both_losses(model, batch).backward())


@torch.no_grad()
def routed(model: nn.Module, ids: Tensor) -> tuple[Tensor, Tensor]:
    """Return the expert (rows, 64) of each token of a text, and the text in these rows."""
    model.eval()
    rows = sequential_windows(ids, LENGTH)[:, :-1]
    with record(model, "*.probabilities") as seen:
        for part in rows.split(64):
            model(part)
    (probabilities,) = seen.values()
    return torch.cat(probabilities).argmax(-1), rows


def mixture(model: nn.Module) -> SparseExperts:
    """Return the layer of experts."""
    (found,) = (module for module in model.modules() if isinstance(module, SparseExperts))
    return found


def measure(
    text: Text,
    weight: float | None,
    room: int | None,
    seed: int,
    steps: int = STEPS,
    line: str = "",
    rate: float = RATE,
) -> dict[str, Any]:
    """Train one decoder; return what it loses on the test, and what its router does there.

    flops       of the whole training
    test        nats a letter, with the room that it was trained with
    busiest     the share of the letters that the busiest expert is asked for, `asked` of all
    passing     share of the letters that find their expert full, and `tight` the loss then, for
                each of `ROOMS`
    kinds       how often each letter of the text goes to each expert
    line        the expert of each letter of `line`
    """
    kinds = len(text.letters)
    torch.manual_seed(seed)
    budget = steps * step_flops(decoder(kinds, None), kinds)
    torch.manual_seed(seed)
    model = decoder(kinds, weight, room)
    with_all = decoder(kinds, weight)
    each = step_flops(with_all, kinds)
    n = max(2, round(budget / each))
    fit(
        model,
        random_windows(text.train, LENGTH, rows=ROWS, steps=n, seed=seed),
        both_losses,
        steps=n,
        seed=seed,
        optimizer=adam(model, lr=rate, betas=(0.9, 0.99), eps=1e-8, weight_decay=0.1),
        schedule=cosine(rate, min(100, n // 2), n, rate / 10),
        progress=False,
    )
    losses = evaluate(model, text.test)
    row = {
        "done": n,
        "parameters": sum(p.numel() for p in model.parameters()),
        "flops": each * n,
        "test": sum(losses) / len(losses),
    }
    return row if weight is None else row | router_statistics(model, text, line)


def router_statistics(model: nn.Module, text: Text, line: str) -> dict[str, Any]:
    """Return what the router of a trained decoder does with the test and with a line."""
    experts, letters = routed(model, text.test)
    counts = torch.zeros(len(text.letters), EXPERTS, dtype=torch.long)
    counts.index_put_(
        (letters.flatten(), experts.flatten()), torch.ones(letters.numel(), dtype=torch.long),
        accumulate=True,
    )  # fmt: skip
    of_each = counts.sum(0).double() / counts.sum()
    layer, trained, passing, tight = mixture(model), mixture(model).capacity, [], []
    for room in ROOMS:
        layer.capacity = room
        passing.append(1 - float(layer.served(experts[..., None]).double().mean()))
        losses = evaluate(model, text.test[: 200 * LENGTH + 1])
        tight.append(sum(losses) / len(losses))
    layer.capacity = trained
    found: dict[str, Any] = {
        "busiest": float(of_each.max()), "asked": of_each.tolist(), "passing": passing,
        "tight": tight, "kinds": counts.tolist(),
    }  # fmt: skip
    if line:
        with torch.no_grad(), record(model, "*.probabilities") as seen:
            model(text.encode(line)[None])
        (probabilities,) = seen.values()
        found["line"] = probabilities[0][0].argmax(-1).tolist()
    return found
