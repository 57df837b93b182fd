"""HIBERT's pretraining: predict masked sentences, word by word. Zhang et al. 2019, section 3.2.

`deepdive.training.objectives.masked_sentences` masks them.
"""

from functools import partial

from torch import Tensor, nn

from deepdive.core import Block, FeedForward, LayerNorm, MultiHeadAttention, PostNorm
from deepdive.core.embeddings import TiedHead
from deepdive.core.stack import Stack
from deepdive.layers.heads import initialize
from deepdive.models.efficient.hibert import Hibert
from deepdive.models.transformer.transformer import Decoder


class HibertForMaskedSentences(nn.Module):
    """Logits (N, T, V) of the next word in N masked sentences, given their documents.

    The decoder's cross-attention attends to one vector, the state of the masked sentence.
    """

    def __init__(self, hibert: Hibert, decoder: Decoder, head: TiedHead) -> None:
        super().__init__()
        self.hibert, self.decoder, self.head = hibert, decoder, head

    def forward(self, tokens: Tensor, mask: Tensor, chosen: Tensor, words: Tensor) -> Tensor:
        """Return logits for `words` (N, T), which begin with a start token.

        tokens, mask   the corrupted documents (B, S, T), and bool (B, S, T), True = real token
        chosen         bool (B, S), the N masked sentences, in the order of `words`
        """
        memory = self.hibert(tokens, mask)[chosen].unsqueeze(1)
        return self.head(self.decoder(words, memory=memory))


def for_masked_sentences(hibert: Hibert, n_layers: int = 2) -> HibertForMaskedSentences:
    """Build the decoder around an encoder; it has the encoder's embedding matrix and width."""
    config = hibert.config
    width, heads = config.d_model, config.n_heads

    def block(_layer: int) -> Block:
        sublayers = (MultiHeadAttention(width, heads), FeedForward(width, config.d_ff),
                     MultiHeadAttention(width, heads))  # fmt: skip
        norm = partial(LayerNorm, eps=config.eps)
        return Block(*sublayers, residual=partial(PostNorm, norm=norm, dropout=config.dropout))

    stack = Stack(block, n_layers)
    initialize(stack)
    embedding = hibert.words.embeddings.tokens
    decoder = Decoder(embedding, config.position(config), stack, config.dropout)
    return HibertForMaskedSentences(hibert, decoder, TiedHead(embedding))
