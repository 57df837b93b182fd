"""TimeSformer: a ViT for video, in five space-time attention schemes. Bertasius, Wang and Torresani
2021, "Is Space-Time Attention All You Need for Video Understanding?".

Long because it holds five schemes.

System: timesformer
Parent: vit
What differs:
- a token is a patch of a frame; a learned time embedding of its frame is added (`VideoEmbeddings`)
- a scheme of steps (`RULES`) defines which patches attend to which: within a frame (`SPACE_ONLY`),
  all to all (`JOINT`), over time and then within a frame (`DIVIDED`), within a neighborhood and
  then to every second patch (`LOCAL_GLOBAL`), or over time, width, and height (`AXIAL`)
- each step before a layer's last has its own attention, norm, and output matrix (`StepwiseBlock`,
  `Before`); beyond the first layer this matrix is initialized to 0, which preserves the outputs of
  pretrained ViT weights
- in `SPACE_ONLY` frames are combined only by a mean after the last layer (`PerFrameEmbeddings`)
Source: Bertasius et al. 2021, section 3, figures 1 and 2, table 1, and the released code.
Book: 6.5

The released code has three of the schemes. In `DIVIDED` the class token is excluded from the first
step, and included in every group of the last one, where its outputs are averaged; here this also
holds in the two schemes that were not released. What the paper calls neighboring is here half of
the rows and columns around a patch, fewer at an edge.
"""

from dataclasses import dataclass
from functools import partial
from typing import Any

from torch import nn

from deepdive.core import FeedForward, LayerNorm, PreNorm
from deepdive.layers import space_time
from deepdive.layers.patches import per_side
from deepdive.layers.space_time import Before, Folded, Masked, Rule, StepwiseBlock
from deepdive.models.config import full_attention
from deepdive.models.vision.video_embeddings import PerFrameEmbeddings, VideoEmbeddings
from deepdive.models.vision.vit import VisionConfig, Vit, vit


@dataclass(frozen=True)
class VideoConfig(VisionConfig):
    """`VisionConfig` plus n_frames, the number of frames with learned time embeddings."""

    n_frames: int = 8


RULES: dict[str, tuple[Rule, ...]] = {
    "space_only": (space_time.space,),
    "joint_space_time": (space_time.everything,),
    "divided_space_time": (space_time.time, space_time.space),
    "sparse_local_global": (space_time.neighborhood, space_time.strided),
    "axial": (space_time.time, space_time.width, space_time.height),
}


def stepwise(scheme: str, config: VideoConfig, layer: int) -> StepwiseBlock:
    """Return one layer, with the attention steps of a scheme."""
    side, n = per_side(config.image_size, config.patch_size), config.n_special
    steps: list[nn.Module] = []
    *earlier, last = RULES[scheme]
    for rule, special in [*((rule, 0) for rule in earlier), (last, n)]:
        kind = Masked if rule in (space_time.neighborhood, space_time.strided) else Folded
        steps.append(kind(full_attention(config, layer), rule, (side, side), special))
    return StepwiseBlock(
        [Before(step, n) for step in steps[:-1]],
        steps[-1],
        FeedForward(config.d_model, config.d_ff, config.activation),
        partial(PreNorm, norm=partial(LayerNorm, eps=config.eps), dropout=config.dropout),
    )


SPACE_ONLY = VideoConfig(eps=1e-6, family="timesformer", model=PerFrameEmbeddings)
JOINT = VideoConfig(eps=1e-6, family="timesformer", embeddings=VideoEmbeddings)
DIVIDED = JOINT.but(block=partial(stepwise, "divided_space_time"))
LOCAL_GLOBAL = JOINT.but(block=partial(stepwise, "sparse_local_global"))
AXIAL = JOINT.but(block=partial(stepwise, "axial"))
SCHEMES = dict(zip(RULES, (SPACE_ONLY, JOINT, DIVIDED, LOCAL_GLOBAL, AXIAL), strict=True))
BASE = DIVIDED
TINY_SIZES: dict[str, Any] = {
    "image_size": 8, "patch_size": 2, "channels": 1, "d_model": 32, "n_heads": 4, "n_layers": 2,
    "d_ff": 64, "n_frames": 4,
}  # fmt: skip
TINY = BASE.but(**TINY_SIZES)  # for tests and small examples


def timesformer(config: VideoConfig = BASE, **changes: Any) -> Vit:
    """Build a video encoder; defaults are the paper's base model. Raises as `vit` does."""
    model = vit(VideoConfig.given(config, changes))
    for block in list(model.stack.blocks)[1:]:
        for first in getattr(block, "firsts", ()):
            nn.init.zeros_(first.dense.weight)
    return model
