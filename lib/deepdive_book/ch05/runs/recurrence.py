"""Transformer-XL's memory, relative positions, and longer segments, at equal parameters and
training tokens. Page 5.16.

    rows = load()                                          # the saved runs
    row = measure("Transformer-XL", 3e-3, seed=0, steps=800)     # {"memory 32": 2.9, ...}

Characters of tinyshakespeare, width 64, 3 layers, 4 heads, post-norm, 512 characters per step:
16 streams, each read in segments of 32 characters in order, or 8 in segments of 64. AdamW, warm-up
over the first tenth of the steps, cosine decay to a tenth, gradients clipped to norm 1. All losses
are bits per character (bpc) on the same characters of the test text. The models without memory
read segments by themselves, as those of Al-Rfou et al. 2019 do.
"""

import math
from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any, NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from deepdive.core import Block, FeedForward, MultiHeadAttention, PostNorm, relu
from deepdive.core.embeddings import TiedHead, TokenEmbedding
from deepdive.core.stack import Stack
from deepdive.layers.segment_memory import Memory
from deepdive.models.efficient.transformer_xl import TransformerXL, XLConfig
from deepdive.models.efficient.transformer_xl_lm import for_lm
from deepdive.models.transformer.decoder_only import DecoderOnly
from deepdive.models.transformer.transformer import Decoder
from deepdive.positions import SinusoidalPosition
from deepdive.training.optim import adam, cosine
from deepdive_book.ch06a.runs.decoder_ablations import Text, cut, shakespeare
from deepdive_book.kit.experiments import load_rows, results_path, search_rate, share, sweep
from deepdive_book.kit.flops import count_flops
from deepdive_book.kit.profile import profile

D_MODEL, HEADS, LAYERS, D_FF = 64, 4, 3, 256
SEGMENT, TOKENS, STEPS = 32, 512, 800
SEEDS, TUNING_SEED = range(5), 100
LONG, LONG_SEEDS = 2 * STEPS, range(2)  # a longer training of two arms, at the same rates
GRID = (3e-4, 1e-3, 3e-3, 1e-2, 3e-2)
FIRST = (1e-3, 3e-3, 1e-2)  # tried first; a best rate at an edge extends the search
CONTEXTS = (32, 64)  # sliding windows
MEMORIES = (32, 96)  # of evaluation
CHUNKS, TARGETS, BEFORE = 48, 64, 128  # stretches of test text, their targets, what precedes them

XL, RELATIVE, ABSOLUTE = "Transformer-XL", "relative positions", "absolute positions"
LONGER = "relative positions, segment 64"


class Arm(NamedTuple):
    """A training: characters per segment, cached states, and whether positions are relative."""

    segment: int
    memory: int
    relative: bool


ARMS = {
    ABSOLUTE: Arm(SEGMENT, 0, False),
    RELATIVE: Arm(SEGMENT, 0, True),
    LONGER: Arm(2 * SEGMENT, 0, True),
    XL: Arm(SEGMENT, SEGMENT, True),
}


@cache
def corpus() -> Text:
    """Return tinyshakespeare; in the profile `ci` a repeated line."""
    return cut("to be or not to be, that is " * 800) if profile() == "ci" else shakespeare()


