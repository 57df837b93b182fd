"""Bidirectional language model (biLM): a forward and a backward LSTM LM. Peters et al. 2018.

`deepdive.models.classic.elmo` combines its layers; its training loss is
`deepdive.training.objectives.bilm_loss`.

Long because the unidirectional language model, of which it has two, has no parent.
"""

import torch
from torch import Tensor, nn

from deepdive.core.checks import positive
from deepdive.core.embeddings import TokenEmbedding, check_tokens
from deepdive.core.masks import Mask
from deepdive.recurrent import LSTM, RecurrentState


class DirectedLM(nn.Module):
    """Unidirectional LSTM language model: logits (B, T, V) for the token after each token.

        h_0 = x                          # (B, T, d_model): the word embeddings
        h_1 = LSTM(h_0)
        h_j = LSTM(h_{j-1}) + h_{j-1}    # j > 1
        logits = head(h_L)

    For a backward model, pass the reversed sentence. Dropout acts on each layer's input and before
    the head. Source: Peters et al. 2018, sections 3.1 and 3.4.
    """

    def __init__(
        self, embedding: nn.Module, head: nn.Module, d_model: int, n_layers: int, dropout: float
    ) -> None:
        super().__init__()
        positive(d_model=d_model, n_layers=n_layers)
        self.embedding, self.head = embedding, head
        self.lstms = nn.ModuleList(LSTM(d_model, d_model) for _ in range(n_layers))
        self.dropout = nn.Dropout(dropout)

    def layers(
        self, tokens: Tensor, mask: Mask | Tensor | None = None, state: RecurrentState | None = None
    ) -> list[Tensor]:
        """Return h_0 ... h_L, each (B, T, d_model), for tokens (B, T) or the embedding's own input.

        `mask` bool (B, T), True = real token; `state` is the initial state, updated in place.
        """
        state = RecurrentState() if state is None else state
        h = [self.embedding(tokens)]
        for j, lstm in enumerate(self.lstms):
            output = lstm(self.dropout(h[-1]), mask, state[j])
            h.append(output + h[-1] if j else output)
        return h

    def forward(
        self, tokens: Tensor, mask: Mask | Tensor | None = None, state: RecurrentState | None = None
    ) -> Tensor:
        """Return next-token logits (B, T, V); the arguments are those of `layers`."""
        return self.head(self.dropout(self.layers(tokens, mask, state)[-1]))


class BiLM(nn.Module):
    """Forward and backward language models that share word embeddings and output layer.

    Neither sees the token it predicts. Source: Peters et al. 2018, section 3.1.
    """

    def __init__(
        self, embedding: nn.Module, head: nn.Module, d_model: int, n_layers: int, dropout: float
    ) -> None:
        super().__init__()
        self.left_to_right = DirectedLM(embedding, head, d_model, n_layers, dropout)
        self.right_to_left = DirectedLM(embedding, head, d_model, n_layers, dropout)

    def forward(self, tokens: Tensor, mask: Tensor | None = None) -> Tensor:
        """Return logits (B, T, 2, V) for tokens (B, T): [:, :, 0] predicts the next token from the
        left context, [:, :, 1] the previous one. `mask` bool (B, T), True = real token.
        """
        back = self.right_to_left(*_turned(tokens, mask)).flip(1)
        return torch.stack([self.left_to_right(tokens, mask), back], dim=2)

    def layers(self, tokens: Tensor, mask: Tensor | None = None) -> list[Tensor]:
        """Return L + 1 tensors (B, T, 2 * d_model), both directions concatenated; the first is the
        word embedding, twice.
        """
        back = _turned(tokens, mask)
        pairs = zip(
            self.left_to_right.layers(tokens, mask), self.right_to_left.layers(*back), strict=True
        )
        return [torch.cat([a, b.flip(1)], dim=-1) for a, b in pairs]


def _turned(tokens: Tensor, mask: Tensor | None) -> tuple[Tensor, Tensor | None]:
    if tokens.ndim < 2:  # words may also be characters (B, T, C)
        check_tokens(tokens)
    return tokens.flip(1), None if mask is None else mask.flip(1)


def bilm(vocab_size: int, d_model: int = 64, n_layers: int = 2, dropout: float = 0.0) -> BiLM:
    """Build a BiLM with a word embedding table."""
    positive(vocab_size=vocab_size, d_model=d_model)
    head = nn.Linear(d_model, vocab_size)
    return BiLM(TokenEmbedding(vocab_size, d_model), head, d_model, n_layers, dropout)
