"""Attention: the exact softmax mechanism, its score functions, and the multi-head module around
them.
"""

from deepdive.attention.cache import DecodingState, KVCache, Slot
from deepdive.attention.clustered import ClusteredAttention, ImprovedClusteredAttention
from deepdive.attention.compressed import MemoryCompressedAttention
from deepdive.attention.multi_head import MultiHeadAttention
from deepdive.attention.nested import NestedAttention
from deepdive.attention.prob_sparse import ProbSparseAttention
from deepdive.attention.scores import AdditiveAttention, DotAttention, GeneralAttention
from deepdive.attention.shaw import ShawAttention
from deepdive.attention.softmax import SoftmaxAttention
from deepdive.attention.texts import Texts
from deepdive.attention.window import WindowAttention

__all__ = [
    "AdditiveAttention",
    "ClusteredAttention",
    "DecodingState",
    "DotAttention",
    "GeneralAttention",
    "ImprovedClusteredAttention",
    "KVCache",
    "MemoryCompressedAttention",
    "MultiHeadAttention",
    "NestedAttention",
    "ProbSparseAttention",
    "ShawAttention",
    "Slot",
    "SoftmaxAttention",
    "Texts",
    "WindowAttention",
]
