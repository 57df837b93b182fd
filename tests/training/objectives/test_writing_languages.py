"""MASS, XNLG and VECO: their equations as loops over tiny cases, their limits, their draws."""

from __future__ import annotations

import math
import random
from collections import Counter
from itertools import permutations

import pytest
import torch
from torch import Tensor, nn

from deepdive.models.multilingual.veco import TINY, veco
from deepdive.models.transformer.transformer import tiny
from deepdive.training.objectives import (
    MaskedBatch,
    Side,
    corrupt,
    cross_entropy,
    language_prefix,
    local_shuffle,
    mask_span,
    plugged_loss,
    rewriting_loss,
    split_masked_span,
    xnlg_loss,
)

MASK = 1
ROWS = torch.tensor([[5, 6, 7, 8, 9, 10], [11, 12, 13, 14, 0, 0]])


def test_a_run_starts_anywhere_alike() -> None:
    n = 12_000
    found = mask_span(torch.full((n,), 6), 0.5, torch.Generator().manual_seed(0))
    assert (found.sum(1) == 3).all()
    starts = Counter(found.int().argmax(1).tolist())
    assert set(starts) == {0, 1, 2, 3}
    assert all(abs(k / n - 0.25) < 4 * math.sqrt(0.25 * 0.75 / n) for k in starts.values())


def test_padding_is_never_hidden_and_one_token_always_is() -> None:
    lengths = torch.tensor([6, 4, 1])
    for share, runs in ((0.5, [3, 2, 1]), (0.0, [1, 1, 1]), (1.0, [6, 4, 1])):
        hidden = mask_span(lengths, share)
        assert hidden.sum(1).tolist() == runs
        assert not (hidden & (torch.arange(6) >= lengths[:, None])).any()
    with pytest.raises(ValueError, match="rate: got 2"):
        mask_span(lengths, 2)
    with pytest.raises(ValueError, match="at least 1 each"):
        mask_span(torch.tensor([3, 0]))


@pytest.mark.parametrize(("start", "length"), [(0, 6), (0, 1), (2, 3), (5, 1), (3, 3)])
def test_mass_is_its_equation(start: int, length: int) -> None:
    """L = -log P(x[u..v] | x without u..v) as the paper's product, one token after the other."""
    torch.manual_seed(0)
    model, row = tiny().double().eval(), ROWS[:1]
    hidden = torch.zeros(1, 6, dtype=torch.bool)
    hidden[0, start : start + length] = True
    read, fed, written = split_masked_span(row, hidden, MASK)
    loss = cross_entropy(model(read, fed), written)

    x = row[0].tolist()
    run = range(start, start + length)
    source = torch.tensor([[MASK if t in run else x[t] for t in range(6)]])
    total = 0.0
    for t in run:
        known = [x[k - 1] if k - 1 in run and k in run else MASK for k in range(t + 1)]
        logits = model(source, torch.tensor([known]))[0, t]
        total -= float(logits.log_softmax(0)[x[t]])
    assert float(loss) == pytest.approx(total / length, rel=1e-12)


def test_mass_from_one_token_to_all() -> None:
    one = torch.tensor([[0, 0, 1, 0, 0, 0]]).bool()
    read, fed, written = split_masked_span(ROWS[:1], one, MASK)
    assert read.tolist() == [[5, 6, MASK, 8, 9, 10]]  # BERT's gap
    assert fed.tolist() == [[MASK] * 6]
    assert written.tolist() == [[0, 0, 7, 0, 0, 0]]
    read, fed, written = split_masked_span(ROWS[:1], torch.ones(1, 6).bool(), MASK)
    assert read.tolist() == [[MASK] * 6]  # a language model
    assert fed.tolist() == [[MASK, 5, 6, 7, 8, 9]]
    assert written.tolist() == ROWS[:1].tolist()


def test_encoder_and_decoder_share_no_token() -> None:
    for seed in range(20):
        hidden = mask_span(torch.tensor([6, 4]), 0.5, torch.Generator().manual_seed(seed))
        read, fed, written = split_masked_span(ROWS, hidden, MASK)
        for a, b, c, whole in zip(
            read.tolist(), fed.tolist(), written.tolist(), ROWS.tolist(), strict=True
        ):
            assert not set(a) & set(b) - {MASK}
            assert {*a, *c} - {MASK, 0} == set(whole) - {0}


def test_mass_refuses_what_is_no_run() -> None:
    with pytest.raises(ValueError, match=r"\[2, 1\] spans"):
        split_masked_span(ROWS, torch.tensor([[1, 0, 1, 0, 0, 0], [0, 1, 0, 0, 0, 0]]).bool(), MASK)
    with pytest.raises(ValueError, match=r"\[0, 0\] spans"):
        split_masked_span(ROWS, torch.zeros(2, 6).bool(), MASK)
    with pytest.raises(TypeError, match="expected int64"):
        split_masked_span(ROWS.float(), torch.zeros(2, 6).bool(), MASK)
    with pytest.raises(ValueError, match="expected bool"):
        split_masked_span(ROWS, torch.zeros(2, 5).bool(), MASK)


def test_a_shuffle_moves_no_token_far() -> None:
    draws, text = random.Random(0), [*range(7)]
    found = Counter(tuple(local_shuffle(text, 3, draws)) for _ in range(4000))
    assert all(abs(place - token) < 3 for order in found for place, token in enumerate(order))
    assert len(found) > 50
    allowed = [p for p in permutations(range(3)) if all(abs(i - t) < 2 for i, t in enumerate(p))]
    near = {tuple(local_shuffle(text[:3], 2, draws)) for _ in range(2000)}
    assert near == set(allowed)
    assert all(local_shuffle(text, 1, draws) == text for _ in range(50))
    with pytest.raises(ValueError, match="reach: got -1"):
        local_shuffle(text, -1, draws)


