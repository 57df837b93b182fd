"""Informer, for long rows of numbers. Zhou et al. 2021, "Informer: Beyond Efficient Transformer for
Long Sequence Time-Series Forecasting".

The rows are features of time steps, not tokens. The encoder reads the past, halving its length
after each layer but the last; the decoder reads the last known steps and placeholders for those to
come, and fills all of them in one pass.

System: informer
Parent: transformer
What differs:
- about ln T of the T queries attend, the others take the mean of the values
  (`ProbSparseAttention`)
- a convolution and a pooling between two layers of the encoder halve the row (`Distil`)
- all steps to come are predicted in one pass, from placeholders (`Informer.forward`)
- what enters is numbers, by one matrix (`RowEmbedding`)
Source: Zhou et al. 2021, and the released code.
Book: table 1.2
"""

from __future__ import annotations

from functools import partial
from pathlib import Path

from torch import Tensor, nn

from deepdive.attention import MultiHeadAttention
from deepdive.attention.by_content.prob_sparse import ProbSparseAttention
from deepdive.attention.softmax import SoftmaxAttention
from deepdive.checks import not_negative
from deepdive.layers import Block, FeedForward, PostNorm, gelu
from deepdive.masks import Causal
from deepdive.models.efficient.informer_parts import Distil, RowEmbedding
from deepdive.published.weights import Join, Rule, adopt, check_config, read, read_config


class InformerEncoder(nn.Module):
    """Features (B, T, n_features) -> rows (B, about T / 2^(n_layers - 1), d_model): blocks, with a
    `Distil` after each but the last.
    """

    def __init__(self, embedding: RowEmbedding, blocks: list[Block], distils: list[Distil]) -> None:
        super().__init__()
        self.embedding = embedding
        self.blocks, self.distils = nn.ModuleList(blocks), nn.ModuleList(distils)

    def forward(self, x: Tensor) -> Tensor:
        """Return what the last block says of the past."""
        rows = self.embedding(x)
        for i, block in enumerate(self.blocks):
            rows = block(rows)
            if i < len(self.distils):
                rows = self.distils[i](rows)
        return rows


class Informer(nn.Module):
    """The past (B, T, n_features) and what is known of the steps to come -> rows (B, N, d_model).

    `steps` (B, N, n_features) holds the last known steps and, for those to come, what is known of
    them (the time of day) and zeros. A head of the reader's own makes numbers of the rows.
    """

    def __init__(self, encoder: InformerEncoder, embedding: RowEmbedding, blocks: list[Block]):
        super().__init__()
        self.encoder, self.embedding = encoder, embedding
        self.blocks = nn.ModuleList(blocks)

    def forward(self, past: Tensor, steps: Tensor, start: int | None = None) -> Tensor:
        """Return the decoder's rows; its first step stands at position `start`, by default the
        number of past steps.
        """
        return self.decode(steps, self.encoder(past), past.shape[1] if start is None else start)

    def decode(self, steps: Tensor, memory: Tensor, start: int) -> Tensor:
        """Return the decoder's rows for what the encoder said."""
        rows = self.embedding(steps, start)
        for block in self.blocks:
            rows = block(rows, memory, mask=Causal())
        return rows


def informer(
    n_features: int,
    *,
    d_model: int = 512,
    n_heads: int = 8,
    n_layers: int = 2,
    n_decoder_layers: int = 1,
    d_ff: int = 2048,
    factor: int = 5,
    distil: bool = True,
    dropout: float = 0.05,
) -> Informer:
    """Build a model of n_layers encoder blocks, with a `Distil` between two of them or none."""
    not_negative(n_layers=n_layers, n_decoder_layers=n_decoder_layers)
    residual = partial(PostNorm, dropout=dropout)

    def attention(mechanism: SoftmaxAttention) -> MultiHeadAttention:
        return MultiHeadAttention(d_model, n_heads, mechanism=mechanism)

    def block(cross: bool) -> Block:
        other = attention(SoftmaxAttention(dropout)) if cross else None
        own = attention(ProbSparseAttention(factor, dropout))
        return Block(own, FeedForward(d_model, d_ff, gelu), other, residual)

    encoder = InformerEncoder(
        RowEmbedding(n_features, d_model, dropout),
        [block(False) for _ in range(n_layers)],
        [Distil(d_model) for _ in range(n_layers - 1 if distil else 0)],
    )
    embedding = RowEmbedding(n_features, d_model, dropout)
    return Informer(encoder, embedding, [block(True) for _ in range(n_decoder_layers)])


