"""SAGAN: self-attention between the convolutions of a generator and its judge. Zhang, Goodfellow,
Metaxas and Odena 2019, "Self-Attention Generative Adversarial Networks".

Long because it holds both networks around the layer: small ones of ours, in DCGAN's form (Radford
et al. 2016), for images of 28 pixels; SAGAN's own are residual networks for 128.

System: sagan
Parent: self_attention
What differs:
- a row is a place of a feature map, with its channels (`MapAttention`)
- one head, whose queries, keys and values are narrower than the map by `rate`; no scale divides
  the scores, no projection has a bias
- what it says is weighed by one learned number that begins at 0, and added to the map (`gamma`)
- generator and discriminator are both held by the spectral norm of each weight (`bounded`)
Source: Zhang et al. 2019, sections 3 and 4.1.
Book: none; Fleuret 13.2
"""

import torch
from torch import Tensor, nn
from torch.nn.utils.parametrizations import spectral_norm

from deepdive.core import MultiHeadAttention
from deepdive.core.checks import positive, real_input, width
from deepdive.layers.patches import check_pixels


class MapAttention(nn.Module):
    """y = x + gamma * W_v sum_j softmax_j(f(x_i) . g(x_j)) h(x_j), for each place i of a map.

    f, g and h are matrices of channels // rate rows (1x1 convolutions), W_v leads back to the
    channels; gamma is one number, 0 at first, so that the layer begins as the identity.
    Hook points: those of `MultiHeadAttention`, rows counted line by line.
    Source: Zhang et al. 2019, equations 1 to 3; rate = 8 there.
    """

    def __init__(self, channels: int, rate: int = 8) -> None:
        super().__init__()
        positive(channels=channels, rate=rate)
        if channels < rate:
            raise ValueError(f"rate={rate}: more than the {channels} channels, no row is left")
        self.attention = MultiHeadAttention(
            channels, 1, d_head=channels // rate, bias=False, scale=1.0
        )
        self.gamma = nn.Parameter(torch.zeros(()))

    def forward(self, x: Tensor) -> Tensor:
        """Return the map (B, C, H, W) with what its places say to each other added."""
        tokens = x.flatten(2).transpose(1, 2)  # (B, H * W, C)
        return x + self.gamma * self.attention(tokens).transpose(1, 2).reshape(x.shape)


class Generator(nn.Module):
    """Noise z (B, d_noise) -> images (B, 1, 28, 28) from -1 to 1: 7, 14 and 28 pixels a side.

    `middle` stands on the map of 14 x 14 places and `width` channels.
    """

    def __init__(self, d_noise: int = 32, width: int = 32, middle: nn.Module | None = None) -> None:
        super().__init__()
        positive(d_noise=d_noise, width=width)
        self.d_noise = d_noise
        self.layers = nn.Sequential(
            nn.Linear(d_noise, 2 * width * 49),
            nn.Unflatten(1, (2 * width, 7, 7)),
            nn.BatchNorm2d(2 * width),
            nn.ReLU(),
            nn.ConvTranspose2d(2 * width, width, 4, 2, 1, bias=False),
            nn.BatchNorm2d(width),
            nn.ReLU(),
            nn.Identity() if middle is None else middle,
            nn.ConvTranspose2d(width, width, 4, 2, 1, bias=False),
            nn.BatchNorm2d(width),
            nn.ReLU(),
            nn.Conv2d(width, 1, 3, padding=1),
            nn.Tanh(),
        )

    def forward(self, z: Tensor) -> Tensor:
        """Return images (B, 1, 28, 28) for noise (B, d_noise)."""
        real_input("z", z, f"(B, {self.d_noise})", "draw it by torch.randn")
        width("z", z, self.d_noise)
        return self.layers(z)


class Discriminator(nn.Module):
    """Images (B, 1, 28, 28) -> one score each, (B,): above 0 for those that it takes for real.

    `middle` stands on the map of 14 x 14 places and `width` channels.
    """

    def __init__(self, width: int = 32, middle: nn.Module | None = None) -> None:
        super().__init__()
        positive(width=width)
        self.layers = nn.Sequential(
            nn.Conv2d(1, width, 4, 2, 1),
            nn.LeakyReLU(0.1),
            nn.Identity() if middle is None else middle,
            nn.Conv2d(width, 2 * width, 4, 2, 1),
            nn.LeakyReLU(0.1),
            nn.Flatten(),
            nn.Linear(2 * width * 49, 1),
        )

    def forward(self, images: Tensor) -> Tensor:
        """Return a score for each image, (B,)."""
        check_pixels(images, "(B, 1, 28, 28)")
        if images.shape[1:] != (1, 28, 28):
            raise ValueError(f"images: came {tuple(images.shape)}, expected (B, 1, 28, 28)")
        return self.layers(images)[:, 0]


def bounded(model: nn.Module) -> nn.Module:
    """Return the model, each weight of its linear layers and convolutions from now on divided by
    its largest singular value. Source: Miyato et al. 2018; Zhang et al. 2019, section 4.1.
    """
    for part in model.modules():
        if isinstance(part, (nn.Linear, nn.Conv2d, nn.ConvTranspose2d)):
            spectral_norm(part)
    return model
