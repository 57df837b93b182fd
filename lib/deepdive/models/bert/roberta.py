"""RoBERTa: BERT pretrained longer on more text, without next sentence prediction. Liu et al. 2019,
"RoBERTa: A Robustly Optimized BERT Pretraining Approach".

The layers are BERT's. An input sequence is one text of full sentences packed up to the maximum
length, from one document or several.

System: roberta
Parent: bert
What differs:
- the input is one text, so there is one segment embedding (`n_segments`), and masked language
  modeling is the only objective (`deepdive.models.bert.pretraining.for_masked_lm`)
- dynamic masking: new masks each time a text is used (`deepdive.training.objectives.mask_tokens`)
- positions count only real tokens, so padding on the left doesn't shift them
  (`RobertaEmbeddings`); two entries of the released table precede the first token's and are never
  used (`unused_positions`), one of them padding's
- byte-level BPE (`deepdive.tokenizers.ByteBPETokenizer`, `vocab_size`); the norms' `eps` is 1e-5;
  training has more text, larger batches and more steps
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
        """Return each token's position among the real tokens, (T,) or (B, T)."""
        if mask is None:
            return super().positions(tokens, mask)
        return (mask.cumsum(1) - 1).clamp(min=0)  # padding may have any position


BASE = EncoderConfig(
    vocab_size=50_265, n_segments=1, eps=1e-5, unused_positions=2, embeddings=RobertaEmbeddings,
    family="roberta",
)  # fmt: skip
LARGE = BASE.but(d_model=1024, n_heads=16, n_layers=24, d_ff=4096)
TINY = BASE.but(**TOY)


def roberta(config: EncoderConfig = BASE, **changes: Any) -> Bert:
    """Build an encoder; defaults are the paper's base model."""
    return bert(config, **changes)
