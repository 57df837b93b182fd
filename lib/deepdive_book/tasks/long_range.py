"""Five tasks whose answer lies far away, one small model for all, and a score that is comparable.

    task = copying(256, 2000)
    model = LongModel(task, lambda layer: MultiHeadAttention(64, 4, mechanism=WindowAttention(16)))
    row = learn(model, task, steps=500)                  # {"accuracy": ..., "steps": ...}

Every task asks for a class at some places of a row and is silent at the others, so that all are
scored by one number, the share of the places where the answer is right. `bag_of_words` is the same
model whose attention is the mean of all rows, without positions: a task that it learns says nothing
about attention (`counts`).
"""

import random
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from deepdive.core import Block, FeedForward, LayerNorm, MultiHeadAttention
from deepdive.core.checks import as_int
from deepdive.core.embeddings import TokenEmbedding
from deepdive.core.masks import Causal, Mask, Padding
from deepdive.core.stack import Stack
from deepdive.positions import SinusoidalPosition
from deepdive.training import Limit, fit
from deepdive.training.optim import adam
from deepdive_book.data.long_range import LISTOPS, list_ops, look_up
from deepdive_book.data.memory import SILENT, copy_memory

PAD, ASK = 0, 1  # of the tasks that ask for the class of a whole text
Rows = tuple[Tensor, Tensor]  # tokens, targets (N, T)


@dataclass(frozen=True)
class LongTask:
    """Rows of `length` tokens, below `vocab`, with a class below `classes` wherever one is due.

    `train` and `test` are tokens and targets (N, T), SILENT = nothing is asked here. `causal`: an
    answer may not look ahead. `padded`: token 0 is padding. `source` says what the rows are.
    """

    name: str
    vocab: int
    classes: int
    train: Rows
    test: Rows
    source: str
    causal: bool = False
    padded: bool = False

    @property
    def length(self) -> int:
        return self.train[0].shape[1]

    @property
    def chance(self) -> float:
        """The accuracy of the class that is right most often, whatever the row."""
        asked = self.test[1][self.test[1] != SILENT]
        return asked.bincount().max().item() / len(asked)

    def mask(self, tokens: Tensor) -> Mask | None:
        """Return the mask of a batch of tokens (B, T)."""
        if self.padded:
            real = Padding(tokens != PAD)
            return real & Causal() if self.causal else real
        return Causal() if self.causal else None

    def batches(self, size: int, seed: int = 0) -> list[Rows]:
        """Return the training rows in batches of `size`, in an order that the seed draws."""
        draw = torch.Generator().manual_seed(as_int("seed", seed))
        order = torch.randperm(len(self.train[0]), generator=draw)
        return [(self.train[0][some], self.train[1][some]) for some in order.split(size)]


def _rows(pairs: Sequence[tuple[Sequence[int], Sequence[int]]]) -> Rows:
    return torch.tensor([row for row, _ in pairs]), torch.tensor([due for _, due in pairs])


def _asked_last(pairs: Sequence[tuple[Sequence[int], int]], length: int) -> Rows:
    """Rows text, ASK, padding; the class is due at ASK. A longer text loses its end."""
    tokens = torch.full((len(pairs), length), PAD)
    targets = torch.full((len(pairs), length), SILENT)
    for i, (ids, label) in enumerate(pairs):
        kept = [*ids[: length - 1], ASK]
        tokens[i, : len(kept)], targets[i, len(kept) - 1] = torch.tensor(kept), label
    return tokens, targets


def copying(length: int, n: int, n_test: int = 200, symbols: int = 8, seed: int = 0) -> LongTask:
    """The first `symbols` tokens (of 4 kinds) are due again at the row's end."""
    made = copy_memory(n + n_test, length, symbols, seed=seed)
    return LongTask("copy", 6, 6, _rows(made[:n]), _rows(made[n:]), made.source)


def retrieval(
    length: int,
    n: int,
    n_test: int = 200,
    *,
    questions: int = 8,
    keys: int = 16,
    values: int = 8,
    seed: int = 0,
) -> LongTask:
    """Keys with values, one token each; at the row's end keys alone, and their values are due."""
    made = look_up(n + n_test, length, questions, keys, values, seed)
    vocab, parts = keys * (values + 1) + 1, (_rows(made[:n]), _rows(made[n:]))
    return LongTask("retrieval", vocab, values, *parts, made.source)


def listops(
    length: int,
    n: int,
    n_test: int = 500,
    shortest: int | None = None,
    depth: int = 10,
    seed: int = 0,
) -> LongTask:
    """Lists of `shortest` (default: half of `length`) to length - 1 symbols; their value is due."""
    low = length // 2 if shortest is None else shortest
    made = list_ops(n + n_test, (low, length - 1), depth, seed=seed)
    pairs = [([LISTOPS[symbol] for symbol in symbols], value) for symbols, value in made]
    parts = _asked_last(pairs[:n], length), _asked_last(pairs[n:], length)
    return LongTask("listops", 2 + len(LISTOPS), 10, *parts, made.source, padded=True)


