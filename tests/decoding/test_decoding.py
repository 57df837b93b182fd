"""Greedy decoding, sampling and beam search: against each other, enumeration, and recomputation."""

from __future__ import annotations

import copy
import itertools
import math
from collections import Counter
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from hypothesis import given
from hypothesis import strategies as st
from parity_registry import perturb
from torch import Tensor, nn

from deepdive.core.hooks import record
from deepdive.decoding import (
    beam,
    filter_top_k,
    filter_top_p,
    forbid,
    force,
    generating,
    greedy,
    power_penalty,
    renormalize,
    sample,
    session,
    wu_penalty,
)
from deepdive.models.transformer import decoder_only, transformer
from deepdive.models.transformer.transformer import Transformer

BOS, EOS = 1, 2


class TableState:
    def __init__(self) -> None:
        self.length = 0

    def reorder(self, index: Tensor) -> None:
        pass


class Table(nn.Module):
    """A model whose next-token logits are table[position, last token]."""

    def __init__(self, table: Tensor) -> None:
        super().__init__()
        self.table = nn.Parameter(table)

    def begin(self) -> TableState:
        return TableState()

    def step(self, tokens: Tensor, state: TableState) -> Tensor:
        places = torch.arange(state.length, state.length + tokens.shape[1])
        state.length += tokens.shape[1]
        return self.table[places, tokens]


class Recompute(nn.Module):
    """The same model without a cache: every step runs over all tokens again."""

    def __init__(self, model: Transformer) -> None:
        super().__init__()
        self.model = model

    def begin(self, src: Tensor, src_mask: Tensor | None = None) -> Any:
        class State:
            def reorder(self, index: Tensor) -> None:
                self.src, self.mask = (
                    self.src[index],
                    None if self.mask is None else self.mask[index],
                )
                self.tokens = self.tokens[index]

        state = State()
        state.src, state.mask = src, src_mask
        state.tokens = torch.empty(len(src), 0, dtype=torch.int64)
        return state

    def step(self, tokens: Tensor, state: Any) -> Tensor:
        state.tokens = torch.cat((state.tokens, tokens), dim=1)
        return self.model(state.src, state.tokens, state.mask)[:, -tokens.shape[1] :]


def sources(B: int = 8, S: int = 7, seed: int = 0) -> tuple[Tensor, Tensor]:
    generator = torch.Generator().manual_seed(seed)
    src = torch.randint(4, 16, (B, S), generator=generator)
    lengths = torch.randint(2, S + 1, (B,), generator=generator)
    lengths[0] = S
    mask = torch.arange(S) < lengths[:, None]
    return src.masked_fill(~mask, 0), mask


@pytest.fixture(scope="module")
def model() -> Transformer:
    """A model that has half learned to copy: its rows differ, and most of them end."""
    torch.manual_seed(0)
    learner = transformer.transformer(16, d_model=32, n_heads=4, n_layers=1, d_ff=64, dropout=0.0)
    optimizer = torch.optim.Adam(learner.parameters(), lr=5e-3)
    for i in range(60):
        src, mask = sources(B=32, seed=1000 + i)
        end = torch.full((32, 1), 0)
        tgt = torch.cat((torch.full((32, 1), BOS), src, end), dim=1)
        tgt[torch.arange(32), mask.sum(1) + 1] = EOS
        logits = learner(src, tgt[:, :-1], mask)
        loss = F.cross_entropy(logits.transpose(1, 2), tgt[:, 1:], ignore_index=0)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    learner.double().eval()
    lengths = {len(row) for row in greedy(learner, *sources(), max_length=12)}
    assert len(lengths) > 2, f"all rows have lengths {lengths}: the tests below would show little"
    return learner


def test_a_beam_of_one_is_greedy(model: Transformer) -> None:
    for seed in range(3):
        src, mask = sources(seed=seed)
        expected = greedy(model, src, mask, max_length=12)
        for alpha in (0.0, 0.6):
            found = beam(model, src, mask, width=1, alpha=alpha, max_length=12)
            assert [hypotheses[0].tokens for hypotheses in found] == expected


def test_greedy_takes_the_most_probable_token(model: Transformer) -> None:
    src, mask = sources()
    for r, tokens in enumerate(greedy(model, src, mask, max_length=12)):
        own = src[r : r + 1, mask[r]]
        best = model(own, torch.tensor([[BOS, *tokens]])).argmax(-1)[0].tolist()
        assert tokens == best[: len(tokens)]
        assert len(tokens) == 12 or best[len(tokens)] == EOS


