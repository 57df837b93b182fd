"""Cases of `deepdive.models.bert.xlnet`."""

from typing import Any

import torch
from torch import Tensor

from deepdive.layers.segment_memory import Memory
from deepdive.models.bert.xlnet import TINY, XLNet, XLNetBlock, XLNetLM, for_lm, xlnet
from deepdive.positions.xl import RelativeSegments
from laws import (
    ALONE,
    ORDERED,
    TWO_SIDED,
    Case,
    Fails,
    NotApplicable,
    case,
    padding_of,
    random_rows,
    set_weights,
)

ROW = torch.tensor([[4, 9, 6, 8, 5, 7]])
LEFT_TO_RIGHT = torch.ones(6, 6).tril(-1).bool()[None]
IN_ORDER = NotApplicable("the order is drawn, and is its mask; test_xlnet.py sees who reads whom")


def texts(x: Tensor) -> Tensor:
    """Two texts of three rows."""
    return (torch.arange(x.shape[1]) // 3).expand(x.shape[:2])


def apart(x: Tensor) -> Tensor:
    return texts(x)[:, :, None] != texts(x)[:, None]


@case("xlnet/RelativeSegments", RelativeSegments)
def _() -> Case:
    def worth(part: RelativeSegments, x: Tensor, mask: Any = None, state: Any = None) -> Tensor:
        bias = part(x.unflatten(-1, (4, 4)).transpose(1, 2), apart(x))  # (B, 4, T, T)
        return bias.transpose(1, 2).flatten(2)

    def no_question() -> tuple[Tensor, Tensor]:
        """Without a query the bias is w . e, one number for each head and each case."""
        part = RelativeSegments(2, 4).double()
        set_weights(part, w=1.0)
        expected = part.e.sum(-1)[:, None, :] / 2  # (2, 1, H)
        got = part(torch.zeros(1, 2, 1, 4).double(), torch.tensor([[[False, True]]]))
        return got[0].permute(2, 1, 0), expected

    return Case(
        make=lambda: RelativeSegments(4, 4),
        run=worth,
        parity="transformers XLNetModel",
        limits={"queries of zeros: one number": no_question},
        refusals={"queries of another width": lambda: RelativeSegments(4, 4)(
            torch.zeros(1, 4, 6, 5), apart(ROW))},
        laws={**ALONE, "order": Fails("which text a row is of stands at its place")},
    )  # fmt: skip


@case("xlnet/XLNetBlock", XLNetBlock)
def _() -> Case:
    def make() -> XLNetBlock:
        return XLNetBlock(TINY.but(d_model=16))

    def one_text() -> tuple[Tensor, Tensor]:
        """In one text every score has the same number more, which a softmax does not see."""
        block, x, places = make().double(), random_rows(2, 6, 16), torch.arange(6)
        return block.read(x, x, None, places, torch.zeros(2, 6, 6).bool()), block(x)

    return Case(
        make=make,
        run=lambda block, x, mask, state: block.read(
            x, x, mask, torch.arange(x.shape[1]), apart(x)
        ),
        parity="transformers XLNetModel",
        limits={"one text: Transformer-XL's layer": one_text},
        refusals={
            "rows of another width": lambda: make()(torch.zeros(1, 6, 8)),
            "places for other rows": lambda: make().read(
                torch.zeros(1, 6, 16), torch.zeros(1, 6, 16), None, torch.arange(3), None
            ),
        },
        laws={
            "order": ORDERED,
            "cache": NotApplicable("its memory is of rows, not of keys: `Memory`"),
        },
    )


@case("xlnet", XLNet)
def _() -> Case:
    def make() -> XLNet:
        return xlnet(TINY)

    def transformer_xl() -> tuple[Tensor, Tensor]:
        model = make().double()
        return model(ROW, segments=torch.zeros_like(ROW)), model.stack(model.tokens(ROW))

    def inverted() -> object:
        return make()(ROW, torch.zeros(1, 6).bool())

    def padded_memory() -> object:
        return make()(ROW, ROW > 4, memory=Memory())

    return Case(
        make=make,
        run=lambda model, x, mask, state: model(x, padding_of(mask), texts(x)),
        vocab=32,
        parity="transformers XLNetModel, XLNetLMHeadModel",
        limits={"one text, one stream, no memory: Transformer-XL's layers": transformer_xl},
        refusals={
            "an inverted mask": inverted,
            "padding that would be remembered": padded_memory,
            "no batch axis": lambda: make()(ROW[0]),
            "a token outside the vocabulary": lambda: make()(ROW + 40),
            "no vocabulary": lambda: xlnet(TINY, vocab_size=0),
        },
        silent={"unread": "nothing is asked for here; XLNetLM's case has its gradient"},
        laws={**TWO_SIDED, "order": ORDERED},
    )


@case("xlnet/XLNetLM", XLNetLM)
def _() -> Case:
    def make() -> XLNetLM:
        return for_lm(xlnet(TINY))

    def predict(model: XLNetLM, x: Tensor, mask: Any = None, state: Any = None) -> Tensor:
        T = x.shape[1]
        sees = torch.ones(T, T).tril(-1).bool().expand(len(x), -1, -1)
        places = torch.arange(T).clamp(min=1).expand(x.shape)  # place 0 has nothing to read
        return model(x, sees, places, padding_of(mask), texts(x))

    def left_to_right() -> tuple[Tensor, Tensor]:
        """What is said of a place is said of the text that ends there, whatever its token is."""
        model = make().double()
        whole = model(ROW, LEFT_TO_RIGHT, torch.arange(1, 6)[None])
        parts = []
        for t in range(1, 6):
            text = torch.cat((ROW[:, :t], torch.tensor([[30]])), 1)
            parts.append(model(text, LEFT_TO_RIGHT[:, : t + 1, : t + 1], torch.tensor([[t]])))
        return whole, torch.cat(parts, 1)

    def remembered() -> tuple[Tensor, Tensor]:
        """Left to right, a second segment that remembers the first is the whole text's half."""
        model, memory, places = make().double(), Memory(), torch.arange(3)[None]
        half = LEFT_TO_RIGHT[:, :3, :3]
        model(ROW[:, :3], half, places, memory=memory)
        later = model(ROW[:, 3:], half, places, memory=memory)
        return later, model(ROW, LEFT_TO_RIGHT, places + 3)

    return Case(
        make=make,
        run=predict,
        vocab=32,
        parity="transformers XLNetLMHeadModel",
        limits={
            "left to right: a causal language model": left_to_right,
            "two segments with memory: one pass": remembered,
        },
        refusals={
            "a place that reads itself": lambda: make()(ROW, ~LEFT_TO_RIGHT, ROW[:, :1]),
            "an order for another length": lambda: make()(ROW, LEFT_TO_RIGHT[:, 1:], ROW[:, :1]),
        },
        laws={"no_leak": IN_ORDER, "cache": IN_ORDER, "order": ORDERED},
    )
