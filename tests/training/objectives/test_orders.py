"""Permutation language modelling: orders by hand, what is asked, and what XLNet makes of it."""

from __future__ import annotations

from collections import Counter

import pytest
import torch

from deepdive.models.bert.xlnet import TINY, for_lm, xlnet
from deepdive.tokenizers.wordpiece import BERT_SPECIALS, WordPieceTokenizer
from deepdive.training.objectives import cross_entropy, order_tokens, seen_in

TOKENIZER = WordPieceTokenizer([*BERT_SPECIALS, *"abcdefgh"], BERT_SPECIALS)
PAD = TOKENIZER.pad
CLS, SEP, A = (TOKENIZER.id_of(name) for name in ("[CLS]", "[SEP]", "a"))
TEXTS = torch.tensor(
    [[CLS, A, A + 1, A + 2, A + 3, A + 4, A + 5, SEP], [CLS, A, A + 1, A + 2, SEP, PAD, PAD, PAD]]
)


def drawn(part: int = 3, seed: int = 0) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    return order_tokens(TEXTS, TOKENIZER, part, generator=torch.Generator().manual_seed(seed))


def test_an_order_by_hand() -> None:
    """Third, first, second: the first place reads all others, the last place only the third."""
    sees = seen_in(torch.tensor([[2, 0, 1]]))
    assert sees[0].int().tolist() == [[0, 0, 1], [1, 0, 1], [0, 0, 0]]
    padded = seen_in(torch.tensor([[2, 0, 1]]), torch.tensor([[True, True, False]]))
    assert padded[0].int().tolist() == [[0, 0, 0], [1, 0, 0], [0, 0, 0]]


def test_left_to_right_is_the_causal_mask() -> None:
    assert torch.equal(seen_in(torch.arange(5)[None])[0], torch.ones(5, 5).tril(-1).bool())


def test_special_tokens_come_first_and_padding_is_not_read() -> None:
    for seed in range(20):
        sees, places, targets = drawn(seed=seed)
        assert sees[0, 1:7, [0, 7]].all()
        assert sees[1, 1:4, [0, 4]].all()
        assert not sees[1, :, 5:].any()
        assert not sees.diagonal(dim1=1, dim2=2).any()
        assert places.shape == targets.shape == (2, 2)  # a third of six; of three one
        ordinary = TEXTS.gather(1, places)
        assert torch.equal(targets[0], ordinary[0])
        assert targets[1].tolist() == [ordinary[1, 0], PAD]
        assert (ordinary[targets != PAD] >= A).all()


def test_the_last_of_the_order_is_asked_for() -> None:
    for seed in range(20):
        sees, places, _ = drawn(seed=seed)
        read = sees.sum(2)
        assert read[0, places[0]].tolist() == [7, 6]
        assert int(read[1, places[1, 0]]) == 4


def test_every_place_is_asked_for_as_often() -> None:
    counts: Counter[int] = Counter()
    for seed in range(600):
        counts.update(drawn(seed=seed)[1][0].tolist())
    assert set(counts) == set(range(1, 7))
    for n in counts.values():  # 200 of 600; four deviations are 46
        assert abs(n - 200) < 50


def test_all_are_asked_for() -> None:
    _, places, targets = drawn(part=1)
    assert sorted(places[0].tolist()) == [1, 2, 3, 4, 5, 6]
    assert int((targets[1] != PAD).sum()) == 3


def test_what_is_refused() -> None:
    with pytest.raises(ValueError, match="part=0"):
        drawn(part=0)
    with pytest.raises(TypeError, match=r"int64 ids \(B, T\)"):
        order_tokens(TEXTS.float(), TOKENIZER)
    with pytest.raises(TypeError, match=r"int64 ids \(B, T\)"):
        order_tokens(TEXTS[0], TOKENIZER)


def test_a_place_is_not_moved_by_its_token_nor_by_what_comes_later() -> None:
    """The gradient of a prediction at the rows of the embedding is zero for all that it may not
    read, and not zero for all that it may.
    """
    model = xlnet(TINY).double().eval()
    order = torch.tensor([[3, 0, 5, 1, 4, 2]])
    sees, tokens = seen_in(order), torch.arange(6)[None] + 4
    for place in range(6):
        states = model.predict(tokens, sees, torch.tensor([[place]]))
        (gradient,) = torch.autograd.grad(states.square().sum(), model.tokens.weight)
        moved = gradient[tokens[0]].abs().amax(1) > 0
        assert torch.equal(moved, sees[0, place]), place


def test_it_learns_a_text() -> None:
    torch.manual_seed(0)
    model = for_lm(xlnet(TINY)).train()
    optimizer = torch.optim.Adam(model.parameters(), 3e-3)
    losses = []
    for _ in range(200):
        sees, places, targets = order_tokens(TEXTS, TOKENIZER, 2)
        loss = cross_entropy(model(TEXTS, sees, places), targets, pad=PAD)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert losses[0] > 3
    assert sum(losses[-10:]) / 10 < 0.5
