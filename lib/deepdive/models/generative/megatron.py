"""Megatron-LM, a GPT-2 of which each machine holds a share of every matrix. Shoeybi et al. 2019,
"Megatron-LM: Training Multi-Billion Parameter Language Models Using Model Parallelism".

    attention:     x -> own heads(x) @ own rows of W_out -> sum over the machines
    feed-forward:  x -> gelu(x @ own columns of A) @ own rows of B -> sum over the machines

What all machines hold (the stream, norms, positions) they compute alike, and say nothing of it. Its
published form is GPT-2's: `split(load(folder), machines)` reads it, `whole(model)` gives it back.

System: megatron
Parent: gpt2
What differs:
- the first matrix of a sublayer is cut by columns (`ColumnLinear`), the second by rows
  (`RowLinear`): one sum over the machines a sublayer, forwards, and one backwards
- attention is cut by heads (`TensorParallelAttention`)
- the vocabulary is cut too (`VocabParallelEmbedding`, `VocabParallelHead`), and the loss is
  computed from shares of the logits (`Megatron.loss`)
- the vocabulary is filled up to a number that can be cut (`vocab_size`)
Source: Shoeybi et al. 2019, section 3; sizes: table 1.
Book: blog
"""

from typing import Any

from torch import Tensor

from deepdive.layers.collectives import DeviceGroup, together
from deepdive.layers.tensor_parallel import (
    ColumnLinear,
    RowLinear,
    Shard,
    TensorParallelAttention,
    VocabParallelEmbedding,
    VocabParallelHead,
    split_cross_entropy,
)
from deepdive.models.generative import gpt, gpt2
from deepdive.models.generative.gpt import GPT
from deepdive.models.generative.gpt_config import GPTConfig

BASE = gpt2.BASE.but(vocab_size=51_200, d_model=3072, n_heads=32, n_layers=72, d_ff=12_288)
TINY = gpt2.BASE.but(**gpt.TOY)


class Megatron(GPT):
    """A GPT of which this machine holds a share."""

    head: VocabParallelHead

    def loss(self, tokens: Tensor) -> Tensor:
        """Return the mean of -log p(next) over tokens (B, T); no machine sees all logits."""
        logits = self.head.own(self.decoder(tokens[:, :-1]))
        return split_cross_entropy(logits, tokens[:, 1:], self.head.embedding.machines).mean()


def split(model: GPT, machines: DeviceGroup) -> Megatron:
    """Return this machine's share of `model`, which is used up. Raises ValueError where heads,
    feed-forward units or vocabulary cannot be cut evenly.
    """
    for block in model.decoder.stack.blocks:
        block.attn = TensorParallelAttention(block.attn, machines)  # type: ignore[arg-type]
        block.ff.inner = ColumnLinear(block.ff.inner, machines)  # type: ignore
        block.ff.out = RowLinear(block.ff.out, machines)  # type: ignore
    embedding = VocabParallelEmbedding(model.decoder.embedding, machines)
    model.decoder.embedding = embedding
    return Megatron(model.decoder, VocabParallelHead(embedding), model.config).train(model.training)


def whole(model: Megatron) -> dict[str, Tensor]:
    """Return GPT-2's weights, name -> tensor, from the shares of all machines, which call this
    together.
    """
    weights = dict(model.state_dict())
    for name, layer in model.named_modules():
        for parameter, cut in layer.cut.items() if isinstance(layer, Shard) else ():
            if (full := f"{name}.{parameter}") in weights:
                weights[full] = together(layer.machines.pieces(weights[full]), *cut)
    return weights | {"head.embedding.weight": weights["decoder.embedding.weight"]}


def megatron(
    config: GPTConfig = BASE, machines: DeviceGroup | None = None, **changes: Any
) -> Megatron:
    """Build this machine's share of a decoder of which all machines draw the same whole, from the
    same seed; defaults are the largest of the paper, 8.3 thousand million parameters.
    """
    return split(gpt2.gpt2(config, **changes), DeviceGroup() if machines is None else machines)
