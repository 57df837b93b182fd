"""The trace of a model: every module it calls, in order, with shapes, parameters, operations."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import torch
from browser import Reader
from foreign_models import hugging, ids
from torch import Tensor, nn

from book.check import check
from deepdive.models.seq2seq.attention_seq2seq import tiny_rnnsearch
from deepdive.models.transformer.decoder_only import tiny as tiny_gpt
from deepdive.models.transformer.transformer import tiny as tiny_transformer
from deepdive_book.kit.cost import count_flops
from deepdive_book.kit.trace import Row, trace


def test_shapes_parameters_and_operations_of_a_small_model() -> None:
    top = trace(nn.Sequential(nn.Linear(3, 5), nn.ReLU()), torch.ones(2, 3)).top
    linear = Row("0", "Linear", [(2, 3)], [(2, 5)], 20, 60)
    relu = Row("1", "ReLU", [(2, 5)], [(2, 5)], 0, 0)
    assert top == Row("", "Sequential", [(2, 3)], [(2, 5)], 20, 60, 1, [linear, relu])


@pytest.mark.parametrize(
    ("model", "inputs"),
    [
        (tiny_transformer, (ids(7), ids(5))),
        (tiny_gpt, ids(6)),
        (tiny_rnnsearch, (ids(7), ids(5))),
        (lambda: hugging("t5"), {"input_ids": ids(7), "decoder_input_ids": ids(5)}),
    ],
)
def test_the_whole_is_the_model_and_no_part_is_more_than_the_whole(model, inputs) -> None:  # type: ignore[no-untyped-def]
    model = model().eval()
    told = trace(model, inputs)
    call = {"call": lambda: model(**inputs) if isinstance(inputs, dict) else None}
    if not isinstance(inputs, dict):
        call["call"] = lambda: model(*inputs) if isinstance(inputs, tuple) else model(inputs)
    with torch.no_grad():
        assert told.top.operations == count_flops(call["call"]) > 0
    assert told.top.parameters == sum(p.numel() for p in model.parameters())
    for row in told.rows:
        assert sum(inner.operations for inner in row.inside) <= row.operations
        assert row.shapes_out, f"{row.name} returned nothing"
    assert not {"HookPoint", "LossPoint"} & {row.kind for row in told.rows}
    modules = dict(model.named_modules())
    assert all(type(modules[row.name]).__name__ == row.kind for row in told.rows)
    assert not any(m._forward_hooks or m._forward_pre_hooks for m in model.modules())


def test_calls_from_one_place_are_one_row_and_blocks_stand_in_order() -> None:
    class Twice(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.first, self.last = nn.Linear(4, 4), nn.Linear(4, 2)

        def forward(self, x: Tensor) -> Tensor:
            return self.last(self.first(self.first(x)))

    first, last = trace(Twice(), torch.ones(3, 4)).top.inside
    assert (first.calls, first.operations) == (2, 2 * 2 * 3 * 4 * 4)
    assert (last.calls, last.shapes_out) == (1, [(3, 2)])
    (stack,) = [row for row in trace(tiny_gpt(), ids(6)).rows if row.kind == "Stack"]
    assert [row.name[-1] for row in stack.inside if row.kind == "Block"] == ["0", "1"]
    joint = stack.inside[0].inside[0]
    assert {row.kind for row in joint.inside} == {"LayerNorm", "MultiHeadAttention"}
    assert joint.parameters == sum(row.parameters for row in joint.inside)
    assert "  attn: MultiHeadAttention" in str(trace(tiny_gpt(), ids(6)))


def test_keywords_count_as_given_and_of_several_calls_the_first_one_shows() -> None:
    class Twice(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.act = nn.ReLU()

        def forward(self, *, x: Tensor) -> Tensor:
            return self.act(x).sum() + self.act(x[:1]).sum()

    top = trace(Twice(), {"x": torch.ones(3, 4)}).top
    (act,) = top.inside
    assert top.shapes_in == act.shapes_in == act.shapes_out == [(3, 4)]
    assert act.calls == 2


def test_an_error_of_the_model_leaves_no_hook() -> None:
    model = nn.Linear(3, 3)
    with pytest.raises(RuntimeError):
        trace(model, torch.ones(2, 4))
    assert not model._forward_hooks
    assert not model._forward_pre_hooks


def test_a_terminal_gets_a_table_and_a_page_one_that_folds(reader: Reader, tmp_path: Path) -> None:
    told = trace(tiny_transformer(), (ids(7), ids(5)))
    head, first, *lines = str(told).split("\n")
    assert head.split() == ["module", "in", "out", "parameters", "operations"]
    assert re.match(r"Transformer +\(1, 7\), \(1, 5\) +\(1, 5, 32\) +[\d,]+ +[\d,]+$", first)
    assert any(re.match(r"    stack: Stack +\(1, 7, 32\)", line) for line in lines)
    assert len({len(line) for line in (head, first, *lines)}) == 1
    (tmp_path / "page.html").write_text(told.html, encoding="utf-8")
    assert check(tmp_path) == []
    count = """<script>
    const lines = [...document.querySelectorAll(".line")];
    const seen = () => lines.filter(x => x.checkVisibility()).length;
    const before = seen();
    document.querySelectorAll("details").forEach(x => { x.open = true; });
    document.body.append(`SEEN ${before} ${seen()} OF`);
    </script>"""
    found = re.search(r"SEEN (\d+) (\d+) OF$", reader.text(told.html + count))
    assert found
    below_two = sum(depth <= 2 for depth, _ in told.top.walk())
    assert (int(found[1]), int(found[2])) == (1 + below_two, 1 + len(told.rows))
