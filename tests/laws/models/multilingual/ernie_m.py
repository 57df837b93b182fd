"""Case of `deepdive.models.multilingual.ernie_m`."""

import torch
from torch import Tensor

from deepdive.models.bert.bert import Bert
from deepdive.models.bert.roberta import TINY as ROBERTA_TINY
from deepdive.models.bert.roberta import roberta
from deepdive.models.multilingual.ernie_m import TINY, cross_attend, ernie_m
from laws import Case, case
from laws.models.bert.bert import FIVE, encoder


@case("ernie_m", Bert)
def _() -> Case:
    def make() -> Bert:
        return ernie_m(TINY)

    def a_roberta() -> tuple[Tensor, Tensor]:
        """Nothing is padded: RoBERTa whose one segment says nothing."""
        model, plain = make().double().eval(), roberta(ROBERTA_TINY).double().eval()
        state = plain.state_dict()
        segments = "embeddings.segments.weight"
        plain.load_state_dict({**model.state_dict(), segments: torch.zeros_like(state[segments])})
        return model(FIVE), plain(FIVE)

    def one_side_without_gaps() -> tuple[Tensor, Tensor]:
        """All of one sentence and nothing hidden: the encoder as it is."""
        model = make().double().eval()
        none = torch.zeros_like(FIVE, dtype=torch.bool)
        return cross_attend(model, FIVE, none, none, ~none), model(FIVE)

    limits = {"no padding: RoBERTa": a_roberta, "one sentence, no gap": one_side_without_gaps}
    refusals = {
        "a gap and nothing to fill it by": lambda: cross_attend(
            make(), FIVE, FIVE < 0, FIVE == 4, FIVE > 0
        ),
        "segments": lambda: make()(FIVE, None, torch.zeros_like(FIVE)),
    }
    return encoder(make, "ErnieMModel of 4.57.6", limits, refusals)
