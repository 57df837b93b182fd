"""A Perceiver layer of latents: cross-attention to an input, or self-attention."""

from torch import Tensor, nn

from deepdive.attention.heads.channel import ChannelAttention
from deepdive.core.checks import positive
from deepdive.core.context import Context
from deepdive.core.feed_forward import FeedForward, gelu
from deepdive.core.masks import Mask
from deepdive.core.norms import LayerNorm
from deepdive.core.residual import PreNorm


class LatentLayer(nn.Module):
    """x + attn(norm(x), norm(y)), then x + ff(norm(x)): a pre-norm block, with
    cross-attention to y, under a separate norm, if there is a context.
    """

    def __init__(self, attn: ChannelAttention, d_ff: int, d_context: int | None = None) -> None:
        super().__init__()
        positive(d_context=d_context)
        self.attn, self.d_model = attn, attn.d_model
        self.context_norm = None if d_context is None else LayerNorm(d_context)
        self.attn_residual, self.ff_residual = PreNorm(self.d_model), PreNorm(self.d_model)
        self.ff = FeedForward(self.d_model, d_ff, gelu)

    def forward(
        self, x: Tensor, context: Tensor | None = None, mask: Mask | Tensor | None = None
    ) -> Tensor:
        """Return x (B, T, d_model) after the layer. Raises ValueError when a cross-attention layer
        has no context, or a self-attention layer has one.
        """
        if (context is None) != (self.context_norm is None):
            raise ValueError(
                "context: a layer with d_context needs states (B, S, d_context), one without must "
                "get none"
            )
        if context is not None and self.context_norm is not None:
            fields = Context(memory=self.context_norm(context), memory_mask=mask)
        else:
            fields = Context(mask=mask)
        x = self.attn_residual(x, lambda h: self.attn(h, fields))
        return self.ff_residual(x, self.ff)
