"""Cases of `deepdive.models.bert.sbert` and `deepdive.models.bert.whitening`."""

import torch
from torch import Tensor

from deepdive.models.bert.sbert import SentenceEncoder, cls, maximum, mean, tiny
from deepdive.models.bert.whitening import Whitening, whitening
from laws import ALONE, ORDERED, Case, NotApplicable, case, random_rows, with_padding

ROW = torch.tensor([[4, 9, 6]])


@case("sbert/SentenceEncoder", SentenceEncoder)
def _() -> Case:
    def run(model: SentenceEncoder, x: Tensor, mask: object = None, state: object = None) -> Tensor:
        return with_padding(model, x, mask)[:, None].expand(-1, x.shape[1], -1)

    def one_token() -> tuple[Tensor, Tensor]:
        model = tiny().double()
        return model(ROW[:, :1]), model.encoder(ROW[:, :1])[:, 0]

    def equal_states() -> tuple[Tensor, Tensor]:
        states = random_rows(2, 1, 5).expand(2, 4, 5)
        mask = torch.tensor([[0, 1, 1, 0], [1, 1, 1, 1]]).bool()
        each = [pooling(states, mask) for pooling in (cls, mean, maximum)]
        return torch.stack(each), states[:, 0].expand(3, 2, 5)

    whole = NotApplicable("the vector is of the whole text, on purpose")
    return Case(
        make=tiny,
        run=run,
        vocab=32,
        parity="sentence-transformers Transformer + Pooling",
        limits={"one token: its state": one_token, "equal states: each pooling": equal_states},
        refusals={
            "an inverted mask": lambda: tiny()(ROW, ROW < 0),
            "an unknown token": lambda: tiny()(ROW + 40),
        },
        laws={"no_leak": whole, "cache": whole, "order": ORDERED},
    )


@case("sbert", Whitening)
def _() -> Case:
    def white() -> tuple[Tensor, Tensor]:
        vectors = random_rows(50, 6) @ random_rows(6, 6, seed=6) + 3.0
        found = whitening(vectors)(vectors)
        measured = torch.cat((found.mean(0)[None], found.T @ found / len(found)))
        return measured, torch.cat((torch.zeros(1, 6), torch.eye(6))).double()

    x, still = random_rows(4, 6), Whitening(torch.zeros(6).double(), torch.eye(6).double())
    return Case(
        parity="sklearn PCA(whiten=True)",
        limits={
            "mean 0, covariance 1": white,
            "centre 0, matrix 1: nothing": lambda: (still(x), x),
        },
        refusals={
            "too few vectors": lambda: whitening(random_rows(6, 6)),
            "a flat direction": lambda: whitening(random_rows(9, 2).repeat(1, 2)),
            "shapes that do not fit": lambda: Whitening(torch.zeros(3), torch.eye(4)),
        },
        laws={
            **ALONE,
            "gradient": NotApplicable("what it holds is measured, not learned by gradient"),
        },
    )
