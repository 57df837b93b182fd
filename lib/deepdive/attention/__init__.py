"""Attention: the exact softmax mechanism, its score functions, and the multi-head module around
them.
"""

from deepdive.attention.by_content.clustered import ClusteredAttention, ImprovedClusteredAttention
from deepdive.attention.by_content.lsh import LSHAttention, LSHMaskAttention, ReleasedLSHAttention
from deepdive.attention.by_content.prob_sparse import ProbSparseAttention
from deepdive.attention.by_content.routing import RoutingAttention
from deepdive.attention.by_content.shared_qk import SharedQKAttention, SharedQKMultiHeadAttention
from deepdive.attention.by_content.sinkhorn import SinkhornAttention
from deepdive.attention.by_content.yoso import ExpectedYosoAttention, YosoAttention
from deepdive.attention.by_position.adaptive_span import AdaptiveSpanAttention
from deepdive.attention.by_position.axial import AxialAttention
from deepdive.attention.by_position.block_sparse import (
    BlockSparseAttention,
    DrawnBlocks,
    FirstBlock,
)
from deepdive.attention.by_position.chunk import ChunkAttention
from deepdive.attention.by_position.dilated import DilatedAttention
from deepdive.attention.by_position.factorized import FixedAttention, StridedAttention
from deepdive.attention.by_position.global_window import GlobalWindowAttention
from deepdive.attention.by_position.longformer import LongformerAttention
from deepdive.attention.by_position.shifted import ShiftedAttention
from deepdive.attention.by_position.window import WindowAttention
from deepdive.attention.heads.channel import ChannelAttention
from deepdive.attention.heads.collaborative import CollaborativeAttention
from deepdive.attention.heads.disagreement import DisagreeingAttention
from deepdive.attention.heads.multi_scale import MultiScaleAttention
from deepdive.attention.heads.projections import KeysWithoutBias, QKNormAttention
from deepdive.attention.heads.talking_heads import TalkingHeadsAttention
from deepdive.attention.low_rank.kernel import LinearAttention
from deepdive.attention.low_rank.linformer import LengthProjection, LinformerAttention
from deepdive.attention.low_rank.nystrom import NystromAttention
from deepdive.attention.low_rank.performer import PerformerAttention
from deepdive.attention.low_rank.value_convolution import ValueConvolution
from deepdive.attention.memories.compressed import MemoryCompressedAttention
from deepdive.attention.memories.luna_attention import NestedAttention
from deepdive.attention.memories.persistent import PersistentMemoryAttention
from deepdive.attention.priors.priors import GaussianPrior, LocalAttention, TablePrior
from deepdive.attention.priors.shaw import ShawAttention
from deepdive.attention.priors.synthesized_scores import (
    DenseScores,
    FactorizedDenseScores,
    FactorizedRandomScores,
    RandomScores,
)
from deepdive.attention.priors.synthesizer import SynthesizedAttention
from deepdive.attention.scores import AdditiveAttention, DotAttention, GeneralAttention
from deepdive.attention.tiled import TiledAttention

__all__ = [
    "AdaptiveSpanAttention", "AdditiveAttention", "AxialAttention", "BlockSparseAttention",
    "ChannelAttention", "ChunkAttention", "ClusteredAttention", "CollaborativeAttention",
    "DenseScores", "DilatedAttention", "DisagreeingAttention", "DotAttention", "DrawnBlocks",
    "ExpectedYosoAttention", "FactorizedDenseScores", "FactorizedRandomScores", "FirstBlock",
    "FixedAttention", "GaussianPrior", "GeneralAttention", "GlobalWindowAttention",
    "ImprovedClusteredAttention", "KeysWithoutBias", "LSHAttention", "LSHMaskAttention",
    "LengthProjection", "LinearAttention", "LinformerAttention", "LocalAttention",
    "LongformerAttention", "MemoryCompressedAttention", "MultiScaleAttention", "NestedAttention",
    "NystromAttention", "PerformerAttention", "PersistentMemoryAttention", "ProbSparseAttention",
    "QKNormAttention", "RandomScores", "ReleasedLSHAttention", "RoutingAttention",
    "SharedQKAttention", "SharedQKMultiHeadAttention", "ShawAttention", "ShiftedAttention",
    "SinkhornAttention", "StridedAttention", "SynthesizedAttention", "TablePrior",
    "TalkingHeadsAttention", "TiledAttention", "ValueConvolution", "WindowAttention",
    "YosoAttention",
]  # fmt: skip
