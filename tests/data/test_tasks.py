"""The five task shapes: rows that are what they say, labels that find their pieces, and scores."""

from __future__ import annotations

import itertools
import random
from collections import Counter
from collections.abc import Callable

import pytest

from deepdive.data import DataError, Generated
from deepdive.data.alignment import (
    IGNORED,
    answer_pieces,
    first_pieces,
    piece_labels,
    word_values,
)
from deepdive.data.tasks import (
    Pair,
    Span,
    Split,
    Tagged,
    answers,
    choices,
    entities,
    one_sentence,
    parts_of_speech,
    single,
    word_overlap,
)
from deepdive.evaluate import accuracy
from deepdive.evaluate.answers import answer_f1, entity_f1, exact_match, normalized
from deepdive.evaluate.answers import entities as entities_of
from deepdive_book.data import synthetic_tasks
from deepdive_book.data.paraphrases import paraphrases

TOYS: dict[str, Callable[[int], Generated[object]]] = {
    name: lambda seed, make=make: make(60, seed)  # type: ignore[misc]
    for name, make in vars(synthetic_tasks).items()
    if name.startswith("generated_")
}


# What a tokeniser may cut from "Renée's unbelievably long São-Paulo trip": by hand, with a word
# in three pieces, a word in two, and a piece ("é" lost its accent in its text, not in its extent).
TEXT = "Renée 's unbelievably short São Paulo trip"
PIECES = [(0, 3), (3, 5), (6, 7), (7, 8), (9, 11), (11, 18), (18, 21), (22, 27), (28, 31), (32, 37)]
PIECES += [(38, 42)]
WORDS = [(0, 5), (6, 8), (9, 21), (22, 27), (28, 31), (32, 37), (38, 42)]


def test_the_first_piece_of_a_word_carries_its_label() -> None:
    x = IGNORED
    labels = [1, 2, 3, 4, 5, 6, 7]
    found = piece_labels(PIECES, WORDS, labels)
    assert found == [1, x, 2, x, 3, x, x, 4, 5, 6, 7]
    assert word_values(PIECES, WORDS, found, 0) == labels


def test_words_without_a_piece_and_pieces_of_two_words() -> None:
    words = [(0, 2), (3, 4), (5, 9)]
    assert first_pieces([(0, 2), (5, 7), (7, 9)], words) == [0, None, 1]  # "\u200b" was dropped
    assert first_pieces([(0, 2), (3, 4)], words) == [0, 1, None]  # cut off
    assert piece_labels([(0, 2), (5, 9)], words, [7, 8, 9]) == [7, 9]
    assert word_values([(0, 2), (5, 9)], words, ["a", "b", "special"], "?") == ["a", "?", "b"]
    # "don't" in the words do, n't and the pieces don, ', t; and in one piece
    assert first_pieces([(0, 3), (3, 4), (4, 5)], [(0, 2), (2, 5)]) == [0, 1]
    assert first_pieces([(0, 1), (1, 2), (2, 5)], [(0, 2), (2, 5)]) == [0, 2]
    assert first_pieces([(0, 5)], [(0, 2), (2, 5)]) == [0, None]
    with pytest.raises(ValueError, match="labels: 2 for 3 words"):
        piece_labels(PIECES, words, [1, 2])
    with pytest.raises(ValueError, match="values: 1 for 11 tokens"):
        word_values(PIECES, words, [1], 0)


def test_an_answer_finds_the_pieces_that_touch_it() -> None:
    assert answer_pieces(PIECES, 28, 37) == (8, 9)
    assert answer_pieces(PIECES, 30, 33) == (8, 9)
    assert answer_pieces(PIECES, 9, 21) == (4, 6)
    assert answer_pieces(PIECES, 0, 1) == answer_pieces(PIECES, 0, 3) == (0, 0)
    assert answer_pieces(PIECES[:9], 28, 37) is None  # its end was cut off
    assert answer_pieces(PIECES[:3], 28, 37) is None
    with pytest.raises(ValueError, match="expected 0 <= start < end"):
        answer_pieces(PIECES, 5, 5)


def test_a_sentence_knows_where_its_words_stand() -> None:
    row = Tagged(["Renée", "'s", "São", "Paulo"], ["A", "B", "C", "D"])
    assert [row.text[begin:end] for begin, end in row.extents] == row.words


def test_one_sentence_keeps_the_answer_and_moves_its_place() -> None:
    context = 'It rained. "He came." Dr. No left in 1962. All was well.'
    row = Span("When did No leave?", context, "1962", context.index("1962"))
    cut = one_sentence(row)
    assert cut == row._replace(context="No left in 1962.", start=11)
    both = row._replace(answer="1962. All", start=context.index("1962"))
    assert one_sentence(both).context == "No left in 1962. All was well."
    without = one_sentence(Span("Was all well?", context, "", -1))
    assert without == ("Was all well?", "All was well.", "", -1)


@pytest.mark.parametrize("name", TOYS)
def test_a_seed_gives_one_list_that_says_it_is_generated(name: str) -> None:
    one, again, other = TOYS[name](0), TOYS[name](0), TOYS[name](1)
    assert one == again != other
    assert one.generated
    assert one.source.startswith(name)