def tiny(n_features: int = 16) -> Informer:
    """Return a model for tests and toys: 16 wide, 4 heads, 2 + 1 layers, no dropout."""
    return informer(n_features, d_model=16, n_heads=4, d_ff=32, factor=1, dropout=0.0)


def _names(prefix: str, new: str) -> list[Rule]:
    """The rules for one half of InformerModel."""
    layer = rf"{prefix}layers\.(\d+)\."
    return [
        (rf"^{prefix}value_embedding\.value_projection\.", f"{new}embedding.values."),
        (rf"^{prefix}layernorm_embedding\.", f"{new}embedding.norm."),
        (rf"^{prefix}conv_layers\.(\d+)\.downConv\.", rf"{new}distils.\1.convolution."),
        (rf"^{prefix}conv_layers\.(\d+)\.norm\.", rf"{new}distils.\1.norm."),
        (rf"^{layer}self_attn\.", rf"{new}blocks.\1.attn."),
        (rf"^{layer}encoder_attn\.", rf"{new}blocks.\1.cross."),
        (rf"^{layer}self_attn_layer_norm\.", rf"{new}blocks.\1.attn_residual.norm."),
        (rf"^{layer}encoder_attn_layer_norm\.", rf"{new}blocks.\1.cross_residual.norm."),
        (rf"^{layer}final_layer_norm\.", rf"{new}blocks.\1.ff_residual.norm."),
        (rf"^{layer}fc1\.", rf"{new}blocks.\1.ff.inner."),
        (rf"^{layer}fc2\.", rf"{new}blocks.\1.ff.out."),
    ]


NAMES: tuple[Rule, ...] = (
    (r"^model\.", ""),
    *_names(r"encoder\.", "encoder."),
    *_names(r"decoder\.", ""),
    Join((r"\.k_proj\.", r"\.v_proj\."), ".kv."),
    (r"\.q_proj\.", ".q."),
    (r"\.out_proj\.", ".out."),
)
TABLES = tuple(
    f"{model}{half}.embed_positions.weight"
    for model in ("", "model.")
    for half in ("encoder", "decoder")
)  # computed here


def load(folder: str | Path) -> Informer:
    """Return encoder and decoder of a folder (InformerModel), in evaluation mode. What makes
    features of a series, and numbers of rows, stays in the file.

    Raises ValueError for a config of another model, a setting not built here, and tensors that are
    unknown or missing.
    """
    config = read_config(folder)
    check_config(config, "informer", {"attention_type": "prob", "activation_function": "gelu"})
    heads = {config["encoder_attention_heads"], config["decoder_attention_heads"]}
    widths = {config["encoder_ffn_dim"], config["decoder_ffn_dim"]}
    if len(heads) > 1 or len(widths) > 1:
        raise ValueError("config has an encoder and a decoder of other sizes; here they are alike")
    tensors = {n: t for n, t in read(folder).items() if "coder." in n}
    (features,) = (t.shape[1] for n, t in tensors.items() if "encoder.value_embedding" in n)
    model = informer(
        features,
        d_model=config["d_model"],
        n_heads=heads.pop(),
        n_layers=config["encoder_layers"],
        n_decoder_layers=config["decoder_layers"],
        d_ff=widths.pop(),
        factor=config["sampling_factor"],
        distil=config["distil"],
        dropout=config["dropout"],
    )
    adopt(model, tensors, NAMES, leave_out=TABLES)
    return model.eval()
