"""RoBERTa: BERT's model, trained longer on more text, on gaps alone. Liu et al. 2019, "RoBERTa: A
Robustly Optimized BERT Pretraining Approach".

The layers are BERT's. A row of its input is one text, filled with whole sentences up to the full
length, from one document or several.

System: roberta
Parent: bert
What differs:
- the input is one text, so one row of the table of segments is left (`n_segments`), and the model
  learns to fill gaps alone (`deepdive.models.bert.pretraining.for_masked_lm`)
- gaps are drawn anew each time that a text is read (`deepdive.training.objectives.mask_tokens`)
- positions are counted over the real tokens, so padding in front moves none of them
  (`RobertaEmbeddings`); two rows of the released table stand before the first token's and are
  never read (`unused_positions`), one of them padding's
- words are cut into pieces of bytes (`deepdive.tokenizers.ByteBPETokenizer`, `vocab_size`); the
  norms' `eps` is 1e-5; training has more text, larger batches and more steps
Source: Liu et al. 2019, sections 3 and 4, and their released code.
Book: 3.2.1
"""

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
        return (mask.cumsum(1) - 1).clamp(min=0)  # where the token is padding, any place


BASE = EncoderConfig(
    vocab_size=50_265, n_segments=1, eps=1e-5, unused_positions=2, embeddings=RobertaEmbeddings,
    family="roberta",
)  # fmt: skip
LARGE = BASE.but(d_model=1024, n_heads=16, n_layers=24, d_ff=4096)
TINY = BASE.but(**TOY)


def roberta(config: EncoderConfig = BASE, **changes: Any) -> Bert:
    """Build an encoder; defaults are the paper's base model."""
    return bert(config, **changes)
