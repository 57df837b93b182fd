"""I-BERT: RoBERTa's names, and beside each weight what the last run made of it in whole numbers."""

from collections.abc import Mapping

from torch import Tensor

from deepdive.models.bert import ibert
from deepdive.published.families.encoders import ROBERTA, is_masked_lm, like, masked

MADE = (
    "weight_scaling_factor", "weight_integer", "bias_integer", "fc_scaling_factor",
    "act_scaling_factor", "x_min", "x_max", "shift",
)  # fmt: skip


def _without_made(found: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Files hold whole numbers, scales and ranges too: `integer` makes them, `calibrated` finds."""
    return {name: t for name, t in found.items() if name.rpartition(".")[2] not in MADE}


IBERT = like(
    ROBERTA,
    "IBert",
    ibert.ibert,
    ibert.BASE,
    expected={**ROBERTA.expected, "quant_mode": False},
    older=(*ROBERTA.older, _without_made),
    heads=is_masked_lm("IBert", masked("dense layer_norm bias decoder.weight", "lm_head.")),
)
FAMILIES = (IBERT,)
