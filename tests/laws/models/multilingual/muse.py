"""Cases of `deepdive.models.multilingual.muse`."""

from typing import Any

import torch
from torch import Tensor

from deepdive.layers.heads.pretraining import AttentionPooling
from deepdive.models.bert.sbert import mean, normalize
from deepdive.models.multilingual.muse import Muse, root_sum, tiny
from laws import ALONE, ORDERED, Case, NotApplicable, case, padding_of, random_rows, set_weights
from laws.models.bert.bert import FIVE, ROW

WHOLE = NotApplicable("the vector is of the whole text, on purpose")


@case("muse", Muse)
def _() -> Case:
    def run(model: Muse, x: Tensor, mask: Any = None, state: Any = None) -> Tensor:
        """A text as question, answer, context and premise: all that the parts say of it."""
        real = padding_of(mask)
        text = model(x, real)
        turned = model(x.flip(1), None if real is None else real.flip(1))
        said = torch.cat((text, model.answers(text, turned), model.entails(text, turned)), -1)
        return said[:, None].expand(-1, x.shape[1], -1)

    def one_token() -> tuple[Tensor, Tensor]:
        """Divided by the root of 1: its state, of length 1."""
        model = tiny().double()
        return model(ROW[:, :1]), normalize(model.encoder(ROW[:, :1])[:, 0])

    def the_mean() -> tuple[Tensor, Tensor]:
        """A root of the number moves no direction: with the mean the same vectors."""
        model, other = tiny().double(), tiny(pooling=mean).double()
        other.load_state_dict(model.state_dict())
        return model(FIVE), other(FIVE)

    return Case(
        make=tiny,
        run=run,
        vocab=32,
        parity="sentence-transformers Pooling over torch TransformerEncoder",
        limits={"one token: its state": one_token, "of length 1: the mean": the_mean},
        refusals={
            "an inverted mask": lambda: tiny()(ROW, ROW < 0),
            "an unknown token": lambda: tiny()(ROW + 40),
            "vectors of other texts": lambda: tiny().entails(random_rows(2, 32), ROW.float()),
        },
        laws={"no_leak": WHOLE, "cache": WHOLE, "order": ORDERED},
    )


@case("muse/AttentionPooling", AttentionPooling)
def _() -> Case:
    def run(part: AttentionPooling, x: Tensor, mask: Any = None, state: Any = None) -> Tensor:
        real = padding_of(mask)
        every = torch.ones(x.shape[:2], dtype=torch.bool) if real is None else real
        return part(x, every)[:, None].expand(-1, x.shape[1], -1)

    def no_opinion() -> tuple[Tensor, Tensor]:
        part, x = set_weights(AttentionPooling(5), score__weight=0.0), random_rows(2, 4, 5)
        real = torch.tensor([[1, 1, 1, 0], [1, 1, 1, 1]]).bool()
        return part(x, real), mean(x, real)

    def alike() -> tuple[Tensor, Tensor]:
        x = random_rows(2, 1, 5).expand(2, 4, 5)
        real = torch.tensor([[0, 1, 1, 0], [1, 1, 1, 1]]).bool()
        many = real.sum(1, keepdim=True).double().sqrt()
        return AttentionPooling(5).double()(x, real), root_sum(x, real) / many

    return Case(
        make=lambda: AttentionPooling(16),
        run=run,
        parity="torch scaled_dot_product_attention with one query",
        limits={"weights of 0: the mean": no_opinion, "equal states: that state": alike},
        refusals={"no width": lambda: AttentionPooling(0)},
        laws={"no_leak": WHOLE, "cache": ALONE["cache"], "hooks": ALONE["hooks"], "order": WHOLE},
    )
