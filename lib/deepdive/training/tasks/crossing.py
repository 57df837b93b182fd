"""Small encoders that fill gaps in several languages, and what crosses from one to another.

    vocabulary = words_of([english, greek])                     # one token a word
    net = gap_filler(vocabulary, d_model=64, n_layers=4)
    learn(net, vocabulary, {"English": some, "Greek": others}, steps=1000)
    found(net, vocabulary, pairs, layer=2)                      # translations found among all
    probed(net, vocabulary, train, test, layer=2)               # words tagged right

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

from deepdive.evaluate.similarity import nearest
from deepdive.explain.probes import tag_accuracy
from deepdive.inspect import record
from deepdive.masks import padding
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


def gap_filler(vocabulary: Tokenizer, seed: int = 0, **changes: Any) -> BertForMaskedLM:
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
        seed: int,
    ) -> None:
        self.vocabulary, self.size = vocabulary, size
        self.rows = [[_row(vocabulary, text) for text in texts] for texts in languages.values()]
        self.pairs = [(_row(vocabulary, a), _row(vocabulary, b)) for a, b in pairs]
        self.draw = random.Random(f"crossing {seed}")
        self.gaps = torch.Generator().manual_seed(seed)

    def __iter__(self) -> Batches:
        return self

    def __next__(self) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:
        """Return inputs, real, places (B, T), and of the gaps: where they are, what stood there."""
        if self.pairs and self.draw.random() < 0.5:  # half of the batches are of pairs
            first, second = zip(*self.draw.choices(self.pairs, k=self.size // 2), strict=True)
            joined = join_translations(first, second, (0, 1), self.vocabulary.pad)
            tokens, real, places = joined.tokens, joined.real, joined.positions
        else:
            share = self.size // len(self.rows)
            drawn = [row for rows in self.rows for row in self.draw.choices(rows, k=share)]
            tokens, real = padded(drawn, self.vocabulary.pad)
            places = torch.arange(tokens.shape[1]).expand_as(tokens)
        inputs, _, chosen = mask_tokens(tokens, self.vocabulary, RATE, generator=self.gaps)
        return inputs, real, places, chosen, tokens[chosen]


def learn(
    net: BertForMaskedLM,
    vocabulary: Tokenizer,
    languages: Mapping[str, Sequence[str]],
    *,
    steps: int,
    pairs: Sequence[Pair] = (),
    lr: float = 2e-3,
    size: int = 256,
    seed: int = 0,
    progress: bool = True,
) -> History:
    """Train `net` to fill gaps: as many sentences of each language in a batch, `size` in all.

    pairs: where given, half of the batches are pairs of translations in one row, gaps in both, so
    that a gap can be filled from the other language.
    """
    return fit(
        net,
        Batches(vocabulary, languages, pairs, size, seed),
        _loss,
        steps=steps,
        optimizer=adam(net, lr, betas=(0.9, 0.98), weight_decay=0.01),
        schedule=linear(lr, min(200, steps // 5), steps + 1),
        seed=seed,
        progress=progress,
    )


def _loss(net: BertForMaskedLM, batch: tuple[Tensor, ...]) -> Tensor:
    inputs, real, places, chosen, wanted = batch
    rows = net.bert.embeddings(inputs, None, places)
    states = net.bert.stack(rows, mask=padding(real, inputs, "mask"))
    return cross_entropy(net.masked_logits(states[chosen]), wanted, pad=None)


def _row(vocabulary: Tokenizer, text: str) -> list[int]:
    return vocabulary.encode(text, bos=True, eos=True)


@torch.no_grad()
def states_of(
    net: BertForMaskedLM, vocabulary: Tokenizer, texts: Sequence[str], layer: int
) -> list[Tensor]:
    """Return the states (W, d_model) of each text's words after `layer` blocks, 0: embeddings."""
    net.eval()
    found = []
    name = f"stack.blocks.{layer - 1}.stream" if layer else "embeddings"
    for start in range(0, len(texts), 256):
        tokens, real = padded([_row(vocabulary, t) for t in texts[start : start + 256]])
        if layer:
            with record(net.bert, name) as seen:
                net.bert(tokens, real)
            [states] = seen[name]
        else:
            states = net.bert.embeddings(tokens, None, net.bert.embeddings.positions(tokens, real))
        lengths = real.sum(1).tolist()
        found += [row[1 : n - 1] for row, n in zip(states, lengths, strict=True)]
    net.train()
    return found


def vectors_of(
    net: BertForMaskedLM, vocabulary: Tokenizer, texts: Sequence[str], layer: int
) -> Tensor:
    """Return the mean (N, d_model) of the states of each text's words."""
    return torch.stack([row.mean(0) for row in states_of(net, vocabulary, texts, layer)])


def found(net: BertForMaskedLM, vocabulary: Tokenizer, pairs: Sequence[Pair], layer: int) -> Tensor:
    """Return whether each sentence's translation is the nearest of all, bool (2, N): both ways.

    Each language's mean is taken off its vectors first; cosines say what is near.
    """
    sides = [vectors_of(net, vocabulary, texts, layer) for texts in zip(*pairs, strict=True)]
    one, other = (side - side.mean(0) for side in sides)
    here = torch.arange(len(one))
    return torch.stack([nearest(one, other) == here, nearest(other, one) == here])


def probed(
    net: BertForMaskedLM,
    vocabulary: Tokenizer,
    train: Sequence[Tagged],
    test: Sequence[Tagged],
    layer: int,
    penalty: float = 10.0,
) -> Tensor:
    """Return whether a linear layer on the states, learned on `train`, tags each word of `test`
    right, bool (words,). Words that the vocabulary lacks are left out.
    """
    return tag_accuracy(
        _tagged(net, vocabulary, train, layer), _tagged(net, vocabulary, test, layer), penalty
    )


def _tagged(
    net: BertForMaskedLM, vocabulary: Tokenizer, rows: Sequence[Tagged], layer: int
) -> tuple[Tensor, list[str]]:
    states = states_of(net, vocabulary, [" ".join(words) for words, _ in rows], layer)
    known = [
        (state, tag)
        for row, (words, tags) in zip(states, rows, strict=True)
        for state, word, tag in zip(row, words, tags, strict=True)
        if vocabulary.encode(word) != [vocabulary.unk]
    ]
    vectors, tags = zip(*known, strict=True)
    return torch.stack(vectors), list(tags)
