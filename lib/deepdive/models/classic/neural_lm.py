"""Neural probabilistic language model. Bengio, Ducharme, Vincent and Jauvin 2003.

It predicts the next word from a fixed window of learned word embeddings. word2vec
(`deepdive.models.classic.word2vec`) resulted from dropping the hidden layer.

Parent: mlp
What differs:
- learned word embeddings instead of n-gram counts: `NeuralLM.embedding`
- a window of `n_words` concatenated embeddings is the input of one hidden layer: `NeuralLM.H`
- direct connections from the embeddings to the logits: `NeuralLM.W`
Source: Bengio et al. 2003, section 2, equation 1.
Book: 1.1
"""

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from deepdive.core.checks import positive
from deepdive.core.embeddings import TokenEmbedding
from deepdive.core.masks import padding


class NeuralLM(nn.Module):
    """Window language model: next-token logits (B, T, V) from the last `n_words` tokens.

        x = [C[w_{t-n+1}] ; ... ; C[w_t]]          # (B, T, n_words * d_model), n = n_words
        y = b + W x + U tanh(d + H x)              # (B, T, V)

    d and b are the biases of H and U. Embeddings are 0 before the first token and for padding in
    `mask`. The paper's n includes the word to predict, so its n is n_words + 1.
    """

    def __init__(self, vocab_size: int, d_model: int, d_hidden: int, n_words: int) -> None:
        super().__init__()
        positive(vocab_size=vocab_size, d_model=d_model, d_hidden=d_hidden, n_words=n_words)
        self.n_words = n_words
        self.embedding = TokenEmbedding(vocab_size, d_model)
        self.H = nn.Linear(n_words * d_model, d_hidden)
        self.U = nn.Linear(d_hidden, vocab_size)
        self.W = nn.Linear(n_words * d_model, vocab_size, bias=False)
        nn.init.zeros_(self.W.weight)  # no direct connections at initialization

    def forward(self, tokens: Tensor, mask: Tensor | None = None) -> Tensor:
        """Return logits (B, T, V) for tokens (B, T); `mask` bool (B, T), True = real token."""
        rows = self.embedding(tokens)  # (B, T, d_model)
        real = padding(mask, tokens, "mask")
        if real is not None:
            rows = rows * real.real.unsqueeze(-1)
        rows = F.pad(rows, (0, 0, self.n_words - 1, 0))  # zeros before the first token
        x = rows.unfold(1, self.n_words, 1).transpose(-2, -1).flatten(-2)  # (B, T, n * d_model)
        return self.W(x) + self.U(torch.tanh(self.H(x)))


def tiny(vocab_size: int = 32) -> NeuralLM:
    """Return a model for tests and toys: d_model 16, three words, 12 hidden units."""
    return NeuralLM(vocab_size, d_model=16, d_hidden=12, n_words=3)
