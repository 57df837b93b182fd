"""Cases of `deepdive.models.bert.splinter`."""

from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from deepdive.layers.heads import SpanHead
from deepdive.models.bert.bert import bert
from deepdive.models.bert.splinter import TINY, SpanSelector, Splinter, splinter
from laws import ANY_ROWS, Case, NotApplicable, case, padding_of, random_rows
from laws.models.bert.bert import ROW, SMALL, encoder


@case("splinter", Splinter)
def _() -> Case:
    def make() -> Splinter:
        return Splinter(splinter(TINY))

    def run(model: Splinter, x: Tensor, mask: Any = None, state: Any = None) -> Tensor:
        """The question is asked at place 1, which no row of the laws has padded."""
        return model(x, padding_of(mask), questions=torch.ones_like(x[:, :1]))[:, 0]

    def a_reader() -> tuple[Tensor, Tensor]:
        """A question whose state says nothing: the span reader's scores, of rows that `answer`
        made.
        """
        model = make().double().eval()
        reader = SpanHead(bert(**SMALL), 32).double().eval()
        reader.encoder.load_state_dict(model.bert.state_dict())
        ends = (model.start, model.end)
        with torch.no_grad():
            for i, end in enumerate(ends):
                end.ask[2].weight.zero_()  # the norm's bias alone is left
                end.ask[2].bias.normal_()
                reader.out.weight[i] = end.product(end.ask[2].bias)
        states = reader.encoder(ROW)
        spans = [end.answer(states) @ reader.out.weight[i] for i, end in enumerate(ends)]
        return model(ROW, questions=torch.tensor([[2]]))[:, 0], torch.stack(spans, -1)

    def each_alone() -> tuple[Tensor, Tensor]:
        """Questions of one text do not hear one another in the head."""
        model = make().double().eval()
        each = [model(ROW, questions=torch.tensor([[k]])) for k in range(3)]
        return model(ROW, questions=torch.tensor([[0, 1, 2]])), torch.cat(each, 1)

    made = encoder(
        make,
        "SplinterForQuestionAnswering",
        {"a question that says nothing: the span reader": a_reader, "one by one": each_alone},
        {
            "a text without a question": lambda: make()(ROW),
            "a place outside the text": lambda: make()(ROW, questions=torch.tensor([[3]])),
            "questions for another batch": lambda: make()(ROW, questions=torch.ones(2, 1).long()),
        },
    )
    return replace(made, run=run)


@case("splinter/SpanSelector", SpanSelector)
def _() -> Case:
    def run(part: SpanSelector, x: Tensor, mask: Any = None, state: Any = None) -> Tensor:
        return part(x, torch.zeros(len(x), 1, dtype=torch.int64)).transpose(1, 2)

    def by_hand() -> tuple[Tensor, Tensor]:
        part, states = SpanSelector(4).double(), random_rows(1, 3, 4)
        asked, answers = part.ask(states[0, 2]), part.answer(states[0])
        by_hand = torch.stack([asked @ part.product.weight.T @ row for row in answers])
        return part(states, torch.tensor([[2]]))[0, 0], by_hand

    alone = NotApplicable("it scores rows by one of them: no mask and no cache enters")
    return Case(
        make=lambda: SpanSelector(16),
        run=run,
        parity="transformers QuestionAwareSpanSelectionHead",
        limits={"by hand": by_hand},
        laws={
            **dict.fromkeys(("no_leak", "padding", "cache", "hooks", "order"), alone),
            "refusal": ANY_ROWS,
        },
    )
