"""MPNet: BERT that fills gaps one after the other, and is told how long the text is. Song et al.
2020, "MPNet: Masked and Permuted Pre-training for Language Understanding".

Used, it reads a text as BERT does. Trained, it reads a permuted one, whose last tokens it guesses
in turn (`deepdive.training.objectives.mpnet`).

System: mpnet
Parent: bert
What differs:
- T5's bias for each head and offset is added to the scores, one table for all (`shared_bias`)
- what is guessed sees the guesses before it too: two streams, here one masked (`MPNet.permuted`)
- there are no segments, and positions are counted over the real tokens, as in RoBERTa (`BASE`)
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
    """`Bert` that also reads a text in any order, given where each token stands."""

    def permuted(self, tokens: Tensor, positions: Tensor, seen: Mask) -> Tensor:
        """Return states (B, L, d_model); `deepdive.training.objectives.permute` makes all three.

        A query of the paper's second stream begins as the mask token in its place and has the same
        weights, so it is one more row, which no other row sees.
        Source: Song et al. 2020, section 2.2 and figure 2.
        """
        x = self.embeddings(tokens, None, positions)
        return self.stack(x, mask=seen, positions=positions)


def shared_bias(config: EncoderConfig) -> Stack:
    """Return the layers; one T5Bias, 32 buckets up to a distance of 128, is in all of them."""
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