def test_damage_of_nothing_is_the_sentence_and_its_rates_are_those() -> None:
    draws, text = random.Random(0), [*range(5, 55)]
    assert corrupt(text, MASK, draws, 0, 0, 0) == text
    kept = blanks = 0
    for _ in range(400):
        found = corrupt(text, MASK, draws)
        kept += len(found)
        blanks += found.count(MASK)
    assert abs(kept / 20_000 - 0.9) < 4 * math.sqrt(0.09 / 20_000)
    assert abs(blanks / kept - 0.1) < 4 * math.sqrt(0.09 / kept)


FIRST = Side(
    torch.tensor([[5, 6, 7, 2], [8, 9, 2, 0]]),
    torch.tensor([[6, 5, MASK], [8, 9, 0]]),
    torch.tensor([30, 30]),
)
SECOND = Side(
    torch.tensor([[15, 16, 2], [18, 2, 0]]),
    torch.tensor([[16, 15], [18, MASK]]),
    torch.tensor([31, 31]),
)


def said(model: nn.Module, read: list[int], whole: list[int], language: int) -> list[float]:
    """-log p of each token, one call a token."""
    found = []
    for t, token in enumerate(whole):
        so_far = torch.tensor([[language, *whole[:t]]])
        logits = model(torch.tensor([read]), so_far)[0, t]
        found.append(-float(logits.log_softmax(0)[token]))
    return found


def row(tokens: Tensor) -> list[int]:
    return [token for token in tokens.tolist() if token]


def test_xnlg_is_its_equation() -> None:
    torch.manual_seed(0)
    model = tiny().double().eval()
    total = 0.0
    for read, side in (
        (FIRST.damaged, FIRST),
        (SECOND.damaged, SECOND),
        (FIRST.whole, SECOND),
        (SECOND.whole, FIRST),
    ):
        terms = [
            said(model, row(read[b]), row(side.whole[b]), int(side.languages[b])) for b in (0, 1)
        ]
        total += sum(map(sum, terms)) / sum(map(len, terms))
    assert float(xnlg_loss(model, FIRST, SECOND)) == pytest.approx(total, rel=1e-12)


def test_the_first_token_says_the_language() -> None:
    assert language_prefix(FIRST.whole, FIRST.languages).tolist() == [[30, 5, 6, 7], [30, 8, 9, 2]]
    with pytest.raises(ValueError, match="one for each of 2 sequences"):
        language_prefix(FIRST.whole, torch.tensor([30]))
    torch.manual_seed(0)
    model = tiny().double().eval()
    other = FIRST._replace(languages=torch.tensor([31, 31]))
    losses = [float(rewriting_loss(model, FIRST.damaged, side)) for side in (FIRST, other)]
    assert abs(losses[0] - losses[1]) > 1e-3


def test_an_encoder_that_rests_does_not_learn() -> None:
    torch.manual_seed(0)
    model = tiny()
    model.encoder.stack.requires_grad_(False)
    xnlg_loss(model, FIRST, SECOND).backward()
    assert all(p.grad is None for p in model.encoder.stack.parameters())
    assert all(p.grad is not None for p in model.decoder.stack.parameters())


X = MaskedBatch(torch.tensor([[5, MASK, 7, MASK]]), torch.tensor([[0, 6, 0, 8]]))
Y = MaskedBatch(
    torch.tensor([[MASK, 16, 0]]), torch.tensor([[15, 0, 0]]), torch.tensor([[1, 1, 0]]).bool()
)


def test_veco_is_its_four_terms() -> None:
    torch.manual_seed(0)
    model = veco(TINY).double().eval()
    head = nn.Linear(32, 32).double()

    def nats(states: Tensor, targets: Tensor) -> float:
        places = targets[0].nonzero()[:, 0].tolist()
        each = [-head(states[0, t]).log_softmax(0)[targets[0, t]] for t in places]
        return float(sum(each)) / len(each)

    h_x, h_y = model(X.tokens), model(Y.tokens[:, :2])
    s_x = model.beside(X.tokens, None, h_y, None)
    s_y = model.beside(Y.tokens[:, :2], None, h_x, None)
    short = Y.targets[:, :2]
    wanted = nats(h_x, X.targets) + nats(s_x, X.targets) + nats(h_y, short) + nats(s_y, short)
    assert float(plugged_loss(model, head, X, Y)) == pytest.approx(wanted, rel=1e-12)


def test_plugged_out_veco_is_masked_language_modelling_twice() -> None:
    class Deaf(nn.Module):
        """Beside another sentence it hears nothing of it."""

        def __init__(self) -> None:
            super().__init__()
            self.inner = veco(TINY).double().eval()

        def forward(self, tokens: Tensor, mask: Tensor | None) -> Tensor:
            states: Tensor = self.inner(tokens, mask)
            return states

        def beside(
            self, tokens: Tensor, mask: Tensor | None, other: Tensor, other_mask: Tensor | None
        ) -> Tensor:
            return self(tokens, mask)

    torch.manual_seed(0)
    model, head = Deaf(), nn.Linear(32, 32).double()
    once = cross_entropy(head(model(X.tokens, None)), X.targets)
    once = once + cross_entropy(head(model(Y.tokens, Y.real)), Y.targets)
    torch.testing.assert_close(plugged_loss(model, head, X, Y), 2 * once)
