"""Token-level losses and metrics: cross-entropy, perplexity, a count."""

import math

import torch
from torch import Tensor

PAD = 0


def _check(logits: Tensor, targets: Tensor) -> None:
    """Raise an error, naming the argument, for logits and targets that do not fit."""
    if not logits.is_floating_point() or logits.ndim < 2:
        raise TypeError(
            f"logits: got {logits.dtype} of shape {tuple(logits.shape)}, expected floating "
            "point scores of shape (B, T, V); pass the model's output, not its argmax"
        )
    if targets.dtype != torch.int64:
        raise TypeError(
            f"targets: got {targets.dtype}, expected torch.int64 token ids; use targets.long()"
        )
    if logits.shape[:-1] != targets.shape:
        raise ValueError(
            f"targets: got shape {tuple(targets.shape)}, expected "
            f"{tuple(logits.shape[:-1])}, one id for each position of logits {tuple(logits.shape)}"
        )


def _pack(logits: Tensor, targets: Tensor, pad: int | None) -> tuple[Tensor, Tensor]:
    """Return the logits (N, V) and ids (N,) of positions that are not padding.

    Padding is removed before the softmax, so that nothing of size V is computed for it.
    """
    flat, ids = logits.flatten(0, -2), targets.flatten()  # (B * T, V), (B * T,)
    if pad is not None:
        kept = (ids != pad).nonzero().squeeze(1)
        if len(kept) < len(ids):
            flat, ids = flat.index_select(0, kept), ids.index_select(0, kept)
    if len(ids) == 0:
        raise ValueError(
            f"targets: no token to predict in shape {tuple(targets.shape)}: every id is pad={pad}, "
            "or the batch is empty; drop such batches"
        )
    low, high = int(ids.min()), int(ids.max())
    if low < 0 or high >= flat.shape[1]:
        raise ValueError(
            f"targets: ids run from {low} to {high}, expected 0 to {flat.shape[1] - 1}, the last "
            "dimension of logits; the vocabulary and the model's output size differ"
        )
    return flat, ids


def cross_entropy(
    logits: Tensor, targets: Tensor, pad: int | None = PAD, smoothing: float = 0.0
) -> Tensor:
    """Mean cross-entropy in nats over the tokens that are not padding.

    With p = softmax(logits) and q = (1 - smoothing) * onehot(target) + smoothing / V,

        loss = mean over tokens of  -sum_v q[v] * log p[v]

    logits: (B, T, V) floating point, scores before the softmax; bfloat16 and float16 are computed
        in float32.
    targets: (B, T) int64 ids.
    pad: the ignored id; None counts every position.
    smoothing: in [0, 1); 0 is plain cross-entropy.

    Returns a scalar. Raises TypeError or ValueError when shapes, dtypes or ids do not fit, or when
    every target is padding.

    Source: Szegedy et al. 2016, "Rethinking the Inception Architecture", section 7.

    >>> round(cross_entropy(torch.zeros(1, 2, 4), torch.tensor([[1, 2]])).item(), 4)  # log 4
    1.3863
    """
    _check(logits, targets)
    if not 0.0 <= smoothing < 1.0:
        raise ValueError(f"smoothing: got {smoothing}, expected 0 <= smoothing < 1")
    flat, ids = _pack(logits, targets, pad)
    if flat.dtype in (torch.float16, torch.bfloat16):
        flat = flat.float()
    log_p = flat.log_softmax(dim=-1)  # (N, V)
    hard = -log_p.gather(1, ids[:, None]).mean()
    if smoothing == 0.0:
        return hard
    uniform = -log_p.mean()  # mean over tokens of -sum_v (1 / V) * log p[v]
    return (1.0 - smoothing) * hard + smoothing * uniform


def bilm_loss(logits: Tensor, tokens: Tensor, pad: int | None = PAD) -> Tensor:
    """Mean of two cross-entropies: of the token after each token, and of the one before it.

    logits: (B, T, 2, V) of forward and backward language models (`deepdive.models.classic.bilm`).
    tokens: (B, T) with a boundary token at both ends of each sentence.
    Source: Peters et al. 2018, section 3.1.
    """
    if logits.ndim != 4 or logits.shape[2] != 2 or tokens.shape != logits.shape[:2]:
        raise ValueError(
            f"logits: got shape {tuple(logits.shape)} for tokens {tuple(tokens.shape)}, "
            "expected (B, T, 2, V) and (B, T): what BiLM returns"
        )
    after = cross_entropy(logits[:, :-1, 0], tokens[:, 1:], pad)
    targets = tokens[:, :-1]
    if pad is not None:  # padding after a sentence predicts nothing
        targets = targets.masked_fill(tokens[:, 1:] == pad, pad)
    before = cross_entropy(logits[:, 1:, 1], targets, pad)
    return (after + before) / 2


def perplexity(loss: float | Tensor) -> float:
    """Return exp(loss), for a mean cross-entropy in nats: the effective number of equal choices.

    Pass the mean over all tokens of a corpus, computed without smoothing: the mean of the
    perplexities of batches is another number. Overflow gives inf.

    >>> round(perplexity(math.log(8.0)), 6)
    8.0
    """
    try:
        return math.exp(float(loss))
    except OverflowError:
        return math.inf


def token_count(targets: Tensor, pad: int = PAD) -> int:
    """Return how many entries of `targets` (any shape, integer ids) are not `pad`.

    >>> token_count(torch.tensor([[5, 2, 0], [7, 8, 2]]))
    5
    """
    if targets.is_floating_point():
        raise TypeError(f"targets: got {targets.dtype}, expected integer token ids")
    return int((targets != pad).sum())
