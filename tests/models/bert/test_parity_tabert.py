"""TaBERT's vertical attention against torch, its table inputs beside TAPAS's in transformers."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from unittest import mock

import pandas as pd
import pytest
import torch
from parity_bert import SIZES, SRC, reference
from parity_proofs import rows
from parity_registry import differs, equal, equal_gradients, parity, perturb
from torch import Tensor, nn
from transformers import TapasConfig, TapasModel, TapasTokenizer

from deepdive.data.table_text import content_snapshot, linearized, overlap, words
from deepdive.data.wikitables import generated_table_questions, table, table_questions
from deepdive.models.bert import tabert, tapas
from deepdive.published import family
from deepdive.published.weights import adopt
from deepdive.tokenizers.wordpiece import BERT_SPECIALS, WordPieceTokenizer
from deepdive.training.objectives import cell_loss, choose_columns, column_loss

SEVEN = [3, 8, 8, 2, 8, 8, 10]
CITIES = table(["City", "Year"], [["Rome", "1960"], ["Paris", "1900"], ["Paris", "1924"]])


@parity("tabert")
def tabert_agrees() -> None:
    """Each slot's states down the rows go through torch's own encoder layers."""
    ours = model()
    theirs = nn.TransformerEncoder(torch_layer(), 2, enable_nested_tensor=False).double().eval()
    for mine, layer in zip(ours.vertical.blocks, theirs.layers, strict=True):
        copy_layer(mine, layer)
    tokens, slots, mask = batch()
    output = ours(tokens, slots, mask)
    states = ours.bert(tokens.flatten(0, 1), (mask | ~mask.any(-1, keepdim=True)).flatten(0, 1))
    means = torch.stack([mean(states.view(2, 3, 7, 32), slots, n) for n in range(4)], 2)
    down = means.transpose(1, 2).flatten(0, 1)  # one slot at a time, (2 * 4, 3, 32)
    real = mask.any(-1)
    out = theirs(down, src_key_padding_mask=~real.repeat_interleave(4, 0)).view(2, 4, 3, 32)
    expected = torch.stack([out[b, :, real[b]].mean(1) for b in range(2)])
    equal(output, expected)
    pairs = {name: (p, p) for name, p in ours.bert.named_parameters()}
    joined = []
    for i, (mine, layer) in enumerate(zip(ours.vertical.blocks, theirs.layers, strict=True)):
        pairs |= {f"{i} {n}": pair for n, pair in enumerate(layer_pairs(mine, layer))}
        joined.append(((mine.attn.q.weight, mine.attn.kv.weight), layer.self_attn.in_proj_weight))
    direction = rows(*expected.shape, seed=4).detach()
    for parts, whole in joined:  # theirs has one matrix for queries, keys and values
        found = torch.autograd.grad((output * direction).sum(), parts, retain_graph=True)
        wanted = torch.autograd.grad((expected * direction).sum(), whole, retain_graph=True)[0]
        assert differs(torch.cat(found), wanted) < 1e-8
        assert wanted.abs().max() > 1e-9
    equal_gradients(output, expected, pairs)


def model() -> tabert.TaBert:
    torch.manual_seed(0)
    made = tabert.tabert(tabert.TINY, n_vertical=2)
    return perturb(made.double().eval())  # type: ignore[return-value]


def torch_layer() -> nn.Module:
    return nn.TransformerEncoderLayer(32, 4, 64, 0.0, "gelu", 1e-12, batch_first=True)


def layer_pairs(mine: nn.Module, layer: nn.Module) -> list[tuple[Tensor, Tensor]]:
    """What both call by other names, but for the joined projection."""
    a, b = mine, layer
    parts = [
        (a.attn.out, b.self_attn.out_proj), (a.ff.inner, b.linear1), (a.ff.out, b.linear2),
        (a.attn_residual.norm, b.norm1), (a.ff_residual.norm, b.norm2),
    ]  # fmt: skip
    return [(getattr(x, n), getattr(y, n)) for x, y in parts for n in ("weight", "bias")]


def copy_layer(mine: nn.Module, layer: nn.Module) -> None:
    with torch.no_grad():
        for a, b in layer_pairs(mine, layer):
            b.copy_(a)
        for n in ("weight", "bias"):
            joined = torch.cat((getattr(mine.attn.q, n), getattr(mine.attn.kv, n)))
            getattr(layer.self_attn, f"in_proj_{n}").copy_(joined)


def mean(states: Tensor, slots: Tensor, n: int) -> Tensor:
    """The mean of one slot's states, row by row, in a loop."""
    out = torch.zeros(2, 3, 32, dtype=torch.float64)
    for b in range(2):
        for r in range(3):
            if (slots[b, r] == n).any():
                out[b, r] = states[b, r, slots[b, r] == n].mean(0)
    return out


