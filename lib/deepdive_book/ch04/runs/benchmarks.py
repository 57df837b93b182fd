"""Tests of one encoder in many languages: a task is learned in English, and asked in the others.

    encoder = Encoder(e5_model(), e5_tokenizer())
    subjects(encoder, "yor_Latn")       # sib200: what is a sentence about?
    tags(encoder, "fr")                 # ud_pud: which part of speech is a word?
    retrieval(encoder, "deu")           # tatoeba_retrieval: which sentence translates this one?

Each returns a row that a sweep keeps. Beside what was learned in English stands what rivals reach:
the same without the encoder, and the same learned in the language itself.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any, NamedTuple

import torch
from torch import Tensor

from deepdive.data.text import retrieval_pairs
from deepdive.data.translated import pud, sib200
from deepdive.data.trees import Tree
from deepdive.explain.probes import tag_accuracy
from deepdive.explain.words import cut, read, word_states
from deepdive.models.bert.sbert import SentenceEncoder, encode
from deepdive.tokenizers import Tokenizer
from deepdive_book.ch04.runs.cross_lingual_transfer import nearest_is_partner
from deepdive_book.kit.multilingual_e5 import QUERY

STRENGTHS = (1.0, 10.0, 100.0)  # of a head; large: fits its lessons closely
PENALTY = 10.0  # of a probe
LEARN, CHECK = 600, 100  # sentences of ud_pud to learn from, and to choose the level by
ROUNDED = torch.bfloat16  # in matrix products: 2.8 times as fast here, cosines as before to 1e-4


class Encoder(NamedTuple):
    """An encoder of sentences, its tokeniser, and what every sentence begins with."""

    model: SentenceEncoder
    tokenizer: Tokenizer
    front: str = QUERY

    def vectors(self, texts: Sequence[str]) -> Tensor:
        """Return a vector of length 1 for each text, (N, d)."""
        with torch.autocast("cpu", ROUNDED):
            asked = [self.front + text for text in texts]
            return encode(self.model, self.tokenizer, asked, batch_size=32).float()

    def words(self, trees: Sequence[Tree]) -> list[Tensor]:
        """Return the states of the words of each sentence after each layer, (L + 1, W, d)."""
        marks = (self.tokenizer.bos, self.tokenizer.eos, self.tokenizer.unk)
        cuts = [cut(self.tokenizer.encode, tree.words, *marks) for tree in trees]
        states: list[Tensor] = [torch.empty(0)] * len(trees)
        with torch.autocast("cpu", ROUNDED):
            for i, levels in read(
                self.model.encoder, [ids for ids, _ in cuts], "*.embedded", "*.stream"
            ):
                whole = torch.stack([level.float() for level in levels])
                states[i] = word_states(whole, cuts[i][1])[:, 1:-1]
        return states


def head(x: Any, labels: Sequence[int], strength: float) -> Any:
    """Return a linear head (logistic regression), learned on the rows of x."""
    from sklearn.linear_model import LogisticRegression

    return LogisticRegression(C=strength, max_iter=2000).fit(x, labels)


def strength_for(x: Any, labels: Sequence[int]) -> float:
    """Return that of `STRENGTHS` which is right most often on five folds of the lessons."""
    from sklearn.model_selection import cross_val_score

    scores = [cross_val_score(head(x, labels, s), x, labels, cv=5).mean() for s in STRENGTHS]
    return STRENGTHS[max(range(len(scores)), key=scores.__getitem__)]


def letters() -> Any:
    """Return the rival without an encoder: which runs of one to five letters are in a text."""
    from sklearn.feature_extraction.text import TfidfVectorizer

    return TfidfVectorizer(analyzer="char_wb", ngram_range=(1, 5), sublinear_tf=True)


class English(NamedTuple):
    """What is learned from the English lessons, once for all languages."""

    head: Any
    count: Any
    letters: Any
    strengths: tuple[float, float]


@cache
def english(encoder: Encoder) -> English:
    """Return both heads of sib200's 701 English sentences."""
    lessons = sib200("eng_Latn", "train", None)
    x, count = encoder.vectors(lessons.texts), letters()
    runs = count.fit_transform(lessons.texts)
    own, other = strength_for(x, lessons.labels), strength_for(runs, lessons.labels)
    return English(
        head(x, lessons.labels, own), count, head(runs, lessons.labels, other), (own, other)
    )


