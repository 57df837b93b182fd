"""Cases of `deepdive.models.bert.deebert`."""

from math import log

import torch
from torch import Tensor

from deepdive.models.bert.deebert import DeeBert, tiny
from laws import ONE_ROW, Case, case, with_padding

ROW = torch.tensor([[4, 9, 6]])
TOKENS = torch.tensor([[4, 9, 6, 7], [8, 5, 11, 0], [12, 30, 0, 0]])
REAL = TOKENS != 0


def _spread(model: DeeBert) -> DeeBert:
    """The model in float64, its weights larger, so that entropies differ."""
    torch.manual_seed(3)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(0.3 * torch.randn_like(parameter))
    return model.double().eval()


@case("deebert", DeeBert)
def _() -> Case:
    def never() -> tuple[Tensor, Tensor]:
        """Threshold 0: no one leaves early; the trunk's output through the last off-ramp."""
        model = _spread(tiny())
        exits = model.early_exit(TOKENS, 0.0, REAL)
        assert exits.layers.tolist() == [2, 2, 2]
        return exits.logits, model.ramps[-1](model.bert(TOKENS, REAL))

    def at_once() -> tuple[Tensor, Tensor]:
        """A threshold above log(classes): everyone leaves at the first off-ramp."""
        model = _spread(tiny())
        exits = model.early_exit(TOKENS, log(3) + 0.01, REAL)
        assert exits.layers.tolist() == [1, 1, 1]
        return exits.logits, model.all_exits(TOKENS, REAL)[0]

    def one_by_one() -> tuple[Tensor, Tensor]:
        """A batch leaves where its examples leave alone."""
        model = _spread(tiny())
        entropies = -(p := model.all_exits(TOKENS, REAL)[0].softmax(-1)).mul(p.log()).sum(-1)
        threshold = (
            float(entropies.detach().sort().values[1]) + 1e-6
        )  # two of three leave at layer 1
        batch = model.early_exit(TOKENS, threshold, REAL)
        assert sorted(batch.layers.tolist()) == [1, 1, 2]
        alone = [
            model.early_exit(row[real][None], threshold)
            for row, real in zip(TOKENS, REAL, strict=True)
        ]
        assert batch.layers.tolist() == [int(one.layers) for one in alone]
        return batch.logits, torch.cat([one.logits for one in alone])

    return Case(
        run=with_padding,
        parity="transformers BertModel, and the paper's equations example by example",
        limits={
            "threshold 0: the full model": never,
            "a large threshold: the first off-ramp": at_once,
            "a batch: its examples one by one": one_by_one,
        },
        refusals={
            "a negative threshold": lambda: tiny().early_exit(ROW, -0.1),
            "a third stage": lambda: tiny().trainable(3),
            "an inverted mask": lambda: tiny()(ROW, torch.zeros(1, 3).bool()),
        },
        silent={"ramps.0": "the full model has only the last off-ramp"},
        laws=ONE_ROW,
    )
