"""GPT: a decoder-only language model, pretrained, then fine-tuned. Radford et al. 2018, "Improving
Language Understanding by Generative Pre-Training".

    x = norm(x + attention(x));  x = norm(x + ff(x)):   tokens (B, T) -> logits (B, T, vocab_size)

`deepdive.models.generative.gpt_tasks` turns each task's input into one token sequence.

System: gpt
Parent: transformer
What differs:
- decoder only, without cross-attention (`GPT`): pretrained on plain text to predict the next token
- learned position embeddings (`learned_positions`), so the length is limited; the activation is
  the tanh approximation of GELU (`activation`)
- a task's input is one sequence with special tokens; a linear layer on the last token's state
  predicts the answer (`deepdive.models.generative.gpt_tasks.Answerer`)
- fine-tuning keeps language modeling as an auxiliary objective
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
from deepdive.layers.heads import initialize
from deepdive.models.generative.gpt_config import GPTConfig
from deepdive.models.transformer.decoder_only import DecoderOnly
from deepdive.models.transformer.transformer import Decoder


class GPT(DecoderOnly):
    """`DecoderOnly` that stores the config it was built from, which saving and loading need."""

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
    """Build a decoder from `config` with `changes` to its fields: `gpt(d_model=64)`.

    Raises TypeError for a config that is not a `GPTConfig` and for an unknown field.
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
    initialize(model)
    return model
