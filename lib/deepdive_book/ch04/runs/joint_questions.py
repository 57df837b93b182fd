"""Question answering in the usual way: question and paragraph as one text, all weights trained.

    net = JointQAModel(e5_model().encoder, 384).to("cuda")
    finetune(net, [joint_item(tokenizer, row) for row in lessons], lr=1e-4, epochs=10, size=12)
    joint_answers(net, tokenizer, rows)                    # the words that it marks

The same folds as in `questions`, where the encoder stays as it is.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from deepdive.core.checks import positive
from deepdive.data.alignment import answer_pieces
from deepdive.data.translated import Question
from deepdive.tokenizers.pairs import pad_batch
from deepdive.tokenizers.xlmr import XLMRTokenizer
from deepdive_book.ch04.multilingual_qa_metrics import answer_f1_in, exact_match_in
from deepdive_book.ch04.runs.cross_lingual_qa import FOLDS, SHOWN, best_span, fold_of, in_per_cent
from deepdive_book.ch04.runs.frozen_qa_states import Extent, pieces_of
from deepdive_book.tasks.finetuning import Item, finetune

LONGEST = 384  # pieces of question and paragraph together; the rest is not read
RATES = (3e-5, 1e-4, 3e-4)  # of which the best is taken, for each fold on another fold
PASSES, SIZE = 10, 12  # for about a thousand questions; not tuned


class JointQAModel(nn.Module):
    """SQuAD's usual reader: question and paragraph as one text, and a line on each state.

    logits = ends(encoder(tokens)), (B, T, 2). All weights are trained.
    Source: Devlin et al. 2019, section 4.2.
    """

    def __init__(self, encoder: nn.Module, d_model: int) -> None:
        super().__init__()
        positive(d_model=d_model)
        self.encoder, self.ends = encoder, nn.Linear(d_model, 2)

    def forward(self, tokens: Tensor, mask: Tensor, segments: Tensor) -> Tensor:
        logits: Tensor = self.ends(self.encoder(tokens, mask, segments))
        return logits


def joint_text(
    tokenizer: XLMRTokenizer, row: Question, longest: int = LONGEST
) -> tuple[list[int], int, list[Extent]]:
    """Return `<s> question </s> </s> paragraph </s>` as ids, where the paragraph begins among
    them, and where each of its pieces stands in the paragraph.
    """
    end = tokenizer.eos
    front = [tokenizer.bos, *tokenizer.encode(row.question), end, end]
    ids, extents = pieces_of(tokenizer, row.context)
    room = longest - len(front) - 1
    return [*front, *ids[:room], end], len(front), extents[:room]


def joint_item(tokenizer: XLMRTokenizer, row: Question, longest: int = LONGEST) -> Item:
    """Return the text of `joint_text` and the places where the answer begins and ends, 0 and 0
    where it was cut off; for `deepdive_book.tasks.finetuning.finetune`.
    """
    tokens, begin, extents = joint_text(tokenizer, row, longest)
    both = answer_pieces(extents, row.start, row.start + len(row.answer))
    target = [begin + place for place in both] if both else [0, 0]
    return Item([(tokens, [0] * len(tokens))], target)


@torch.no_grad()
def joint_answers(
    net: nn.Module, tokenizer: XLMRTokenizer, rows: Sequence[Question], size: int = 32
) -> list[str]:
    """The answer to each question: of the paragraph's spans the one with the largest sum."""
    device, said = next(net.parameters()).device, []
    net.eval()
    for k in range(0, len(rows), size):
        texts = [joint_text(tokenizer, row) for row in rows[k : k + size]]
        sequences = [(tokens, [0] * len(tokens)) for tokens, _, _ in texts]
        logits = net(*(part.to(device) for part in pad_batch(sequences, tokenizer.pad))).cpu()
        for (_, begin, extents), row, found in zip(texts, rows[k : k + size], logits, strict=True):
            first, last = best_span(found[begin : begin + len(extents)])
            said.append(row.context[extents[first][0] : extents[last][1]])
    return said


def joint_fold(
    languages: Mapping[str, Sequence[Question]],
    tokenizer: XLMRTokenizer,
    build: Callable[[], nn.Module],
    fold: int,
    seed: int,
    *,
    source: str = "en",
    rates: Sequence[float] = RATES,
    passes: int = PASSES,
) -> dict[str, Any]:
    """Train all weights on the other folds of `source`, and ask this one in all languages.

    build     gives a fresh reader where it shall be trained, a `JointQAModel`

    The rate is the one of `rates` that answers the next fold best by F1 in `source`, learned from
    the three others; with one rate nothing is tried.

    exact, f1    language -> for each question of the fold, in per cent
    tried, rate  F1 of each rate on the next fold; the one that was taken
    said         language -> the answers to the first questions of the fold
    """
    rows, place = languages[source], fold_of(languages[source])
    items = [joint_item(tokenizer, row) for row in rows]

    def trained(folds: set[int], rate: float) -> nn.Module:
        torch.manual_seed(seed)
        net = build()
        lessons = [item for item, f in zip(items, place, strict=True) if f in folds and
                   item.target != [0, 0]]  # fmt: skip
        finetune(net, lessons, lr=rate, epochs=passes, size=SIZE, seed=seed, progress=False)
        return net

    others, check = {*range(FOLDS)} - {fold}, (fold + 1) % FOLDS
    tried = {}
    for rate in rates if len(rates) > 1 else ():
        some = [row for row, f in zip(rows, place, strict=True) if f == check]
        said = joint_answers(trained(others - {check}, rate), tokenizer, some)
        scores = in_per_cent(answer_f1_in, said, [row.answer for row in some], source)
        tried[rate] = sum(scores) / len(scores)
    rate = max(tried, key=tried.__getitem__) if tried else rates[0]
    net, test = trained(others, rate), [i for i, f in enumerate(place) if f == fold]
    found: dict[str, Any] = {"questions": test, "exact": {}, "f1": {}, "said": {}, "rate": rate,
                             "tried": {str(each): f1 for each, f1 in tried.items()}}  # fmt: skip
    for name, asked in languages.items():
        some = [asked[i] for i in test]
        said, right = joint_answers(net, tokenizer, some), [row.answer for row in some]
        found["said"][name] = said[:SHOWN]
        for key, score in (("exact", exact_match_in), ("f1", answer_f1_in)):
            found[key][name] = in_per_cent(score, said, right, name)
    return found