def batch() -> tuple[Tensor, Tensor, Tensor]:
    tokens = torch.randint(4, 32, (2, 3, 7), generator=torch.Generator().manual_seed(0))
    slots = torch.tensor([-1, 0, 1, -1, 2, 2, 3]).expand(2, 3, 7).clone()
    slots[0, 1] = torch.tensor([-1, 0, 1, 2, 3, 3, -1])
    mask = torch.ones(2, 3, 7, dtype=torch.bool)
    mask[0, 1, 6] = mask[1, 2] = False  # the second table has two rows
    return tokens, slots, mask


def test_tabert_agrees() -> None:
    tabert_agrees()


def test_tapas_rows_are_theirs() -> None:
    tapas_agrees()


def tapas_agrees() -> None:
    theirs = reference(TapasModel, TapasConfig, **SIZES, type_vocab_sizes=SEVEN)
    theirs.pooler = None
    with mock.patch.object(tapas.TapasEmbeddings, "sizes", SEVEN):
        ours = (
            tapas.tapas(tapas.TINY, vocab_size=28, d_model=16, d_ff=24, max_length=12)
            .double()
            .eval()
        )
        names = family("bert").names
        rules = [(r"^embeddings\.token_type_embeddings_(\d)\.", r"embeddings.types.\1."), names]
        adopt(ours, theirs.state_dict(), rules)
        types = torch.stack(
            [torch.arange(7).expand(3, 7) * 3 % n // (1 + (n > 7)) for n in SEVEN], dim=-1
        )
        types[..., 1] = torch.tensor([0, 0, 1, 1, 2, 2, 2])
        types[..., 2] = torch.tensor([0, 0, 1, 1, 1, 1, 1])
        expected = theirs(SRC, token_type_ids=types).last_hidden_state
        equal(ours(SRC, None, types), expected)
        a = dict(ours.named_parameters())
        b = dict(theirs.named_parameters())
        pairs = {
            f"types {i}": (
                a[f"embeddings.types.{i}.weight"],
                b[f"embeddings.token_type_embeddings_{i}.weight"],
            )
            for i in range(7)
        }
        pairs["place"] = (
            a["embeddings.position.table.weight"],
            b["embeddings.position_embeddings.weight"],
        )
        equal_gradients(ours(SRC, None, types), expected, pairs)
        with pytest.raises(ValueError, match="seven types per token"):
            ours(SRC)


def test_one_row_and_no_vertical_layer_is_bert() -> None:
    made = tabert.tabert(tabert.TINY, n_vertical=0).double().eval()
    tokens = torch.randint(4, 32, (2, 1, 9))
    slots = torch.arange(9).expand(2, 1, 9)
    equal(made(tokens, slots), made.bert(tokens[:, 0]))


def test_the_snapshot_is_what_the_question_names() -> None:
    rows_of = content_snapshot(CITIES, "which year was Paris, 1924?", 2).rows
    assert rows_of == [["Paris", "1924"], ["Paris", "1900"]]
    one = content_snapshot(CITIES, "was it Paris in 1960?", 1)
    assert one.rows == [["Paris", "1960"]]  # of two rows
    assert overlap("a b", "b a c") == pytest.approx(2 / 3)  # a, b, but not "a b"
    with pytest.raises(ValueError, match="expected at least one of each"):
        content_snapshot(CITIES, "x", 0)
    with pytest.raises(ValueError, match="got 1 cells, expected 2"):
        table(["a", "b"], [["1"]])


def test_a_row_as_text() -> None:
    texts = ["which year was Paris", "City | text | Rome Paris", "Year | real | 1960 1900 1924"]
    tokenizer = WordPieceTokenizer.train(texts * 3, 90, specials=BERT_SPECIALS)
    tokens, slots, mask = linearized("which year was Paris", CITIES, tokenizer)
    assert tokens.shape == slots.shape == mask.shape
    assert tokens.shape[:2] == (1, 3)
    sep = tokenizer.id_of("[SEP]")
    assert (tokens == sep).sum(-1).tolist() == [[3, 3, 3]]
    assert not (slots[~mask] >= 0).any()
    n = len(tokenizer.encode("which year was Paris"))
    assert int(slots.max()) == n + 1
    second = tokens[0, 1][slots[0, 1] == n]
    assert second.tolist() == tokenizer.encode("City | text | ") + tokenizer.encode("Paris")
    made = tabert.tabert(tabert.TINY, vocab_size=len(tokenizer)).eval()
    assert made(tokens, slots, mask).shape == (1, n + 2, 32)


def test_the_objectives() -> None:
    columns = torch.tensor([[True] * 5, [True, False, False, False, False]])
    chosen = choose_columns(columns, generator=torch.Generator().manual_seed(0))
    assert chosen.any(1).all()
    assert not (chosen & ~columns).any()
    many = choose_columns(torch.ones(1, 20_000, dtype=torch.bool), 0.2)
    assert abs(float(many.double().mean()) - 0.2) < 0.02
    logits = rows(2, 6)
    names = torch.tensor([[3, 5, 0], [4, 0, 0]])
    p = logits.sigmoid()
    by_hand = sum(
        -(p[i, v] if v in names[i].tolist() and v else 1 - p[i, v]).log()
        for i in range(2)
        for v in range(6)
    )
    equal(column_loss(logits, names), by_hand / 2)
    scores, values = rows(2, 3, 6), torch.tensor([[3, 5, 0], [4, 1, 2]])
    found = nn.functional.cross_entropy(scores.flatten(0, 1), values.ravel(), ignore_index=0)
    equal(cell_loss(scores, values), found)
    with pytest.raises(ValueError, match="expected bool"):
        choose_columns(columns.long())
    with pytest.raises(ValueError, match="must agree"):
        column_loss(logits, names[:1])


def test_generated_tables_answer_their_questions() -> None:
    made = generated_table_questions(20, seed=3)
    assert made == generated_table_questions(20, seed=3)
    for question in made:
        assert question.table.types == ["real", "text", "text", "real"]
        assert any(question.answers[0] in row for row in question.table.rows)


@pytest.mark.data("wikitablequestions")
def test_real_tables() -> None:
    questions = table_questions("dev", 200)
    assert len(questions) == 200
    assert questions[0].text == "which team won previous to crettyard?"
    assert questions[0].answers == ["Wolfe Tones"]
    found = [q for q in questions if any(q.answers[0] in row for row in q.table.rows)]
    assert len(found) > 80  # the others count, or add
    assert all(len(row) == len(q.table.columns) for q in questions for row in q.table.rows)


@pytest.mark.data("wikitablequestions")
def test_places_begin_where_theirs_do(tmp_path: Path) -> None:
    """TapasTokenizer makes the types of real tables; ours places are theirs."""
    question = next(q for q in table_questions("dev", 50) if len(q.table.rows) < 12)
    asked = question.table
    text = " ".join(
        [question.text, *asked.columns, *(c for row in asked.rows for c in row)]
    ).lower()
    pieces = [
        "[PAD]",
        "[UNK]",
        "[CLS]",
        "[SEP]",
        "[MASK]",
        "[EMPTY]",
        *sorted(set(words(text))),
    ]
    vocab = tmp_path / "vocab.txt"
    vocab.write_text("\n".join(pieces), encoding="utf-8")
    frame = pd.DataFrame(asked.rows, columns=asked.columns).astype(str)
    made = TapasTokenizer(str(vocab))(table=frame, queries=question.text, return_tensors="pt")
    types = made["token_type_ids"]
    assert types.shape[-1] == 7
    places = tapas.restarted(types[..., 1], types[..., 2])[0]
    cells = types[0, :, 1] * 1000 + types[0, :, 2]
    first: dict[int, int] = {}
    for i, cell in enumerate(cells.tolist()):
        assert places[i] == i - first.setdefault(cell, i)
    assert int(types[0, :, 2].max()) == len(asked.rows)


MUTATIONS: dict[str, tuple[Callable[[], None], str, object]] = {
    "vertical attention that sees padded rows": (
        tabert_agrees, "deepdive.models.bert.tabert.Padding", lambda keys: None,
    ),
    "the last token of a cell alone": (
        tabert_agrees,
        "deepdive.models.bert.tabert.pooled",
        lambda states, slots: states[:, :, :4],
    ),
    "a mean over all rows": (
        tabert_agrees,
        "deepdive.models.bert.tabert.TaBert.forward",
        lambda self, *given: self.cells(*given).mean(1),
    ),
    "places that go on": (
        tapas_agrees,
        "deepdive.models.bert.tapas.restarted",
        lambda columns, rows: torch.arange(columns.shape[1]).expand_as(columns),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", MUTATIONS)
def test_a_mutation_is_seen(name: str) -> None:
    proof, target, wrong = MUTATIONS[name]
    with mock.patch(target, wrong), pytest.raises(AssertionError):
        proof()
