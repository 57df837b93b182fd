"""DeBERTa's enhanced mask decoder: the last layer with absolute positions in the queries. The
system's header is in `deepdive.models.bert.deberta`.
"""

from torch import Tensor

from deepdive.core import Block
from deepdive.core.embeddings import check_tokens
from deepdive.core.masks import padding
from deepdive.layers.heads import MaskedHead
from deepdive.models.bert.bert import Bert
from deepdive.models.bert.pretraining import BertForMaskedLM, masked_head
from deepdive.positions import LearnedPosition


class EnhancedMaskDecoder(BertForMaskedLM):
    """Encoder whose last layer predicts masked tokens, applied `steps` times with shared weights.

        h = the states below the last layer,  z = h + positions
        z = last layer with queries z, keys and values h, residual z         # `steps` times

    The paper starts from z = positions; its released code, which is followed here, adds h.
    Source: He et al. 2021, section 3.2, and their released code, `emd_context_layer`.
    """

    steps = 2

    def __init__(self, bert: Bert, masked: MaskedHead, positions: LearnedPosition) -> None:
        super().__init__(bert, masked)
        self.positions = positions

    def forward(
        self, tokens: Tensor, mask: Tensor | None = None, segments: Tensor | None = None
    ) -> Tensor:
        """Return the logits (B, T, V) of all tokens."""
        return self.masked_logits(self.decoded(tokens, mask, segments))

    def decoded(self, tokens: Tensor, mask: Tensor | None, segments: Tensor | None) -> Tensor:
        """Return the decoder's hidden states z (B, T, d_model), the input of the head."""
        check_tokens(tokens)
        real = padding(mask, tokens, "mask")
        positions = self.bert.embeddings.positions(tokens, mask)
        *blocks, last = self.bert.stack.blocks
        h = self.bert.embeddings(tokens, segments, positions)
        for block in blocks:
            h = block(h, mask=real)
        z = self.positions.embed(h, positions)
        assert isinstance(last, Block)
        for _ in range(self.steps):
            z = last.attn_residual(z, lambda rows: last.attn(rows, memory=h, memory_mask=real))
            z = last.ff_residual(z, last.ff)
        return z


def for_pretraining(encoder: Bert) -> EnhancedMaskDecoder:
    """Add the enhanced mask decoder to an encoder. Raises ValueError for one without layers."""
    config = encoder.config
    if not config.n_layers:
        raise ValueError("n_layers=0: the last layer decodes, so expected 1 or more")
    positions = LearnedPosition(config.max_length, config.d_model)
    return EnhancedMaskDecoder(encoder, masked_head(encoder), positions)
