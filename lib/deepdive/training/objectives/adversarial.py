"""Adversarial training of GANs: a generator against a discriminator, with the hinge loss."""

from collections.abc import Sequence
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn


def hinge_losses(real: Tensor, made: Tensor) -> tuple[Tensor, Tensor]:
    """Return the losses of the discriminator and of the generator, from the discriminator's scores
    (B,) of real images and of generated ones:

        L_D = mean max(0, 1 - real) + mean max(0, 1 + made),    L_G = -mean made

    Source: Zhang et al. 2019, equation 4; Lim and Ye 2017.
    """
    return F.relu(1 - real).mean() + F.relu(1 + made).mean(), -made.mean()


class Adversaries(nn.Module):
    """A generator and a discriminator as one model, so that `fit` trains both in each step."""

    def __init__(self, generator: Any, discriminator: nn.Module) -> None:
        super().__init__()
        if not hasattr(generator, "d_noise"):
            raise TypeError(
                f"generator: {type(generator).__name__} has no d_noise, its latent dimension"
            )
        self.generator, self.discriminator = generator, discriminator

    def forward(self, n: int) -> Tensor:
        """Return n generated images."""
        device = next(self.generator.parameters()).device
        return self.generator(torch.randn(n, self.generator.d_noise, device=device))

    def parts(self, rate: float) -> list[dict[str, Any]]:
        """Return the parameter groups: the discriminator's learning rate is four times the
        generator's `rate`. Source: Heusel et al. 2017; Zhang et al. 2019, section 4.2.
        """
        return [
            {"params": list(self.generator.parameters()), "lr": rate},
            {"params": list(self.discriminator.parameters()), "lr": 4 * rate},
        ]


def adversarial_loss(model: Adversaries, batch: Tensor | Sequence[Tensor]) -> Tensor:
    """Return L_D + L_G for a batch of real images, each with gradients only for its own model: the
    discriminator's weights are constants in the generator's loss, and the generated images are
    constants in the discriminator's.
    """
    real = batch if isinstance(batch, Tensor) else batch[0]
    judge = model.discriminator
    made = model(len(real))
    for_judge, _ = hinge_losses(judge(real), judge(made.detach()))
    frozen = {name: weight.detach() for name, weight in judge.named_parameters()}
    scores: Tensor = torch.func.functional_call(judge, frozen, (made,))
    return for_judge - scores.mean()
