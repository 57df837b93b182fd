"""Where a token stands. A scheme acts in one of three places: on the input, on q and k, or on the
scores.
"""

from deepdive.positions.alibi import ALiBi, slopes
from deepdive.positions.axial import AxialPosition
from deepdive.positions.disentangled import BucketedRows, DisentangledPosition, RelativeRows
from deepdive.positions.grid import GridBias, SpecialGridBias
from deepdive.positions.learned import LearnedPosition
from deepdive.positions.music import MusicPosition
from deepdive.positions.relative import RelativePosition, skew
from deepdive.positions.rotary import RopeScaling, RotaryPosition, TailRotaryPosition
from deepdive.positions.shaw import ShawPosition
from deepdive.positions.sinusoidal import BlockedSinusoidalPosition, SinusoidalPosition
from deepdive.positions.structural import StructuralPosition, depths, tree_offsets
from deepdive.positions.t5 import CausalT5Bias, T5Bias
from deepdive.positions.xl import XLPosition

__all__ = [
    "ALiBi", "AxialPosition", "BlockedSinusoidalPosition", "BucketedRows", "CausalT5Bias",
    "DisentangledPosition", "GridBias", "LearnedPosition", "MusicPosition", "RelativePosition",
    "RelativeRows", "RopeScaling", "RotaryPosition", "ShawPosition", "SinusoidalPosition",
    "SpecialGridBias", "StructuralPosition", "T5Bias", "TailRotaryPosition", "XLPosition", "depths",
    "skew", "slopes", "tree_offsets",
]  # fmt: skip
