"""Cases of `deepdive.models.multilingual.labse`."""

import torch
from torch import Tensor

from deepdive.layers.heads import Pooler
from deepdive.models.bert.bert import bert
from deepdive.models.bert.sbert import normalize
from deepdive.models.multilingual.labse import TINY, Squashed, labse
from laws import ALONE, ANY_ROWS, Case, NotApplicable, case, random_rows, set_weights
from laws.models.bert.bert import ROW, SMALL


@case("labse", Squashed)
def _() -> Case:
    def identity() -> tuple[Tensor, Tensor]:
        """The matrix 1 on small numbers: tanh leaves them, so their direction is left."""
        part = set_weights(Squashed(5), dense__weight=torch.eye(5), dense__bias=0.0)
        x = random_rows(3, 5) * 1e-6
        return part(x), normalize(x)

    def a_pooler() -> tuple[Tensor, Tensor]:
        """Behind a BERT: the pooler's vector, of length 1."""
        model = labse(TINY).double().eval()
        plain, pooler = bert(**SMALL).double().eval(), Pooler(32).double()
        plain.load_state_dict(model.encoder.state_dict())
        assert isinstance(model.after, Squashed)
        pooler.dense.load_state_dict(model.after.dense.state_dict())
        return model(ROW), normalize(pooler(plain(ROW)))

    return Case(
        make=lambda: Squashed(16),
        parity="sentence-transformers Dense + Normalize, over BertModel",
        limits={"matrix 1, small numbers: the direction": identity, "BERT's pooler": a_pooler},
        laws={
            **ALONE,
            "no_leak": NotApplicable("it looks at one row at a time"),
            "refusal": ANY_ROWS,
        },
    )
