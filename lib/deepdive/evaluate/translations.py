"""BLEU and chrF of translations, with bootstrap intervals, of one system or of a difference."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from deepdive.core.checks import positive, texts
from deepdive.evaluate.confidence_intervals import Interval

# Scripts without spaces between words, first and last code point: Han; kana; Thai, Lao, Burmese,
# and Khmer. Korean has spaces.
HAN, KANA = ((0x3400, 0x9FFF), (0xF900, 0xFAFF), (0x20000, 0x323AF)), ((0x3040, 0x30FF),)
OTHERS = ((0x0E00, 0x0EFF), (0x1000, 0x109F), (0x1780, 0x17FF))


@dataclass(frozen=True)
class Scores:
    """Corpus BLEU and chrF, with 95 % intervals from bootstrap samples of the test set."""

    bleu: float
    bleu_interval: tuple[float, float]
    chrf: float
    chrf_interval: tuple[float, float]
    signature: str

    def as_dict(self) -> dict[str, Any]:
        """Return the rounded scores and intervals, in the format of the results file."""
        return {
            "bleu": round(self.bleu, 2),
            "bleu_interval": [round(x, 2) for x in self.bleu_interval],
            "chrf": round(self.chrf, 2),
            "chrf_interval": [round(x, 2) for x in self.chrf_interval],
        }


def bleu(hypotheses: Sequence[str], references: Sequence[Sequence[str]]) -> float:
    """Return sacreBLEU's corpus BLEU, 0 to 100; arguments and errors as in `score`."""
    from sacrebleu.metrics.bleu import BLEU

    streams = _streams(hypotheses, references)
    metric = BLEU(force=True, tokenize=tokenizer_of(references))
    return float(metric.corpus_score(list(hypotheses), streams).score)


def tokenizer_of(references: Sequence[Sequence[str]]) -> str:
    """Return the name of sacreBLEU's tokenizer for the main script of the references:

        "zh"      Chinese characters: each is a token
        "char"    Japanese, Thai, Lao, Burmese, Khmer: every character is a token
        "13a"     scripts with spaces between words

    Split at spaces, a text without spaces is one token, and a translation that differs in one
    character scores 0. Japanese has a word tokenizer, which needs a separate program ("ja-mecab").
    Source: sacreBLEU's recommended tokenizers (Post 2018).
    """
    points = [ord(c) for row in references for text in row for c in text if c.isalpha()]
    han, kana, others = (
        sum(low <= p <= high for p in points for low, high in ranges)
        for ranges in (HAN, KANA, OTHERS)
    )
    if 2 * (han + kana + others) <= len(points):
        return "13a"
    return "zh" if han > others and 20 * kana < han else "char"


def score(
    hypotheses: Sequence[str], references: Sequence[Sequence[str]], samples: int = 1000
) -> Scores:
    """Return sacreBLEU's BLEU and chrF against one or more references for each sentence.

    The tokenizer depends on the script (`tokenizer_of`); the signature names it. Raises ValueError
    if a sentence has no reference, or the two lists differ in length; TypeError for references
    that are not a list of strings for each sentence.
    Source: Post 2018; Popovic 2015; intervals: Koehn 2004.
    """
    from sacrebleu.metrics.bleu import BLEU
    from sacrebleu.metrics.chrf import CHRF

    positive(samples=samples)
    streams = _streams(hypotheses, references)
    metric = BLEU(force=True, tokenize=tokenizer_of(references))
    metrics = _in_floats(metric), _in_floats(CHRF())
    found: list[Any] = [m.corpus_score(list(hypotheses), streams, samples) for m in metrics]
    low_high = [(float(f._mean - f._ci), float(f._mean + f._ci)) for f in found]
    signature = str(metrics[0].get_signature())
    return Scores(found[0].score, low_high[0], found[1].score, low_high[1], signature)


def _in_floats(metric: Any) -> Any:
    """Convert scores to float, so that sacreBLEU 2.6 can average its bootstrap samples."""
    compute = metric._compute_score_from_stats

    def in_floats(stats: Any) -> Any:
        found = compute(stats)
        found.score = float(found.score)
        return found

    metric._compute_score_from_stats = in_floats
    return metric


def bleu_difference(
    first: Sequence[str],
    second: Sequence[str],
    references: Sequence[Sequence[str]],
    samples: int = 1000,
    seed: int = 0,
) -> Interval:
    """Return BLEU(first) - BLEU(second) with its 95 % paired bootstrap interval over sentences.

    Both systems are scored on the same samples, so sentence difficulty that affects both cancels.
    Interval: paired bootstrap, Koehn 2004. Errors as in `score`.
    """
    from sacrebleu.metrics.bleu import BLEU

    positive(samples=samples)
    _streams(first, references)  # raises its errors before the script is detected
    metric = BLEU(force=True, effective_order=True, tokenize=tokenizer_of(references))
    counts = []  # matched and generated n-grams, n = 1 to 4, and lengths: their sums give BLEU
    for system in (first, second):
        _streams(system, references)  # raises its errors
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
    texts("hypotheses", hypotheses)
    if isinstance(references, str) or not isinstance(references, Sequence):
        raise TypeError(
            f"references: got {type(references).__name__}, expected a list of references for "
            "each sentence: write [[reference], ...]"
        )
    for i, row in enumerate(references):
        if isinstance(row, str):
            raise TypeError(
                f"references[{i}]: got a string ({row[:30]!r}), expected a list of strings, "
                "one or more references of the sentence: write [[reference], ...]"
            )
        texts(f"references[{i}]", row)
    if len(hypotheses) != len(references) or not hypotheses or not all(references):
        raise ValueError(
            f"references must have one or more for each of {len(hypotheses)} hypotheses; got "
            f"{len(references)}, {sum(not r for r in references)} of them empty"
        )
    most = max(len(r) for r in references)
    return [[r[k] if k < len(r) else None for r in references] for k in range(most)]


def sentence_chrf(hypothesis: str, references: Sequence[str]) -> float:
    """Return chrF of one sentence, 0 to 100; on so few words it is less noisy than BLEU."""
    from sacrebleu.metrics.chrf import CHRF

    texts("hypothesis", [hypothesis])
    texts("references", references)
    return float(CHRF().sentence_score(hypothesis, list(references)).score)
