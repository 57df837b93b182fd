"""GPT, a decoder that is trained to say what comes next, then tuned to a task. Radford et al. 2018,
"Improving Language Understanding by Generative Pre-Training".

    x = norm(x + attention(x));  x = norm(x + ff(x)):   tokens (B, T) -> logits (B, T, vocab_size)

How a task's input is written as one text stands in `deepdive.models.generative.gpt_tasks`.

System: gpt
Parent: transformer
What differs:
- the decoder alone, without attention to a source (`GPT`): it learns from plain text to say what
  comes next
- positions are learned (`learned`), so there is a longest text; the activation is GELU, in its
  first approximation (`activation`)
- a task is told by marks in one text, and answered behind its last token by one more matrix
  (`deepdive.models.generative.gpt_tasks.Answerer`)
- while it is tuned it goes on learning what comes next
  (`deepdive.training.objectives.generative.tuning_loss`)
Source: Radford et al. 2018, sections 3 and 4.1.
Book: 6.1.3.1
"""

from functools import partial
from typing import Any

from torch import nn

from deepdive.core import Block, FeedForward, LayerNorm
from deepdive.core.embeddings import TokenEmbedding
from deepdive.core.stack import Stack
from deepdive.layers.heads import initialise
from deepdive.models.generative.gpt_config import GPTConfig
from deepdive.models.transformer.decoder_only import DecoderOnly
from deepdive.models.transformer.transformer import Decoder


class GPT(DecoderOnly):
    """A `DecoderOnly` that keeps the record it was built from, by which it is published."""

    def __init__(self, decoder: Decoder, head: nn.Module, config: GPTConfig) -> None:
        super().__init__(decoder, head)
        self.config = config


BASE = GPTConfig()  # 116.5 million parameters
TOY: dict[str, Any] = {
    "vocab_size": 32, "d_model": 32, "n_heads": 4, "n_layers": 2, "d_ff": 64, "max_length": 64,
    "dropout": 0.0,
}  # fmt: skip
TINY = BASE.but(**TOY)


def gpt(config: GPTConfig = BASE, **changes: Any) -> GPT:
    """Build a decoder of `config`, with these fields of it changed: `gpt(d_model=64)`.

    Raises TypeError for a config that is no `GPTConfig`, and for a field that it has not.
    """
    config = GPTConfig.given(config, changes)
    norm = partial(LayerNorm, eps=config.eps)

    def block(layer: int) -> Block:
        ff = FeedForward(config.d_model, config.d_ff, config.activation)
        joint = partial(config.residual, norm=norm, dropout=config.dropout)
        return Block(config.attention(config, layer), ff, residual=joint)

    scale = config.d_model**0.5 if config.scale is None else config.scale
    embedding = TokenEmbedding(config.vocab_size, config.d_model, scale)
    last = norm(config.d_model) if config.residual.final_norm else None
    stack = Stack(block, config.n_layers, last)
    decoder = Decoder(embedding, config.position(config), stack, config.dropout)
    model = GPT(decoder, config.head(config, embedding), config)
    initialise(model)
    return model
