"""Conditional Computation Transformer: a learned gate decides for each token whether a sublayer
runs. Bapna, Arivazhagan and Firat 2020, "Controlling Computation versus Quality for Neural Sequence
Models".

System: cct
Parent: transformer
What differs:
- a control network gates each sublayer's output, token by token (`GatedPreNorm.control`)
- during training a gate is a sigmoid with noise on its logit; in evaluation it is 0 or 1, and a
  sublayer whose gates are all 0 doesn't run (`GatedPreNorm.gates`)
- a budget loss keeps the average gate near the fraction of sublayers to be run (`budget_loss`)
Source: Bapna et al. 2020, abstract and introduction; the control network's sizes, the absolute
value in the loss, and the pre-norm branch are choices of this implementation.
Book: table 1.1
"""

from deepdive.core import Block, FeedForward, LayerNorm, MultiHeadAttention
from deepdive.core.stack import Stack
from deepdive.layers.gated_residual import GatedPreNorm


def conditional_computation(
    d_model: int = 512,
    *,
    n_heads: int = 8,
    n_layers: int = 6,
    d_ff: int = 2048,
    d_control: int = 16,
    dropout: float = 0.1,
) -> Stack:
    """Build a stack whose sublayers are all gated, with the base Transformer's sizes."""

    def residual(width: int) -> GatedPreNorm:
        return GatedPreNorm(width, dropout=dropout, d_control=d_control)

    def block(_layer: int) -> Block:
        attention = MultiHeadAttention(d_model, n_heads)
        return Block(attention, FeedForward(d_model, d_ff), residual=residual)

    return Stack(block, n_layers, LayerNorm(d_model))


def tiny() -> Stack:
    """Return a small stack for tests: 2 layers, width 16, 4 heads."""
    return conditional_computation(16, n_heads=4, n_layers=2, d_ff=32, d_control=8, dropout=0.0)
