"""MPNet: BERT with masked and permuted pretraining, which sees all positions. Song et al. 2020,
"MPNet: Masked and Permuted Pre-training for Language Understanding".

At inference it encodes a text as BERT does. In pretraining the text is permuted, and its last
tokens are predicted one after the other (`deepdive.training.objectives.mpnet`).

System: mpnet
Parent: bert
What differs:
- T5's relative position bias, one per head and offset, shared by all layers (`shared_bias`)
- each prediction also attends to earlier ones: two streams, here one masked (`MPNet.permuted`)
- no segment embeddings, and positions count only real tokens, as in RoBERTa (`BASE`)
Source: Song et al. 2020, section 2, and their released code.
Book: 3.2
"""

from typing import Any

from torch import Tensor

from deepdive.core import MultiHeadAttention
from deepdive.core.masks import Mask
from deepdive.core.stack import Stack
from deepdive.models.bert.bert import TOY, Bert, EncoderConfig, bert, blocks
from deepdive.models.bert.roberta import RobertaEmbeddings
from deepdive.positions import T5Bias


class MPNet(Bert):
    """`Bert` that also encodes a permuted text, given each token's position."""

    def permuted(self, tokens: Tensor, positions: Tensor, seen: Mask) -> Tensor:
        """Return hidden states (B, L, d_model); `deepdive.training.objectives.permute` makes all
        three arguments. A query of the paper's second stream starts as [MASK] at its position and
        uses the same weights, so here it is one more input token, to which no other token attends.

        Source: Song et al. 2020, section 2.2 and figure 2.
        """
        x = self.embeddings(tokens, None, positions)
        return self.stack(x, mask=seen, positions=positions)


def shared_bias(config: EncoderConfig) -> Stack:
    """Return the layers, which share one T5Bias with 32 buckets up to a distance of 128."""
    position = T5Bias(config.n_heads)
    return blocks(config.but(attention=lambda config, layer: MultiHeadAttention(
        config.d_model, config.n_heads, dropout=config.weights_dropout, position=position
    )))  # fmt: skip


BASE = EncoderConfig(
    vocab_size=30_527, n_segments=0, eps=1e-5, unused_positions=2, embeddings=RobertaEmbeddings,
    stack=shared_bias, model=MPNet, family="mpnet",
)  # fmt: skip
TINY = BASE.but(**TOY)


def mpnet(config: EncoderConfig = BASE, **changes: Any) -> Bert:
    """Build an encoder; defaults are the paper's only size."""
    return bert(config, **changes)
