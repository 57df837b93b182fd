"""Cases of `deepdive.models.efficient.all_attention`."""

import torch
from torch import Tensor

from deepdive.core import Block, MultiHeadAttention
from deepdive.models.efficient.all_attention import all_attention, all_attention_block, tiny
from deepdive.models.transformer.decoder_only import DecoderOnly
from laws import Case, Fails, case, random_rows
from laws.models.transformer.transformer import ROW, step_or_all

X = random_rows(2, 5, 16)


@case("all_attention", DecoderOnly)
def _() -> Case:
    def without_vectors() -> tuple[Tensor, Tensor]:
        """No persistent vector: a layer of attention alone."""
        ours = all_attention_block(16, 4, 0).double()
        plain = Block(MultiHeadAttention(16, 4), None).double()
        plain.load_state_dict(ours.state_dict(), strict=False)
        return ours(X), plain(X)

    def no_layers() -> tuple[Tensor, Tensor]:
        model = all_attention(32, d_model=16, n_heads=2, n_layers=0, n_slots=3).double().eval()
        return model(ROW), model.decoder(ROW) @ model.decoder.embedding.weight.T

    return Case(
        run=step_or_all,
        begin=lambda model: model.begin(),
        parity="torch.nn.MultiheadAttention with add_bias_kv, and the paper's equations in loops",
        limits={
            "no persistent vector: attention alone": without_vectors,
            "no layers: the embeddings times themselves": no_layers,
        },
        refusals={
            "a float mask": lambda: tiny()(ROW, torch.ones(1, 3)),
            "heads that do not divide the width": lambda: all_attention_block(16, 3, 2),
        },
        laws={"order": Fails("positions and the causal mask tell the tokens apart")},
    )
