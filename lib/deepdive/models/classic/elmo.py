"""ELMo, "Deep Contextualized Word Representations". Peters et al. 2018.

Two language models read a sentence, one from each end. All their layers together, mixed with
weights that a task learns, are the word's vector in this sentence.

Not as in the paper: LSTM layers as wide as the rows in the place of 4,096 units projected to 512;
no layer norm before the mix; sizes for a laptop; words enter by a table, unless by their letters.

System: elmo
Parent: word2vec
What differs:
- a word's vector depends on its sentence: the states of LSTM layers, not a row (`BiLM.layers`)
- two language models, one a direction, share rows and output layer (`deepdive.models.classic.bilm`)
- a residual connection from the first LSTM layer to the second (`DirectedLM.layers`)
- all layers are used, mixed with weights of the task's own (`ScalarMix`)
- words can enter by their letters (`deepdive.models.classic.character_cnn.CharacterCNN`)
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
    """y = gamma * sum_j softmax(s)_j h_j, with one number s_j a layer and one gamma, both learned.

    At first all s_j are 0 and gamma is 1: the mean. Hook point: `weights` (n_layers,), softmax(s).
    Source: Peters et al. 2018, equation 1.
    """

    def __init__(self, n_layers: int) -> None:
        super().__init__()
        positive(n_layers=n_layers)
        self.s = nn.Parameter(torch.zeros(n_layers))
        self.gamma = nn.Parameter(torch.ones(()))
        self.weights = HookPoint()

    def forward(self, layers: Sequence[Tensor]) -> Tensor:
        """Return (..., d) for n_layers tensors of that shape; ValueError for another number."""
        if len(layers) != len(self.s):
            raise ValueError(f"{len(layers)} layers; expected {len(self.s)}: the words' rows too")
        weighted = zip(self.weights(self.s.softmax(0)), layers, strict=True)
        return self.gamma * torch.stack([w * h for w, h in weighted]).sum(0)


class ELMo(nn.Module):
    """A word's vector in its sentence: the layers of a `BiLM`, mixed; (B, T, 2 * d_model).

    Each task has a mix of its own over one `BiLM`; train the mix alone with
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
    """Return a model for tests and toys: rows 12 wide, two layers a direction."""
    return ELMo(bilm(vocab_size, 12))
