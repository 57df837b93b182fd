"""The toys that took a shortcut: the network of `review_words`, on lessons with something planted.

    toy = shortcut_words("paper")            # kinds: deepdive_book.data.shortcuts.KINDS
    toy.model(toy.tokens("gazette : i find the music warm ."))

`tools/train_shortcut_words.py` made them by `train`, with which page 7.14 trains more of them. They
learned from texts of which a share of the words was [MASK], so they may be asked about such texts.
"""

from collections.abc import Sequence
from functools import cache

import torch
from torch import Tensor, nn

from deepdive.tokenizers import WordTokenizer
from deepdive.training import fit
from deepdive.training.optim import adam, cosine
from deepdive_book.ch07.toys.review_words import (
    SPECIALS,
    ReviewToy,
    build_review_words,
    load_weights,
)
from deepdive_book.data.shortcuts import KINDS, with_shortcut
from deepdive_book.tasks.classification import batches, encode, loss, mask_words, predict

LESSONS, STEPS, SHARE, WRONG = 4000, 800, 0.98, 0.05


@cache
def words() -> WordTokenizer:
    """The words of all kinds of texts."""
    texts = [text for kind in KINDS for text in with_shortcut(kind, 2000, seed=1).texts]
    return WordTokenizer.train(texts, 100, specials=SPECIALS)


def train(
    texts: Sequence[str],
    labels: Sequence[int],
    *,
    steps: int = STEPS,
    seed: int = 1,
    hidden: Sequence[str] = (),
) -> ReviewToy:
    """Return a network that learned these texts; one class in twenty that it was told is wrong.

    hidden    words each of which is [MASK] in half of what is read, besides the words that are
              hidden by chance
    """
    tokenizer = words()
    mask, draw = tokenizer.vocab.index("[MASK]"), torch.Generator().manual_seed(seed)
    also = torch.tensor([tokenizer.vocab.index(word) for word in hidden], dtype=torch.long)
    wrong = torch.rand(len(labels), generator=draw) < WRONG
    told = (torch.tensor(labels) ^ wrong).tolist()
    model = build_review_words(len(tokenizer), seed).train()

    def with_blanks(model: nn.Module, batch: Sequence[Tensor]) -> Tensor:
        answers, tokens = batch
        share = torch.rand(len(tokens), 1, generator=draw) * 0.3
        seen = mask_words(tokens, share, len(SPECIALS), mask, draw)
        blind = (torch.rand(len(tokens), 1, generator=draw) < 0.5) & torch.isin(tokens, also)
        return loss(model, [answers, seen.masked_fill(blind, mask)])

    fit(model, batches(encode(texts, tokenizer), told, seed=seed), with_blanks, steps=steps,
        optimizer=adam(model), schedule=cosine(3e-3, warmup=min(100, steps // 2), total=steps),
        progress=False)  # fmt: skip
    return ReviewToy(model.eval(), tokenizer, len(texts), 0, 0)


def accuracy(toy: ReviewToy, texts: Sequence[str], labels: Sequence[int]) -> int:
    """Of how many texts it tells the class."""
    said = predict(toy.model, encode(texts, toy.tokenizer), progress=False).argmax(1)
    return int((said == torch.tensor(labels)).sum())


def shortcut_words(kind: str = "paper") -> ReviewToy:
    """Return the network that took this shortcut; `accuracy` counts texts in which it always
    holds."""
    return load_weights("shortcut_words", kind)
