"""From a row of any task shape to what an encoder with a head reads, and from logits back.

All five shapes of Devlin et al. 2019, figure 4 and section 4.4, have one form: sequences
`[CLS] a [SEP] b [SEP]`, and a target for one cross-entropy.

    shape    sequences        target                                    logits
    Single   text             class                                     (B, n)
    Pair     first, second    class                                     (B, n)
    Tagged   text             tag of each piece, most of them IGNORED   (B, T, n)
    Span     question, text   first and last piece, 0 for no answer     (B, T, 2)
    Choice   one an option    the right option                          (B, options)
"""

import random
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from deepdive.data.alignment import IGNORED, Extent, answer_pieces, piece_labels, word_values
from deepdive.data.tasks import Choice, Pair, Single, Span, Tagged
from deepdive.tokenizers.pairs import encode_pair, pad_batch
from deepdive.tokenizers.wordpiece import WordPieceTokenizer
from deepdive.training import History, fit
from deepdive.training.optim import adam, linear

Row = Single | Pair | Tagged | Span | Choice
Batch = tuple[Tensor, Tensor, Tensor, Tensor]


class Item(NamedTuple):
    """A row as ids: its sequences (ids, segments), and what the head should say."""

    sequences: list[tuple[list[int], list[int]]]
    target: int | list[int]


def encode(
    tokenizer: WordPieceTokenizer, row: Row, max_length: int = 64, tags: Sequence[str] = ()
) -> Item:
    """The row as ids, of at most `max_length`; `tags` is the list of tags of a `Tagged` row.

    An answer that was cut off counts as none, as in the published code.
    """
    match row:
        case Single(text, label):
            return Item([encode_pair(tokenizer, text, None, max_length)], label)
        case Pair(first, second, label):
            return Item([encode_pair(tokenizer, first, second, max_length)], label)
        case Tagged(_, given):
            ids, segments = encode_pair(tokenizer, row.text, None, max_length)
            labels = [tags.index(tag) for tag in given]
            inside = piece_labels(_pieces(tokenizer, row.text, ids, 1), row.extents, labels)
            return Item([(ids, segments)], [IGNORED, *inside, IGNORED])
        case Span(question, context, answer, start):
            ids, segments = encode_pair(tokenizer, question, context, max_length)
            begin = segments.index(1)
            pieces = _pieces(tokenizer, context, ids, begin)
            span = answer_pieces(pieces, start, start + len(answer)) if answer else None
            target = [0, 0] if span is None else [begin + span[0], begin + span[1]]
            return Item([(ids, segments)], target)
        case Choice(question, options, label):
            both = [encode_pair(tokenizer, question, option, max_length) for option in options]
            return Item(both, label)


def collate(items: Sequence[Item], pad: int = 0) -> Batch:
    """tokens, mask, segments and targets of some items: (B, T), with options (B, options, T).

    Targets of pieces are padded with `IGNORED`.
    """
    sequences = [sequence for item in items for sequence in item.sequences]
    tokens, mask, segments = pad_batch(sequences, pad)
    options = len(items[0].sequences)
    if options > 1:  # (B * options, T) -> (B, options, T)
        tokens, mask, segments = (x.unflatten(0, (-1, options)) for x in (tokens, mask, segments))
    targets = [[item.target] if isinstance(item.target, int) else item.target for item in items]
    longest = max(map(len, targets))
    filled = torch.tensor([[*row, *[IGNORED] * (longest - len(row))] for row in targets])
    return tokens, mask, segments, filled if isinstance(items[0].target, list) else filled[:, 0]


def loss(model: nn.Module, batch: Batch) -> Tensor:
    """-log softmax(logits)[target], the mean over all targets that are not `IGNORED`.

    The softmax runs over the last axis of the logits; of a span, over the places of real tokens.
    """
    tokens, mask, segments, targets = batch
    logits = model(tokens, mask, segments)
    if targets.shape != logits.shape[:-1]:  # a span: (B, T, 2) -> (B, 2, T)
        logits = logits.mT.masked_fill(~mask[:, None], -torch.inf)
    return F.cross_entropy(logits.flatten(0, -2), targets.flatten(), ignore_index=IGNORED)


