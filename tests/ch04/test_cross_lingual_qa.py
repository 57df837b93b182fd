"""Question answering over a frozen encoder: pieces and their places, the head, what it marks."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F

from deepdive.data.translated import Question
from deepdive.models.bert import bert
from deepdive.tokenizers.xlmr import XLMRTokenizer
from deepdive_book.ch04.runs import cross_lingual_qa, frozen_qa_states, joint_questions
from deepdive_book.ch04.runs.cross_lingual_qa import SpanHead
from deepdive_book.ch04.runs.frozen_qa_states import Narrow, Read
from deepdive_book.tasks.finetuning import finetune

VOCAB = ["<s>", "<pad>", "</s>", "<unk>", "▁", "▁a", "a", "b", "▁ab", "c"]
SCORES = [0.0, 0, 0, 0, -3, -2, -2.5, -2.5, -1, -2.5]


def test_pieces_know_their_places() -> None:
    tokenizer = XLMRTokenizer(
        VOCAB, SCORES, ["<pad>", "<s>", "</s>", "<unk>"], {"ﬁ": "ab", "\n": " ", "\x01": ""}
    )
    for text in ("ab  c", "a\nﬁ", " abz c", "\x01b ab"):
        ids, extents = frozen_qa_states.pieces_of(tokenizer, text)
        assert ids == tokenizer.encode(text)
        for piece, (begin, end) in zip(ids, extents, strict=True):
            letters = VOCAB[piece].replace("▁", "")
            if piece != tokenizer.unk and "ﬁ" not in text and "z" not in text:
                assert not letters or text[begin:end] == letters
    assert frozen_qa_states.pieces_of(tokenizer, "a ﬁ")[1] == [(0, 1), (2, 3)]
    unknown = frozen_qa_states.pieces_of(tokenizer, "c abz")[1]
    assert set(unknown[-2:]) == {(2, 5)}  # a word with an unknown piece is one extent


def data(n: int = 12) -> Narrow:
    """Paragraphs of ten random states; the answer is the piece that is like the question."""
    torch.manual_seed(1)
    rows, asked, paragraphs, alike, extents = [], [], [], [], []
    for i in range(n):
        context = torch.randn(10 + i % 3, 6)
        at = i % 9
        question = torch.stack([context[at], context[at]])
        rows.append(Question(str(i), "x", "?", "abcdefghijkl", "abcdefghijkl"[at], at))
        asked.append(question)
        paragraphs.append(context)
        cosines = F.normalize(context, dim=-1) @ F.normalize(question[0], dim=-1)
        alike.append(cosines[:, None])
        extents.append([(k, k + 1) for k in range(len(context))])
    return Narrow(rows, asked, paragraphs, alike, extents, [*range(n)])


def test_it_learns_to_point() -> None:
    known = data()
    net = cross_lingual_qa.train_model(known, range(12), epochs=60, lr=5e-3, progress=False)
    assert cross_lingual_qa.answers(net, known, [*range(12)]) == [row.answer for row in known.rows]
    again = cross_lingual_qa.train_model(known, range(12), epochs=2, progress=False)
    same = cross_lingual_qa.train_model(known, range(12), epochs=2, progress=False)
    assert torch.equal(again.ends.weight, same.ends.weight)


def test_padding_changes_nothing() -> None:
    known = data()
    torch.manual_seed(0)
    net = SpanHead(1, 6).eval()
    alone = net(*cross_lingual_qa.batch(known, [0]))
    longer = net(*cross_lingual_qa.batch(known, [0, 2]))
    assert torch.allclose(alone[0], longer[0, :10], atol=1e-6)
    assert (longer[0, 10:] == -torch.inf).all()


def test_the_best_span_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    known = data(1)
    logits = torch.randn(1, 10, 2)
    monkeypatch.setattr(cross_lingual_qa, "SPAN", 3)
    said = cross_lingual_qa.answers(lambda *_: logits, known, [0])[0]  # type: ignore[arg-type]
    best = max(((logits[0, i, 0] + logits[0, j, 1]).item(), i, j)
               for i in range(10) for j in range(i, min(10, i + 3)))  # fmt: skip
    assert said == "abcdefghijkl"[best[1] : best[2] + 1]


def test_likeness_by_loops() -> None:
    context, asked = torch.randn(2, 30, 5), torch.randn(2, 4, 5)
    found = frozen_qa_states.likeness(context, asked)
    assert found.shape == (30, 6)
    best = torch.stack([
        torch.stack([max(F.cosine_similarity(context[k, t], asked[k, s], dim=0) for s in range(4))
                     for t in range(30)]) for k in range(2)])  # fmt: skip
    around = torch.stack([best[:, max(0, t - 10) : t + 11].mean(1) for t in range(30)], 1)
    for column, wanted in zip(found.T[:4], torch.cat([best, around]), strict=True):
        assert torch.allclose(column, (wanted - wanted.mean()) / wanted.std(), atol=1e-4)
    assert torch.allclose(found.mean(0), torch.zeros(6), atol=1e-5)


def test_the_basis_spreads_all_directions_alike() -> None:
    states = [torch.randn(2, 50, 4) * torch.tensor([1.0, 2, 3, 4]) for _ in range(4)]
    read = Read([], [torch.randn(2, 3, 4)], states, [], [])
    found = frozen_qa_states.basis(read, 5)
    x = (torch.cat([s.transpose(0, 1).flatten(1) for s in states]) - found.mean) @ found.axes
    assert torch.allclose(x.T @ x / len(x), torch.eye(5), atol=1e-3)


def test_one_fold_leaves_its_articles_out() -> None:
    known = data(20)
    rows = [row._replace(article=str(i // 2)) for i, row in enumerate(known.rows)]
    known = known._replace(rows=rows)
    place = cross_lingual_qa.fold_of(rows)
    assert all(place[i] == place[i + 1] for i in range(0, 20, 2))
    assert sorted(map(place.count, range(cross_lingual_qa.FOLDS))) == [4] * 5
    row = cross_lingual_qa.one_fold({"en": known, "zh": known}, fold=1, seed=0, epochs=2)
    assert row["questions"] == [i for i, fold in enumerate(place) if fold == 1]
    for what in ("exact", "f1", "nearby"):
        assert all(len(some) == 4 for some in row[what].values())
    assert row["said"]["en"] == row["said"]["zh"]


def test_the_usual_reader_learns_from_items() -> None:
    tokenizer = XLMRTokenizer(VOCAB, SCORES, ["<pad>", "<s>", "</s>", "<unk>"])
    row = Question("1", "x", "a", "c ab a", "ab", 2)
    item = joint_questions.joint_item(tokenizer, row)
    ids, segments = item.sequences[0]
    begin, end = item.target  # type: ignore[misc]
    assert tokenizer.decode(ids[begin : end + 1]).strip() == "ab"
    assert ids.count(tokenizer.eos) == 3
    assert set(segments) == {0}
    assert joint_questions.joint_item(tokenizer, row, longest=len(ids) - 4).target == [0, 0]
    torch.manual_seed(0)
    net = joint_questions.JointQAModel(
        bert.bert(bert.TINY, vocab_size=len(VOCAB)), bert.TINY.d_model
    )
    history = finetune(net, [item] * 8, lr=5e-3, epochs=15, size=4, progress=False)
    assert history.losses[-1] < 0.5 < history.losses[0]
    assert joint_questions.joint_answers(net, tokenizer, [row, row]) == ["ab", "ab"]


def test_only_the_paragraph_can_answer() -> None:
    """Logits that name each place: the largest outside the paragraph, then inside it."""
    tokenizer = XLMRTokenizer(VOCAB, SCORES, ["<pad>", "<s>", "</s>", "<unk>"])
    rows = [
        Question("1", "x", "a a c", "c ab a", "ab", 2),
        Question("2", "x", "a", "c c c c", "c", 4),
    ]

    class Pointer(torch.nn.Linear):
        def forward(self, tokens: torch.Tensor, *_: object) -> torch.Tensor:
            wanted = (tokens == VOCAB.index("▁ab")) * 1.0 + (tokens == tokenizer.eos) * 9.0
            return torch.stack([wanted, wanted], -1)

    assert joint_questions.joint_answers(Pointer(1, 1), tokenizer, rows)[0] == "ab"
    assert joint_questions.joint_answers(Pointer(1, 1), tokenizer, rows)[1] == "c"


def test_the_rate_is_chosen_without_the_fold_that_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    tokenizer = XLMRTokenizer(VOCAB, SCORES, ["<pad>", "<s>", "</s>", "<unk>"])
    rows = [Question(str(i), str(i // 2), f"a{'b' * i}", "c ab a", "ab", 2) for i in range(20)]
    place, learned, asked = cross_lingual_qa.fold_of(rows), [], []

    def finetune(net: object, items: list, *, lr: float, **_: object) -> None:  # type: ignore[type-arg]
        ids = [joint_questions.joint_item(tokenizer, row) for row in rows]
        learned.append(({place[ids.index(item)] for item in items}, lr))

    def answers(net: object, _: object, some: list[Question]) -> list[str]:
        asked.append({place[int(row.id)] for row in some})
        return ["ab" if learned[-1][1] == 2.0 else "c"] * len(some)

    monkeypatch.setattr(joint_questions, "finetune", finetune)
    monkeypatch.setattr(joint_questions, "joint_answers", answers)
    row = joint_questions.joint_fold(
        {"en": rows, "zh": rows}, tokenizer, lambda: torch.nn.Linear(1, 1), 1, 0, rates=(1.0, 2.0)
    )
    assert (row["rate"], row["tried"]) == (2.0, {"1.0": 0.0, "2.0": 100.0})
    assert learned == [({0, 3, 4}, 1.0), ({0, 3, 4}, 2.0), ({0, 2, 3, 4}, 2.0)]
    assert asked == [{2}, {2}, {1}, {1}]
    assert row["f1"]["zh"] == [100] * 4
