"""Scores of translations: all references count, and an interval holds what was found."""

import pytest

from deepdive.evaluate.translations import bleu, bleu_difference, score, sentence_chrf


def test_scores_know_all_references() -> None:
    output = ["the cat sits on the mat", "it is raining hard"]
    right = [["a cat is on a mat", "the cat sits on the mat"], ["it is raining hard"]]
    assert score(output, right, samples=50).bleu == pytest.approx(100)
    first = [refs[:1] for refs in right]
    worse = score(output, first, samples=50)
    assert worse.bleu < 70
    low, high = worse.bleu_interval
    assert low <= worse.bleu <= high
    assert bleu(output, first) == pytest.approx(worse.bleu)
    assert "nrefs:1" in worse.signature
    assert worse.as_dict()["bleu_interval"] == [round(low, 2), round(high, 2)]
    assert sentence_chrf("abc", ["abc", "x"]) == pytest.approx(100)


def test_each_sentence_needs_a_reference() -> None:
    with pytest.raises(ValueError, match="1 of them empty"):
        bleu(["a", "b"], [["a"], []])
    with pytest.raises(ValueError, match="2 hypotheses; got 1"):
        score(["a", "b"], [["a"]])


def test_samples_in_which_nothing_matches_are_averaged_with_the_others() -> None:
    """sacreBLEU gives a float for those and a numpy number for the others, and refuses the mix."""
    output = ["a cat sits here", *["nothing"] * 5]
    right = [["a cat sits here"], *[["a dog stands there"]] * 5]
    found = score(output, right, samples=50)
    low, high = found.bleu_interval
    assert low < found.bleu < high
    assert score(["xyz"] * 5 + ["abc"], [["abc"]] * 6, samples=50).chrf_interval[0] < 20
    assert score(["b"] * 3, [["a c"]] * 3, samples=20).bleu_interval == (0, 0)


def test_difference_of_two_systems() -> None:
    """It is the difference of their BLEU, and its interval leaves out what is hard for both."""
    right = [f"a cat number {i} sat on mat {i % 7} today" for i in range(60)]
    # A third of the sentences is lost to both; the second system loses one word more in each fifth.
    first = [s if i % 3 else "nothing at all of it" for i, s in enumerate(right)]
    second = [s if i % 5 else s.replace("today", "now") for i, s in enumerate(first)]
    references = [[s, "another one"] for s in right]
    found = bleu_difference(first, second, references, samples=300)
    assert found.value == pytest.approx(bleu(first, references) - bleu(second, references))
    assert 0 < found.low < found.value < found.high
    alone = score(first, references, samples=300).bleu_interval
    assert found.high - found.low < 0.5 * (alone[1] - alone[0])
    assert bleu_difference(first, first, references, samples=50) == (0, 0, 0)
    with pytest.raises(ValueError, match="one or more for each of 60"):
        bleu_difference(first, second, references[:-1])