def test_generated_rows_hold_their_answers() -> None:
    rows = synthetic_tasks.generated_answers(300)
    _hold(rows)
    assert 0.2 < sum(row.start < 0 for row in rows) / 300 < 0.45
    for tagged in synthetic_tasks.generated_entities(100):
        assert len(tagged.words) == len(tagged.tags)
        assert all(" " not in word for word in tagged.words)
        entities_of(tagged.tags)


def test_no_word_tells_a_generated_label() -> None:
    """Each label's share of each word (single), and the words of both texts (pair)."""
    rows = synthetic_tasks.generated_single(4000)
    told = {
        label: Counter(w for row in rows if row.label == label for w in row.text.split())
        for label in (0, 1)
    }
    for word in {*told[0], *told[1]}:
        assert 0.35 < told[0][word] / (told[0][word] + told[1][word]) < 0.65, word
    names = {
        len(set(a.split()) & set(b.split())) for a, b, _ in synthetic_tasks.generated_pair(200)
    }
    assert names == {3}


def test_unseen_choices_share_no_option_with_the_others() -> None:
    parts = [synthetic_tasks.generated_choices(400, unseen=unseen) for unseen in (False, True)]
    seen, new = ({word for row in part for word in row.options} for part in parts)
    assert (len(seen), len(new), seen & new) == (40, 40, set())
    for row in (*parts[0], *parts[1]):
        (kind,) = [k for k in synthetic_tasks.KINDS if row.question.endswith(k.partition("{}")[2])]
        assert [o in synthetic_tasks.KINDS[kind].split() for o in row.options].index(
            True
        ) == row.label


def test_toys_name_wrong_arguments() -> None:
    with pytest.raises(DataError, match="n: 0"):
        synthetic_tasks.generated_single(0)
    with pytest.raises(DataError, match=r"options: 9, .* at most 8"):
        synthetic_tasks.generated_choices(3, options=9)


@pytest.mark.data("rt_polarity")
def test_single_is_half_and_half() -> None:
    train, test = single()
    assert len(train) + len(test) == 10_662
    assert sum(row.label for row in (*train, *test)) == 5_331
    assert 0.45 < sum(row.label for row in train[:500]) / 500 < 0.55
    assert not {row.text for row in train} & {row.text for row in test}
    assert single() == (train, test) != single(1)


@pytest.mark.data("tatoeba_eng_fra")
@pytest.mark.data("tatoeba_eng_fra")
def test_overlap_does_not_give_paraphrases_away() -> None:
    train, test = found = paraphrases()
    assert len(train) > 3_000
    for part in found:
        near = [Counter(round(word_overlap(a, b), 1) for a, b, y in part if y == k) for k in (0, 1)]
        assert near[0] == near[1]
        by_first = Counter((row.first, row.label) for row in part)
        assert {key: by_first[key[0], 1 - key[1]] for key in by_first} == by_first
    assert best_threshold(train, lambda row: word_overlap(row.first, row.second)) < 0.54
    assert best_threshold(train, lambda row: len(row.second) - len(row.first)) < 0.56
    one, other = ({text for row in part for text in row[:2]} for part in (train, test))
    assert not one & other
    shown = [row for row in train if row.label][:200]
    assert sum(row.first.lower() == row.second.lower() for row in shown) == 0


def best_threshold(rows: list[Pair], score: Callable[[Pair], float]) -> float:
    """The best accuracy that any threshold on one number reaches, either way round."""
    values = sorted((score(row), row.label) for row in rows)
    right = sum(label for _, label in values)  # all are called 1
    best = max(right, len(rows) - right)
    for _, group in itertools.groupby(values, lambda item: item[0]):
        right += sum(1 - 2 * label for _, label in group)
        best = max(best, right, len(rows) - right)
    return best / len(rows)


@pytest.mark.data("wnut17", "ud_english_ewt")
def test_tagged_words_are_all_there() -> None:
    names, speech = entities(), parts_of_speech()
    assert [len(part) for part in (*names, *speech)] == [3_394, 1_287, 12_544, 2_077]
    tags = Counter(tag for part in names for row in part for tag in row.tags)
    assert tags["B-person"] == 660 + 429
    assert len(tags) == 13
    assert len({tag for part in speech for row in part for tag in row.tags}) == 17
    for row in (*names.train, *speech.train):
        assert len(row.words) == len(row.tags)
        assert row.text.split(" ") == row.words
    found = [row for row in speech.train if "n't" in row.words]
    assert found[0].words[found[0].words.index("n't") - 1] in {"do", "did", "is", "ca", "would"}


@pytest.mark.data("xquad")
def test_answers_stand_where_they_should_or_nowhere() -> None:
    found = answers()
    rows = [*found.train, *found.test]
    assert len(rows) == 1_190
    _hold(rows)
    assert 0.28 < sum(row.start < 0 for row in rows) / 1_190 < 0.39
    assert not {row.context for row in found.train} & {row.context for row in found.test}
    _hold([one_sentence(row) for row in rows])
    given = {(row.question, row.context): row.answer for row in (*answers(nulls=0)[0],)}
    moved = [row for row in found.train if row.start < 0]
    right = {question: answer for (question, _), answer in given.items()}
    assert all(right[row.question] not in row.context for row in moved if row.question in right)
    with pytest.raises(DataError, match="nulls: got 1"):
        answers(nulls=1)


