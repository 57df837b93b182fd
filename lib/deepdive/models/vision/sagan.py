"""SAGAN: a GAN with self-attention between its convolutions. Zhang, Goodfellow, Metaxas and Odena
2019, "Self-Attention Generative Adversarial Networks".

Long because it holds generator and discriminator around the layer: small ones of our own, in
DCGAN's form (Radford et al. 2016), for 28 x 28 images; SAGAN's are residual networks for 128 x 128.

System: sagan
Parent: self_attention
What differs:
- a token is a position of a feature map, with its channels (`MapAttention`)
- one head, whose queries, keys, and values are narrower than the map by `rate`; the scores are not
  scaled, and no projection has a bias
- the output is multiplied by a learned scalar initialized to 0, and added to the map (`gamma`)
- spectral normalization of each weight in both generator and discriminator (`bounded`)
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
    """y = x + gamma * W_v sum_j softmax_j(f(x_i) . g(x_j)) h(x_j), for each position i of a map.

    f, g, and h are 1x1 convolutions to channels // rate channels, W_v projects back to all
    channels; gamma is a scalar, 0 at first, so the layer is initialized as the identity.
    Hook points: those of `MultiHeadAttention`, with positions in row-major order.
    Source: Zhang et al. 2019, equations 1 to 3; rate = 8 there.
    """

    def __init__(self, channels: int, rate: int = 8) -> None:
        super().__init__()
        positive(channels=channels, rate=rate)
        if channels < rate:
            raise ValueError(f"rate={rate}: expected at most {channels}, the number of channels")
        self.attention = MultiHeadAttention(
            channels, 1, d_head=channels // rate, bias=False, scale=1.0
        )
        self.gamma = nn.Parameter(torch.zeros(()))

    def forward(self, x: Tensor) -> Tensor:
        """Return the feature map (B, C, H, W) plus its scaled self-attention output."""
        tokens = x.flatten(2).transpose(1, 2)  # (B, H * W, C)
        return x + self.gamma * self.attention(tokens).transpose(1, 2).reshape(x.shape)


class Generator(nn.Module):
    """Noise z (B, d_noise) -> images (B, 1, 28, 28) in [-1, 1]: 7, 14, and 28 pixels per side.

    `middle` is a layer on the 14 x 14 feature map of `width` channels.
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
    """Images (B, 1, 28, 28) -> scores (B,): above 0 if an image is classified as real.

    `middle` is a layer on the 14 x 14 feature map of `width` channels.
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
            raise ValueError(f"images: got {tuple(images.shape)}, expected (B, 1, 28, 28)")
        return self.layers(images)[:, 0]


def bounded(model: nn.Module) -> nn.Module:
    """Apply spectral normalization to each linear and convolution layer: divide its weight by its
    largest singular value. Source: Miyato et al. 2018; Zhang et al. 2019, section 4.1.
    """
    for part in model.modules():
        if isinstance(part, (nn.Linear, nn.Conv2d, nn.ConvTranspose2d)):
            spectral_norm(part)
    return model
