"""What pages on translation share: sentences to batches and back, cross-entropy, scores.

A model here is anything with `forward(src, tgt, src_mask) -> logits (B, T, V)` and the decoding
protocol of `deepdive.decoding`.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from deepdive.evaluate import Interval
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

    batch: source (B, S) and target (B, T + 1) with its BOS and EOS; padding is not counted.
    """
    src, tgt = batch
    logits = model(src, tgt[:, :-1], src != PAD)
    return cross_entropy(logits, tgt[:, 1:], smoothing=smoothing)


@torch.no_grad()
def mean_cross_entropy(model: nn.Module, batches: Iterable[Sequence[Tensor]]) -> float:
    """Return the mean over all target tokens of `batches`, in nats: EOS counted, padding not.

    Teacher forcing, no label smoothing. The model's mode is left as it was.
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
    """Return the translations of `sentences`, in their order.

    `decode(model, src, src_mask)` returns token ids for each row: `deepdive.decoding.greedy`, or
    `partial(beam, width=5)`. Sentences of like length share a batch. A sentence without words
    (nothing but spaces) is given back as it is.
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
        rows = [torch.tensor(tokens[i]) for i in chosen]
        src = nn.utils.rnn.pad_sequence(rows, batch_first=True, padding_value=PAD).to(device)
        for i, ids in zip(chosen, decode(model, src, src != PAD), strict=True):
            result[i] = target.decode(ids)
    return result


@dataclass(frozen=True)
class Scores:
    """Corpus BLEU and chrF, with 95 % intervals from bootstrap samples of the test set."""

    bleu: float
    bleu_interval: tuple[float, float]
    chrf: float
    chrf_interval: tuple[float, float]
    signature: str

    def as_dict(self) -> dict[str, Any]:
        """Return the numbers as the results file holds them."""
        return {
            "bleu": round(self.bleu, 2),
            "bleu_interval": [round(x, 2) for x in self.bleu_interval],
            "chrf": round(self.chrf, 2),
            "chrf_interval": [round(x, 2) for x in self.chrf_interval],
        }


def bleu(hypotheses: Sequence[str], references: Sequence[Sequence[str]]) -> float:
    """Return sacreBLEU's corpus BLEU, 0 to 100; the rest as in `score`."""
    from sacrebleu.metrics.bleu import BLEU

    return float(
        BLEU(force=True).corpus_score(list(hypotheses), _streams(hypotheses, references)).score
    )


def score(
    hypotheses: Sequence[str], references: Sequence[Sequence[str]], samples: int = 1000
) -> Scores:
    """Return sacreBLEU's BLEU and chrF against one or more references for each sentence.

    Raises ValueError when a sentence has no reference, or the two lists differ in length.
    Source: Post 2018; Popovic 2015; intervals: Koehn 2004.
    """
    from sacrebleu.metrics.bleu import BLEU
    from sacrebleu.metrics.chrf import CHRF

    streams, metrics = _streams(hypotheses, references), (BLEU(force=True), CHRF())
    found: list[Any] = [m.corpus_score(list(hypotheses), streams, samples) for m in metrics]
    low_high = [(float(f._mean - f._ci), float(f._mean + f._ci)) for f in found]
    signature = str(metrics[0].get_signature())
    return Scores(found[0].score, low_high[0], found[1].score, low_high[1], signature)


def bleu_difference(
    first: Sequence[str],
    second: Sequence[str],
    references: Sequence[Sequence[str]],
    samples: int = 1000,
    seed: int = 0,
) -> Interval:
    """Return BLEU(first) - BLEU(second), and where it lies in 95 % of samples of the sentences.

    Both systems are scored on the same sample each time, so that what makes a sentence hard for
    both drops out. Interval: paired bootstrap, Koehn 2004. Errors as in `score`.
    """
    from sacrebleu.metrics.bleu import BLEU

    metric = BLEU(force=True, effective_order=True)
    counts = []  # matched and written runs of 1 to 4 words, lengths: sums of them give BLEU
    for system in (first, second):
        _streams(system, references)  # its errors
        each = [metric.sentence_score(s, [*r]) for s, r in zip(system, references, strict=True)]
        counts.append(np.array([[*e.counts, *e.totals, e.sys_len, e.ref_len] for e in each]))
    draw = np.random.default_rng(seed)
    n = len(counts[0])
    drawn = [np.arange(n), *(draw.integers(n, size=n) for _ in range(samples))]
    found = [_bleu_of(counts[0][i].sum(0)) - _bleu_of(counts[1][i].sum(0)) for i in drawn]
    low, high = np.quantile(found[1:], (0.025, 0.975))
    return Interval(found[0], float(low), float(high))


def _bleu_of(sums: Any) -> float:
    from sacrebleu.metrics.bleu import BLEU

    matched, written, (ours, theirs) = [*sums[:4]], [*sums[4:8]], sums[8:]
    return float(BLEU.compute_bleu(matched, written, ours, theirs, smooth_method="exp").score)


def _streams(hypotheses: Sequence[str], references: Sequence[Sequence[str]]) -> Any:
    """Return the k-th reference of every sentence, None where it has none, for each k."""
    if len(hypotheses) != len(references) or not hypotheses or not all(references):
        raise ValueError(
            f"references must hold one or more for each of {len(hypotheses)} hypotheses; got "
            f"{len(references)}, {sum(not r for r in references)} of them empty"
        )
    most = max(len(r) for r in references)
    return [[r[k] if k < len(r) else None for r in references] for k in range(most)]


def sentence_chrf(hypothesis: str, references: Sequence[str]) -> float:
    """Return chrF of one sentence, 0 to 100: steadier than BLEU on so few words."""
    from sacrebleu.metrics.chrf import CHRF

    return float(CHRF().sentence_score(hypothesis, list(references)).score)


def with_references(pairs: Iterable[Pair]) -> tuple[list[str], list[list[str]]]:
    """Return the distinct source sentences, in order, and all translations of each."""
    grouped: dict[str, list[str]] = {}
    for source, target in pairs:
        known = grouped.setdefault(source, [])
        if target not in known:
            known.append(target)
    return list(grouped), list(grouped.values())


def training_memory(model: nn.Module, tokens: int, vocab_size: int) -> int:
    """Return an estimate in bytes of what a training step of a Transformer holds, in float32.

        16 * parameters                     weights, gradients, Adam's two moments
      + 4 * tokens * 3 * vocab_size         logits, their softmax, their gradient
      + 4 * tokens * 3 * (inputs + outputs of all linear layers): what the backward pass reads

    `tokens` is the number of rows in the batch, B * T, on either side. Attention matrices are not
    counted: sentences are short, and the fused kernel keeps none.
    """
    parameters = sum(p.numel() for p in model.parameters())
    linear = [m for m in model.modules() if isinstance(m, nn.Linear)]
    activations = sum(m.in_features + m.out_features for m in linear)
    return 16 * parameters + 4 * tokens * (3 * vocab_size + 3 * activations)