def subjects(encoder: Encoder, language: str) -> dict[str, Any]:
    """What each head says of the 204 test sentences of sib200, a digit a sentence.

        zero       the encoder's head, learned in English
        own        the same, learned in the language itself: as far as these vectors go
        letters    runs of letters, learned in English;  own letters: in the language

    `pieces` and `unknown` count what the tokeniser makes of the test sentences.
    """
    known = english(encoder)
    lessons, test = (sib200(language, part, None) for part in ("train", "test"))
    x, new = encoder.vectors(lessons.texts), encoder.vectors(test.texts)
    count = letters()
    own = head(count.fit_transform(lessons.texts), lessons.labels, known.strengths[1])
    ids = [i for text in test.texts for i in encoder.tokenizer.encode(text)]
    return {
        "truth": digits(test.labels),
        "zero": digits(known.head.predict(new)),
        "own": digits(head(x, lessons.labels, known.strengths[0]).predict(new)),
        "letters": digits(known.letters.predict(known.count.transform(test.texts))),
        "own letters": digits(own.predict(count.transform(test.texts))),
        "most frequent": str(Counter(lessons.labels).most_common(1)[0][0]) * len(test.labels),
        "pieces": len(ids), "unknown": ids.count(encoder.tokenizer.unk),
        "strengths": list(known.strengths),
    }  # fmt: skip


def digits(values: Any) -> str:
    """Classes from 0 to 9 as one text."""
    return "".join(str(int(value)) for value in values)


def accuracy(row: Mapping[str, Any], name: str) -> list[int]:
    """1 for each sentence on which `name` says what is true, else 0."""
    return [int(a == b) for a, b in zip(row[name], row["truth"], strict=True)]


def retrieval(encoder: Encoder, language: str) -> dict[str, Any]:
    """How often the nearest of all sentences is the translation: from English, and to English.

    plain      of the vectors as they are;  centred: each language's mean is taken off first
    gained     pairs that only centring finds;  lost: pairs that it loses
    """
    ones, others = zip(*retrieval_pairs(language, seed=None), strict=True)
    here, there = encoder.vectors(ones), encoder.vectors(others)
    plain, centered = (nearest_is_partner(here, there, centered=off) for off in (False, True))
    return {
        "pairs": len(ones), "plain": plain.sum(1).tolist(), "centred": centered.sum(1).tolist(),
        "gained": (centered & ~plain).sum(1).tolist(), "lost": (plain & ~centered).sum(1).tolist(),
    }  # fmt: skip


class Tagged(NamedTuple):
    """Sentences of ud_pud, in parts by their number: to learn from, to choose by, to test."""

    trees: list[list[Tree]]
    states: list[list[Tensor]]


@cache
def tagged(encoder: Encoder, language: str) -> Tagged:
    """Return the sentences of a language; the three parts are translations of the same ones."""
    trees = [row.tree for row in pud(language)]
    ends = ((0, LEARN), (LEARN, LEARN + CHECK), (LEARN + CHECK, len(trees)))
    states = encoder.words(trees)
    return Tagged([trees[a:b] for a, b in ends], [states[a:b] for a, b in ends])


def tags(encoder: Encoder, language: str) -> dict[str, Any]:
    """Parts of speech, by a probe that learned from English states (`zero`) and from the language's
    own (`own`): for each level the share of right words; at the level that is best on other
    English sentences, how many words are right in each sentence of the test.

    `listed` is the rival: each word gets the tag it had most often in English, an unseen one NOUN.
    """
    en, here = tagged(encoder, "en"), tagged(encoder, language)
    levels = range(len(en.states[0][0]))
    checked = [_shares(en, en, level, part=1)[0] for level in levels]
    best = max(levels, key=checked.__getitem__)
    every = [[_shares(source, here, level)[0] for level in levels] for source in (en, here)]
    known: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for tree in en.trees[0]:
        for word, tag in zip(tree.words, tree.tags, strict=True):
            known[word.lower()][tag] += 1
    listed = {word: counts.most_common(1)[0][0] for word, counts in known.items()}
    return {
        "level": best, "zero levels": every[0], "own levels": every[1],
        "words": [len(tree) for tree in here.trees[2]],
        "zero": _shares(en, here, best)[1], "own": _shares(here, here, best)[1],
        "listed": [sum(listed.get(w.lower(), "NOUN") == t
                       for w, t in zip(tree.words, tree.tags, strict=True))
                   for tree in here.trees[2]],
    }  # fmt: skip


def _shares(source: Tagged, target: Tagged, level: int, part: int = 2) -> tuple[float, list[int]]:
    """The share of right words of a part of `target`, and how many there are in each sentence."""
    x, labels = select_rows(source.trees[0], source.states[0], level)
    new, wanted = select_rows(target.trees[part], target.states[part], level)
    scale = x.std()  # so that one penalty suits all levels
    hits = tag_accuracy((x / scale, labels), (new / scale, wanted), PENALTY)
    by_sentence = hits.split([len(tree) for tree in target.trees[part]])
    return round(float(hits.double().mean()), 4), [int(each.sum()) for each in by_sentence]


def select_rows(
    trees: Sequence[Tree], states: Sequence[Tensor], level: int
) -> tuple[Tensor, list[str]]:
    """The states of all words at a level, (N, d), and their tags."""
    return torch.cat([each[level] for each in states]), [t for tree in trees for t in tree.tags]