def in_batches(items: Sequence[Item], size: int, epochs: int = 1, seed: int = 0) -> list[Batch]:
    """Batches of `size` items for some passes, each pass in another order.

    Items of like length are put together, within 8 batches that were drawn: less padding.
    """
    found = []
    for epoch in range(epochs):
        order = list(items)
        draw = random.Random(f"batches {seed} {epoch}")
        draw.shuffle(order)
        for pool in _cut(order, 8 * size):
            near = list(_cut(sorted(pool, key=_length), size))
            draw.shuffle(near)
            found += [collate(chosen) for chosen in near]
    return found


def finetune(
    model: nn.Module,
    items: Sequence[Item],
    *,
    lr: float = 5e-5,
    epochs: int = 3,
    size: int = 16,
    seed: int = 0,
    **more: Any,
) -> History:
    """Train by the recipe of Devlin et al. 2019, appendices A.2 and A.3; `more` is for `fit`.

    Adam with decay 0.01, the rate rising to `lr` over a tenth of the steps, then falling linearly
    to 0. What does not need a gradient (`requires_grad_(False)`) stays as it is.
    """
    batches = in_batches(items, size, epochs, seed)
    schedule = linear(lr, len(batches) // 10, len(batches) + 1)
    optimizer = adam(model, lr, betas=(0.9, 0.999), eps=1e-6, weight_decay=0.01)
    steps = len(batches)
    return fit(
        model, batches, loss, steps=steps, optimizer=optimizer, schedule=schedule, seed=seed, **more
    )


@torch.no_grad()
def predict(model: nn.Module, items: Sequence[Item], size: int = 32) -> list[Tensor]:
    """The logits of each item, without those of padding: (n,), (T, n), (T, 2) or (options,)."""
    model.eval()
    found: list[Tensor] = [torch.empty(0)] * len(items)
    order = sorted(range(len(items)), key=lambda i: _length(items[i]))
    for chosen in _cut(order, size):
        tokens, mask, segments, _ = collate([items[i] for i in chosen])
        logits = model(tokens, mask, segments)
        for i, row in zip(chosen, logits, strict=True):
            found[i] = row if row.ndim == 1 else row[: _length(items[i])]
    return found


def read_tags(
    tokenizer: WordPieceTokenizer, row: Tagged, logits: Tensor, tags: Sequence[str]
) -> list[str]:
    """The tag of each word: what its first piece says; the last of `tags` where none is left."""
    predicted = [tags[k] for k in logits.argmax(-1)[1:-1].tolist()]
    pieces = tokenizer.spans(row.text)[: len(predicted)]
    return word_values(pieces, row.extents, predicted, tags[-1])


def read_answer(tokenizer: WordPieceTokenizer, row: Span, item: Item, first: int, last: int) -> str:
    """The characters of the context from piece `first` to piece `last` of the input; "" for 0."""
    begin = item.sequences[0][1].index(1)
    if first < begin:
        return ""
    pieces = tokenizer.spans(row.context)
    return row.context[pieces[first - begin][0] : pieces[last - begin][1]]


def _pieces(
    tokenizer: WordPieceTokenizer, text: str, ids: Sequence[int], begin: int
) -> list[Extent]:
    """The extents of the pieces of `text` that `ids` still has, from `begin` to the last [SEP]."""
    return tokenizer.spans(text)[: len(ids) - 1 - begin]


def _length(item: Item) -> int:
    return max(len(ids) for ids, _ in item.sequences)


def _cut(items: Sequence[Any], size: int) -> Iterator[list[Any]]:
    for start in range(0, len(items), size):
        yield list(items[start : start + size])
