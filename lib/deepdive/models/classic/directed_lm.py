"""A language model that reads one way, of which `deepdive.models.classic.bilm` has two."""

from torch import Tensor, nn

from deepdive.core.checks import positive
from deepdive.core.masks import Mask
from deepdive.recurrent import LSTM, RecurrentState


class DirectedLM(nn.Module):
    """A language model that reads one way: logits (B, T, V) for the token after each token.

        h_0 = x                          # (B, T, d_model): the word's own row
        h_1 = LSTM(h_0)
        h_j = LSTM(h_{j-1}) + h_{j-1}    # j > 1
        logits = head(h_L)

    To read from the right, give it the sentence turned round. Dropout acts on what each layer
    reads and before the head. Source: Peters et al. 2018, sections 3.1 and 3.4.
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
        """Return h_0 ... h_L, each (B, T, d_model), for tokens (B, T), or what the embedding reads.

        `mask` bool (B, T), True = real token; `state` is where to start, and moves on.
        """
        state = RecurrentState() if state is None else state
        h = [self.embedding(tokens)]
        for j, lstm in enumerate(self.lstms):
            read = lstm(self.dropout(h[-1]), mask, state[j])
            h.append(read + h[-1] if j else read)
        return h

    def forward(
        self, tokens: Tensor, mask: Mask | Tensor | None = None, state: RecurrentState | None = None
    ) -> Tensor:
        """Return logits (B, T, V) for the token that follows each; arguments as for `layers`."""
        return self.head(self.dropout(self.layers(tokens, mask, state)[-1]))
