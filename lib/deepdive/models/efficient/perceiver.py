"""Perceiver: a few learned rows read the input, however long, and then talk among themselves.
Jaegle et al. 2021, "Perceiver: General Perception with Iterative Attention"; the layers as in
Perceiver IO (Jaegle et al. 2022), whose weights are published.

System: perceiver
Parent: set_transformer
What differs:
- the inducing rows are the model: latents of a width of their own (`latents`, `d_latents`) that
  read the input once (`cross`), and whose stack costs the same for every length
- nothing is said back to the input rows: what follows reads the latents
- pre-norm layers, the input normalised by its own norm; a block of layers may be used again
  (`n_blocks`)
- keys and values may have widths of their own (`d_scores`, `d_values`)
Source: Jaegle et al. 2021, section 3; Jaegle et al. 2022 for the layers.
Book: table 1.2
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from deepdive.checks import divides, not_negative, positive
from deepdive.masks import padding
from deepdive.models.efficient.perceiver_layers import ChannelAttention, LatentLayer
from deepdive.published.weights import Join, Rule, adopt, check_config, read, read_config


class Perceiver(nn.Module):
    """Input rows (B, S, d_input) -> latents (B, n_latents, d_latents).

        z = latents; z = cross(z, x); for each of n_blocks: for each layer: z = layer(z)

    The output does not change when the input rows change places: what has an order adds positions
    to its rows first. `mask` bool (B, S), True = a real row.
    """

    def __init__(
        self, latents: Tensor, cross: LatentLayer, layers: list[LatentLayer], n_blocks: int = 1
    ) -> None:
        super().__init__()
        positive(n_blocks=n_blocks)
        self.latents = nn.Parameter(latents)
        self.cross, self.layers = cross, nn.ModuleList(layers)
        self.n_blocks = n_blocks

    def forward(self, x: Tensor, mask: Tensor | None = None) -> Tensor:
        """Return the latents."""
        real = padding(mask, x[..., 0], "mask")
        latents = self.cross(self.latents.expand(x.shape[0], -1, -1), x, real)
        for _ in range(self.n_blocks):
            for layer in self.layers:
                latents = layer(latents)
        return latents


def perceiver(
    d_input: int = 768,
    *,
    n_latents: int = 256,
    d_latents: int = 1280,
    n_layers: int = 26,
    n_blocks: int = 1,
    n_heads: int = 8,
    n_cross_heads: int = 8,
    d_scores: int | None = None,
    d_values: int | None = None,
    widening: int = 1,
    cross_widening: int = 1,
    dropout: float = 0.1,
) -> Perceiver:
    """Build a model; `widening` is d_ff / d_latents.

    Where widths are not given, the layers take d_latents and the cross-attention d_input, as the
    published model does.
    """

    positive(
        d_input=d_input, n_latents=n_latents, d_latents=d_latents, n_cross_heads=n_cross_heads,
        widening=widening, cross_widening=cross_widening,
    )  # fmt: skip
    not_negative(n_layers=n_layers)
    if d_scores is None:
        divides(n_heads=n_heads, d_latents=d_latents)
        divides(n_cross_heads=n_cross_heads, d_input=d_input)

    def attention(heads: int, default: int, d_context: int | None = None) -> ChannelAttention:
        scores = default if d_scores is None else d_scores
        values = scores if d_values is None else d_values
        return ChannelAttention(
            d_latents, heads, scores, values, d_context=d_context, dropout=dropout
        )

    cross = attention(n_cross_heads, d_input, d_input)
    return Perceiver(
        0.02 * torch.randn(n_latents, d_latents),
        LatentLayer(cross, cross_widening * d_latents, d_input),
        [LatentLayer(attention(n_heads, d_latents), widening * d_latents) for _ in range(n_layers)],
        n_blocks,
    )


def tiny(d_input: int = 16) -> Perceiver:
    """Return a model for tests and toys: 3 latents, 16 wide, 4 heads, 2 layers used twice."""
    return perceiver(
        d_input, n_latents=3, d_latents=16, n_layers=2, n_blocks=2, n_heads=4, n_cross_heads=4,
        dropout=0.0,
    )  # fmt: skip


NAMES: tuple[Rule, ...] = (
    (r"^perceiver\.", ""),
    (r"^embeddings\.latents$", "latents"),
    (r"^encoder\.cross_attention\.", "cross."),
    (r"^encoder\.self_attends\.", "layers."),
    Join((r"\battention\.self\.key\.", r"\battention\.self\.value\."), "attn.kv."),
    (r"\battention\.self\.query\.", "attn.q."),
    (r"\battention\.self\.layernorm1\.", "attn_residual.norm."),
    (r"\battention\.self\.layernorm2\.", "context_norm."),
    (r"\battention\.output\.dense\.", "attn.out."),
    (r"\.layernorm\.", ".ff_residual.norm."),
    (r"\.mlp\.dense1\.", ".ff.inner."),
    (r"\.mlp\.dense2\.", ".ff.out."),
)
# Settings that change the function, and the only values that are built here.
EXPECTED: dict[str, Any] = {
    "hidden_act": "gelu",
    "use_query_residual": True,
    "cross_attention_shape_for_attention": "kv",
}


def load(folder: str | Path) -> Perceiver:
    """Return latents and encoder of a folder (PerceiverModel), in evaluation mode. What makes rows
    of tokens or pixels, and what reads the latents, stays in the file.

    Raises ValueError for a config of another model, a setting not built here, and tensors that are
    unknown or missing.
    """
    config = read_config(folder)
    check_config(config, "perceiver", EXPECTED)
    inner = ("embeddings.latents", "encoder.")
    tensors = {
        name: tensor
        for name, tensor in read(folder).items()
        if name.removeprefix("perceiver.").startswith(inner)
    }
    width = next(t.shape[0] for n, t in tensors.items() if n.endswith("self.layernorm2.weight"))
    model = perceiver(
        width,
        n_latents=config["num_latents"],
        d_latents=config["d_latents"],
        n_layers=config["num_self_attends_per_block"],
        n_blocks=config["num_blocks"],
        n_heads=config["num_self_attention_heads"],
        n_cross_heads=config["num_cross_attention_heads"],
        d_scores=config["qk_channels"],
        d_values=config["v_channels"],
        widening=config["self_attention_widening_factor"],
        cross_widening=config["cross_attention_widening_factor"],
        dropout=config["attention_probs_dropout_prob"],
    )
    adopt(model, tensors, NAMES)
    return model.eval()
