"""DeiT: a ViT trained with distillation from a teacher. Touvron et al. 2021, "Training
data-efficient image transformers & distillation through attention".

System: deit
Parent: vit
What differs:
- a second special token, the distillation token, precedes the patches; its state predicts the
  teacher's output, and the class token's state predicts the label (`n_special`, `Distilled`)
- the teacher's output is a hard label, its most probable class
  (`deepdive.training.objectives.hard_distillation`)
- the prediction averages the logits of both heads (`Distilled.forward`)
Source: Touvron et al. 2021, section 4 and table 1, and their released code.
Book: straka
"""

from typing import Any

from torch import Tensor, nn

from deepdive.core.checks import positive
from deepdive.layers.heads import initialize
from deepdive.models.vision.vit import BASE as VIT
from deepdive.models.vision.vit import TINY as TINY_VIT
from deepdive.models.vision.vit import VisionConfig, Vit, vit

BASE = VIT.but(n_special=2, family="deit")
SMALL = BASE.but(d_model=384, n_heads=6, d_ff=1536)
PUBLISHED_TINY = BASE.but(d_model=192, n_heads=3, d_ff=768)
TINY = TINY_VIT.but(n_special=2, family="deit")  # for tests and small examples


def deit(config: VisionConfig = BASE, **changes: Any) -> Vit:
    """Build an image encoder with two special tokens; defaults are the paper's base model."""
    return vit(config, **changes)


class Distilled(nn.Module):
    """logits = (W_1 x_0 + b_1, W_2 x_1 + b_2): a head on the class token, and one on the
    distillation token.
    """

    def __init__(self, encoder: Vit, n_classes: int) -> None:
        super().__init__()
        positive(n_classes=n_classes)
        if encoder.config.n_special != 2:
            raise ValueError(f"n_special={encoder.config.n_special}: expected 2, one per head")
        self.encoder = encoder
        self.label, self.taught = (nn.Linear(encoder.config.d_model, n_classes) for _ in range(2))
        initialize(self.label)
        initialize(self.taught)

    def both(self, images: Tensor) -> tuple[Tensor, Tensor]:
        """Return the logits (B, n_classes) of the label head and of the distillation head."""
        states = self.encoder(images)
        return self.label(states[:, 0]), self.taught(states[:, 1])

    def forward(self, images: Tensor) -> Tensor:
        """Return the mean logits of both heads, (B, n_classes)."""
        label, distilled = self.both(images)
        return (label + distilled) / 2