@pytest.mark.parametrize("alpha", [0.0, 0.6, 1.0])
@pytest.mark.parametrize("penalty", [wu_penalty, power_penalty])
def test_a_wide_beam_is_exhaustive_search(alpha: float, penalty: Any) -> None:
    vocab, length = 5, 4
    generator = torch.Generator().manual_seed(3)
    table = 2 * torch.randn(length, vocab, vocab, generator=generator, dtype=torch.float64)
    log_p = table.log_softmax(-1)
    scored = []
    for n in range(length + 1):
        for tokens in itertools.product([0, 1, 3, 4], repeat=n):
            ended = [*tokens, EOS] if n < length else list(tokens)  # the longest are cut
            steps = zip(range(length), [BOS, *tokens], ended, strict=False)
            total = sum(log_p[place, last, new].item() for place, last, new in steps)
            scored.append((total / penalty(len(ended), alpha), list(tokens)))
    scored.sort(reverse=True)
    found = beam(
        Table(table),
        width=400,
        n_best=20,
        alpha=alpha,
        penalty=penalty,
        look_ahead=length,
        max_length=length,
    )[0]
    assert [h.tokens for h in found] == [tokens for _, tokens in scored[:20]]
    assert [h.score for h in found] == pytest.approx([score for score, _ in scored[:20]], abs=1e-12)


@pytest.mark.parametrize("vocab", [1, 2, 3, 5])
@pytest.mark.parametrize("width", [1, 2, 3, 5, 40])
def test_a_search_without_an_end_keeps_every_beam(vocab: int, width: int) -> None:
    """As many hypotheses as there are sequences, or as the beam is wide: and the best of them."""
    length = 3
    generator = torch.Generator().manual_seed(vocab)
    table = torch.randn(length, vocab, vocab, generator=generator, dtype=torch.float64)
    found = beam(
        Table(table), width=width, n_best=width, alpha=0.0, max_length=length, bos=0, eos=None
    )[0]
    assert len(found) == min(width, vocab**length)
    if width >= vocab**length:
        log_p, scored = table.log_softmax(-1), []
        for tokens in itertools.product(range(vocab), repeat=length):
            steps = zip(range(length), [0, *tokens], tokens, strict=False)
            scored.append((sum(log_p[i, a, b].item() for i, a, b in steps), list(tokens)))
        assert [h.tokens for h in found] == [tokens for _, tokens in sorted(scored, reverse=True)]


def test_an_end_token_outside_the_vocabulary_ends_nothing() -> None:
    table = torch.randn(3, 3, 3, generator=torch.Generator().manual_seed(0))
    settings: dict[str, Any] = {"width": 3, "n_best": 3, "max_length": 3, "bos": 0}
    assert beam(Table(table), eos=7, **settings) == beam(Table(table), eos=None, **settings)


def test_a_vocabulary_of_one_token() -> None:
    one = Table(torch.zeros(4, 1, 1))
    assert beam(one, bos=0, eos=0, max_length=3)[0][0].tokens == []
    assert beam(one, bos=0, eos=None, max_length=3)[0][0].tokens == [0, 0, 0]
    assert greedy(one, bos=0, eos=None, max_length=3) == [[0, 0, 0]]


def test_a_beam_with_nothing_to_continue_leaves_the_others() -> None:
    """After 3 the model says nothing more: minus infinity for every token."""
    table = torch.zeros(4, 5, 5)
    table[0, BOS] = torch.tensor([-9.0, -9.0, -9.0, 1.0, 0.0])
    table[:, 3] = float("-inf")
    table[1:, 4] = torch.tensor([-9.0, -9.0, 1.0, 0.0, -9.0])
    for look_ahead in (0, 4, None):
        found = beam(Table(table), width=2, n_best=2, max_length=4, look_ahead=look_ahead)[0]
        assert found[0].tokens == [4]
        assert all(math.isfinite(h.score) for h in found)


def test_what_has_ended_may_have_nothing_left() -> None:
    """Row 0 ends at once, and what the model would say after its end is nobody's business."""
    table = torch.zeros(4, 5, 5)
    table[0, 0, EOS] = table[:, 3, 3] = 99.0
    table[1:, EOS] = float("-inf")
    prompt = [[0], [3], [3], [3], [3]]
    expected = [[], *[[3, 3, 3]] * 4]
    assert greedy(Table(table), prompt=prompt, max_length=3) == expected
    assert sample(Table(table), prompt=prompt, max_length=3) == expected