@pytest.mark.data("xquad")
def test_choices_are_answers_of_one_paragraph() -> None:
    found = choices()
    rows = [*found.train, *found.test]
    held = answers(nulls=0)
    right = {(row.question, row.answer) for part in held for row in part}
    texts = {row.answer for part in held for row in part}
    assert len(rows) > 1_000
    for row in rows:
        assert len(set(row.options)) == 4
        assert (row.question, row.options[row.label]) in right
        assert set(row.options) <= texts
    places = Counter(row.label for row in rows)
    assert len(places) == 4
    assert min(places.values()) > 0.2 * len(rows)


@pytest.mark.parametrize(
    ("tags", "found"),
    [
        ("O O O", []),
        ("B-a I-a B-a", [("a", 0, 1), ("a", 2, 2)]),
        ("I-a I-a O I-b", [("a", 0, 1), ("b", 3, 3)]),
        ("B-a I-b I-a", [("a", 0, 0), ("b", 1, 1), ("a", 2, 2)]),
        ("B-a O I-a", [("a", 0, 0), ("a", 2, 2)]),
    ],
)
def test_entities_are_those_of_conll(tags: str, found: list[tuple[str, int, int]]) -> None:
    assert entities_of(tags.split()) == found


def test_entity_f1_equals_a_count_of_every_possible_entity() -> None:
    """Each (kind, begin, end) is tried: does it begin, go on and stop there, in both?"""
    draw = random.Random(0)
    tags = ["O", "B-a", "I-a", "B-b", "I-b"]
    said = [[draw.choice(tags) for _ in range(8)] for _ in range(60)]
    gold = [[tag if draw.random() < 0.7 else draw.choice(tags) for tag in row] for row in said]

    def is_entity(row: list[str], kind: str, begin: int, end: int) -> bool:
        inside = [tag in (f"B-{kind}", f"I-{kind}") for tag in row]
        opens = row[begin] == f"B-{kind}" or (inside[begin] and not (begin and inside[begin - 1]))
        goes_on = all(tag == f"I-{kind}" for tag in row[begin + 1 : end + 1])
        return opens and goes_on and not (end + 1 < len(row) and row[end + 1] == f"I-{kind}")

    places = [(k, b, e) for k in "ab" for b in range(8) for e in range(b, 8)]
    both = [
        (is_entity(one, *place), is_entity(other, *place))
        for one, other in zip(said, gold, strict=True)
        for place in places
    ]
    hits, n_said, n_gold = (sum(map(f, both)) for f in (all, lambda x: x[0], lambda x: x[1]))
    precision, recall = hits / n_said, hits / n_gold
    found = entity_f1(said, gold)
    assert 0 < hits < n_said
    assert found == pytest.approx((precision, recall, 2 / (1 / precision + 1 / recall)))


def test_scores_by_hand() -> None:
    assert accuracy("aab", "abb") == pytest.approx(2 / 3)
    assert entity_f1([["O", "O"]], [["O", "O"]]) == (0, 0, 0)
    assert entity_f1([["B-a", "O"]], [["B-a", "I-a"]]).f1 == 0
    assert normalized("  An  Émile's, the U.K. theatre! ") == "émiles uk theatre"
    assert exact_match("The Holocene", "holocene.") == 1
    assert exact_match("Holocenes", "Holocene") == 0
    assert exact_match("", "") == answer_f1("", "") == 1
    assert exact_match("", "Rome") == answer_f1("", "Rome") == answer_f1("Rome", "") == 0
    assert answer_f1("a", "the") == 1  # both empty once normalised
    # said: over 14 000 outfits; right: over 14,000 -> over 14000: 1 of 4, 1 of 2
    assert answer_f1("over 14 000 outfits", "over 14,000") == pytest.approx(1 / 3)
    assert answer_f1("New New York", "New York") == pytest.approx(2 * (2 / 3) / (2 / 3 + 1))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: accuracy([1], [1, 2]), "got 1 and 2"),
        (lambda: accuracy(["a"], ["a", "b"]), "got 1 and 2"),
        (lambda: accuracy([], []), "expected class ids"),
        (lambda: entity_f1([["O"]], [["O", "O"]]), r"predicted\[0\]: got 1 tags, expected 2"),
        (lambda: entities_of(["O", "person"]), r"tags\[1\]: got 'person'"),
    ],
)
def test_scores_name_what_is_wrong(call: Callable[[], object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call()


def _hold(rows: list[Span] | Generated[Span]) -> None:
    for row in rows:
        if row.start < 0:
            assert (row.answer, row.start) == ("", -1)
        else:
            assert row.answer
            assert row.context[row.start : row.start + len(row.answer)] == row.answer


def test_a_split_names_its_parts() -> None:
    assert Split([1], [2])._fields == ("train", "test")
