"""Self-explaining network: a classifier linear in its words, with coefficients that depend on the
text, but barely change near it. Alvarez-Melis and Jaakkola 2018, "Towards Robust Interpretability
with Self-Explaining Neural Networks".

    theta  = weigher(embeddings)                        # (B, T, n_classes, d_model)
    share  = theta_t . x_t                              # (B, T, n_classes): word t's contribution
    logits = sum over t of share_t

The explanation is the sum itself, exact and complete. It means something only if theta predicts how
the output changes with small changes of a word, so its distance from the gradient is a penalty:

    unsteady = mean over t, c of |d logits_c / d x_t - theta_tc|^2      # 0 for a linear model

Here the concepts are the word embeddings; the paper also learns concepts with an autoencoder.
"""

import torch
from torch import Tensor, nn

from deepdive.core.hooks import HookPoint


class SelfExplaining(nn.Module):
    """Texts (B, T) -> logits (B, n_classes), a sum of contributions of its words.

    weigher   embeddings (B, T, d_model), mask -> theta, (B, T, n_classes * d_model)
    """

    def __init__(self, embed: nn.Embedding, weigher: nn.Module, n_classes: int) -> None:
        super().__init__()
        self.embed, self.weigher, self.n_classes = embed, weigher, n_classes
        self.embedded = HookPoint()

    def shares(self, tokens: Tensor, mask: Tensor | None = None) -> Tensor:
        """Return each word's contribution to each class, (B, T, n_classes); 0 for padding."""
        return self._parts(tokens, mask)[2]

    def forward(self, tokens: Tensor, mask: Tensor | None = None) -> Tensor:
        """Return logits (B, n_classes)."""
        return self.shares(tokens, mask).sum(1)

    def unsteady(self, tokens: Tensor, mask: Tensor | None = None) -> Tensor:
        """Return the stability penalty, a differentiable scalar."""
        x, theta, contributions = self._parts(tokens, mask)
        real = torch.ones_like(tokens, dtype=torch.bool) if mask is None else mask
        gaps = []
        for c in range(self.n_classes):
            (slope,) = torch.autograd.grad(contributions[..., c].sum(), [x], create_graph=True)
            gaps.append((slope - theta[:, :, c]).square().sum(-1)[real].mean())
        return torch.stack(gaps).mean()

    def _parts(self, tokens: Tensor, mask: Tensor | None) -> tuple[Tensor, Tensor, Tensor]:
        """x (B, T, d_model), theta (B, T, n_classes, d_model), contributions (B, T, n_classes)."""
        x = self.embedded(self.embed(tokens))
        theta = self.weigher(x, mask).unflatten(-1, (self.n_classes, -1))
        contributions = (theta * x[:, :, None]).sum(-1)
        if mask is not None:
            contributions = contributions.masked_fill(~mask[..., None], 0)
        return x, theta, contributions
