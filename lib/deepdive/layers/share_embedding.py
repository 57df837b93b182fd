"""Gradient-disentangled embedding sharing (DeBERTaV3)."""

import torch
from torch import Tensor, nn
from torch.nn.utils import parametrize

from deepdive.core.embeddings import TokenEmbedding


class GradientDisentangled(nn.Module):
    """weight = stop_gradient(shared.weight) + delta

    The loss of the model with `weight` trains only `delta`; that of the one that owns `shared`
    changes both tables. Where both losses train one table (ELECTRA), the masked language model
    moves words of similar meaning together, and replaced token detection moves them apart.
    Source: He, Gao and Chen 2023, section 3.3.
    """

    def __init__(self, shared: TokenEmbedding) -> None:
        super().__init__()
        self.shared = shared

    def forward(self, delta: Tensor) -> Tensor:
        """Return the weight, (vocab_size, d_model)."""
        return self.shared.weight.detach() + delta

    def right_inverse(self, weight: Tensor) -> Tensor:
        """Return the delta at which the weight is this one."""
        return weight - self.shared.weight.detach()


def share_embedding(generator: TokenEmbedding, discriminator: TokenEmbedding) -> None:
    """Make the discriminator's table the generator's plus a delta, which starts at 0.

    Raises ValueError where the tables have not the same size.
    """
    if generator.weight.shape != discriminator.weight.shape:
        raise ValueError(
            f"generator has a table {tuple(generator.weight.shape)}, discriminator "
            f"{tuple(discriminator.weight.shape)}: build both with one vocab_size and d_model"
        )
    with torch.no_grad():
        discriminator.weight.copy_(generator.weight)
    parametrize.register_parametrization(discriminator, "weight", GradientDisentangled(generator))


def part_embedding(discriminator: TokenEmbedding) -> None:
    """End the sharing: the discriminator keeps its table, as a parameter, to be saved."""
    parametrize.remove_parametrizations(discriminator, "weight")
