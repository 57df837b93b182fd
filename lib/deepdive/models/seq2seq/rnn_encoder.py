"""Building blocks of recurrent encoder-decoders: embeddings, RNN encoder, tied output layer."""

from torch import Tensor, nn

from deepdive.core.checks import positive
from deepdive.core.embeddings import TiedHead, TokenEmbedding, check_tokens
from deepdive.core.hooks import HookPoint
from deepdive.core.masks import padding
from deepdive.recurrent import RecurrentStack, RecurrentState


class RNNEncoder(nn.Module):
    """Token embedding and recurrent network: token ids (B, T) -> hidden states (B, T, d_hidden).

    Hook point: `embedded` (B, T, d_model), the token embeddings.
    """

    def __init__(
        self, embedding: TokenEmbedding, recurrent: RecurrentStack, dropout: float = 0.0
    ) -> None:
        super().__init__()
        self.embedding, self.recurrent = embedding, recurrent
        self.d_hidden = recurrent.d_hidden
        self.embedded = HookPoint()
        self.dropout = nn.Dropout(dropout)

    def forward(
        self, tokens: Tensor, mask: Tensor | None = None, state: RecurrentState | None = None
    ) -> Tensor:
        """Return the hidden states of `tokens`, starting from `state`; `mask` bool (B, T), True =
        real token.
        """
        check_tokens(tokens)
        real = padding(mask, tokens, "mask")
        return self.recurrent(self.dropout(self.embedded(self.embedding(tokens))), real, state)


def embeddings(
    src_vocab: int, tgt_vocab: int | None, d_model: int
) -> tuple[TokenEmbedding, TokenEmbedding]:
    """Build source and target embeddings; without `tgt_vocab` they are shared."""
    positive(src_vocab=src_vocab, tgt_vocab=tgt_vocab, d_model=d_model)
    source = TokenEmbedding(src_vocab, d_model, scale=d_model**0.5)
    if tgt_vocab is None:
        return source, source
    return source, TokenEmbedding(tgt_vocab, d_model, scale=d_model**0.5)


def tied_head(embedding: TokenEmbedding, d_hidden: int, dropout: float = 0.0) -> nn.Module:
    """Build an output layer, hidden states (..., d_hidden) -> logits: dropout, a projection to
    d_model if it isn't d_hidden, then the tied embedding matrix.
    """
    positive(d_hidden=d_hidden)
    head = nn.Sequential(nn.Dropout(dropout))
    if d_hidden != embedding.d_model:
        head.append(nn.Linear(d_hidden, embedding.d_model))
    return head.append(TiedHead(embedding, bias=True))
