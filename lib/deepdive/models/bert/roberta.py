"""RoBERTa: BERT's model, trained longer on more text, on gaps alone. Liu et al. 2019, "RoBERTa: A
Robustly Optimized BERT Pretraining Approach".

The layers are BERT's. Its inputs are whole sentences from one document or several, up to the full
length.

System: roberta
Parent: bert
What differs:
- there is no second text, so no head for it: `n_segments` is 1 (`for_masked_lm`)
- gaps are drawn at each visit, not once (`deepdive.training.objectives.mask_tokens` in training's
  loop)
- positions are counted over the real tokens, so padding in front moves none of them
  (`RobertaEmbeddings`); the table has `unused_positions` before them
- words are cut into bytes (`deepdive.tokenizers.ByteBPETokenizer`), 50,265 pieces
- the norms' `eps` is 1e-5, and training has more text, larger batches and more steps
Source: Liu et al. 2019, sections 3 and 4, and their released code.
Book: 3.2.1
"""

from __future__ import annotations

from typing import Any

from torch import Tensor

from deepdive.models.bert.bert import TOY, Bert, EncoderConfig, bert
from deepdive.models.bert.embeddings import BertEmbeddings


class RobertaEmbeddings(BertEmbeddings):
    """`BertEmbeddings` whose positions count real tokens: p = number of real tokens before it."""

    def positions(self, tokens: Tensor, mask: Tensor | None) -> Tensor:
        """Return where each token stands among the real ones, (T,) or (B, T)."""
        if mask is None:
            return super().positions(tokens, mask)
        return (mask.cumsum(1) - 1).clamp(min=0)  # below padding any place will do


BASE = EncoderConfig(
    vocab_size=50_265, n_segments=1, eps=1e-5, unused_positions=2, embeddings=RobertaEmbeddings,
    family="roberta",
)  # fmt: skip
LARGE = BASE.but(d_model=1024, n_heads=16, n_layers=24, d_ff=4096)
TINY = BASE.but(**TOY)


def roberta(config: EncoderConfig = BASE, **changes: Any) -> Bert:
    """Build an encoder; defaults are the paper's base model."""
    return bert(config, **changes)
