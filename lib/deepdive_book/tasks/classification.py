"""What pages that classify share: texts to batches, the loss, predictions, features, freezing.

A classifier here is anything with `forward(tokens, mask) -> logits (B, n_classes)`, an encoder
anything with `forward(tokens, mask) -> states (B, T, d_model)`; masks True = real token. `pad` is
the id of padding: 0 in BERT's vocabularies, 1 in RoBERTa's.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from deepdive.data.batches import BucketBatches
from deepdive.tokenizers import Tokenizer, padded
from deepdive_book.tasks.long_texts import truncate

Ids = Sequence[Sequence[int]]


def encode(texts: Iterable[str], tokenizer: Tokenizer, max_length: int = 128) -> list[list[int]]:
    """Return [CLS] text [SEP] as ids; a text that is longer than `max_length` loses its end."""
    begin, end = tokenizer.bos, tokenizer.eos
    return [truncate(tokenizer.encode(t), max_length, cls=begin, sep=end) for t in texts]


def batches(
    ids: Ids, labels: Sequence[int], max_tokens: int = 1000, seed: int = 0, pad: int = 0
) -> BucketBatches:
    """Return batches (labels (B, 1), tokens (B, T)) of texts of like length, shuffled each epoch.

    A batch holds at most `max_tokens` tokens, padding counted.
    """
    return BucketBatches(([[y] for y in labels], ids), max_tokens=max_tokens, seed=seed, pad=pad)


def loss(model: nn.Module, batch: Sequence[Tensor], pad: int = 0) -> Tensor:
    """Return the mean cross-entropy of the true classes, -log softmax(logits)[label]."""
    labels, tokens = batch
    return F.cross_entropy(model(tokens, tokens != pad), labels[:, 0])


def mask_words(
    tokens: Tensor,
    share: float | Tensor,
    first: int,
    mask: int,
    generator: torch.Generator | None = None,
) -> Tensor:
    """Return tokens (B, T) in which each word is `mask` with probability `share`.

    share    a number, or (B, 1), one a text: 0 leaves it whole
    first    the first id of a word; what is below it, such as [CLS], stays
    """
    gone = torch.rand(tokens.shape, generator=generator) < share
    return tokens.masked_fill(gone.to(tokens.device) & (tokens >= first), mask)


@torch.no_grad()
def in_batches(
    model: nn.Module,
    ids: Ids,
    rows: Callable[[Tensor, Tensor], Tensor],
    max_tokens: int = 4000,
    pad: int = 0,
    progress: bool = True,
) -> Tensor:
    """Return rows(tokens, mask) of all texts, (N, ...), in the order of `ids`.

    Texts of like length share a batch of at most `max_tokens` tokens; a longer text is alone. The
    model works in evaluation mode; its mode is left as it was.
    """
    from tqdm import tqdm

    order = sorted(range(len(ids)), key=lambda i: len(ids[i]))
    groups: list[list[int]] = []
    for i in order:
        if not groups or (len(groups[-1]) + 1) * len(ids[i]) > max_tokens:
            groups.append([])
        groups[-1].append(i)
    device, was_training = next(model.parameters()).device, model.training
    model.eval()
    found = []
    for group in tqdm(groups, desc="read", disable=not progress, leave=False, delay=3):
        tokens, mask = padded([ids[i] for i in group], pad)
        found.append(rows(tokens.to(device), mask.to(device)).cpu())
    model.train(was_training)
    return torch.cat(found)[torch.tensor(order).argsort()]


def predict(model: nn.Module, ids: Ids, **settings: Any) -> Tensor:
    """Return the logits (N, n_classes) of all texts, in order; settings as in `in_batches`."""
    return in_batches(model, ids, model, **settings)


def features(encoder: nn.Module, ids: Ids, **settings: Any) -> dict[str, Tensor]:
    """Return what a frozen encoder says of each text, (N, d_model): under `first` the state of its
    first token, under `mean` the mean of its states, padding left out.
    """

    def both(tokens: Tensor, mask: Tensor) -> Tensor:
        states = encoder(tokens, mask)  # (B, T, d_model)
        real = mask[:, :, None].to(states.dtype)
        return torch.stack([states[:, 0], (states * real).sum(1) / real.sum(1)], dim=1)

    rows = in_batches(encoder, ids, both, **settings)
    return {"first": rows[:, 0], "mean": rows[:, 1]}


def mean_loss(model: nn.Module, ids: Ids, labels: Sequence[int], **settings: Any) -> float:
    """Return the mean cross-entropy over all texts, in nats: for `fit`'s `validate`."""
    logits = predict(model, ids, progress=False, **settings)
    return float(F.cross_entropy(logits, torch.tensor(labels)))


def freeze(encoder: Any, layers: int) -> None:
    """Keep the embeddings and the first `layers` blocks of an encoder as they are; 0 frees all.

    With -1 the embeddings alone stay. The backward pass ends above what is frozen.
    """
    blocks = list(encoder.stack.blocks)
    if not -1 <= layers <= len(blocks):
        raise ValueError(f"layers: got {layers}, expected -1 to {len(blocks)}")
    encoder.requires_grad_(True)
    for part in [encoder.embeddings, *blocks[: max(0, layers)]] if layers else []:
        part.requires_grad_(False)
