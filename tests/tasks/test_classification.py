"""What classifying pages share: order kept, padding without effect, what is frozen stays."""

from __future__ import annotations

import math

import pytest
import torch
from torch import Tensor, nn

from deepdive.models.bert.bert import TINY, bert
from deepdive.tokenizers.wordpiece import BERT_SPECIALS, WordPieceTokenizer
from deepdive_book.tasks.classification import (
    batches,
    encode,
    features,
    freeze,
    in_batches,
    loss,
    mask_words,
    mean_loss,
    predict,
)


class Sums(nn.Module):
    """Logits (B, 2): the sum of the real ids, and 0."""

    def __init__(self) -> None:
        super().__init__()
        self.scale = nn.Parameter(torch.ones(()))

    def forward(self, tokens: Tensor, mask: Tensor) -> Tensor:
        total = self.scale * (tokens * mask).sum(1)
        return torch.stack([total, 0 * total], dim=1)


def random_ids(n: int = 37, seed: int = 0) -> list[list[int]]:
    generator = torch.Generator().manual_seed(seed)
    sizes = torch.randint(2, 30, (n,), generator=generator).tolist()
    return [torch.randint(5, 32, (size,), generator=generator).tolist() for size in sizes]


def test_texts_are_put_between_the_special_tokens_and_cut() -> None:
    tokenizer = WordPieceTokenizer([*BERT_SPECIALS, "good", "film", "##s"], BERT_SPECIALS)
    assert encode(["Good films", "", "good " * 9], tokenizer, 6) == [
        [1, 5, 6, 7, 2],
        [1, 2],
        [1, 5, 5, 5, 5, 2],
    ]


@pytest.mark.parametrize("max_tokens", [1, 64, 10_000])
def test_predictions_come_in_the_order_of_the_texts(max_tokens: int) -> None:
    ids = random_ids()
    found = predict(Sums(), ids, max_tokens=max_tokens)
    assert found[:, 0].tolist() == [sum(text) for text in ids]


def test_a_batch_holds_no_more_tokens_than_asked() -> None:
    sizes = []

    def rows(tokens: Tensor, mask: Tensor) -> Tensor:
        sizes.append(tokens.numel())
        return mask.sum(1)

    ids = random_ids()
    assert in_batches(Sums(), ids, rows, max_tokens=64).tolist() == [len(text) for text in ids]
    assert max(sizes) <= 64
    assert len(sizes) < len(ids)


def test_every_text_keeps_its_label_in_a_batch() -> None:
    ids = random_ids()
    seen = 0
    for labels, tokens in batches(ids, [sum(text) % 3 for text in ids], max_tokens=64):
        assert labels.shape == (len(tokens), 1)
        assert (tokens.sum(1) % 3).tolist() == labels[:, 0].tolist()
        seen += len(tokens)
    assert seen == len(ids)


def test_the_loss_is_the_cross_entropy() -> None:
    ids, labels = [[1], [2, 1]], [0, 1]
    by_hand = (math.log(1 + math.exp(-1)) + math.log(1 + math.exp(3))) / 2
    (batch,) = batches(ids, labels, max_tokens=100)
    assert loss(Sums(), batch).item() == pytest.approx(by_hand, rel=1e-6)
    assert mean_loss(Sums(), ids, labels) == pytest.approx(by_hand, rel=1e-6)


def test_features_do_not_see_the_padding_and_leave_the_mode() -> None:
    encoder, ids = bert(TINY).double().train(), random_ids(9)
    found = features(encoder, ids, max_tokens=10_000)
    assert encoder.training
    encoder.eval()
    for i, text in enumerate(ids):
        states = encoder(torch.tensor([text]))[0]
        torch.testing.assert_close(found["first"][i], states[0])
        torch.testing.assert_close(found["mean"][i], states.mean(0))


@pytest.mark.parametrize("layers", [-1, 0, 1, 2])
def test_what_is_frozen_gets_no_gradient_and_the_rest_does(layers: int) -> None:
    encoder = bert(TINY)
    freeze(encoder, 2)
    freeze(encoder, layers)
    frozen = {name for name, p in encoder.named_parameters() if not p.requires_grad}
    expected = {"embeddings"} if layers else set()
    expected |= {f"stack.blocks.{i}" for i in range(layers)}
    assert {name.split(".")[0] if "emb" in name else name[:14] for name in frozen} == expected
    with pytest.raises(ValueError, match="layers: got 3, expected -1 to 2"):
        freeze(encoder, 3)


def test_words_are_hidden_as_often_as_asked_and_marks_never() -> None:
    tokens = torch.arange(10).repeat(3, 4000)
    shares = torch.tensor([[0.0], [0.3], [1.0]])
    hidden = mask_words(tokens, shares, 5, 4, torch.Generator().manual_seed(0))
    assert torch.equal(hidden[:, tokens[0] < 5], tokens[:, tokens[0] < 5])
    gone = (hidden == 4)[:, tokens[0] >= 5].double().mean(1)
    assert gone[[0, 2]].tolist() == [0, 1]
    assert gone[1] == pytest.approx(0.3, abs=0.013)  # four standard errors
    again = mask_words(tokens, shares, 5, 4, torch.Generator().manual_seed(0))
    assert torch.equal(hidden, again)
