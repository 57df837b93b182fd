"""Small encoders that fill gaps in several languages, and what crosses from one to another.

    vocabulary = words_of([english, greek])                     # one token a word
    net = masked_lm(vocabulary, d_model=64, n_layers=4)
    train_model(net, vocabulary, {"English": some, "Greek": others}, steps=1000)
    reader = Reader(net, vocabulary, layer=2)
    nearest_is_partner(reader.vectors(english), reader.vectors(greek))
    tag_accuracy(reader.tagged(train), reader.tagged(test), 10.0)

Nothing says which language a sentence is of, and no sentence stands beside its translation, unless
`pairs` are given (Conneau and Lample 2019, section 3.4).
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

from deepdive.core.masks import padding
from deepdive.evaluate.similarity import nearest
from deepdive.models.bert import bert
from deepdive.models.bert.pretraining import BertForMaskedLM, for_masked_lm
from deepdive.tokenizers import BERT_SPECIALS, Tokenizer, WordTokenizer, padded
from deepdive.training import History, fit
from deepdive.training.objectives import cross_entropy, mask_tokens
from deepdive.training.objectives.translation_pairs import join_translations
from deepdive.training.optim import adam, linear

Pair = tuple[str, str]
Tagged = tuple[Sequence[str], Sequence[str]]  # words, and a tag for each
RATE = 0.2  # of the words are hidden
LONGEST = 64  # places


def words_of(languages: Sequence[Sequence[str]], each: int | None = None) -> WordTokenizer:
    """Return a vocabulary of the `each` most frequent words of each language (None: of all)."""
    kept: dict[str, None] = {}
    for texts in languages:
        counts = Counter(word for text in texts for word in text.split())
        ranked = sorted(counts, key=lambda word: (-counts[word], word))
        kept |= dict.fromkeys(ranked[:each])
    return WordTokenizer([*BERT_SPECIALS, *kept], BERT_SPECIALS)


def masked_lm(vocabulary: Tokenizer, seed: int = 0, **changes: Any) -> BertForMaskedLM:
    """Return a small BERT with its head, drawn from `seed`; `changes` go to its record."""
    torch.manual_seed(seed)
    config = bert.TINY.but(
        **{"vocab_size": len(vocabulary), "max_length": LONGEST, "n_segments": 1, **changes}
    )
    return for_masked_lm(bert.bert(config))


class Batches:
    """Rows of each language in turn, with gaps; drawn from `seed`, the same in every run."""

    def __init__(
        self,
        vocabulary: Tokenizer,
        languages: Mapping[str, Sequence[str]],
        pairs: Sequence[Pair],
        size: int,
        apart: int,
        seed: int,
    ) -> None:
        self.vocabulary, self.size, self.apart = vocabulary, size, apart
        self.rows = [[_row(vocabulary, text) for text in texts] for texts in languages.values()]
        self.pairs = [(_row(vocabulary, a), _row(vocabulary, b)) for a, b in pairs]
        self.draw = random.Random(f"crossing {seed}")
        self.gaps = torch.Generator().manual_seed(seed)

    def __iter__(self) -> Batches:
        return self

    def __next__(self) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:
        """Return inputs, real, places (B, T), and of the gaps: where they are, what stood there."""
        if self.pairs and self.draw.random() < 0.5:  # half of the batches are of pairs
            ones, others = zip(*self.draw.choices(self.pairs, k=self.size // 2), strict=True)
            joined = join_translations(ones, others, (0, 1), self.vocabulary.pad)
            tokens, real, places = joined.tokens, joined.real, joined.positions
        else:
            share = self.size // len(self.rows)
            drawn = [row for rows in self.rows for row in self.draw.choices(rows, k=share)]
            tokens, real = padded(drawn, self.vocabulary.pad)
            first = self.apart * torch.arange(len(self.rows)).repeat_interleave(share)
            places = torch.arange(tokens.shape[1]) + first[:, None]
        inputs, _, chosen = mask_tokens(tokens, self.vocabulary, RATE, generator=self.gaps)
        return inputs, real, places, chosen, tokens[chosen]


def train_model(
    net: BertForMaskedLM,
    vocabulary: Tokenizer,
    languages: Mapping[str, Sequence[str]],
    *,
    steps: int,
    pairs: Sequence[Pair] = (),
    lr: float = 2e-3,
    size: int = 128,
    apart: int = 0,
    seed: int = 0,
    **more: Any,
) -> History:
    """Train `net` to fill gaps: as many sentences of each language in a batch, `size` in all.

    pairs: where given, half of the batches are pairs of translations in one row, gaps in both, so
    that a gap can be filled from the other language. apart: how many rows of the table of positions
    are each language's own; 0: all languages begin at the same. more: for `fit`.
    """
    return fit(
        net,
        Batches(vocabulary, languages, pairs, size, apart, seed),
        _loss,
        steps=steps,
        optimizer=adam(net, lr, betas=(0.9, 0.98), weight_decay=0.01),
        schedule=linear(lr, min(200, steps // 5), steps + 1),
        seed=seed,
        **more,
    )


def _loss(net: BertForMaskedLM, batch: tuple[Tensor, ...]) -> Tensor:
    inputs, real, places, chosen, wanted = batch
    rows = net.bert.embeddings(inputs, None, places)
    states = net.bert.stack(rows, mask=padding(real, inputs, "mask"))
    return cross_entropy(net.masked_logits(states[chosen]), wanted, pad=None)


def _row(vocabulary: Tokenizer, text: str) -> list[int]:
    return vocabulary.encode(text, bos=True, eos=True)


class Reader:
    """A net as it is after `layer` blocks (0: what enters), reading one language.

    first: the place of the first token, where languages have places of their own (`train_model`).
    """

    def __init__(
        self, net: BertForMaskedLM, vocabulary: Tokenizer, layer: int, first: int = 0
    ) -> None:
        self.net, self.vocabulary, self.layer, self.first = net, vocabulary, layer, first

    @torch.no_grad()
    def states(self, texts: Sequence[str]) -> list[Tensor]:
        """Return the states (W, d_model) of each text's words."""
        self.net.eval()
        found = []
        for start in range(0, len(texts), 256):
            rows = [_row(self.vocabulary, text) for text in texts[start : start + 256]]
            tokens, real = padded(rows, self.vocabulary.pad)
            places = torch.arange(tokens.shape[1]) + self.first
            states = self.net.bert.embeddings(tokens, None, places)
            mask = padding(real, tokens, "mask")
            for block in self.net.bert.stack.blocks[: self.layer]:
                states = block(states, mask=mask)
            found += [row[1 : len(ids) - 1] for row, ids in zip(states, rows, strict=True)]
        self.net.train()
        return found

    def vectors(self, texts: Sequence[str]) -> Tensor:
        """Return the mean (N, d_model) of the states of each text's words."""
        return torch.stack([row.mean(0) for row in self.states(texts)])

    def tagged(self, rows: Sequence[Tagged]) -> tuple[Tensor, list[str]]:
        """Return the states (words, d_model) of all known words, and the tag of each."""
        states = self.states([" ".join(words) for words, _ in rows])
        known = [
            (state, tag)
            for row, (words, tags) in zip(states, rows, strict=True)
            for state, word, tag in zip(row, words, tags, strict=True)
            if self.vocabulary.encode(word) != [self.vocabulary.unk]
        ]
        vectors, tags = zip(*known, strict=True)
        return torch.stack(vectors), list(tags)


def nearest_is_partner(one: Tensor, other: Tensor, centered: bool = True) -> Tensor:
    """Return whether each row's partner is the nearest of all, by the cosine: bool (2, N), both
    ways. centred: the mean of each side is taken off first.
    """
    if centered:
        one, other = one - one.mean(0), other - other.mean(0)
    here = torch.arange(len(one))
    return torch.stack([nearest(one, other) == here, nearest(other, one) == here])
