"""Attention: the exact softmax mechanism, its score functions, and the multi-head module around
them.
"""

from deepdive.attention.adaptive_span import AdaptiveSpanAttention
from deepdive.attention.axial import AxialAttention
from deepdive.attention.block_sparse import BlockSparseAttention, DrawnBlocks, FirstBlock
from deepdive.attention.cache import DecodingState, KVCache, Slot
from deepdive.attention.chunk import ChunkAttention
from deepdive.attention.clustered import ClusteredAttention, ImprovedClusteredAttention
from deepdive.attention.collaborative import CollaborativeAttention, collaborative
from deepdive.attention.compressed import MemoryCompressedAttention
from deepdive.attention.dilated import DilatedAttention
from deepdive.attention.disagreement import DisagreeingAttention
from deepdive.attention.factorised import FixedAttention, StridedAttention
from deepdive.attention.global_window import GlobalTokens, GlobalWindowAttention
from deepdive.attention.kernel import LinearAttention
from deepdive.attention.linformer import LengthProjection, LinformerAttention
from deepdive.attention.longformer import LongformerAttention
from deepdive.attention.lsh import LSHAttention, LSHMaskAttention, ReleasedLSHAttention
from deepdive.attention.multi_head import MultiHeadAttention
from deepdive.attention.multi_scale import MultiScaleAttention
from deepdive.attention.nested import NestedAttention
from deepdive.attention.nystrom import NystromAttention
from deepdive.attention.performer import PerformerAttention
from deepdive.attention.priors import GaussianPrior, LocalAttention, TablePrior
from deepdive.attention.prob_sparse import ProbSparseAttention
from deepdive.attention.routing import RoutingAttention
from deepdive.attention.scores import AdditiveAttention, DotAttention, GeneralAttention
from deepdive.attention.shared_qk import SharedQKAttention, SharedQKMultiHeadAttention
from deepdive.attention.shaw import ShawAttention
from deepdive.attention.sinkhorn import SinkhornAttention
from deepdive.attention.softmax import SoftmaxAttention
from deepdive.attention.synthesized_scores import (
    DenseScores,
    FactorisedDenseScores,
    FactorisedRandomScores,
    RandomScores,
)
from deepdive.attention.synthesizer import SynthesizedAttention
from deepdive.attention.talking_heads import TalkingHeadsAttention
from deepdive.attention.texts import Texts
from deepdive.attention.tiled import TiledAttention
from deepdive.attention.value_convolution import ValueConvolution
from deepdive.attention.window import WindowAttention
from deepdive.attention.yoso import ExpectedYosoAttention, YosoAttention

__all__ = [
    "AdaptiveSpanAttention",
    "AdditiveAttention",
    "AxialAttention",
    "BlockSparseAttention",
    "ChunkAttention",
    "ClusteredAttention",
    "CollaborativeAttention",
    "DecodingState",
    "DenseScores",
    "DilatedAttention",
    "DisagreeingAttention",
    "DotAttention",
    "DrawnBlocks",
    "ExpectedYosoAttention",
    "FactorisedDenseScores",
    "FactorisedRandomScores",
    "FirstBlock",
    "FixedAttention",
    "GaussianPrior",
    "GeneralAttention",
    "GlobalTokens",
    "GlobalWindowAttention",
    "ImprovedClusteredAttention",
    "KVCache",
    "LSHAttention",
    "LSHMaskAttention",
    "LengthProjection",
    "LinearAttention",
    "LinformerAttention",
    "LocalAttention",
    "LongformerAttention",
    "MemoryCompressedAttention",
    "MultiHeadAttention",
    "MultiScaleAttention",
    "NestedAttention",
    "NystromAttention",
    "PerformerAttention",
    "ProbSparseAttention",
    "RandomScores",
    "ReleasedLSHAttention",
    "RoutingAttention",
    "SharedQKAttention",
    "SharedQKMultiHeadAttention",
    "ShawAttention",
    "SinkhornAttention",
    "Slot",
    "SoftmaxAttention",
    "StridedAttention",
    "SynthesizedAttention",
    "TablePrior",
    "TalkingHeadsAttention",
    "Texts",
    "TiledAttention",
    "ValueConvolution",
    "WindowAttention",
    "YosoAttention",
    "collaborative",
]
