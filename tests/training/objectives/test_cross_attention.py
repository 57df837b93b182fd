"""Looking across: who sees whom by a loop over tokens, and writing there."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from deepdive.models.multilingual.ernie_m import cross_lingual_mask
from deepdive.training.objectives import back_translate

SECOND = torch.tensor([[0, 0, 0, 1, 1, 1], [0, 0, 1, 1, 0, 0]]).bool()
HIDDEN = torch.tensor([[0, 1, 0, 0, 1, 0], [0, 0, 1, 0, 0, 0]]).bool()
REAL = torch.tensor([[1, 1, 1, 1, 1, 1], [1, 1, 1, 1, 0, 0]]).bool()


def test_equals_a_loop_over_tokens() -> None:
    sees = cross_lingual_mask(SECOND, HIDDEN, REAL)
    for b in range(2):
        for t in range(6):
            for s in range(6):
                beside = SECOND[b, t] == SECOND[b, s]
                word = REAL[b, s] and not HIDDEN[b, s]
                if not REAL[b, t]:
                    expected = s == t
                elif HIDDEN[b, t]:
                    expected = bool(HIDDEN[b, s]) if beside else bool(word)
                else:
                    expected = bool(beside and word)
                assert bool(sees[b, t, s]) == expected, (b, t, s)


def test_without_gaps_each_sentence_is_read_alone() -> None:
    sees = cross_lingual_mask(SECOND, HIDDEN & False, REAL)
    alone = (SECOND[:, :, None] == SECOND[:, None, :]) & REAL[:, None, :]
    assert torch.equal(sees[REAL], alone[REAL])


@pytest.mark.parametrize("gaps", [[0], [1, 2]])
def test_ways_of_two_steps_lead_from_no_gap_to_its_own_side(gaps: list[int]) -> None:
    """Layer over layer: the words from which anything can reach a gap are the other side's."""
    hidden = torch.zeros_like(HIDDEN)
    hidden[0, gaps] = True
    hidden[0, 5] = True
    sees = cross_lingual_mask(SECOND, hidden, REAL)[0].float()
    reached = torch.linalg.matrix_power(sees, 12) > 0
    for gap in [*gaps, 5]:
        heard = reached[gap] & ~hidden[0]
        assert torch.equal(heard, (SECOND[0] != SECOND[0, gap]) & ~hidden[0])


def fill(tokens: Tensor, second: Tensor, real: Tensor) -> Tensor:
    """A model that writes 10 more than the k-th token at the k-th placeholder."""
    logits = torch.zeros(*tokens.shape, 30)
    for b in range(len(tokens)):
        text = tokens[b][real[b] & ~second[b]]
        for k, place in enumerate(second[b].nonzero().flatten().tolist()):
            logits[b, place, text[k] + 10] = 50.0
    return logits


@pytest.mark.parametrize("draw", [None, torch.Generator().manual_seed(0)])
def test_what_is_written_stands_behind_the_text(draw: torch.Generator | None) -> None:
    tokens = torch.tensor([[4, 5, 6, 7], [8, 9, 1, 1]])
    real = tokens != 1
    written, second, there = back_translate(fill, tokens, real, 2, mask=3, pad=1, draw=draw)
    assert written.tolist() == [[4, 5, 6, 7, 14, 15], [8, 9, 18, 19, 1, 1]]
    assert second.int().tolist() == [[0, 0, 0, 0, 1, 1], [0, 0, 1, 1, 0, 0]]
    assert there.int().tolist() == [[1] * 6, [1, 1, 1, 1, 0, 0]]


def test_the_model_is_asked_with_masks() -> None:
    seen = []

    def asked(tokens: Tensor, second: Tensor, real: Tensor) -> Tensor:
        seen.append(tokens)
        return fill(tokens, second, real)

    back_translate(asked, torch.tensor([[4, 5]]), torch.tensor([[True, True]]), 1, mask=3, pad=1)
    assert seen[0].tolist() == [[4, 5, 3]]


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: cross_lingual_mask(SECOND, HIDDEN[:1], REAL), "three times"),
        (lambda: cross_lingual_mask(SECOND, HIDDEN | ~REAL, REAL), "padding position is masked"),
        (lambda: cross_lingual_mask(SECOND, REAL, REAL), "no unmasked token"),
        (lambda: back_translate(fill, SECOND.long(), REAL, 0, 3, 1), "count"),
    ],
)
def test_what_does_not_fit_is_refused(call: object, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        call()  # type: ignore[operator]
