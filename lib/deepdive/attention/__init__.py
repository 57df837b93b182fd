"""Attention: the exact softmax mechanism, its score functions, and the multi-head module around
them.
"""

from deepdive.attention.block_sparse import BlockSparseAttention, DrawnBlocks, FirstBlock
from deepdive.attention.cache import DecodingState, KVCache, Slot
from deepdive.attention.clustered import ClusteredAttention, ImprovedClusteredAttention
from deepdive.attention.collaborative import CollaborativeAttention, collaborative
from deepdive.attention.compressed import MemoryCompressedAttention
from deepdive.attention.dilated import DilatedAttention
from deepdive.attention.disagreement import DisagreeingAttention
from deepdive.attention.global_window import GlobalTokens, GlobalWindowAttention
from deepdive.attention.longformer import LongformerAttention
from deepdive.attention.multi_head import MultiHeadAttention
from deepdive.attention.multi_scale import MultiScaleAttention
from deepdive.attention.nested import NestedAttention
from deepdive.attention.priors import GaussianPrior, LocalAttention, TablePrior
from deepdive.attention.prob_sparse import ProbSparseAttention
from deepdive.attention.scores import AdditiveAttention, DotAttention, GeneralAttention
from deepdive.attention.shaw import ShawAttention
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
from deepdive.attention.window import WindowAttention

__all__ = [
    "AdditiveAttention",
    "BlockSparseAttention",
    "ClusteredAttention",
    "CollaborativeAttention",
    "DecodingState",
    "DenseScores",
    "DilatedAttention",
    "DisagreeingAttention",
    "DotAttention",
    "DrawnBlocks",
    "FactorisedDenseScores",
    "FactorisedRandomScores",
    "FirstBlock",
    "GaussianPrior",
    "GeneralAttention",
    "GlobalTokens",
    "GlobalWindowAttention",
    "ImprovedClusteredAttention",
    "KVCache",
    "LocalAttention",
    "LongformerAttention",
    "MemoryCompressedAttention",
    "MultiHeadAttention",
    "MultiScaleAttention",
    "NestedAttention",
    "ProbSparseAttention",
    "RandomScores",
    "ShawAttention",
    "Slot",
    "SoftmaxAttention",
    "SynthesizedAttention",
    "TablePrior",
    "TalkingHeadsAttention",
    "Texts",
    "TiledAttention",
    "WindowAttention",
    "collaborative",
]
