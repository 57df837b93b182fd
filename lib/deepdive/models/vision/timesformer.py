"""TimeSformer, a ViT for films, in five schemes of who meets whom. Bertasius, Wang and Torresani
2021, "Is Space-Time Attention All You Need for Video Understanding?".

Long because it holds five schemes.

System: timesformer
Parent: vit
What differs:
- a token is a patch of a frame; a row for the number of its frame is added (`VideoEmbeddings`)
- who meets whom is a scheme of steps (`RULES`): a frame alone (`SPACE_ONLY`), all with all
  (`JOINT`), a place through time and then a frame (`DIVIDED`), a neighbourhood and then every
  second patch (`LOCAL_GLOBAL`), time, lines and columns (`AXIAL`)
- each step before a layer's last has an attention, a norm and a matrix of its own
  (`StepwiseBlock`, `Before`); beyond the first layer the matrix begins at 0, so that a ViT's
  weights go on saying what they said
- in `SPACE_ONLY` frames meet only in a mean behind the last layer (`PerFrameEmbeddings`)
Source: Bertasius et al. 2021, section 3, figures 1 and 2, table 1, and the released code.
Book: 6.5

The released code has three of the schemes. In `DIVIDED` the special row stands out of the first
step, and in every group of the last one, where the answers to it are averaged; in the two schemes
that were not released it is so here too. What the paper calls neighbouring is here half of the
lines and columns around a patch, fewer at an edge.
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
    """The record of an encoder of images, and n_frames, for which frames have learned rows."""

    n_frames: int = 8


RULES: dict[str, tuple[Rule, ...]] = {
    "space_only": (space_time.space,),
    "joint_space_time": (space_time.everything,),
    "divided_space_time": (space_time.time, space_time.space),
    "sparse_local_global": (space_time.neighborhood, space_time.strided),
    "axial": (space_time.time, space_time.width, space_time.height),
}


def stepwise(scheme: str, config: VideoConfig, layer: int) -> StepwiseBlock:
    """Return one layer, with the steps of a scheme."""
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
TINY = BASE.but(**TINY_SIZES)  # for tests and toys


def timesformer(config: VideoConfig = BASE, **changes: Any) -> Vit:
    """Build an encoder of films; defaults are the paper's base model. Raises as `vit` does."""
    model = vit(VideoConfig.given(config, changes))
    for block in list(model.stack.blocks)[1:]:
        for first in getattr(block, "firsts", ()):
            nn.init.zeros_(first.dense.weight)
    return model
