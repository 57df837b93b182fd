"""ELMo: word vectors from a biLM, "Deep Contextualized Word Representations". Peters et al. 2018.

A forward and a backward language model encode a sentence. A word's contextualized vector is a
task-specific weighted sum of all their layers.

Not as in the paper: LSTM layers of the embeddings' width instead of 4,096 units projected to 512;
no layer norm before the mix; sizes for a laptop; word embeddings unless a character CNN is used.

System: elmo
Parent: word2vec
What differs:
- contextualized vectors: LSTM hidden states instead of a lookup table (`BiLM.layers`)
- a language model per direction, sharing embeddings and output (`deepdive.models.classic.bilm`)
- a residual connection from the first LSTM layer to the second (`DirectedLM.layers`)
- a weighted sum of all layers, with weights learned per task (`ScalarMix`)
- optional character input (`deepdive.models.classic.character_cnn.CharacterCNN`)
Source: Peters et al. 2018, sections 3.1 to 3.4
Book: Straka, contextualized embeddings
"""

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from deepdive.core.checks import positive
from deepdive.core.hooks import HookPoint
from deepdive.models.classic.bilm import BiLM, bilm


class ScalarMix(nn.Module):
    """Weighted sum of layers, y = gamma * sum_j softmax(s)_j h_j, with learned scalars s_j, gamma.

    Initially all s_j are 0 and gamma is 1: the mean. Hook point: `weights` (n_layers,), softmax(s).
    Source: Peters et al. 2018, equation 1.
    """

    def __init__(self, n_layers: int) -> None:
        super().__init__()
        positive(n_layers=n_layers)
        self.s = nn.Parameter(torch.zeros(n_layers))
        self.gamma = nn.Parameter(torch.ones(()))
        self.weights = HookPoint()

    def forward(self, layers: Sequence[Tensor]) -> Tensor:
        """Return the mix (..., d) of n_layers tensors of that shape; else raises ValueError."""
        if len(layers) != len(self.s):
            raise ValueError(f"layers: got {len(layers)}, expected {len(self.s)} with embeddings")
        weighted = zip(self.weights(self.s.softmax(0)), layers, strict=True)
        return self.gamma * torch.stack([w * h for w, h in weighted]).sum(0)


class ELMo(nn.Module):
    """Contextualized word vectors (B, T, 2 * d_model): a weighted sum of a `BiLM`'s layers.

    Each task has its own mix over one `BiLM`; freeze the biLM with
    `bilm.requires_grad_(False)`. Source: Peters et al. 2018, sections 3.2 and 3.3.
    """

    def __init__(self, bilm: BiLM) -> None:
        super().__init__()
        self.bilm = bilm
        self.mix = ScalarMix(len(bilm.left_to_right.lstms) + 1)

    def forward(self, tokens: Tensor, mask: Tensor | None = None) -> Tensor:
        """Return vectors (B, T, 2 * d_model); `mask` bool (B, T), True = real token."""
        return self.mix(self.bilm.layers(tokens, mask))


def tiny(vocab_size: int = 32) -> ELMo:
    """Return a model for tests and toys: d_model 12, two layers per direction."""
    return ELMo(bilm(vocab_size, 12))
