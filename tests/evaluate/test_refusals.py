"""What a metric can't read is refused by name: NaN, another container, another script."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest
import torch

from deepdive.decoding.ctc import greedy, prefix_beam
from deepdive.evaluate import (
    calibration,
    confidence_intervals,
    detection,
    similarity,
    summaries,
    transcripts,
)
from deepdive.evaluate import translations as tr
from deepdive.explain import probes
from deepdive.explain.games.game import Game
from deepdive.explain.games.lime import lime

FOUR = np.array([0.5, 0.25, 1.0, 0.0])
LOGITS = np.array([[1.0, 2.0], [3.0, 1.0], [0.0, 1.0], [2.0, 2.0]])
TRUE = np.array([1, 0, 1, 0])
LENGTHS = torch.tensor([2, 3])
BOX = np.array([[0.5, 0.5, 0.2, 0.2], [0.2, 0.2, 0.1, 0.1]])


def marked(scores: Any = (0.9, 0.8), boxes: Any = BOX, **changes: Any) -> Any:
    settings = {
        "classes": [0, 1],
        "true_classes": [0, 1],
        "true_boxes": BOX,
        "n_classes": 2,
    } | changes
    return detection.match_boxes(scores, boxes=boxes, **settings)


def rows_of(numbers: float) -> Game:
    return Game(3, lambda kept: torch.full((len(kept),), numbers))


# Each reads an array of numbers, of which one is spoiled.
READS: dict[str, tuple[Callable[[Any], Any], np.ndarray]] = {
    "bootstrap": (confidence_intervals.bootstrap, FOUR),
    "t_interval": (confidence_intervals.t_interval, FOUR),
    "clustered": (lambda x: confidence_intervals.clustered(x, [0, 0, 1, 1]), FOUR),
    "temperature": (lambda x: calibration.temperature(x, TRUE), LOGITS),
    "reliability": (lambda x: calibration.reliability(x, TRUE), np.full((4, 2), 0.5)),
    "contextual": (lambda x: calibration.contextual(x, LOGITS), LOGITS),
    "contextual, of nothing": (lambda x: calibration.contextual(LOGITS, x), LOGITS),
    "similarity.spearman": (lambda x: similarity.spearman(torch.tensor(x), torch.arange(4)), FOUR),
    "probes.spearman": (lambda x: probes.spearman(torch.arange(4), torch.tensor(x)), FOUR),
    "mark, scores": (marked, FOUR[:2]),
    "mark, boxes": (lambda x: marked(boxes=x), BOX),
    "mark, true boxes": (lambda x: marked(true_boxes=x), BOX),
    "precisions": (lambda x: detection.precisions(x, [1, 0, 1, 0], 2), FOUR),
    "lime": (lambda x: lime(Game(2, lambda kept: torch.tensor(x)), ALL), FOUR),
    "prefix_beam": (lambda x: prefix_beam(torch.tensor(x)), np.log(np.full((4, 2), 0.5))),
}
ALL = torch.tensor([[False, False], [True, False], [False, True], [True, True]])


@pytest.mark.parametrize("name", READS)
@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_no_number_is_made_of_nan_or_infinity(name: str, value: float) -> None:
    reads, numbers = READS[name]
    reads(numbers)
    spoiled = numbers.copy()
    spoiled[-1, ...] = value
    with pytest.raises(ValueError, match=r"NaN|finite|sum to 1 only within"):
        reads(spoiled)


def test_greedy_reads_what_frames_and_symbols_there_are() -> None:
    logits = torch.randn(2, 3, 4)
    logits[:, :, 3] = -math.inf  # a symbol that never comes
    assert len(greedy(logits, LENGTHS)) == 2
    for lengths in ([2, -1], [2, 4], [2.0, 3.0]):
        with pytest.raises(ValueError, match=r"lengths: got .* 0 to 3"):
            greedy(logits, torch.tensor(lengths))
    for blank in (-1, 4):
        with pytest.raises(ValueError, match=f"blank={blank}: expected one of the 4 symbols"):
            greedy(logits, LENGTHS, blank)
    logits[1, 2, 0] = math.nan
    with pytest.raises(ValueError, match="logits: "):
        greedy(logits, LENGTHS)


def test_a_beam_search_takes_log_softmax_alone() -> None:
    for scores in (-torch.rand(4, 3), torch.full((4, 3), 1 / 3).log() - 1):
        with pytest.raises(ValueError, match=r"sum to 1 only within .* expected the log_softmax"):
            prefix_beam(scores)
    assert prefix_beam(torch.randn(4, 300).log_softmax(-1).half())


def test_boxes_that_are_none_are_refused() -> None:
    for changes, told in (
        ({"classes": [0, 2]}, "classes: got 0 to 2, expected 0 to 1"),
        ({"true_classes": [-1, 0]}, "true_classes: got -1 to 0"),
        ({"boxes": -BOX}, "boxes: a size is negative"),
        ({"true_boxes": BOX * [1, 1, 1, -1]}, "true_boxes: a size is negative"),
    ):
        with pytest.raises(ValueError, match=told):
            marked(**changes)


DRAWS: list[Callable[[int], Any]] = [
    lambda n: confidence_intervals.bootstrap(FOUR, draws=n),
    lambda n: confidence_intervals.clustered(FOUR, [0, 0, 1, 1], draws=n),
    lambda n: confidence_intervals.macro_f1_interval(TRUE, TRUE, 2, draws=n),
    lambda n: tr.score(["a b", "c"], [["a b"], ["c"]], samples=n),
    lambda n: tr.bleu_difference(["a", "b"], ["a", "c"], [["a"], ["b"]], samples=n),
    lambda n: transcripts.rate_interval(transcripts.align_all(["A", "B"], ["A", "C"]), draws=n),
]


@pytest.mark.parametrize("draw", DRAWS)
def test_an_interval_takes_one_draw_at_least(draw: Callable[[int], Any]) -> None:
    draw(5)
    with pytest.raises(ValueError, match=r"(draws|samples)=0: expected a whole number, 1 or more"):
        draw(0)


def test_an_interval_has_a_level_between_0_and_1() -> None:
    for level in (0.0, 1.0, math.nan, 95):
        for interval in (
            confidence_intervals.bootstrap,
            confidence_intervals.t_interval,
            partial(confidence_intervals.clustered, groups=[0, 0, 1, 1]),
        ):
            with pytest.raises(ValueError, match="level="):
                interval(FOUR, level=level)


def test_lime_takes_a_sample_at_least() -> None:
    with pytest.raises(ValueError, match=r"kept: got \(0, 3\), expected \(N, S\)"):
        lime(rows_of(1.0), torch.zeros(0, 3, dtype=torch.bool))


def test_groups_of_unequal_size_are_weighted_by_their_values() -> None:
    """A mean of group means would be 0.5 for each draw of the two, and another interval."""
    values, groups = [1.0] * 9 + [0.0], ["a"] * 9 + ["b"]
    found = confidence_intervals.clustered(values, groups, draws=400)
    assert found.value == 0.9
    drawn = np.random.default_rng(0).integers(2, size=(400, 2))
    means = [9 * (d == 0).sum() / (9 * (d == 0).sum() + (d == 1).sum()) for d in drawn]
    assert {*means} == {0.0, 0.9, 1.0}
    assert (found.low, found.high) == tuple(np.quantile(means, (0.025, 0.975)))
    middle = confidence_intervals.clustered(values, groups, draws=400, level=0.2)
    assert (middle.low, middle.high) == (0.9, 0.9)  # of group means it would be 0.5


@pytest.mark.parametrize(("said", "true"), [([0, 2], [0, 1]), ([0, 1], [0, 2]), ([2, 2], [0, 1])])
def test_a_class_that_is_not_below_n_classes_is_refused(said: list[int], true: list[int]) -> None:
    """Whichever of the two holds it."""
    with pytest.raises(ValueError, match="n_classes: got 2, but a class of at least that occurs"):
        confidence_intervals.macro_f1_interval(said, true, 2)


# -- containers

ONE = "the cat sat on the mat"
WRONG: list[tuple[Callable[[], Any], str]] = [
    (lambda: tr.bleu([ONE], [ONE]), r"references\[0\]: got a string"),
    (lambda: tr.score([ONE], [ONE]), r"references\[0\]: got a string"),
    (lambda: tr.bleu_difference([ONE], [ONE], [ONE]), r"references\[0\]: got a string"),
    (lambda: tr.bleu([ONE], ONE), "references: got str"),
    (lambda: tr.score(ONE, [[ONE]]), r"hypotheses: got str .* write \[hypotheses\]"),
    (lambda: tr.score([ONE], [[1]]), r"references\[0\]\[0\]: got int"),  # type: ignore[list-item]
    (lambda: tr.sentence_chrf(ONE, ONE), r"references: got str"),
    (lambda: tr.sentence_chrf(None, [ONE]), r"hypothesis\[0\]: got NoneType"),  # type: ignore[arg-type]
    (lambda: transcripts.word_error_rate(["a b"], "a"), "hypotheses: got str"),
    (lambda: transcripts.word_error_rate("a", ["a"]), "references: got str"),
    (lambda: transcripts.character_error_rate(["a"], [None]), r"hypotheses\[0\]: got None"),  # type: ignore[list-item]
    (lambda: summaries.rouge(None, ONE), r"summary\[0\]: got NoneType"),  # type: ignore[arg-type]
    (lambda: summaries.rouge(ONE, [ONE]), r"reference\[0\]: got list"),  # type: ignore[arg-type]
]


@pytest.mark.parametrize(("call", "told"), WRONG)
def test_another_container_is_refused(call: Callable[[], Any], told: str) -> None:
    with pytest.raises(TypeError, match=told):
        call()


def test_the_right_container_is_read() -> None:
    assert tr.bleu([ONE], [(ONE,)]) == pytest.approx(100)
    assert tr.score((ONE, ONE), [[ONE], [ONE]], samples=5).bleu == pytest.approx(100)


# -- scripts

CHINESE = ["你好世界", "我喜欢红色的苹果", "今天天气很好"]
PAIRS = {
    "zh": (["你好世界", "我喜欢绿色的苹果", "今天天气很好"], CHINESE),
    "char": (["私は緑のりんごが好きです"], ["私は赤いりんごが好きです"]),
    "13a": (["나는 초록 사과를 좋아한다 지금"], ["나는 빨간 사과를 좋아한다 지금"]),
}
THAI = ["ฉันชอบแอปเปิ้ลสีแดง"]


@pytest.mark.parametrize("name", PAIRS)
def test_the_tokenizer_follows_the_script(name: str) -> None:
    from sacrebleu.metrics.bleu import BLEU

    said, right = PAIRS[name]
    references = [[text] for text in right]
    found = tr.score(said, references, samples=5)
    assert f"tok:{name}|" in found.signature
    expected = BLEU(force=True, tokenize=name).corpus_score(said, [right]).score
    assert found.bleu == pytest.approx(expected) == pytest.approx(tr.bleu(said, references))
    if name != "13a":
        assert found.bleu > 30 + BLEU(force=True).corpus_score(said, [right]).score
    difference = tr.bleu_difference(said, right, references, samples=5).value
    assert difference == pytest.approx(expected - 100)


def test_which_tokenizer_it_is_is_decided_by_most_letters() -> None:
    for texts, name in (
        (CHINESE, "zh"),
        (["東京は日本の首都です"], "char"),
        (THAI, "char"),
        (["a translation with one word of 中文 in it"], "13a"),
        (["Это красное яблоко", "Το μήλο είναι κόκκινο"], "13a"),
        (["123 ..."], "13a"),
    ):
        assert tr.tokenizer_of([[text] for text in texts]) == name
