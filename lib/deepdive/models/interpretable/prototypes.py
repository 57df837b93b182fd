"""A prototype classifier: it predicts from a text's distances to a few learned prototypes. Li
et al. 2018, "Deep Learning for Case-Based Reasoning through Prototypes".

    e          = encoder(tokens)                     # (B, d_model), a text as one vector
    distance_j = |e - prototype_j|^2                 # (B, n_prototypes)
    logits     = distance W                          # one linear map, no bias

Prototypes are learned vectors. So that each resembles a text, two regularizers pull every prototype
towards some text, and every text towards some prototype (`pulls`).

Not as in the paper: no decoder renders a prototype as an image; the nearest training text
represents it.
"""

import torch
from torch import Tensor, nn

from deepdive.core.checks import positive


class PrototypeClassifier(nn.Module):
    """Texts (B, T) -> logits (B, n_classes), by distances to `n_prototypes` vectors (d_model,)."""

    def __init__(self, encoder: nn.Module, d_model: int, n_prototypes: int, n_classes: int) -> None:
        super().__init__()
        positive(d_model=d_model, n_prototypes=n_prototypes, n_classes=n_classes)
        self.encoder = encoder
        self.prototypes = nn.Parameter(torch.randn(n_prototypes, d_model))
        self.classify = nn.Linear(n_prototypes, n_classes, bias=False)

    def distances(self, tokens: Tensor, mask: Tensor | None = None) -> Tensor:
        """Return the squared distances (B, n_prototypes) of texts to the prototypes."""
        e = self.encoder(tokens, mask)
        return (e[:, None] - self.prototypes).square().sum(-1)

    def forward(self, tokens: Tensor, mask: Tensor | None = None) -> Tensor:
        """Return logits (B, n_classes)."""
        return torch.as_tensor(self.classify(self.distances(tokens, mask)))


def pulls(distances: Tensor) -> tuple[Tensor, Tensor]:
    """Return R_1, the distance of prototypes to their nearest text of the batch, and R_2, that of
    texts to their nearest prototype; means, for distances (B, n_prototypes).

    Source: Li et al. 2018.
    """
    return distances.min(0).values.mean(), distances.min(1).values.mean()