def test_how_far_the_search_looks_ahead() -> None:
    """The end is likely at once, but a longer sequence has the better mean."""
    table = torch.full((5, 5, 5), 1e-6)
    table[0, BOS] = torch.tensor([0.0, 0.0, 0.4, 0.35, 0.25])
    table[1, 3, 3] = table[2, 3, 3] = table[3, 3, EOS] = 1.0
    settings: dict[str, Any] = {"width": 1, "alpha": 1.0, "penalty": power_penalty, "max_length": 5}
    found = {n: beam(Table(table.log()), look_ahead=n, **settings)[0][0] for n in (0, 2, 4, None)}
    assert found[0].tokens == found[None].tokens == []
    assert found[4].tokens == [3, 3, 3]
    assert found[4].score == pytest.approx(math.log(0.35) / 4, abs=1e-4)
    assert found[2].tokens == [3, 3, 3]  # log 0.35 / 3 is better than log 0.4 too

    # Two beams: the better one can still win, the other cannot.
    table[1, 4] = torch.tensor([0.25, 0.0, 0.5, 0.0, 0.25])
    settings["width"] = 2
    found = {n: beam(Table(table.log()), look_ahead=n, **settings)[0][0] for n in (0, None)}
    assert found[0].tokens == [3, 3, 3]
    assert found[None].tokens == []


def test_a_wider_beam_finds_no_worse(model: Transformer) -> None:
    src, mask = sources()
    best = []
    for width in (1, 3, 30):
        found = beam(model, src, mask, width=width, alpha=0.0, look_ahead=8, max_length=8)
        best.append([hypotheses[0].score for hypotheses in found])
    assert all(a >= b - 1e-12 for a, b in zip(best[2], best[0], strict=True))
    assert best[2] != best[0], "the beam never found better than greedy: the test shows nothing"


def test_a_score_is_the_teacher_forced_log_probability(model: Transformer) -> None:
    src, mask = sources()
    found = beam(model, src, mask, width=4, n_best=4, alpha=0.7, max_length=6)
    for r, hypotheses in enumerate(found):
        assert len(hypotheses) == 4
        assert hypotheses == sorted(hypotheses, key=lambda h: -h.score)
        for h in hypotheses:
            target = torch.tensor([*h.tokens, EOS] if h.ended else h.tokens)
            read = torch.tensor([[BOS, *target[:-1].tolist()]])
            log_p = model(src[r : r + 1, mask[r]], read).log_softmax(-1)[0]
            total = log_p[torch.arange(len(target)), target].sum().item()
            assert h.log_prob == pytest.approx(total, abs=1e-9)
            assert h.score == pytest.approx(total / ((5 + len(target)) / 6) ** 0.7, abs=1e-9)
    assert {h.ended for hypotheses in found for h in hypotheses} == {True, False}


def test_a_batch_is_its_rows_one_by_one(model: Transformer) -> None:
    src, mask = sources(B=8)
    together = greedy(model, src, mask, max_length=12)
    searched = beam(model, src, mask, width=3, n_best=3, max_length=12)
    for r in range(8):
        own = src[r : r + 1, mask[r]]
        assert greedy(model, own, max_length=12)[0] == together[r]
        alone = beam(model, own, width=3, n_best=3, max_length=12)[0]
        assert [h.tokens for h in alone] == [h.tokens for h in searched[r]]
        assert [h.score for h in alone] == pytest.approx([h.score for h in searched[r]])


def test_the_cache_changes_nothing(model: Transformer) -> None:
    src, mask = sources()
    slow = Recompute(model)
    assert greedy(model, src, mask, max_length=12) == greedy(slow, src, mask, max_length=12)
    for a, b in zip(
        beam(model, src, mask, width=3, n_best=3, max_length=12),
        beam(slow, src, mask, width=3, n_best=3, max_length=12),
        strict=True,
    ):
        assert [h.tokens for h in a] == [h.tokens for h in b]
        assert [h.score for h in a] == pytest.approx([h.score for h in b])


