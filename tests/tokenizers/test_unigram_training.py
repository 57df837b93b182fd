"""The unigram vocabulary: sums over all cuts against each cut written out, and the library's."""

from __future__ import annotations

import itertools
import json
import math
import random
from collections import Counter
from collections.abc import Iterator

import pytest
import tokenizers as reference
from babel import Locale
from tokenizers import models, normalizers, pre_tokenizers, trainers

from deepdive.data.generated import number_words
from deepdive.tokenizers.unigram import UnigramTokenizer
from deepdive.tokenizers.unigram_training import expect, learn, log_sum, losses, maximize, seeds

WORDS = {"▁abab": 3, "▁aba": 2, "▁cab": 4, "▁b": 1}
SCORES = maximize({
    "▁": 3.0, "a": 5.0, "b": 4.0, "c": 2.0, "ab": 6.0, "aba": 1.0, "▁c": 2.0, "▁ab": 1.5,
})  # fmt: skip


def cuts(word: str) -> Iterator[list[str]]:
    """All ways to cut a word: 2 ** (n - 1)."""
    for bars in itertools.product([False, True], repeat=len(word) - 1):
        places = [0, *(i for i, bar in enumerate(bars, 1) if bar), len(word)]
        yield [word[i:j] for i, j in itertools.pairwise(places)]


def written_out(words: dict[str, int], scores: dict[str, float]) -> tuple[Counter[str], float]:
    """Uses and log-likelihood, cut by cut."""
    uses: Counter[str] = Counter()
    log_likelihood = 0.0
    for word, count in words.items():
        found = [cut for cut in cuts(word) if all(piece in scores for piece in cut)]
        chances = [math.prod(math.exp(scores[piece]) for piece in cut) for cut in found]
        for cut, chance in zip(found, chances, strict=True):
            for piece in cut:
                uses[piece] += count * chance / sum(chances)
        log_likelihood += count * math.log(sum(chances))
    return uses, log_likelihood


def test_expected_uses_are_those_of_all_cuts_written_out() -> None:
    found = expect(WORDS, SCORES)
    uses, log_likelihood = written_out(WORDS, SCORES)
    assert found.log_likelihood == pytest.approx(log_likelihood, rel=1e-12)
    assert found.uses == pytest.approx(dict(uses), rel=1e-12)
    letters = sum(len(piece) * n for piece, n in found.uses.items())
    assert letters == pytest.approx(sum(len(word) * n for word, n in WORDS.items()))


def test_a_word_as_long_as_a_page_does_not_underflow() -> None:
    letters = {char: math.log(0.5) for char in "ab"}
    found = expect({"ab" * 2000: 1}, letters)
    assert found.log_likelihood == pytest.approx(4000 * math.log(0.5), rel=1e-12)
    assert found.uses == pytest.approx({"a": 2000.0, "b": 2000.0})
    assert log_sum([]) == -math.inf


def test_of_characters_alone_scores_are_their_frequencies() -> None:
    times = Counter(char for word, n in WORDS.items() for char in word * n)
    scores = maximize(expect(WORDS, dict.fromkeys(times, -1.0)).uses)
    for char, n in times.items():
        assert scores[char] == pytest.approx(math.log(n / times.total()), rel=1e-12)


def test_no_step_lowers_the_likelihood() -> None:
    scores = dict(SCORES)
    likelihoods = []
    for _ in range(12):
        found = expect(WORDS, scores)
        likelihoods.append(found.log_likelihood)
        scores = maximize({piece: found.uses.get(piece, 0.0) for piece in scores})
    assert all(b >= a - 1e-9 for a, b in itertools.pairwise(likelihoods))
    assert likelihoods[-1] > likelihoods[0] + 0.1


def test_a_loss_is_uses_times_what_the_best_other_cut_costs() -> None:
    uses = expect(WORDS, SCORES).uses
    found = losses(uses, SCORES)
    assert set(found) == {piece for piece in SCORES if len(piece) > 1}
    for piece, loss in found.items():
        others = [cut for cut in cuts(piece) if len(cut) > 1 and all(p in SCORES for p in cut)]
        best = max(sum(SCORES[p] for p in cut) for cut in others)
        assert loss == pytest.approx(uses[piece] * (SCORES[piece] - best), rel=1e-12)


def test_seeds_are_characters_and_what_stands_twice() -> None:
    found = seeds(WORDS, 3, longest=3)
    assert {piece for piece in found if len(piece) == 1} == set("▁abc")
    assert {piece for piece in found if len(piece) > 1} == {"ab", "aba", "▁ab"}  # 24, 15, 15
    assert sum(map(math.exp, found.values())) == pytest.approx(1.0)


def test_what_is_learned_fits_and_holds_every_character() -> None:
    texts = [text for _, text in number_words("en", 300) + number_words("fi", 100)]
    words = Counter(word for text in texts for word in UnigramTokenizer.split(text))
    characters = {char for word in words for char in word}
    found = learn(words, 90)
    assert characters < set(found)
    assert 85 <= len(found) <= 90
    assert sum(map(math.exp, found.values())) == pytest.approx(1.0, abs=0.02)
    assert [*found.values()] == sorted(found.values(), reverse=True)
    assert learn(words, 90) == found
    assert set(learn(words, len(characters))) == characters
    with pytest.raises(ValueError, match="characters already"):
        learn(words, len(characters) - 1)
    with pytest.raises(ValueError, match="no tokens spell 'xy'"):
        expect({"xy": 1}, {"x": -1.0})


def library(texts: list[str], size: int) -> reference.Tokenizer:
    made = reference.Tokenizer(models.Unigram())
    made.normalizer = normalizers.NFKC()
    made.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Metaspace()]
    )
    made.train_from_iterator(
        texts,
        trainers.UnigramTrainer(
            vocab_size=size, special_tokens=["<pad>", "<bos>", "<eos>", "<unk>"],
            unk_token="<unk>", show_progress=False,
        ),
    )  # fmt: skip
    return made


def test_it_serves_new_texts_as_the_librarys_does() -> None:
    names = [n for code in ("en", "de", "fr", "fi") for n in Locale(code).territories.values()]
    random.Random(0).shuffle(names)
    train, new = names[:-200], names[-200:]
    ours, theirs = UnigramTokenizer.train(train, 250), library(train, 250)
    pieces = json.loads(theirs.to_str())["model"]["vocab"]
    assert len(set(ours.vocab) & {piece for piece, _ in pieces}) > 0.5 * len(pieces)
    mine = sum(len(ours.tokens(text)) for text in new)
    others = sum(len(theirs.encode(text).tokens) for text in new)
    assert 0.9 * others < mine < 1.05 * others
    assert ours.decode(ours.encode(train[0])) == train[0]


def test_train_refuses_what_does_not_fit() -> None:
    with pytest.raises(ValueError, match="vocab_size: 6 is too small"):
        UnigramTokenizer.train(["abc"], 6)
    with pytest.raises(ValueError, match="no word"):
        UnigramTokenizer.train([" "], 60)
