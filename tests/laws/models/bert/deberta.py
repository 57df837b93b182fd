"""Cases of DeBERTa, its decoder of gaps, and its later versions."""

import torch
from torch import Tensor

from deepdive.models.bert import deberta, mask_decoder
from deepdive.models.bert.bert import bert
from laws import Case, case, set_weights
from laws.models.bert.bert import FIVE, SMALL, encoder


@case("deberta", mask_decoder.EnhancedMaskDecoder)
def _() -> Case:
    def a_bert() -> tuple[Tensor, Tensor]:
        """Places that say nothing, in both: queries shorter by the root of 3."""
        model = deberta.deberta(deberta.TINY).double().eval()
        plain = bert(**SMALL, n_segments=0, eps=1e-7).double().eval()
        for block in model.stack.blocks:
            zero = {"keys__weight": 0.0, "queries__weight": 0.0, "queries__bias": 0.0}
            set_weights(block.attn.position, **zero)
        state = {n: t.clone() for n, t in model.state_dict().items()}
        for attn in (f"stack.blocks.{layer}.attn." for layer in range(2)):
            state[attn + "q.weight"] /= 3**0.5
            state[attn + "kv.bias"] = torch.cat([torch.zeros(32), state[attn + "v_bias"]])
        state["embeddings.position.table.weight"] = torch.zeros(64, 32)
        plain.load_state_dict({n: t for n, t in state.items() if n in plain.state_dict()})
        return model(FIVE), plain(FIVE)

    def one_step() -> tuple[Tensor, Tensor]:
        """No absolute places, one step: the encoder and the head."""
        model = mask_decoder.for_pretraining(deberta.deberta(deberta.TINY)).double().eval()
        set_weights(model.positions, table__weight=0.0)
        model.steps = 1
        return model(FIVE), model.masked(model.bert(FIVE))

    limits = {"places that say nothing: BERT": a_bert, "one step, no places": one_step}
    refusals = {
        "nothing to decode with": lambda: mask_decoder.for_pretraining(
            deberta.deberta(deberta.TINY, n_layers=0)
        )
    }
    return encoder("deberta", "DebertaForMaskedLM", limits, refusals)
