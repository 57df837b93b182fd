"""Mistral, Qwen2, Qwen3, and Gemma: each the config of `deepdive.models.generative.llama` with
other values.

    model = llama(GEMMA)                       # or published.load("a/folder") of a checkpoint

Mistral 7B   a sliding window: a query attends to `window` keys (Jiang et al. 2023, section 2)
Qwen2        biases on queries, keys, and values (`qkv_bias`; Yang et al. 2024, section 2.2.1)
Qwen3        no biases; queries and keys normalized head by head (`qk_norm`; Yang et al. 2025,
             section 2)
Gemma        GeGLU, one matrix for embedding and output (Gemma Team 2024, section 2); embeddings
             times sqrt(d_model), norms with the factor 1 + weight (its released code)

The values are those of the published config.json files. The cache keeps all keys; a sliding-window
layer attends to the last ones.
"""

from deepdive.core import OffsetRMSNorm, gelu_tanh
from deepdive.core.embeddings import ScaledEmbedding
from deepdive.models.generative.llama import BASE

MISTRAL = BASE.but(  # Mistral-7B-v0.1
    n_kv_heads=8, d_ff=14_336, max_length=32_768, eps=1e-5, window=4096, family="mistral"
)  # fmt: skip
QWEN2 = BASE.but(  # Qwen2-0.5B
    vocab_size=151_936, d_model=896, n_heads=14, n_kv_heads=2, n_layers=24, d_ff=4864,
    max_length=131_072, base=1e6, tied=True, qkv_bias=True, family="qwen2",
)  # fmt: skip
QWEN3 = BASE.but(  # Qwen3-0.6B
    vocab_size=151_936, d_model=1024, n_heads=16, n_kv_heads=8, d_head=128, n_layers=28, d_ff=3072,
    max_length=40_960, base=1e6, tied=True, qk_norm=True, family="qwen3",
)  # fmt: skip
GEMMA = BASE.but(  # gemma-2b
    vocab_size=256_000, d_model=2048, n_heads=8, n_kv_heads=1, d_head=256, n_layers=18,
    d_ff=16_384, max_length=8192, activation=gelu_tanh, tied=True, norm=OffsetRMSNorm,
    embedding=ScaledEmbedding, family="gemma",
)  # fmt: skip
