"""BERT's pre-training, as pages and tests need it: batches of pairs, the loss, what is reported."""

import random
from collections.abc import Iterable, Sequence
from typing import Any

import torch
from torch import Tensor

from deepdive.core.checks import as_int
from deepdive.tokenizers.base import Tokenizer
from deepdive.tokenizers.pairs import encode_pair, pad_batch
from deepdive.training.objectives import cross_entropy, mask_tokens

Batch = tuple[Tensor, Tensor, Tensor, Tensor]  # tokens, mask, segments (B, T); labels (B,)


def pair_batches(
    pairs: Sequence[tuple[str, str, int]],
    tokenizer: Tokenizer,
    size: int = 32,
    max_length: int = 64,
    seed: int = 0,
) -> list[Batch]:
    """Return batches of `size` pairs of like length, `[CLS] A [SEP] B [SEP]`, in a drawn order.

    Each is tokens, mask and segments (B, T) and the labels (B,), T <= max_length. The pairs that
    are left over when all batches are full are left out, unless they are all there are.
    """
    draw = random.Random(as_int("seed", seed))
    rows = [(*encode_pair(tokenizer, a, b, max_length), label) for a, b, label in pairs]
    draw.shuffle(rows)
    rows.sort(key=lambda row: len(row[0]))
    starts = list(range(0, max(len(rows) - size, 0) + 1, size))
    draw.shuffle(starts)
    found = []
    for start in starts:
        some = rows[start : start + size]
        labels = torch.tensor([label for *_, label in some])
        found.append((*pad_batch([(ids, kinds) for ids, kinds, _ in some], tokenizer.pad), labels))
    return found


def pretraining_losses(
    model: Any, batch: Batch, tokenizer: Tokenizer, **masking: Any
) -> tuple[Tensor, Tensor]:
    """Return the masked and the next-sentence loss of a batch, in nats; BERT minimises their sum.

    model: a `deepdive.models.bert.pretraining.BertForPreTraining`, or what has its `bert`,
        `masked_logits` and `next_logits`. The text is masked anew at each call (dynamic masking).
    masking: for `deepdive.training.objectives.mask_tokens`: rate, mask, random, generator.

    Logits are computed for the chosen places only. Source: Devlin et al. 2019, appendix A.2.
    """
    tokens, mask, segments, labels = batch
    inputs, targets, chosen = mask_tokens(tokens, tokenizer, **masking)
    states = model.bert(inputs, mask, segments)
    masked = cross_entropy(model.masked_logits(states[chosen]), targets[chosen], pad=None)
    return masked, cross_entropy(model.next_logits(states), labels, pad=None)


@torch.no_grad()
def pretraining_scores(
    model: Any, batches: Iterable[Batch], tokenizer: Tokenizer, seed: int = 0, **masking: Any
) -> dict[str, float]:
    """Return `masked_loss` (nats, mean over all chosen tokens), `masked_accuracy`, `next_loss` and
    `next_accuracy` over batches, in evaluation mode; the masks are those of `seed`.
    """
    training = model.training
    model.eval()
    draw = torch.Generator().manual_seed(as_int("seed", seed))
    sums, tokens_seen, pairs_seen = torch.zeros(4, dtype=torch.float64), 0, 0
    for tokens, mask, segments, labels in batches:
        inputs, targets, chosen = mask_tokens(tokens, tokenizer, generator=draw, **masking)
        states = model.bert(inputs, mask, segments)
        scores = ((model.masked_logits(states[chosen]), targets[chosen]),
                  (model.next_logits(states), labels))  # fmt: skip
        for i, (logits, right) in enumerate(scores):
            sums[2 * i] += cross_entropy(logits, right, pad=None).double() * len(right)
            sums[2 * i + 1] += (logits.argmax(-1) == right).sum()
        tokens_seen, pairs_seen = tokens_seen + int(chosen.sum()), pairs_seen + len(labels)
    model.train(training)
    means = (sums / torch.tensor([tokens_seen, tokens_seen, pairs_seen, pairs_seen])).tolist()
    names = ("masked_loss", "masked_accuracy", "next_loss", "next_accuracy")
    return dict(zip(names, means, strict=True))
