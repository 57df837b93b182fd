"""Chapter 7's questions: each number in an answer is computed, what an answer says is tried."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from fractions import Fraction
from functools import partial
from typing import Any

import pytest
import torch
from checkout import ROOT
from torch import Tensor, nn
from torch.nn import functional as F

from deepdive.core.hooks import HookPoint, ablate, record, replace
from deepdive.evaluate.trust import auroc, dense, trust_score
from deepdive.explain.activations.patching import patch, patch_effect
from deepdive.explain.attention_weights.flow import flow
from deepdive.explain.attention_weights.gradient_rollout import gradient_rollout
from deepdive.explain.attention_weights.norms import head_norms
from deepdive.explain.audits.bias import equal_opportunity, rates
from deepdive.explain.audits.extraction import exposure
from deepdive.explain.backward.relevance import attn_lrp, deep_taylor, lrp
from deepdive.explain.edits.embedding_attack import pgd_step
from deepdive.explain.evaluation.agreement import kendall, overlap
from deepdive.explain.evaluation.faithfulness import area, deletion
from deepdive.explain.evaluation.sanity import rank_correlation, shuffle
from deepdive.explain.games.anchors import anchor, exact_precision
from deepdive.explain.games.game import Game, all_coalitions
from deepdive.explain.games.lime import lime, perturb, weighted_ridge
from deepdive.explain.games.perturbation import (
    occlusion,
    prediction_difference,
    smallest_erasure,
)
from deepdive.explain.games.removal import resampled as drawn
from deepdive.explain.games.shapley import shapley
from deepdive.explain.gradients import gradient_norm, gradient_x_input, integrated_gradients
from deepdive.explain.rollout import mixing, rollout
from deepdive.explain.surrogates.angluin import extract
from deepdive.explain.surrogates.trees import decide, decision_tree, fidelity, rules
from deepdive.models.interpretable.attention_classifier import attentive, no_rnn
from deepdive.training.objectives.attention_divergence import divergent_loss
from deepdive_book.ch07.toys import planted, planted_circuit
from deepdive_book.ch07.toys.review_words import SENTENCE, review_words
from deepdive_book.course.questions import FILES, Item, load
from deepdive_book.data.synthetic_reviews import BAD, GOOD
from deepdive_book.site.pages import discover

CHAPTER = ROOT / "chapters" / "07_explain"
BANKS = {which: load(CHAPTER, which) for which in FILES}
ITEMS = {item.id: item for bank in BANKS.values() for item in bank.items}


def right(item: Item) -> str:
    return item.options[item.right].text


def code_of(name: str) -> str:
    """The block of code in a stem."""
    found = re.search(r"```python\n(.*?)```", ITEMS[name].stem, re.S)
    assert found is not None
    return found[1]


def test_there_are_81_items_and_two_forms_of_12() -> None:
    assert [len(BANKS[which].items) for which in ("bank", "before", "after")] == [81, 12, 12]
    assert len(ITEMS) == 105


def test_the_bank_asks_about_each_page() -> None:
    pages = {
        page.source.stem
        for page in discover(ROOT)
        if page.source.parent == CHAPTER and re.match(r"\d", page.source.stem)
    } - {"00_opening"}
    asked = [item.page for item in BANKS["bank"].items]
    assert set(asked) == pages
    assert min(asked.count(page) for page in pages if not page.endswith("_more")) >= 4


# -- the numbers


class Rows(nn.Module):
    """Any function of rows (1, S, d), with a hook point before it."""

    def __init__(self, function: Callable[[Tensor], Tensor]) -> None:
        super().__init__()
        self.rows, self.function = HookPoint(), function

    def forward(self, x: Tensor) -> Tensor:
        return self.function(self.rows(x))


def paid(way: Any, function: Callable[[Tensor], Tensor], numbers: list[float]) -> list[float]:
    """What a method gives to the rows (S, 1)."""
    toy, x = Rows(function), torch.tensor(numbers, dtype=torch.float32)[None, :, None]
    given: list[float] = way(toy, "rows", lambda: toy(x))[0].tolist()
    return given


def both_needed(points: float) -> Game:
    """Words 0 and 1 are needed together, word 2 counts nothing."""
    return Game(3, lambda kept: points * (kept[:, 0] & kept[:, 1]).double())


AND, LIFTED, CAST = both_needed(6), both_needed(100), both_needed(8)
EITHER = Game(2, lambda kept: kept.any(1).double())


def values(game: Game) -> tuple[tuple[float, ...], tuple[float, ...]]:
    return tuple(occlusion(game).tolist()), tuple(shapley(game).tolist())


def capped(start: list[float]) -> tuple[float, ...]:
    """Shares of min(a + b, 6) at a = 9, b = 3."""
    toy, x = Rows(lambda x: x.sum((1, 2)).clamp(max=6)), torch.tensor([[[9.0], [3.0]]])
    baseline = torch.tensor(start)[:, None]
    return tuple(integrated_gradients(toy, "rows", lambda: toy(x), baseline, 1200)[0][0].tolist())


PARTS = [6.0, -2.0, 2.0]


def of_unit(way: Any) -> tuple[float, ...]:
    """A unit whose inputs add 6, -2 and 2; what is paid, for a relevance of 12."""
    layer = nn.Linear(3, 1, bias=False)
    layer.weight.data = torch.tensor([PARTS])
    shares = paid(way, lambda x: layer(x.flatten(1))[0], [1, 1, 1])
    return tuple(12 / sum(shares) * share for share in shares)


def in_bits(of: list[float]) -> float:
    """What a place is worth if the model says 8/9, and `of` where it is drawn, equally often."""
    game = Game(1, lambda kept: torch.where(kept[:, 0], 8 / 9, sum(of) / len(of)).double())
    return float(prediction_difference(game)[0])


def log_odds(p: float, base: float = 2) -> float:
    return math.log(p / (1 - p), base)


CURVE = [1, 0.5, 0, 0]
ANSWERS = {  # of the four reviews
    name: torch.tensor([word == "yes" for word in column])
    for name, column in zip(
        ("truth", "model", "tree"),
        zip(*(row.strip("| ").split(" | ")[1:]
              for row in ITEMS["fidelity-of-a-tree"].stem.splitlines()
              if re.match(r"\| \d", row)), strict=True),
        strict=True,
    )
}  # fmt: skip


def alike(one: str, other: str) -> float:
    return fidelity(ANSWERS[one], ANSWERS[other])[0]


def mixed(share: Fraction | float, first: int, last: int) -> float:
    """The answer with that weight on the first vote, and the rest on the last."""
    return float(share * first + (1 - share) * last)


def share_of_first(first: int, answer: int, last: int) -> float:
    return (answer - last) / (first - last)


def apart(weight: float) -> float:
    """KL of all weight on the first of two words, from a base that gives it `weight`."""
    said = torch.tensor([[0.5, 0.5]])
    copy, base = torch.tensor([[1.0, 0.0]]), torch.tensor([[weight, 1 - weight]])
    return -float(divergent_loss(said, said, copy, base, 1.0))


EXCHANGED = torch.tensor([[[[0.0, 1.0], [1.0, 0.0]]]])  # each of two words looks at the other
LOOKS = head_norms(
    torch.tensor([[[[0.75, 0.25]]]]), torch.tensor([[[[0.2], [3.0]]]]), torch.ones(1, 1)
)[0, 0, 0].tolist()


class Head(nn.Module):
    """One look at two words, which count 8 and -6 for the answer."""

    def __init__(self, own: bool = True) -> None:
        super().__init__()
        self.weights, self.own = HookPoint(), own

    def forward(self) -> Tensor:
        looks = self.weights(torch.tensor([[[[0.0, 0, 0], [0, 0, 0], [0.5, 0.5, 0]]]]))
        looks = looks if self.own else looks.detach()
        return (looks[0, 0, 2, :2] @ torch.tensor([8.0, -6.0]))[None]


def chefer() -> tuple[float, float, float]:
    head = Head()
    first, second, _ = gradient_rollout(head, "weights", head, 2)[0].tolist()
    return first, second, float(head())


RANKS = torch.tensor([1.0, 2, 3, 4]), torch.tensor([2.0, 1, 4, 3])
GONE = 1 - rank_correlation(*RANKS)


def exchanged(paper: int, word: int, of: int = 20) -> tuple[int, int]:
    """How many texts a sum of log odds gets right, before the papers are exchanged and after."""
    if math.log(paper / (of - paper)) > math.log(word / (of - word)):
        return paper, of - paper
    return word, word


def gap(hired: tuple[int, int], able: tuple[int, int], others: int = 3) -> float:
    """In equal opportunity, where nobody else is hired."""
    said, true, groups = [], [], []
    for group, (h, a) in enumerate(zip(hired, able, strict=True)):
        said += [1] * h + [0] * (a - h + others)
        true += [1] * a + [0] * others
        groups += [group] * (a + others)
    return equal_opportunity(rates(said, true, groups))


CODES = torch.arange(4096.0)  # the larger, the more probable
FAR = trust_score(
    dense(torch.tensor([[0.0], [1], [2], [12], [13], [14]]), [0, 0, 0, 1, 1, 1], k=2),
    torch.tensor([[100_000.0]]), [1],
).item()  # fmt: skip
SURE = [0.9, 0.8, 0.6, 0.85, 0.5]
FOUND = auroc(SURE, [1, 1, 1, 0, 0])
ENDS_IN_A = extract(lambda words: F.pad(words, (1, 0), value=1)[:, -1] == 0, 2, length=5, drawn=50)

# By id: each answer that has a number, and the numbers that stand in it, in their order.
NUMBERS: Mapping[str, Mapping[str, tuple[float, ...]]] = {
    "points-of-and": {
        "6 and 3": (values(AND)[0][0], values(AND)[1][0]), "3 and 3": (values(AND)[1][0],) * 2,
        "6 and 6": (values(AND)[0][0],) * 2,
        "0 and 3": (6 * values(EITHER)[0][0], 6 * values(EITHER)[1][0]),
    },
    "half-filled-first": {
        "3 and 0": capped([0, 3]), "4.5 and 1.5": capped([0, 0]), "9 and 0": (9 * 1, 0 * 1),
        "0 and 0": tuple(paid(gradient_x_input, lambda x: x.sum((1, 2)).clamp(max=6), [9, 3])),
    },
    "z-plus-of-a-unit": {
        "9, 0 and 3": of_unit(deep_taylor), "12, −4 and 4": of_unit(lrp),
        "6, 0 and 2": tuple(max(0.0, part) for part in PARTS),
        "7.2, 2.4 and 2.4": tuple(12 * abs(p) / sum(map(abs, PARTS)) for p in PARTS),
    },
    "bits-of-a-word": {
        "2.00": (in_bits([8 / 9, 4 / 9]),),
        "1.66": (log_odds(8 / 9) - (log_odds(8 / 9) + log_odds(4 / 9)) / 2,),
        "1.39": (log_odds(8 / 9, math.e) - log_odds(2 / 3, math.e),), "0.22": (8 / 9 - 2 / 3,),
    },
    "area-of-a-curve": {
        "1/3": (float(area(torch.tensor(CURVE))),), "3/8": (sum(CURVE) / 4,),
        "1/2": (sum(CURVE[:-1]) / 3,), "1/6": (sum(CURVE[1:]) / 3,),
    },
    "share-that-is-left": {
        "1": (8 - 2 - (1 + 4 + 0),), "3": (8 - (1 + 4 + 0),), "6": (8 - 2,), "5": (1 + 4 + 0,),
    },
    "fidelity-of-a-tree": {
        "fidelity 1/2, accuracy 1": (alike("tree", "model"), alike("tree", "truth")),
        "fidelity 1, accuracy 1/2": (alike("tree", "truth"), alike("tree", "model")),
        "fidelity 1/2, accuracy 1/2": (alike("tree", "model"), alike("model", "truth")),
        "fidelity 1, accuracy 1": (alike("tree", "truth"),) * 2,
    },
    "states-of-a-rule": {"2": (len(ENDS_IN_A.accepts),), "1": (1,), "3": (3,), "4": (2**2,)},
    "weight-of-the-first": {"1/2": (share_of_first(2, -1, -4),)},
    "tau-of-three": {
        "−1/3": (kendall(torch.tensor([3.0, 2, 1]), torch.tensor([2.0, 1, 3])),),
        "1/3": (-kendall(torch.tensor([3.0, 2, 1]), torch.tensor([2.0, 1, 3])),),
        "−2/3": (-2 / 3,), "0": (0,),
    },
    "when-looking-away-pays": {
        "about 0.12": (0.25 / apart(1 / 8),), "about 0.52": (0.25 * apart(1 / 8),),
        "about 8.32": (apart(1 / 8) / 0.25,), "about 1.87": (0.25 / apart(7 / 8),),
    },
    "rollout-of-two-words": {
        "50 %": (100 * float(rollout([EXCHANGED] * 2)[-1, 0, 0, 0]),),
        "100 %": (100 * float((EXCHANGED @ EXCHANGED)[0, 0, 0, 0]),),
        "25 %": (100 * float(mixing(EXCHANGED)[0, 0, 0]) ** 2,),
        "0 %": (100 * float(EXCHANGED[0, 0, 0, 0]),),
    },
    "weight-and-norm": {
        "5 times": (LOOKS[1] / LOOKS[0],), "15 times": (3 / 0.2,), "1/3 times": (0.25 / 0.75,),
        "45 times": (3 / 0.2 / (0.25 / 0.75),),
    },
    "positive-part": {
        "4 and 0; answer 1": chefer(), "4 and −3; answer 1": (8 / 2, -6 / 2, chefer()[2]),
        "4 and 0; answer 4": (*chefer()[:2], sum(chefer()[:2])),
        "8 and 0; answer 1": (8, 0, chefer()[2]),
    },
    "recovered-share": {
        "75 %": (100 * (4 - -2) / (6 - -2),), "67 %": (100 * 4 / 6,),
        "25 %": (100 - 100 * (4 - -2) / (6 - -2),), "60 %": (100 * 6 / (6 + 4),),
    },
    "rank-correlation-of-four": {
        "0.60": (rank_correlation(*RANKS),), "0.40": (GONE,), "0.93": (1 - GONE / 6,),
        "0.33": (kendall(*RANKS),),
    },
    "papers-exchanged": {
        "2": (exchanged(18, 15)[1],), "15": (15,), "18": (exchanged(18, 15)[0],), "0": (0,),
    },
    "gap-of-two-groups": {
        "1/5": (gap((4, 6), (5, 10)),), "2/15": ((6 - 4) / (5 + 10),), "2": (6 - 4,), "0": (0,),
    },
    "bits-of-a-rank": {
        "8": (exposure(CODES, 4095 - 15),), "12": (exposure(CODES, 4095),),
        "4": (math.log2(15 + 1),), "16": (15 + 1,),
    },
    "smallest-step": {"3": (12 / 4,), "48": (12 * 4,), "8": (12 - 4,), "12": (12,)},
    "far-from-everything": {"1": (round(FAR, 2),), "0": (0,), "1/2": (1 / 2,), "100": (100,)},
    "auroc-of-five": {"2/3": (FOUND,), "3/5": (3 / 5,), "1/3": (1 - FOUND,), "1/2": (1 / 2,)},
    "before-together": {
        "50, and 100": (values(LIFTED)[1][0], values(LIFTED)[0][0]),
        "50, and 50": (values(LIFTED)[1][0],) * 2, "100, and 100": (values(LIFTED)[0][0],) * 2,
        "0, and 100": (0, values(LIFTED)[0][0]),
    },
    "after-together": {
        "4, and 8": (values(CAST)[1][0], values(CAST)[0][0]), "4, and 4": (values(CAST)[1][0],) * 2,
        "8, and 8": (values(CAST)[0][0],) * 2, "0, and 8": (0, values(CAST)[0][0]),
    },
    "after-either": {
        "0 and 0": values(EITHER)[0], "1/2 and 1/2": values(EITHER)[1],
        "1 and 1": values(both_needed(1))[0][:2], "1 and 0": (1, 0),
    },
    "before-mean": {"2/3": (share_of_first(2, 4, 8),)},
    "after-mean": {"1/2": (share_of_first(3, -1, -5),)},
}  # fmt: skip
# By id: the first and the last vote. The reason of a wrong share says which answer it makes.
VOTES = {"weight-of-the-first": (2, -4), "before-mean": (2, 8), "after-mean": (3, -5)}


def numbers_in(text: str) -> list[float]:
    found = re.findall(r"[−-]?\d+(?:\.\d+)?(?:/\d+)?", text)
    return [float(Fraction(number.replace("−", "-"))) for number in found]


def test_every_number_in_an_answer_is_computed_here() -> None:
    with_number = {item.id for item in ITEMS.values() if re.search(r"\d", right(item))}
    assert with_number == NUMBERS.keys()
    for name, answers in NUMBERS.items():
        assert right(ITEMS[name]) == next(iter(answers)), name
        if name not in VOTES:
            assert set(answers) == {option.text for option in ITEMS[name].options}, name
        for text, computed in answers.items():
            said = numbers_in(text)
            assert len(said) == len(computed), (name, text, said)
            digits = max((len(part) for part in re.findall(r"\.(\d+)", text)), default=3)
            near = 0.5 if "%" in text else 0.5 * 10**-digits + 2e-3
            for number, value in zip(said, computed, strict=True):
                assert abs(value - number) <= near, (name, text, value)


@pytest.mark.parametrize("name", VOTES)
def test_a_wrong_share_of_weight_makes_the_answer_that_its_reason_names(name: str) -> None:
    first, last = VOTES[name]
    for option in ITEMS[name].options:
        if not option.right:
            (said,) = numbers_in(option.why.rstrip("."))
            assert mixed(Fraction(option.text), first, last) == pytest.approx(said), option.text


# -- what answers say, tried


def test_a_saturated_score_is_flat_and_its_shares_are_not() -> None:
    toy, x = Rows(lambda x: (5 * x).sigmoid().sum((1, 2))), torch.full((1, 2, 1), 3.0)
    assert gradient_norm(toy, "rows", lambda: toy(x)).max() < 1e-4
    shares = integrated_gradients(toy, "rows", lambda: toy(x), torch.full((2, 1), -3.0))[0]
    assert shares.min() > 0.9


def test_two_baselines_may_give_a_word_shares_of_opposite_sign_without_a_gap() -> None:
    toy, x = Rows(lambda x: x[:, 0, 0] ** 2 + x[:, 1, 0]), torch.tensor([[[1.0], [1.0]]])
    found = [
        integrated_gradients(toy, "rows", lambda: toy(x), torch.tensor([[b], [0.0]]), 64)
        for b in (0.0, -2.0)
    ]
    assert found[0][0][0, 0] > 0.9
    assert found[1][0][0, 0] < -2.9
    assert all(gap_.abs().max() < 1e-4 for _, gap_ in found)


def test_a_baseline_with_a_mask_of_its_own_leaves_a_gap_at_any_number_of_steps() -> None:
    x, b = torch.tensor([[[1.0], [2.0], [0.5]]]), torch.zeros(3, 1) - 1
    real, hidden = torch.tensor([True, True, True]), torch.tensor([True, False, False])

    def f(x: Tensor, mask: Tensor) -> Tensor:
        return (x[:, mask].mean(1)[:, 0]).tanh()

    toy = Rows(lambda x: f(x, real))
    gaps, small = [], []
    b = torch.tensor([[-1.0], [0.2], [0.3]])
    for steps in (64, 256, 1024):
        shares, own = integrated_gradients(toy, "rows", lambda: toy(x), b, steps)
        small.append(abs(own.item()))
        gaps.append(float(f(x, real) - f(b[None], hidden) - shares.sum()))
    assert max(small) < 1e-4
    assert min(map(abs, gaps)) > 0.5
    assert max(gaps) - min(gaps) < 1e-3


def test_a_layer_norm_says_the_same_of_a_row_and_its_double() -> None:
    x, after = torch.randn(1, 4, 16), torch.randn(16)
    toy = Rows(lambda x: (F.layer_norm(x, (16,), eps=0.0) @ after).sum(1))
    assert torch.allclose(toy(x), toy(2 * x), atol=1e-4)
    assert gradient_x_input(toy, "rows", lambda: toy(x)).abs().max() < 1e-4


def test_without_the_bias_in_the_sum_the_inputs_get_its_share() -> None:
    space: dict[str, Any] = {}
    exec(code_of("bias-in-the-rule"), space)
    x, weight, bias = torch.randn(5).abs(), torch.rand(3, 5), torch.rand(3)
    layer = nn.Linear(5, 3)
    layer.weight.data, layer.bias.data = weight, bias
    given = space["epsilon_rule"](x, weight, bias, x @ weight.T + bias)
    assert torch.allclose(given.sum(), (x @ weight.T + bias).sum())
    proper = sum(paid(lrp, lambda rows: layer(rows.flatten(1)).sum(1), x.tolist()))
    assert proper == pytest.approx(float((x @ weight.T).sum()), abs=1e-4)
    assert proper < float(given.sum())


def test_what_is_drawn_again_costs_nothing() -> None:
    """Behind `do` only `not` fits, and in the last place each adjective does."""
    toy = review_words()
    text = toy.tokens("i do not find the music dull .")[0]
    denial, adjective = (
        int((text == toy.tokens(word)[0, 1]).nonzero()) for word in ("not", "dull")
    )
    fit = torch.cat([toy.tokens(word)[0, 1:2] for word in (*GOOD, *BAD)])

    def redrawn(kept: Tensor) -> Tensor:
        texts = text.repeat(len(kept), len(fit), 1)
        texts[:, :, adjective] = fit
        return texts

    game = drawn(lambda rows: toy.model(rows).softmax(-1)[:, 1], text, redrawn)
    bits = prediction_difference(game)
    assert abs(bits[denial]) < 1e-6
    assert bits[adjective] > 2
    without = text[(torch.arange(len(text)) < denial - 1) | (torch.arange(len(text)) > denial)]
    with torch.no_grad():
        assert toy.model(text[None]).argmax() == 1
        assert toy.model(without[None]).argmax() == 0, "without `do not` the answer turns"


def test_greedy_takes_a_larger_set_where_either_of_two_would_do() -> None:
    game = Game(4, lambda kept: kept[:, :2].any(1).double() + 0.1 * kept[:, 3].double())
    exact, greedy = smallest_erasure(game, 0.5), smallest_erasure(game, 0.5, beam=1)
    assert exact is not None
    assert greedy is not None
    assert exact.tolist() == [True, True, False, False]
    assert greedy.sum() > 2


def test_a_curve_with_blanks_prefers_the_word_at_which_a_blank_turns_the_answer() -> None:
    """Without the first word nothing is known; a blank for the second turns the answer round."""
    game = Game(3, lambda kept: torch.where(kept[:, 1], 0.5 + 0.5 * kept[:, 0].double(), 0.0))
    true, found = torch.tensor([2.0, 0, 1]), occlusion(game)
    assert found.argmax() == 1
    assert area(deletion(game, found)) < area(deletion(game, true))


def test_the_width_of_lime_changes_no_sum_and_may_turn_a_sign() -> None:
    def weights(model: planted.Planted, text: str, width: float) -> Tensor:
        tokens = planted.ids(text)
        game = Game(len(tokens), lambda kept: model(tokens.where(kept, 0)))
        free = partial(weighted_ridge, penalty=0)
        return lime(game, all_coalitions(len(tokens)), width, free)[0]

    text = "the film was not good"
    narrow, wide = [weights(planted.SignedWords(), text, width) for width in (0.1, 5.0)]
    assert torch.allclose(narrow, wide, atol=1e-6)
    narrow, wide = [weights(planted.Negation(), text, width) for width in (0.1, 5.0)]
    assert narrow[-1] < -0.5
    assert wide[-1] > narrow[-1] + 0.4


def test_a_line_on_few_texts_is_praised_too_much() -> None:
    words = 14
    drawn = torch.randn(2**10, generator=torch.Generator().manual_seed(0))
    places = torch.tensor([int(2**i % 1023) for i in range(words)])
    noise = Game(words, lambda kept: drawn[(kept.long() @ places) % 1023].double())
    free = partial(weighted_ridge, penalty=1e-3)
    few, many = [lime(noise, perturb(words, n), 5.0, free)[1] for n in (25, 1600)]
    assert few > 0.4
    assert many < 0.1


def test_an_empty_rule_holds_a_decision_that_nearly_always_stays() -> None:
    game = Game(6, lambda kept: kept.sum(1).double() - 0.5)  # turns only where all words are gone
    found = anchor(game)
    assert found.found
    assert not found.parts.any()
    assert exact_precision(game, found.parts) >= 0.95
    assert occlusion(game).min() > 0, "the score moves with each word"


def test_rows_divided_by_their_length_are_no_sum_of_words() -> None:
    row, coefficients = torch.tensor([3.0, 2.0, 1.0]), torch.tensor([1.0, 0.0, 2.0])

    def divided(kept: Tensor) -> Tensor:
        there = row * kept
        return (there @ coefficients) / there.norm(dim=1).clamp(min=1e-9)

    share = row * coefficients / row.norm()
    value = shapley(Game(3, divided))
    assert (value - share).abs().max() > 0.2
    assert value[1] < -0.2, "it has no coefficient, and makes the others count less"
    one_length = shapley(Game(3, lambda kept: (row * kept / row.norm()) @ coefficients))
    assert torch.allclose(one_length, share.double(), atol=1e-6)


def test_a_tree_that_never_erred_may_fail_on_other_reviews() -> None:
    """Where it is made two words come together, so that two classifiers say the same there."""
    made = torch.tensor([[True, True], [False, False]] * 20)
    tree = rules(decision_tree(made, made[:, 0], depth=1))
    elsewhere = torch.tensor([[True, False], [False, True]] * 20)
    for bag, expected in ((made, [1, 1]), (elsewhere, [0, 1])):
        said = decide(tree, bag)
        assert sorted(fidelity(said, bag[:, word])[0] for word in (0, 1)) == expected


def test_a_baseline_of_the_cost_leaves_the_mean_gradient_and_lowers_its_variance() -> None:
    chance = torch.tensor([1.0, 1, 3, 3]) / 8
    slope, cost = torch.tensor([-0.5, 0.5, -0.5, 0.5]), torch.tensor([8.0, 12, 20, 8])
    means, spreads = [], []
    for less in (0.0, float(chance @ cost)):
        drawn = slope * (cost - less)
        means.append(float(chance @ drawn))
        spreads.append(float(chance @ drawn**2) - means[-1] ** 2)
    assert means == [-2, -2]
    assert spreads == pytest.approx([46, 3.75])


def test_the_state_of_a_full_stop_has_read_the_text_only_behind_an_lstm() -> None:
    texts = torch.tensor([[2, 3, 4, 1], [5, 6, 7, 1]])  # 1 is the full stop
    for model, same in ((attentive(8), False), (no_rnn(8), True)):
        with torch.no_grad(), record(model, "states") as seen:
            model(texts)
        (states,) = seen["states"]
        assert torch.allclose(states[0, -1], states[1, -1]) is same


def test_two_lists_with_the_same_first_three_words_may_have_a_tau_near_0() -> None:
    one = torch.arange(40.0, 0, -1)
    other = one.clone()
    other[3:23] = other[3:23].flip(0)  # of 37 words that count nothing, 20 are reversed
    other[23:] = other[23:].flip(0)
    other[3:] = torch.cat([other[23:], other[3:23]])
    assert overlap(one, other, 3) == 1
    assert kendall(one, other) < 0
    assert math.comb(40, 2) == 780
    assert math.comb(37, 2) == 666


def test_the_loop_that_multiplies_on_the_wrong_side_is_another_table() -> None:
    weights = [torch.randn(1, 2, 4, 4).softmax(-1) for _ in range(3)]
    layers = [mixing(layer)[0] for layer in weights]
    space: dict[str, Any] = {"torch": torch, "n": 4, "layers": layers}
    exec(code_of("order-of-the-layers"), space)
    ones = torch.ones(4)
    assert torch.allclose(space["rolled"].sum(1), ones, atol=1e-5)
    proper = rollout(weights)[-1, 0]
    assert torch.allclose(proper, layers[2] @ layers[1] @ layers[0], atol=1e-6)
    assert not torch.allclose(space["rolled"], proper, atol=1e-2)


def test_flows_into_one_state_add_up_to_more_than_1() -> None:
    even = torch.full((1, 1, 4, 4), 0.25)
    into = flow([even] * 4, [0])[0]
    assert into.tolist() == pytest.approx([1, 1, 1, 1])


def test_maps_of_two_classes_are_one_map_if_no_gradient_comes() -> None:
    class Two(Head):
        def forward(self) -> Tensor:
            answer = super().forward()
            learned = torch.ones(2, requires_grad=True)
            return torch.cat([answer, -answer]) * learned

    live, cut = Two(), Two(own=False)
    maps = gradient_rollout(live, "weights", live, 2)
    assert not torch.equal(maps[0], maps[1])
    maps = gradient_rollout(cut, "weights", cut, 2)
    assert torch.equal(maps[0], maps[1])


def test_scores_that_rise_alike_keep_the_weights_and_change_single_relevances() -> None:
    def head(x: Tensor) -> Tensor:
        return 16 * x[:, :, 0].softmax(-1)[:, 0]

    low, high = paid(attn_lrp, head, [1.0, 2.0]), paid(attn_lrp, head, [6.0, 7.0])
    assert float(head(torch.tensor([[[1.0], [2.0]]]))) == pytest.approx(
        float(head(torch.tensor([[[6.0], [7.0]]]))), abs=1e-4
    )
    assert abs(low[0] - high[0]) > 1
    assert sum(low) == pytest.approx(sum(high), abs=1e-3)


# -- the hand-built network of orders


def tokens(text: str) -> Tensor:
    return planted_circuit.ids(text)[None]


def tea_or_milk(logits: Tensor) -> Tensor:
    words = planted_circuit.WORDS
    return logits[:, words.index("tea")] - logits[:, words.index("milk")]


CLEAN = "<s> ann tea , bob milk , ann"


def shares(source: str, run: str, layer: int) -> list[float]:
    model = planted_circuit.Orders()
    found = patch(model, f"layers.{layer}.heads", tokens(source), tokens(run), tea_or_milk)
    return [abs(round(float(share), 6)) for share in patch_effect(found)[0]]


def test_a_head_on_the_way_that_is_equal_in_both_texts_recovers_nothing() -> None:
    drinks, names = "<s> ann milk , bob tea , ann", "<s> bob tea , ann milk , ann"
    assert shares(CLEAN, drinks, 0)[0] == shares(drinks, CLEAN, 0)[0] == 0
    assert shares(CLEAN, names, 0)[0] == 1, "it is on the way: here it brings all back"


def test_a_head_with_a_twin_is_enough_and_not_needed() -> None:
    stranger = "<s> cem tea , bob milk , dia"
    assert shares(CLEAN, stranger, 1)[0] == 1
    assert shares(stranger, CLEAN, 1)[0] == 0


def test_zeros_lose_every_answer_without_a_constant_and_its_mean_loses_none() -> None:
    model, texts = planted_circuit.Orders(), planted_circuit.drawn_orders(40)
    rows = torch.cat([tokens(text) for text, _, _ in texts])
    own = [planted_circuit.WORDS.index(drink) for _, drink, _ in texts]
    constant = planted_circuit.HEADS[0].index("constant")
    with ablate(model, "layers.0.heads", [constant]), torch.no_grad():
        assert model(rows)[range(40), own].abs().max() < 1e-6

    def mean(heads: Tensor) -> Tensor:
        changed = heads.clone()
        changed[:, constant] = heads[:, constant].mean(0)
        return changed

    with replace(model, "layers.0.heads", mean), torch.no_grad():
        assert (model(rows)[range(40), own] - 10).abs().max() < 1e-6


# -- a trained network


def test_shuffling_the_last_layer_leaves_attention_and_moves_gradients() -> None:
    toy = review_words()
    text = toy.tokens(SENTENCE)

    def looked() -> tuple[Tensor, Tensor]:
        with torch.no_grad(), record(toy.model, "*.weights") as seen:
            said = toy.model(text)
        return torch.stack([calls[0] for calls in seen.values()]), said

    def slopes() -> Tensor:
        point = toy.asked(SENTENCE, 0).point
        return gradient_x_input(toy.model, point, lambda: toy.model(text)[0, :1])[0]

    before, first = looked(), slopes()
    shuffle(toy.model.get_submodule("out"), torch.Generator().manual_seed(0))
    after, now = looked(), slopes()
    assert torch.equal(before[0], after[0])
    assert not torch.allclose(before[1], after[1], atol=0.1)
    assert not torch.allclose(first, now, atol=1e-3)


def test_new_random_numbers_pass_a_check_that_asks_for_change() -> None:
    found = [abs(rank_correlation(*torch.randn(2, 40))) for _ in range(20)]
    assert sum(found) / 20 < 0.3


# -- shortcuts, groups, steps


def test_each_text_under_both_names_leaves_the_name_no_vote() -> None:
    labels = [1] * 50 + [0] * 50
    with_name = [label == 1 if i % 50 else label == 0 for i, label in enumerate(labels)]
    both = [
        (name, y) for named, y in zip(with_name, labels, strict=True) for name in (named, not named)
    ]
    for pairs, odds in ((list(zip(with_name, labels, strict=True)), 49), (both, 1)):
        of_class = [name for name, y in pairs if y]
        assert sum(of_class) / (len(of_class) - sum(of_class)) == odds


def test_colours_that_add_up_give_the_answer_away_at_the_wrong_words_too() -> None:
    game = Game(5, lambda kept: kept.double() @ torch.tensor([3.0, -1, 0, -0.5, 1]).double() - 0.2)
    colors = shapley(game)
    turned = colors.roll(2)
    assert not torch.allclose(turned, colors)
    assert turned.sum() == pytest.approx(float(game.everything() - game.nothing()))


def test_pairs_of_names_may_agree_while_the_groups_fare_unlike() -> None:
    """Hired by office alone; nine of ten in a group have the office of the group."""
    office = [0] * 9 + [1] + [1] * 9 + [0]
    said = office * 2
    true = [1] * 20 + [0] * 20
    groups = ([0] * 10 + [1] * 10) * 2
    assert equal_opportunity(rates(said, true, groups)) == pytest.approx(0.8)


@pytest.mark.parametrize("many", [1, 30])
def test_a_length_over_the_batch_saves_the_reviews_of_a_batch(many: int) -> None:
    """Each review says 1, its gradient has the length 1, and the radius is 1.2."""
    x, way = torch.zeros(many, 2, 3), torch.tensor([0.6, 0.8, 0.0])

    def said(x: Tensor) -> Tensor:
        return 1 + x[:, 0] @ way

    def slope(x: Tensor) -> Tensor:
        rows = x.clone().requires_grad_()
        return torch.autograd.grad(said(rows).sum(), rows)[0]

    space: dict[str, Any] = {
        "x": x, "r": torch.zeros_like(x), "gradient": slope, "steps": 5, "pace": 0.5, "radius": 1.2,
    }  # fmt: skip
    exec(code_of("norm-of-a-batch"), space)
    assert bool((said(x + space["r"]) < 0).all()) is (many == 1)
    toy = Rows(said)
    moved = pgd_step(toy, "rows", lambda: toy(x), 1.2, steps=5, pace=0.5)
    assert (said(moved) < 0).all()
