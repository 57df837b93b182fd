"""The picker of cells sees other rows only through its layers down the columns, and no padding."""

from __future__ import annotations

import pytest
import torch

from deepdive.data.wikitables import table
from deepdive.models.bert.bert import bert
from deepdive.models.bert.tabert_cells import MATCHES, CellPicker, batched, matches, read
from deepdive.tokenizers.wordpiece import BERT_SPECIALS, WordPieceTokenizer

WON = table(["city", "year"], [["Rome", "1960"], ["Mexico City", "1968"]])


def picker(**how: bool) -> CellPicker:
    torch.manual_seed(0)
    return CellPicker(6, d_model=8, **how).eval()


def test_counts_are_those_of_n_grams_in_common() -> None:
    found = matches("which city , Rome ?", WON)
    assert found.shape == (2, 3, MATCHES)
    assert found[:, 0].eq(0).all()
    sixth = 1 / 6  # of 3 words, 2 pairs and a triple
    expected = [[sixth, sixth, sixth, 1, 0], [sixth, 0, 0, 0, 1]]
    assert torch.allclose(found[0, 1:], torch.tensor(expected))
    assert found[1, 1].tolist()[1:] == pytest.approx([sixth, sixth, 1, 0])  # Mexico *City*


def test_a_frozen_encoder_gives_one_vector_for_the_question_and_each_cell() -> None:
    vocab = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "rome", "city", "year", "|", "text"]
    encoder = bert(vocab_size=10, d_model=8, n_heads=2, n_layers=1, d_ff=8).eval()
    seen = read(encoder, WordPieceTokenizer(vocab, BERT_SPECIALS), "rome city", WON)
    assert seen.shape == (2, 3, 8 + MATCHES)
    assert not seen.requires_grad
    assert seen[:, :, :8].abs().sum(-1).gt(0).all()


@pytest.mark.parametrize("down", [True, False])
def test_another_row_is_seen_down_the_columns_only(down: bool) -> None:
    rows, real = batched([torch.randn(3, 4, 6)])
    model, changed = picker(down=down), rows.clone()
    changed[:, 0] += 1
    before, after = model(rows, real), model(changed, real)
    assert before.shape == (1, 3, 3)
    assert torch.equal(before[:, 1:], after[:, 1:]) is not down
    assert not torch.allclose(before[:, 0], after[:, 0])


@pytest.mark.parametrize("down", [True, False])
def test_padding_changes_nothing_and_is_never_picked(down: bool) -> None:
    one, other = torch.randn(2, 3, 6), torch.randn(3, 5, 6)
    model = picker(down=down)
    alone, both = model(*batched([one])), model(*batched([one, other]))
    assert torch.allclose(alone[0], both[0, :2, :2], atol=1e-6)
    assert both[0, 2].isneginf().all()
    assert both[0, :, 2:].isneginf().all()


def test_both_forms_have_as_many_parameters() -> None:
    sizes = {sum(p.numel() for p in picker(down=down).parameters()) for down in (True, False)}
    assert len(sizes) == 1
