"""Ablations of nanoGPT's decoder towards Llama's, at equal compute. Page 6a.2.

    text = shakespeare()
    row = measure(text, lambda: decoder(norm=RMSNorm), seed=0)     # {"chosen": 1.8, "test": ...}

A run is nanoGPT's for a CPU: characters of tinyshakespeare, 4 layers, hidden size 128, a context of
64 characters, batches of 12. The FLOPs of its 2,000 steps are the budget: a variant with fewer
FLOPs per step gets more steps. The last tenth of the text is held out; its first half is for
validation ("chosen"), its second is the test.
"""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from deepdive.core import (
    Block,
    FeedForward,
    GatedFeedForward,
    LayerNorm,
    MultiHeadAttention,
    Position,
    PostNorm,
    PreNorm,
    RMSNorm,
    gelu_tanh,
    relu,
)
from deepdive.core.embeddings import TiedHead, TokenEmbedding
from deepdive.core.stack import Stack
from deepdive.data import fetch
from deepdive.layers.heads import initialize
from deepdive.models.transformer.decoder_only import DecoderOnly
from deepdive.models.transformer.transformer import Decoder
from deepdive.positions import LearnedPosition, RotaryPosition
from deepdive.training import Keep, fit
from deepdive.training.optim import adam, cosine
from deepdive_book.kit.flops import count_flops
from deepdive_book.tasks.stream import random_windows, sequential_windows

D_MODEL, HEADS, LAYERS, LENGTH, ROWS, STEPS = 128, 4, 4, 64, 12, 2000
RATE = 1e-3  # nanoGPT's learning rate


class Text(NamedTuple):
    """The letters of a text, in order; and its three parts as their numbers."""

    letters: str
    train: Tensor
    chosen: Tensor
    test: Tensor

    def encode(self, text: str) -> Tensor:
        return torch.tensor([self.letters.index(letter) for letter in text])

    def decode(self, ids: Any) -> str:
        return "".join(self.letters[int(i)] for i in ids)


def cut(text: str) -> Text:
    """Return a text with nine tenths to learn from, and the rest in two halves."""
    letters = "".join(sorted(set(text)))
    place = {letter: i for i, letter in enumerate(letters)}
    ids = torch.tensor([place[letter] for letter in text])
    train, rest = ids[: int(0.9 * len(ids))], ids[int(0.9 * len(ids)) :]
    return Text(letters, train, *rest.tensor_split(2))


def shakespeare() -> Text:
    """Return tinyshakespeare: 1,115,394 letters of 65 kinds."""
    return cut(fetch("tinyshakespeare", "input.txt").read_text("utf-8"))


def _norm(d_model: int) -> LayerNorm:
    return LayerNorm(d_model, bias=False)


def decoder(
    vocab_size: int,
    *,
    norm: Callable[[int], nn.Module] = _norm,
    residual: Callable[..., nn.Module] = PreNorm,
    added: Callable[[], Position] = lambda: LearnedPosition(LENGTH, D_MODEL),
    turned: Callable[[], Position | None] = lambda: None,
    ff: Callable[[], nn.Module] = lambda: FeedForward(D_MODEL, 4 * D_MODEL, gelu_tanh, bias=False),
    n_kv_heads: int | None = None,
    bias: bool = False,
    head: Callable[[TokenEmbedding], nn.Module] = TiedHead,
) -> DecoderOnly:
    """Build nanoGPT's decoder, which has no biases, with these parts replaced."""

    def block(_layer: int) -> Block:
        attention = MultiHeadAttention(
            D_MODEL, HEADS, n_kv_heads=n_kv_heads, bias=bias, position=turned()
        )
        return Block(attention, ff(), residual=partial(residual, norm=norm))

    embedding = TokenEmbedding(vocab_size, D_MODEL)
    last = norm(D_MODEL) if getattr(residual, "final_norm", False) else None
    stack = Stack(block, LAYERS, last)
    model = DecoderOnly(Decoder(embedding, added(), stack), head(embedding))
    initialize(model)
    for name, weight in model.named_parameters():
        if name.endswith(".out.weight"):  # as GPT-2 begins
            weight.data /= (2 * LAYERS) ** 0.5
    return model