def test_rows_that_ended_leave_the_batch(model: Transformer) -> None:
    sizes = []
    step = model.step

    def spy(tokens: Tensor, state: Any) -> Tensor:
        sizes.append(len(tokens))
        return step(tokens, state)

    watched = copy.copy(model)
    watched.__dict__["step"] = spy
    written = greedy(watched, *sources(), max_length=12)
    assert sizes[0] == 8
    assert len(sizes) == max(min(len(row) + 1, 12) for row in written)
    for length, size in enumerate(sizes):
        unfinished = sum(len(row) >= length for row in written)
        assert unfinished <= size <= max(unfinished / 0.75, 1)


def test_a_language_model_continues_its_prompt() -> None:
    torch.manual_seed(0)
    lm = perturb(decoder_only.tiny().double().eval(), 1, 0.3)
    prompt = [[BOS, 5, 9], [BOS, 7, 30]]
    new = greedy(lm, prompt=prompt, eos=None, max_length=60)  # long: weights by columns
    whole = torch.tensor([p + n for p, n in zip(prompt, new, strict=True)])
    assert lm(whole).argmax(-1)[:, 2:-1].tolist() == whole[:, 3:].tolist()
    assert greedy(lm, prompt=torch.tensor(prompt), eos=None, max_length=60) == new
    assert greedy(lm, eos=None, max_length=4) == greedy(lm, prompt=[[BOS]], eos=None, max_length=4)
    found = beam(lm, prompt=prompt, width=1, eos=None, max_length=60)
    assert [h[0].tokens for h in found] == new


def chi_square(counts: Counter[int], p: Tensor, n: int) -> float:
    return sum((counts[i] - n * q) ** 2 / (n * q) for i, q in enumerate(p.tolist()) if q > 0)


@pytest.mark.parametrize(
    ("settings", "freedom"),
    [
        ({}, 7),
        ({"temperature": 0.5}, 7),
        ({"temperature": 2.0}, 7),
        ({"top_k": 3}, 2),
        ({"top_p": 0.8}, None),
        ({"temperature": 1.5, "top_k": 5, "top_p": 0.7}, None),
    ],
)
def test_samples_have_the_distribution(settings: dict[str, Any], freedom: int | None) -> None:
    logits = torch.tensor([1.2, 0.3, -0.5, 2.0, 0.0, -1.0, 0.7, 1.0])
    scores = logits / settings.get("temperature", 1.0)
    if "top_k" in settings:
        scores = filter_top_k(scores, settings["top_k"])
    if "top_p" in settings:
        scores = filter_top_p(scores, settings["top_p"])
    p = scores.softmax(-1)
    freedom = int((p > 0).sum()) - 1 if freedom is None else freedom
    assert freedom == int((p > 0).sum()) - 1

    n = 8000
    draws = sample(
        Table(logits.expand(1, 8, 8).clone()),
        prompt=[[0]] * n,
        eos=None,
        max_length=1,
        generator=torch.Generator().manual_seed(5),
        **settings,
    )
    counts = Counter(row[0] for row in draws)
    assert all(p[token] > 0 for token in counts)
    # 99.9 percent points of the chi-square distribution, by degrees of freedom
    limit = {1: 10.83, 2: 13.82, 3: 16.27, 4: 18.47, 5: 20.52, 6: 22.46, 7: 24.32}[freedom]
    assert chi_square(counts, p, n) < limit
    wrong = (0.8 * logits).softmax(-1)
    assert chi_square(counts, wrong, n) > limit, "the test cannot tell a wrong temperature"


def test_a_generator_fixes_the_draw(model: Transformer) -> None:
    src, mask = sources()
    first, second, third = (
        sample(model, src, mask, max_length=8, generator=torch.Generator().manual_seed(seed))
        for seed in (1, 1, 2)
    )
    assert first == second
    assert first != third


SPREAD = st.sampled_from([0.1, 1.0, 8.0])
LOGITS = SPREAD.flatmap(
    lambda a: st.lists(st.floats(-a, a), min_size=1, max_size=12).map(torch.tensor)
)


@given(LOGITS, st.floats(0.01, 1.0))
def test_top_p_keeps_the_smallest_set(logits: Tensor, p: float) -> None:
    kept = filter_top_p(logits, p)
    inside = kept > float("-inf")
    assert torch.equal(kept[inside], logits[inside])
    probabilities = logits.softmax(-1)
    mass = probabilities[inside].sum().item()
    assert mass >= p - 1e-6
    if not inside.all():
        assert probabilities[inside].min() >= probabilities[~inside].max() - 1e-7
        assert mass - probabilities[inside].min().item() < p + 1e-6


