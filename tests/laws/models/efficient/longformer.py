"""Cases of `deepdive.models.efficient.longformer`."""

from __future__ import annotations

import torch
from torch import Tensor

from deepdive.models.efficient.longformer import TINY, Longformer, longformer
from laws import Case, NotApplicable, case, padding_of
from laws.models.bert.bert import ORDERED


@case("longformer", Longformer)
def _() -> Case:
    row = torch.tensor([[4, 9, 6, 8, 5]])

    def everyone() -> tuple[Tensor, Tensor]:
        """All tokens global, and projections as they start: an encoder without windows."""
        from deepdive.models.bert.roberta import TINY as roberta_tiny
        from deepdive.models.bert.roberta import roberta

        model = longformer(TINY).double()
        plain = roberta(roberta_tiny).double()
        state = {n: t for n, t in model.state_dict().items() if ".global_" not in n}
        plain.load_state_dict(state)
        return model(row, global_tokens=row > 0), plain.eval()(row)

    two_sided = NotApplicable("every token sees both its sides, on purpose")
    unasked = "no token is global here; with global tokens test_parity_longformer.py sees it"
    return Case(
        make=lambda: longformer(TINY),
        run=lambda model, x, mask=None, state=None: model(x, padding_of(mask)),
        vocab=32,
        parity="transformers LongformerModel",
        limits={"all tokens global, projections as they start: RoBERTa": everyone},
        silent={"global_q": unasked, "global_kv": unasked},
        refusals={
            "an inverted mask": lambda: longformer(TINY)(row, torch.zeros(1, 5).bool()),
            "longer than the table": lambda: longformer(TINY)(torch.full((1, 65), 4)),
            "marks of another shape": lambda: longformer(TINY)(row, global_tokens=row[:, :2] > 0),
            "an odd window": lambda: longformer(TINY, window=3),
            "windows for other layers": lambda: longformer(TINY, n_layers=3),
        },
        laws={"no_leak": two_sided, "cache": two_sided, "order": ORDERED},
    )