def documents(
    train: tuple[Sequence[str], Sequence[int]],
    test: tuple[Sequence[str], Sequence[int]],
    length: int,
    source: str,
    words: int = 4000,
) -> LongTask:
    """Texts and their classes, as the `words` most frequent words of the training texts; the
    others are one token.
    """
    common = Counter(word for text in train[0] for word in text.lower().split()).most_common(words)
    number = {word: 3 + i for i, (word, _) in enumerate(common)}

    def rows(texts: Sequence[str], labels: Sequence[int]) -> Rows:
        ids = [[number.get(word, 2) for word in text.lower().split()] for text in texts]
        return _asked_last(list(zip(ids, labels, strict=True)), length)

    vocab, classes = 3 + len(number), max(train[1]) + 1
    return LongTask("documents", vocab, classes, rows(*train), rows(*test), source, padded=True)


def characters(
    text: str, length: int, n: int, source: str, n_test: int = 50, seed: int = 0
) -> LongTask:
    """Stretches of a text: at each character the next is due. The last tenth is the test."""
    number = {c: i for i, c in enumerate(sorted(set(text)))}
    ids, cut = torch.tensor([number[c] for c in text]), len(text) * 9 // 10
    draw = random.Random(f"characters {seed}")

    def stretches(first: int, last: int, count: int) -> Rows:
        starts = [draw.randrange(first, last - length) for _ in range(count)]
        rows = torch.stack([ids[start : start + length + 1] for start in starts])
        return rows[:, :-1], rows[:, 1:]

    parts = stretches(0, cut, n), stretches(cut, len(text), n_test)
    return LongTask("characters", len(number), len(number), *parts, source, causal=True)


class LongModel(nn.Module):
    """Tokens (B, T) -> logits (B, T, classes): embedding, sinusoidal positions, pre-norm blocks.

    `make_attention(i)` builds the attention of layer i, a module with the signature of
    `MultiHeadAttention` and its width as `d_model`. `places`: whether positions are added.
    """

    def __init__(
        self,
        task: LongTask,
        make_attention: Callable[[int], nn.Module],
        *,
        d_model: int = 64,
        d_ff: int = 128,
        n_layers: int = 2,
        places: bool = True,
    ) -> None:
        super().__init__()
        self.tokens = TokenEmbedding(task.vocab, d_model, scale=d_model**0.5)
        self.position = SinusoidalPosition(d_model) if places else None
        self.stack = Stack(
            lambda layer: Block(make_attention(layer), FeedForward(d_model, d_ff)),
            n_layers,
            LayerNorm(d_model),
        )
        self.out = nn.Linear(d_model, task.classes)

    def forward(self, tokens: Tensor, mask: Mask | None = None) -> Tensor:
        """Return logits (B, T, classes)."""
        return self.out(self.states(tokens, mask))

    def states(self, tokens: Tensor, mask: Mask | None = None) -> Tensor:
        """Return the last states (B, T, d_model)."""
        x = self.tokens(tokens)
        if self.position is not None:
            x = self.position.embed(x, torch.arange(tokens.shape[1], device=x.device))
        return self.stack(x, mask=mask)


def bag_of_words(
    task: LongTask, *, d_model: int = 64, d_ff: int = 128, n_heads: int = 4, n_layers: int = 2
) -> LongModel:
    """The model that knows which tokens there are, not where: each row meets the mean of all."""

    def mean(_layer: int) -> MultiHeadAttention:
        return MultiHeadAttention(d_model, n_heads, scale=0.0)

    return LongModel(task, mean, d_model=d_model, d_ff=d_ff, n_layers=n_layers, places=False)


def task_loss(task: LongTask, model: LongModel, batch: Rows) -> Tensor:
    """Return the mean cross-entropy at the places where something is asked."""
    tokens, targets = batch
    asked = targets != SILENT
    logits = model.out(model.states(tokens, task.mask(tokens))[asked])
    return F.cross_entropy(logits, targets[asked])


@torch.no_grad()
def accuracy(model: LongModel, task: LongTask, size: int = 16) -> float:
    """Return the share of the test's places where the answer is right, in evaluation mode."""
    was_training = model.training
    model.eval()
    right = asked_in_all = 0
    for tokens, targets in zip(*(part.split(size) for part in task.test), strict=True):
        asked = targets != SILENT
        answers = model.out(model.states(tokens, task.mask(tokens))[asked]).argmax(-1)
        right += int((answers == targets[asked]).sum())
        asked_in_all += int(asked.sum())
    model.train(was_training)
    return right / asked_in_all


def learn(
    model: LongModel,
    task: LongTask,
    *,
    steps: int | None = None,
    minutes: float | None = None,
    size: int = 16,
    rate: float = 1e-3,
    seed: int = 0,
    progress: bool = False,
) -> dict[str, Any]:
    """Train for so many steps, or minutes of processor time; return accuracy and steps."""
    history = fit(
        model,
        task.batches(size, seed),
        lambda model, batch: task_loss(task, model, batch),
        steps=steps,
        limit=Limit(minutes, clock=time.process_time),
        optimizer=adam(model, rate),
        seed=seed,
        progress=progress,
    )
    return {"accuracy": accuracy(model, task), "steps": len(history.losses)}


def counts(full: float, bag: float, chance: float) -> bool:
    """Whether a task says something about attention: full attention is at least 0.1 above chance,
    and a bag of words gets less than half of that gain. All three are accuracies.
    """
    return full - chance >= 0.1 and bag - chance < (full - chance) / 2