def _rotary() -> RotaryPosition:
    return RotaryPosition(D_MODEL // HEADS)


def _gated() -> GatedFeedForward:
    return GatedFeedForward(D_MODEL, 344, F.silu, bias=False)  # three matrices as large as two


def _plain(activation: Callable[[Tensor], Tensor], bias: bool = False) -> FeedForward:
    return FeedForward(D_MODEL, 4 * D_MODEL, activation, bias=bias)


def _untied(embedding: TokenEmbedding) -> nn.Module:
    return nn.Linear(D_MODEL, embedding.vocab_size, bias=False)


def _squared(x: Tensor) -> Tensor:
    return relu(x).square()


# What replaces a part of nanoGPT's decoder; the last variant replaces all of Llama's.
PARTS: dict[str, dict[str, Any]] = {
    "nanoGPT": {},
    "RMSNorm": {"norm": RMSNorm},
    "RoPE": {"added": Position, "turned": _rotary},
    "SwiGLU": {"ff": _gated},
    "GQA, 2 KV heads": {"n_kv_heads": 2},
    "untied output layer": {"head": _untied},
    "post-norm": {"residual": PostNorm},
    "biases": {"bias": True, "norm": LayerNorm, "ff": partial(_plain, gelu_tanh, bias=True)},
    "no positions": {"added": Position},
    "ReLU": {"ff": partial(_plain, relu)},
    "squared ReLU": {"ff": partial(_plain, _squared)},
    "Llama block": {
        "norm": RMSNorm, "added": Position, "turned": _rotary, "ff": _gated, "n_kv_heads": 2,
        "head": _untied,
    },
}  # fmt: skip
FASTER = ", learning rate 0.004"  # after a variant's name


def row(
    text: Text,
    name: str,
    seed: int,
    steps: int = STEPS,
    table: Mapping[str, Mapping[str, Any]] = PARTS,
    **more: Any,
) -> dict[str, Any]:
    """Measure a variant of the `table`, at nanoGPT's learning rate or at one that its name ends in,
    such as "ReLU, learning rate 0.004".
    """
    part, _, named = name.partition(", learning rate ")
    parts, rate = table[part], float(named or RATE)
    build = partial(decoder, len(text.letters), **parts)
    return measure(text, build, seed=seed, steps=steps, rate=rate, **more)


def loss(model: nn.Module, batch: Tensor) -> Tensor:
    """The mean of -log p(next letter), in nats."""
    logits = model(batch[:, :-1])
    return F.cross_entropy(logits.flatten(0, 1), batch[:, 1:].flatten())


@torch.no_grad()
def evaluate(model: nn.Module, ids: Tensor, rows: int = 64) -> list[float]:
    """Return the loss in each row of 64 letters of a text, read once from its beginning."""
    model.eval()
    found: list[float] = []
    for batch in sequential_windows(ids, LENGTH).split(rows):
        each = F.cross_entropy(
            model(batch[:, :-1]).flatten(0, 1), batch[:, 1:].flatten(), reduction="none"
        )
        found += each.view(len(batch), -1).mean(1).tolist()
    return found


def step_flops(model: nn.Module, vocab_size: int) -> int:
    """Return the operations of one step, forward and backward."""
    batch = torch.randint(vocab_size, (ROWS, LENGTH + 1))
    return count_flops(lambda: loss(model, batch).backward())


def measure(
    text: Text,
    build: Callable[[], nn.Module],
    *,
    seed: int,
    steps: int = STEPS,
    rate: float = RATE,
    folder: Keep | None = None,
    progress: bool = False,
) -> dict[str, Any]:
    """Train what `build` makes with the operations that nanoGPT's decoder takes for `steps` steps;
    return what it then loses on the part to choose by and on the test, in nats a letter.
    """
    kinds = len(text.letters)
    torch.manual_seed(seed)
    budget = steps * step_flops(decoder(kinds), kinds)
    torch.manual_seed(seed)
    model = build()
    each = step_flops(model, kinds)
    model.zero_grad()
    n = max(2, round(budget / each))
    history = fit(
        model,
        random_windows(text.train, LENGTH, rows=ROWS, steps=n, seed=seed),
        loss,
        steps=n,
        seed=seed,
        optimizer=adam(model, lr=rate, betas=(0.9, 0.99), eps=1e-8, weight_decay=0.1),
        schedule=cosine(rate, min(100, n // 2), n, rate / 10),
        folder=folder,
        progress=progress,
    )
    parts = {"chosen": evaluate(model, text.chosen), "test": evaluate(model, text.test)}
    return {
        "steps": n,
        "parameters": sum(p.numel() for p in model.parameters()),
        "flops": each * n,
        "learned": sum(history.losses[-100:]) / len(history.losses[-100:]),
        **{name: sum(rows) / len(rows) for name, rows in parts.items()},
    }