def test_a_nucleus_of_exactly_p_is_enough() -> None:
    """Halves and quarters, whose sums are exact: "p or more" takes in p itself."""
    logits = torch.tensor([0.5, 0.25, 0.125, 0.125]).log()
    assert torch.equal(logits.softmax(-1), logits.exp())
    for p, size in {0.5: 1, 0.75: 2, 0.875: 3}.items():
        assert int((filter_top_p(logits, p) > float("-inf")).sum()) == size


def test_top_p_in_numbers() -> None:
    logits = torch.tensor([0.25, 0.5, 0.15, 0.1]).log()
    sizes = {0.4: 1, 0.49: 1, 0.51: 2, 0.74: 2, 0.76: 3, 0.89: 3, 0.91: 4, 1.0: 4}
    for p, size in sizes.items():
        assert int((filter_top_p(logits, p) > float("-inf")).sum()) == size


@given(LOGITS, st.data())
def test_top_k_keeps_the_k_greatest(logits: Tensor, data: st.DataObject) -> None:
    k = data.draw(st.integers(1, len(logits)))
    inside = filter_top_k(logits, k) > float("-inf")
    least = logits.sort(descending=True).values[k - 1]
    assert torch.equal(inside, logits >= least)
    assert int(inside.sum()) >= k


def test_filters_act_on_every_row_alone() -> None:
    logits = torch.randn(3, 4, 9, generator=torch.Generator().manual_seed(0))
    for f in (lambda x: filter_top_k(x, 3), lambda x: filter_top_p(x, 0.6)):
        rows = torch.stack([f(row) for row in logits.flatten(0, 1)]).unflatten(0, (3, 4))
        assert torch.equal(f(logits), rows)


def test_rules(model: Transformer) -> None:
    src, mask = sources()
    usual = greedy(model, src, mask, max_length=6)
    common = Counter(token for row in usual for token in row).most_common(1)[0][0]
    other = greedy(model, src, mask, max_length=6, rules=[forbid(common, EOS)])
    assert all(common not in row and len(row) == 6 for row in other)
    forced = greedy(model, src, mask, max_length=6, rules=[forbid(EOS), force(EOS, at=3)])
    assert all(len(row) == 3 for row in forced)
    found = beam(model, src, mask, width=3, max_length=6, rules=[forbid(EOS), force(9, at=2)])
    assert all(h[0].tokens[2] == 9 and not h[0].ended for h in found)
    drawn = sample(model, src, mask, max_length=6, rules=[forbid(*range(10, 16))])
    assert all(token < 10 for row in drawn for token in row)
    log_p = torch.tensor([[0.5, 0.25, 0.25]]).log()
    left = renormalize(forbid(2)(log_p, 0), 0)
    assert left.exp()[0].tolist() == pytest.approx([2 / 3, 1 / 3, 0.0])


def test_the_model_is_left_as_it_was() -> None:
    trained = transformer.transformer(16, d_model=32, n_heads=4, n_layers=1, d_ff=64, dropout=0.5)
    trained.encoder.eval()  # a frozen part stays as it is
    modes = {name: part.training for name, part in trained.named_modules()}
    own = {name: set(part.__dict__) for name, part in trained.named_modules()}
    written = greedy(trained, *sources(), max_length=8)
    assert greedy(trained, *sources(), max_length=8) == written  # no dropout meanwhile
    with pytest.raises(ValueError, match="max_length"):
        greedy(trained, *sources(), max_length=0)
    with generating(trained) as step:
        assert "encoder" in trained.__dict__
        assert not trained.training
        linear = trained.decoder.stack.blocks[0].ff.inner
        by_rows = linear.weight
        step(session.LONG)
        assert linear.weight.stride() == (1, 64)
        assert torch.equal(linear.weight, by_rows)
    assert linear.weight is by_rows
    assert {name: part.training for name, part in trained.named_modules()} == modes
    assert {name: set(part.__dict__) for name, part in trained.named_modules()} == own
    src, mask = sources()
    trained(src, src, mask).sum().backward()  # nothing of inference mode is left behind


def test_hooks_see_every_step(model: Transformer) -> None:
    src, mask = sources(B=1)
    with record(model, "decoder.*.cross.mechanism.weights") as seen:
        tokens = greedy(model, src, mask, max_length=5, eos=None)[0]
    assert len(tokens) == 5
    for weights in seen.values():
        assert [w.shape for w in weights] == [(1, 4, 1, src.shape[1])] * 5


