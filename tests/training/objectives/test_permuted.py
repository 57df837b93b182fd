"""Masked and permuted language modelling: who sees whom, what is guessed, and where it stands."""

from __future__ import annotations

import pytest
import torch

from deepdive.tokenizers.wordpiece import BERT_SPECIALS, WordPieceTokenizer
from deepdive.training.objectives import permute, two_streams

PIECES = ["[PAD]", "[unused0]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *(f"w{i}" for i in range(20))]
TOKENIZER = WordPieceTokenizer(PIECES, specials=BERT_SPECIALS)
TEXT = torch.tensor([[3, 9, 6, 8, 15, 7, 12, 10, 4], [3, 11, 14, 20, 6, 9, 4, 0, 0]])


def seeded(seed: int = 1) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def test_who_sees_whom_by_hand() -> None:
    """Four tokens, the last two guessed; a and b are known, c and d guessed."""
    seen = """
        a b c d [c] [d] ?c ?d
        1 1 0 0  1   1   0  0   a
        1 1 0 0  1   1   0  0   b
        1 1 1 0  0   1   0  0   c
        1 1 1 1  0   0   0  0   d
        1 1 0 0  1   1   0  0   [c]
        1 1 0 0  1   1   0  0   [d]
        1 1 0 0  1   1   0  0   ?c
        1 1 1 0  0   1   0  0   ?d
    """
    lines = [line.split()[:8] for line in seen.strip().splitlines()[1:]]
    assert two_streams(4, 2).int().tolist() == [[int(x) for x in line] for line in lines]


@pytest.mark.parametrize(("length", "guessed"), [(1, 1), (5, 1), (6, 4), (6, 6)])
def test_every_row_sees_every_place_once(length: int, guessed: int) -> None:
    """As a token or as a mask: position compensation. Nobody sees a query."""
    seen, c = two_streams(length, guessed), guessed
    known, tokens, masks, queries = seen.split((length - c, c, c, c), 1)
    assert known.all()
    assert not queries.any()
    assert (tokens ^ masks).all()
    own = torch.arange(c)
    assert not tokens[-c:][own, own].any()  # a query does not see its answer
    assert tokens[length - c : length][own, own].all()  # the answer sees itself


def test_what_is_permuted_is_the_text() -> None:
    """Each token keeps its place; what is guessed is hidden twice, in its place."""
    batch = permute(TEXT, TOKENIZER, 0.5, seeded())
    c, T = batch.targets.shape[1], TEXT.shape[1]
    assert c == 2  # half of the five ordinary tokens of the second text
    assert batch.tokens.shape == batch.positions.shape == (2, T + 2 * c)
    for row, text in enumerate(TEXT):
        count = int((text != 0).sum())
        tokens, places = batch.tokens[row], batch.positions[row]
        real = tokens[:T] != 0
        assert sorted(places[:T][real].tolist()) == list(range(count))
        assert torch.equal(text[places[:T][real]], tokens[:T][real])
        assert torch.equal(batch.targets[row], tokens[T - c : T])
        assert (tokens[T:] == 5).all()
        for part in (places[T : T + c], places[T + c :]):
            assert torch.equal(text[part], batch.targets[row])
        assert not torch.isin(batch.targets[row], torch.tensor([0, 2, 3, 4, 5])).any()
    seen = batch.seen.dense(T + 2 * c)
    assert torch.equal(seen[0, 0], two_streams(T, c))  # no padding
    pad = (batch.tokens[1] == 0).nonzero().flatten()
    assert len(pad) == 2
    assert not seen[1, 0][:, pad].any()


def test_orders_are_drawn() -> None:
    text = torch.arange(6, 26)[None].repeat(300, 1)
    batch = permute(text, TOKENIZER, generator=seeded())
    assert batch.targets.shape == (300, 3)  # 15 % of twenty
    counts = torch.bincount(batch.targets.flatten() - 6, minlength=20)
    assert counts.min() > 45 / 2
    assert counts.max() < 45 * 2
    rising = (batch.targets.diff(dim=1) > 0).all(1)
    assert abs(int(rising.sum()) - 50) < 4.5 * 6.5  # one of six orders
    again = permute(text, TOKENIZER, generator=seeded())
    assert torch.equal(batch.tokens, again.tokens)
    assert not torch.equal(batch.tokens, permute(text, TOKENIZER, generator=seeded(2)).tokens)


def test_the_whole_text_may_be_guessed() -> None:
    text = torch.tensor([[6, 7, 8]])
    batch = permute(text, TOKENIZER, 1.0, seeded())
    assert sorted(batch.targets[0].tolist()) == [6, 7, 8]


def test_what_does_not_fit_is_refused() -> None:
    for guessed in (0, 5):
        with pytest.raises(ValueError, match="expected 1 to 4, the length of the text"):
            two_streams(4, guessed)
    for rate in (0.0, 1.5):
        with pytest.raises(ValueError, match="expected a probability above 0"):
            permute(TEXT, TOKENIZER, rate)
    with pytest.raises(ValueError, match="only special tokens"):
        permute(torch.tensor([[3, 4, 0]]), TOKENIZER)
    for wrong in (TEXT[0], TEXT.int()):
        with pytest.raises(TypeError, match=r"expected torch\.int64 \(B, T\)"):
            permute(wrong, TOKENIZER)
