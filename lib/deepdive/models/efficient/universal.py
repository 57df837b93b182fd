"""Universal Transformer with adaptive computation time (ACT). Dehghani et al. 2019, "Universal
Transformers"; Graves 2016, "Adaptive Computation Time for Recurrent Neural Networks".

System: universal
Parent: transformer
What differs:
- one block is applied `n_steps` times, instead of several blocks once each (`UniversalStack`)
- sinusoids of the position and of the step are added before every step (`UniversalStack.coded`)
- a halting unit gives each position its own number of steps (`halt`); the output is the average of
  the position's states, weighted by halting probability (`UniversalStack.pondered`)
- the loss has a ponder cost, the number of steps plus the remainder (`ponder`; `collect_losses`)
Source: Dehghani et al. 2019, sections 2.1 and 2.2; Graves 2016, section 2. The weighted average is
Graves's; the Universal Transformer's code interpolates with the previous average instead.
Book: 5.1.3.1
"""

from collections.abc import Callable
from functools import partial

from torch import nn

from deepdive.core.checks import positive
from deepdive.core.embeddings import TiedHead, TokenEmbedding
from deepdive.core.position import Position
from deepdive.layers.universal_stack import UniversalStack, universal_block
from deepdive.models.transformer.transformer import Decoder, Encoder, Transformer


def universal(
    src_vocab: int,
    tgt_vocab: int | None = None,
    *,
    d_model: int = 512,
    n_heads: int = 8,
    n_steps: int = 6,
    d_ff: int = 2048,
    dropout: float = 0.1,
    halting: bool = True,
    ponder_weight: float = 0.01,
) -> Transformer:
    """Build an encoder-decoder with one block each, of the base Transformer's sizes."""
    positive(src_vocab=src_vocab, tgt_vocab=tgt_vocab)

    def stack(cross: bool) -> UniversalStack:
        block = universal_block(d_model, n_heads, d_ff, dropout, cross)
        return UniversalStack(block, d_model, n_steps, halting, ponder_weight=ponder_weight)

    embedding: Callable[[int], TokenEmbedding] = partial(
        TokenEmbedding, d_model=d_model, scale=d_model**0.5
    )
    source = embedding(src_vocab)
    target = source if tgt_vocab is None else embedding(tgt_vocab)
    return Transformer(
        Encoder(source, Position(), stack(cross=False), dropout),
        Decoder(target, Position(), stack(cross=True), dropout),
        TiedHead(target),
    )


def tiny() -> UniversalStack:
    """Return a small stack for tests: width 16, 4 heads, at most 4 steps."""
    stack = UniversalStack(universal_block(16, 4, 32), 16, 4)
    assert stack.halt is not None
    nn.init.constant_(stack.halt.bias, -0.5)  # several steps
    return stack