def nothing(scores: Tensor, length: int) -> Tensor:
    """Be the rule that the third new token cannot be chosen."""
    return torch.full_like(scores, float("-inf")) if length == 2 else scores


LATER = torch.zeros(3, 3, 3)
LATER[1] = float("nan")
ALL = forbid(*range(32))
LM = decoder_only.tiny()
REFUSED: dict[str, tuple[Any, str]] = {
    "a model that cannot step": (lambda: greedy(nn.Linear(2, 2)), "begin"),
    "an empty prompt": (lambda: greedy(LM, prompt=[[]]), "prompt is empty"),
    "no prompt rows": (lambda: greedy(LM, prompt=[]), "prompt is empty"),
    "a ragged prompt": (lambda: greedy(LM, prompt=[[1], [1, 4]]), "equal length"),
    "a prompt without a batch axis": (lambda: greedy(LM, prompt=[1, 4]), r"prompt=\[prompt\]"),
    "a prompt of one axis": (
        lambda: greedy(LM, prompt=torch.tensor([1, 4])),
        r"prompt\[None\]",
    ),
    "a float prompt": (lambda: greedy(LM, prompt=torch.ones(1, 2)), "integers"),
    "another batch": (
        lambda: greedy(transformer.tiny(), torch.full((2, 3), 4), prompt=[[1]]),
        "batch of 2",
    ),
    "no length": (lambda: greedy(LM, max_length=0), "max_length"),
    "beyond the table": (lambda: greedy(LM, eos=None, max_length=66), "max_length=64"),
    "temperature 0": (lambda: sample(LM, temperature=0.0), "greedy"),
    "a negative temperature": (lambda: sample(LM, temperature=-1.0), "temperature"),
    "top_k 0": (lambda: sample(LM, top_k=0), "top_k"),
    "top_k beyond the vocabulary": (lambda: sample(LM, top_k=33), "top_k"),
    "top_p 0": (lambda: sample(LM, top_p=0.0), "top_p"),
    "top_p above 1": (lambda: sample(LM, top_p=1.1), "top_p"),
    "width 0": (lambda: beam(LM, width=0), "width"),
    "n_best above width": (lambda: beam(LM, width=2, n_best=3), "n_best"),
    "a negative alpha": (lambda: beam(LM, alpha=-0.1), "alpha"),
    "alpha that is no number": (lambda: beam(LM, alpha=float("nan")), "alpha"),
    "greedy, all forbidden": (lambda: greedy(LM, rules=[ALL]), "row 0 no token .* number 0"),
    "a sample, all forbidden": (lambda: sample(LM, rules=[ALL]), "row 0 no token .* number 0"),
    "a beam, all forbidden": (lambda: beam(LM, rules=[ALL]), "row 0 no token .* number 0"),
    "all forbidden, and renormalised": (
        lambda: greedy(LM, rules=[ALL, renormalize]),
        "row 0 no token",
    ),
    "greedy, all forbidden later": (lambda: greedy(LM, eos=None, rules=[nothing]), "number 2"),
    "a sample, all forbidden later": (lambda: sample(LM, eos=None, rules=[nothing]), "number 2"),
    "a beam, all forbidden later": (lambda: beam(LM, eos=None, rules=[nothing]), "number 2"),
    "an infinite temperature": (lambda: sample(LM, temperature=math.inf), "temperature"),
    "to forbid an unknown token": (lambda: greedy(LM, rules=[forbid(4, 32)]), "forbid.*32"),
    "to forbid a negative token": (lambda: greedy(LM, rules=[forbid(-1)]), "forbid.*-1"),
    "to force an unknown token": (lambda: beam(LM, rules=[force(32, at=0)]), "force.*32"),
    "to force a negative token": (lambda: greedy(LM, rules=[force(-1, at=0)]), "force.*-1"),
    "to force at a negative place": (lambda: greedy(LM, rules=[force(4, at=-1)]), "at=-1"),
    "NaN later": (lambda: greedy(Table(LATER), bos=0, eos=None, max_length=3), "NaN"),
    "a beam, NaN later": (lambda: beam(Table(LATER), bos=0, eos=None, max_length=3), "NaN"),
    "NaN": (lambda: greedy(Table(torch.full((1, 3, 3), float("nan")))), "NaN"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refusals(name: str) -> None:
    call, message = REFUSED[name]
    with pytest.raises((ValueError, TypeError), match=message):
        call()