def build(vocab_size: int, relative: bool) -> nn.Module:
    """Build a decoder with Transformer-XL's relative positions, or with sinusoids added to the
    embeddings and as many parameters, to within 1%, in its feed-forward layers.
    """
    if relative:
        config = XLConfig(
            vocab_size=vocab_size, d_model=D_MODEL, n_heads=HEADS, d_head=D_MODEL // HEADS,
            n_layers=LAYERS, d_ff=D_FF, dropout=0.0, n_memory=0,
        )  # fmt: skip
        return for_lm(TransformerXL(config))  # Glorot initialization, as below

    def block(_layer: int) -> Block:
        attention = MultiHeadAttention(D_MODEL, HEADS, bias=False)
        return Block(attention, FeedForward(D_MODEL, D_FF + D_MODEL // 2, relu), residual=PostNorm)

    embedding = TokenEmbedding(vocab_size, D_MODEL, scale=D_MODEL**0.5)
    decoder = Decoder(embedding, SinusoidalPosition(D_MODEL), Stack(block, LAYERS))
    return DecoderOnly(decoder, TiedHead(embedding, bias=True))


def logits(model: nn.Module, tokens: Tensor, memory: Memory | None = None) -> Tensor:
    """Return the logits of the next character after each token, given a memory if there is one."""
    return model(tokens) if memory is None else model(tokens, memory=memory)


def losses(model: nn.Module, batch: Tensor, memory: Memory | None = None) -> Tensor:
    """Return bits per character for a batch (B, T + 1): the loss of each of T predictions."""
    scores = logits(model, batch[:, :-1], memory)
    return F.cross_entropy(scores.transpose(1, 2), batch[:, 1:], reduction="none") / math.log(2)


def streams(ids: Tensor, segment: int, seed: int, steps: int) -> Iterator[Tensor]:
    """Yield `steps` batches (B, segment + 1), B * segment = 512: row b continues row b of the batch
    before. The seed chooses where the text begins; at its end, it begins again.
    """
    B = TOKENS // segment
    start = int(torch.randint(len(ids), (1,), generator=torch.Generator().manual_seed(seed)))
    rows = ids.roll(-start)[: len(ids) // B * B].view(B, -1)
    at = torch.arange(segment + 1)
    for step in range(steps):
        yield rows[:, (step * segment + at) % rows.shape[1]]


def train(model: nn.Module, arm: Arm, ids: Tensor, rate: float, seed: int, steps: int) -> None:
    """Train in place; a memory carries over from each batch to the next."""
    optimizer, rates = (
        adam(model, rate, eps=1e-8),
        cosine(rate, max(1, steps // 10), steps, rate / 10),
    )
    memory = Memory(arm.memory) if arm.memory else None
    model.train()
    for step, batch in enumerate(streams(ids, arm.segment, seed, steps), start=1):
        for group in optimizer.param_groups:
            group["lr"] = rates(step)
        optimizer.zero_grad()
        losses(model, batch, memory).mean().backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()


def stretches(ids: Tensor) -> Tensor:
    """Return the evaluated text, (CHUNKS, BEFORE + TARGETS + 1): the last TARGETS of each row are
    the characters whose loss counts.
    """
    length = BEFORE + TARGETS + 1
    starts = torch.linspace(0, len(ids) - length, CHUNKS).long()
    return ids[starts[:, None] + torch.arange(length)]


@torch.no_grad()
def by_segments(model: nn.Module, rows: Tensor, segment: int, memory: int = 0) -> Tensor:
    """Return the loss at each position of a segment, (segment,): segments one after the other, with
    the cached states of `memory` positions before each.
    """
    model.eval()
    cached = Memory(memory) if memory else None
    found = []
    for end in range(segment, rows.shape[1], segment):
        batch = rows[:, end - segment : end + 1]
        if cached is not None or end > BEFORE:
            found.append(losses(model, batch, cached))
    return torch.stack(found[-(TARGETS // segment) :]).mean((0, 1))


@torch.no_grad()
def by_windows(model: nn.Module, rows: Tensor, context: int) -> float:
    """Return the mean loss where each character is predicted from the `context` before it, in a
    window that is encoded for this character only.
    """
    model.eval()
    windows = rows[:, BEFORE - context :].unfold(1, context + 1, 1)[:, 1:]  # those of the targets
    windows = windows[:, -TARGETS:].flatten(0, 1)
    return float(torch.cat([losses(model, part)[:, -1] for part in windows.split(512)]).mean())


@cache
def training_flops(name: str, vocab_size: int) -> int:
    """Return the FLOPs of one training step, forward and backward, with a full memory."""
    arm = ARMS[name]
    model, memory = build(vocab_size, arm.relative), Memory(arm.memory) if arm.memory else None
    batch = torch.zeros(TOKENS // arm.segment, arm.segment + 1, dtype=torch.long)
    if memory is not None:
        losses(model, batch, memory)
    return int(count_flops(lambda: losses(model, batch, memory).mean().backward()))


def tune(name: str, rate: float, seed: int, steps: int) -> dict[str, Any]:
    """Train one arm; `chosen`: its validation loss, evaluated as it is trained."""
    arm, text = ARMS[name], corpus()
    torch.manual_seed(seed)
    model = build(len(text.letters), arm.relative)
    train(model, arm, text.train, rate, seed, steps)
    return {
        "chosen": float(by_segments(model, stretches(text.chosen), arm.segment, arm.memory).mean())
    }


def measure(name: str, rate: float, seed: int, steps: int) -> dict[str, Any]:
    """Train one arm and evaluate it in every way that it allows; bits per character.

    segments      segments of the arm's length, without memory
    memory M      segments of 32 with the states of M positions before each (relative positions)
    window C      a sliding window of C characters
    by_position   loss by position in a segment, as the arm is trained
    """
    arm, text = ARMS[name], corpus()
    torch.manual_seed(seed)
    model = build(len(text.letters), arm.relative)
    train(model, arm, text.train, rate, seed, steps)
    rows = stretches(text.test)
    found: dict[str, Any] = {"segments": float(by_segments(model, rows, arm.segment).mean())}
    if arm.relative:
        for memory in MEMORIES:
            found[f"memory {memory}"] = float(by_segments(model, rows, SEGMENT, memory).mean())
    for context in CONTEXTS:
        if arm.relative or context <= arm.segment:
            found[f"window {context}"] = by_windows(model, rows, context)
    each = by_segments(model, rows, arm.segment, arm.memory)
    return {
        "parameters": sum(p.numel() for p in model.parameters()),
        "mflops": round(training_flops(name, len(text.letters)) / 1e6, 1),
        **found, "by_position": [round(x, 3) for x in each.tolist()],
    }  # fmt: skip


def run_all(names: Sequence[str] = tuple(ARMS)) -> None:
    """Measure these arms into results/recurrence.json: the learning rate with a seed of its own,
    then `SEEDS` at the best rate; last, the longer training of two arms.
    """
    path, steps = results_path("05_efficient", "recurrence"), round(share() * STEPS)
    later = []
    for name in names:
        point = {"name": name, "seed": TUNING_SEED, "steps": steps}

        def chosen(rate: float, point: dict[str, Any] = point) -> float:
            rows = sweep(tune, [{**point, "rate": rate}], path, data="tinyshakespeare")
            return float(rows[0]["chosen"])

        best = search_rate(chosen, GRID, FIRST)
        points = [{"name": name, "rate": best, "seed": seed, "steps": steps} for seed in SEEDS]
        sweep(measure, points, path, data="tinyshakespeare")
        if name in (RELATIVE, XL):
            later += [{**point, "steps": 2 * steps} for point in points[: len(LONG_SEEDS)]]
    sweep(measure, later, path, data="tinyshakespeare")


def load() -> list[dict[str, Any]]:
    """Return the saved runs; in the profile `experiment` measure the missing ones first."""
    if profile() == "experiment":
        run_all()
    return load_rows(results_path("05_efficient", "recurrence"))
