"""Training and decoding for machine translation: tokenization, cross-entropy, translation.

A model here is anything with `forward(src, tgt, src_mask) -> logits (B, T, V)` and the decoding
protocol of `deepdive.decoding`. Translations are scored by `deepdive.evaluate.translations`.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from deepdive.tokenizers import PAD, Tokenizer
from deepdive.training.objectives import cross_entropy

Pair = tuple[str, str]
Encoded = tuple[list[list[int]], list[list[int]]]


def encode(pairs: Iterable[Pair], source: Tokenizer, target: Tokenizer) -> Encoded:
    """Return token ids in parallel: sources (..., EOS) and targets (BOS, ..., EOS)."""
    both = [(source.encode(s, eos=True), target.encode(t, bos=True, eos=True)) for s, t in pairs]
    return [src for src, _ in both], [tgt for _, tgt in both]


def loss(model: nn.Module, batch: Sequence[Tensor], smoothing: float = 0.0) -> Tensor:
    """Return the cross-entropy of each target token given the source and the tokens before it.

    batch: source (B, S) and target (B, T + 1) with BOS and EOS; padding is ignored.
    """
    src, tgt = batch
    logits = model(src, tgt[:, :-1], src != PAD)
    return cross_entropy(logits, tgt[:, 1:], smoothing=smoothing)


@torch.no_grad()
def mean_cross_entropy(model: nn.Module, batches: Iterable[Sequence[Tensor]]) -> float:
    """Return the mean cross-entropy per target token of `batches`, in nats: with EOS, not padding.

    Teacher forcing, no label smoothing. The model's training mode is restored.
    """
    was_training, total, count = model.training, 0.0, 0
    model.eval()
    device = next(model.parameters()).device
    for batch in batches:
        src, tgt = (ids.to(device) for ids in batch)
        tokens = int((tgt[:, 1:] != PAD).sum())
        total += loss(model, (src, tgt)).item() * tokens
        count += tokens
    model.train(was_training)
    return total / count


def translate(
    model: Any,
    sentences: Sequence[str],
    source: Tokenizer,
    target: Tokenizer,
    decode: Callable[..., list[list[int]]],
    batch_size: int = 64,
    progress: bool = True,
) -> list[str]:
    """Return the translations of `sentences`, in the same order.

    `decode(model, src, src_mask)` returns token ids for each sentence: `deepdive.decoding.greedy`,
    or `partial(beam, width=5)`. Sentences are batched by length. A sentence without words (only
    spaces) is returned unchanged.
    """
    from tqdm import tqdm

    tokens = [source.encode(sentence, eos=True) for sentence in sentences]
    order = sorted(
        (i for i, ids in enumerate(tokens) if len(ids) > 1), key=lambda i: len(tokens[i])
    )
    device = next(model.parameters()).device
    result = list(sentences)
    starts = range(0, len(order), batch_size)
    for start in tqdm(starts, desc="translate", disable=not progress, leave=False, delay=3):
        chosen = order[start : start + batch_size]
        sequences = [torch.tensor(tokens[i]) for i in chosen]
        src = nn.utils.rnn.pad_sequence(sequences, batch_first=True, padding_value=PAD).to(device)
        for i, ids in zip(chosen, decode(model, src, src != PAD), strict=True):
            result[i] = target.decode(ids)
    return result


def with_references(pairs: Iterable[Pair]) -> tuple[list[str], list[list[str]]]:
    """Return the distinct source sentences, in order, and all translations of each."""
    grouped: dict[str, list[str]] = {}
    for source, target in pairs:
        known = grouped.setdefault(source, [])
        if target not in known:
            known.append(target)
    return list(grouped), list(grouped.values())


def training_memory(model: nn.Module, tokens: int, vocab_size: int) -> int:
    """Estimate the memory of a Transformer's training step in float32, in bytes.

        16 * parameters                     weights, gradients, Adam's two moments
      + 4 * tokens * 3 * vocab_size         logits, their softmax, their gradient
      + 4 * tokens * 3 * (inputs + outputs of all linear layers): saved for the backward pass

    `tokens` is the number of tokens in the batch, B * T, on either side. Attention matrices are not
    counted: sentences are short, and the fused kernel does not store them.
    """
    parameters = sum(p.numel() for p in model.parameters())
    linear = [m for m in model.modules() if isinstance(m, nn.Linear)]
    activations = sum(m.in_features + m.out_features for m in linear)
    return 16 * parameters + 4 * tokens * (3 * vocab_size + 3 * activations)
