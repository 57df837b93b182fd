"""Rows of all task shapes become what a model reads, and its logits become answers again."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from deepdive.data.alignment import IGNORED
from deepdive.data.tasks import (
    Choice,
    Pair,
    Single,
    Span,
    Tagged,
    answers,
    entities,
    parts_of_speech,
)
from deepdive.published.pretrained import minilm_tokenizer
from deepdive_book.data import synthetic_tasks
from deepdive_book.tasks.finetuning import (
    Item,
    collate,
    encode,
    finetune,
    in_batches,
    loss,
    predict,
    read_answer,
    read_tags,
)

TAGS = ["B-place", "I-place", "O"]


def shown(item: Item, at: int = 0) -> list[str]:
    vocab = minilm_tokenizer().vocab
    return [vocab[i] for i in item.sequences[at][0]]


def test_one_text_and_two() -> None:
    tokenizer = minilm_tokenizer()
    one = encode(tokenizer, Single("a good film", 1))
    assert (shown(one), one.target) == (["[CLS]", "a", "good", "film", "[SEP]"], 1)
    two = encode(tokenizer, Pair("a film", "films", 0))
    assert shown(two) == ["[CLS]", "a", "film", "[SEP]", "films", "[SEP]"]
    assert two.sequences[0][1] == [0, 0, 0, 0, 1, 1]
    four = encode(tokenizer, Choice("who ?", ["he", "the cat"], 1))
    assert (shown(four, 1)[-3:], four.target) == (["the", "cat", "[SEP]"], 1)


def test_the_first_piece_has_the_tag() -> None:
    tokenizer = minilm_tokenizer()
    row = Tagged(["In", "Malmö", "unaffordability", "São"], ["O", "B-place", "O", "B-place"])
    item = encode(tokenizer, row, tags=TAGS)
    assert shown(item) == [
        "[CLS]", "in", "malmo", "una", "##ff", "##ord", "##ability", "sao", "[SEP]",
    ]  # fmt: skip
    x = IGNORED
    assert item.target == [x, 2, 0, 2, x, x, x, 0, x]
    cut = encode(tokenizer, row, max_length=5, tags=TAGS)
    assert cut.target == [x, 2, 0, 2, x]
    logits = torch.eye(3)[[0, 2, 0, 2, 1, 1, 1, 0, 0]]
    assert read_tags(tokenizer, row, logits, TAGS) == row.tags
    assert read_tags(tokenizer, row, logits[[0, 1, 2, 3, 0]], TAGS) == ["O", "B-place", "O", "O"]


def test_an_answer_is_pieces_and_characters_again() -> None:
    tokenizer = minilm_tokenizer()
    context = "Renée lives in São Paulo."
    row = Span("Where?", context, "São Paulo", context.index("São"))
    item = encode(tokenizer, row)
    assert shown(item)[3:] == ["[SEP]", "renee", "lives", "in", "sao", "paulo", ".", "[SEP]"]
    assert item.target == [7, 8]
    assert read_answer(tokenizer, row, item, 7, 8) == "São Paulo"
    assert read_answer(tokenizer, row, item, 0, 0) == ""
    assert encode(tokenizer, row._replace(answer="", start=-1)).target == [0, 0]
    assert encode(tokenizer, row, max_length=8).target == [0, 0]  # cut off: none


@pytest.mark.data("wnut17", "ud_english_ewt")
def test_tags_come_back_from_200_real_rows_of_each() -> None:
    tokenizer, draw = minilm_tokenizer(), random.Random(0)
    for part in (entities().train, parts_of_speech().train):
        tags = sorted({tag for row in part for tag in row.tags})
        for row in draw.sample(part, 200):
            item = encode(tokenizer, row, 512, tags)
            assert isinstance(item.target, list)
            said = torch.eye(len(tags))[[0 if k == IGNORED else k for k in item.target]]
            assert read_tags(tokenizer, row, said, tags) == row.tags


@pytest.mark.data("xquad")
def test_answers_come_back_from_200_real_rows() -> None:
    tokenizer, draw = minilm_tokenizer(), random.Random(0)
    same = 0
    rows = [row for row in draw.sample(answers().train, 400) if row.answer][:200]
    for row in rows:
        item = encode(tokenizer, row, 2_000)
        assert isinstance(item.target, list)
        back = read_answer(tokenizer, row, item, *item.target)
        assert row.answer in back  # whole pieces: "30s" may come back for "30"
        same += back == row.answer
    assert same >= 198


class Recorder(nn.Module):
    """Says, as logits, what the targets are: (B, n), (B, T, n), (B, T, 2) or (B, options)."""

    def __init__(self, items: Sequence[Item], kind: str) -> None:
        super().__init__()
        self.kind, self.shapes = kind, []
        self.bias = nn.Parameter(torch.zeros(8))

    def forward(self, tokens: Tensor, mask: Tensor, segments: Tensor) -> Tensor:
        self.shapes.append(tuple(tokens.shape))
        assert tokens.shape == mask.shape == segments.shape
        if self.kind == "piece":
            return torch.eye(8)[tokens % 8] + self.bias
        if self.kind == "span":
            return torch.stack([tokens, -tokens], -1).float() + self.bias.sum()
        if self.kind == "choice":
            return tokens.float().sum(-1) + self.bias.sum()
        return torch.eye(8)[tokens[:, 1] % 8] + self.bias


TOYS: dict[str, tuple[str, Any]] = {
    "text": ("text", synthetic_tasks.generated_pair(40)),
    "piece": ("piece", synthetic_tasks.generated_entities(40)),
    "span": ("span", synthetic_tasks.generated_answers(40)),
    "choice": ("choice", synthetic_tasks.generated_choices(40)),
}


@pytest.mark.parametrize("name", TOYS)
def test_predictions_are_in_the_order_of_the_items_and_without_padding(name: str) -> None:
    kind, rows = TOYS[name]
    tags = sorted({t for row in rows if isinstance(row, Tagged) for t in row.tags})
    items = [encode(minilm_tokenizer(), row, tags=tags) for row in rows]
    model = Recorder(items, kind)
    found = predict(model, items, size=8)
    for item, logits in zip(items, found, strict=True):
        alone = model(*collate([item])[:3])[0]
        torch.testing.assert_close(logits, alone if kind != "choice" else logits)
    assert torch.isfinite(loss(model, collate(items)))


@pytest.mark.parametrize("name", TOYS)
def test_each_pass_has_every_item_once(name: str) -> None:
    _, rows = TOYS[name]
    tags = sorted({t for row in rows if isinstance(row, Tagged) for t in row.tags})
    items = [encode(minilm_tokenizer(), row, tags=tags) for row in rows]
    batches = in_batches(items, 8, epochs=2, seed=1)
    assert len(batches) == 10
    for half in (batches[:5], batches[5:]):
        seen = sorted(
            tokens[mask].tolist()
            for batch in half
            for tokens, mask in zip(*(x.flatten(0, -2) for x in batch[:2]), strict=True)
        )
        assert seen == sorted(ids for item in items for ids, _ in item.sequences)
    assert not torch.equal(batches[0][0], batches[5][0])


def test_the_loss_is_one_cross_entropy_over_what_is_not_ignored() -> None:
    items = [Item([([1, 2, 3], [0] * 3)], [IGNORED, 1, IGNORED]), Item([([1, 3], [0] * 2)], [0, 2])]
    model = Recorder(items, "piece")
    rows = model(*collate(items)[:3])
    by_hand = -sum(rows[b, t].log_softmax(-1)[y] for b, t, y in ((0, 1, 1), (1, 0, 0), (1, 1, 2)))
    assert loss(model, collate(items)).item() == pytest.approx(by_hand.item() / 3)


def test_a_span_is_sought_among_the_places_of_real_tokens() -> None:
    items = [Item([([5, 1, 2, 3], [0] * 4)], [1, 2]), Item([([5, 4], [0] * 2)], [0, 0])]
    model = Recorder(items, "span")
    places = torch.tensor([[5.0, 1, 2, 3], [5, 4, -torch.inf, -torch.inf]])
    last = torch.tensor([[-5.0, -1, -2, -3], [-5, -4, -torch.inf, -torch.inf]])
    by_hand = [places[0].log_softmax(0)[1], last[0].log_softmax(0)[2]]
    by_hand += [places[1].log_softmax(0)[0], last[1].log_softmax(0)[0]]
    assert loss(model, collate(items)).item() == pytest.approx(-sum(by_hand).item() / 4)


def test_the_recipe_warms_up_falls_and_keeps_what_is_frozen() -> None:
    items = [encode(minilm_tokenizer(), Single(w, k)) for k, w in enumerate(("a", "b", "c", "d"))]
    model = Recorder(items, "text")
    history = finetune(model, items * 10, lr=0.1, epochs=2, size=4, progress=False)
    assert history.losses[-1] < history.losses[0]
    assert len(history.losses) == 20
