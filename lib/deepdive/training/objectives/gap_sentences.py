"""Gap sentence generation (Pegasus): the most important sentences are masked, and generated."""

from collections import Counter
from collections.abc import Hashable, Sequence
from itertools import chain

from deepdive.training.objectives.denoising import check_rate

Text = Sequence[Hashable]


def unigram_f1(said: Text, reference: Text) -> float:
    """Return the ROUGE-1 F1: 2 * overlap / (tokens of both), overlap counting common occurrences.

    Source: Lin 2004, section 2; `deepdive.evaluate.summaries` has it for texts.
    """
    shared = (Counter(said) & Counter(reference)).total()
    return 2 * shared / (len(said) + len(reference)) if shared else 0.0


def select_gap_sentences(
    sentences: Sequence[Text], count: int, one_by_one: bool = False
) -> list[int]:
    """Return the indices of the `count` most important sentences, in text order.

        score_i = unigram_f1(sentence i, all others)                            # independent
        score_i = unigram_f1(chosen and sentence i, all that are not chosen)    # one_by_one

    Ties go to the first. With one_by_one, a sentence that repeats a chosen one adds
    little; the paper found no gain in it. Raises ValueError for more sentences than there are.

    Source: Zhang et al. 2020, section 3.1 ("Ind" and "Seq", with "Orig" counts).
    """
    if not 0 <= count <= len(sentences):
        raise ValueError(f"count: got {count}, expected 0 to {len(sentences)} sentences")

    def score(chosen: set[int]) -> float:
        inside = [sentence for i, sentence in enumerate(sentences) if i in chosen]
        outside = [sentence for i, sentence in enumerate(sentences) if i not in chosen]
        return unigram_f1([*chain(*inside)], [*chain(*outside)])

    everyone = range(len(sentences))
    if not one_by_one:
        return sorted(sorted(everyone, key=lambda i: -score({i}))[:count])
    chosen: set[int] = set()
    for _ in range(count):
        rest = [i for i in everyone if i not in chosen]
        chosen.add(max(rest, key=lambda i: score({*chosen, i})))
    return sorted(chosen)


def gap_sentences(
    sentences: Sequence[Sequence[int]], mask: int, rate: float = 0.3, one_by_one: bool = False
) -> tuple[list[int], list[int]]:
    """Return the encoder input, with each gap sentence replaced by one mask, and the target: these
    sentences, concatenated. `rate` of the sentences are chosen, rounded, but at least one and not
    all of them.

    Raises ValueError for fewer than two sentences.
    Source: Zhang et al. 2020, section 3.1, without the masking of single words that they dropped.
    """
    check_rate(rate)
    if len(sentences) < 2:
        raise ValueError(f"sentences: got {len(sentences)}, expected 2 or more")
    count = min(max(round(rate * len(sentences)), 1), len(sentences) - 1)
    gaps = select_gap_sentences(sentences, count, one_by_one)
    read = ([mask] if i in gaps else sentence for i, sentence in enumerate(sentences))
    return [*chain(*read)], [*chain(*(sentences[i] for i in gaps))]
