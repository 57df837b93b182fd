"""Megatron-LM: GPT-2 with tensor model parallelism across devices. Shoeybi et al. 2019,
"Megatron-LM: Training Multi-Billion Parameter Language Models Using Model Parallelism".

    attention:     x -> own heads(x) @ own rows of W_out -> all-reduce over the devices
    feed-forward:  x -> gelu(x @ own columns of A) @ own rows of B -> all-reduce over the devices

Residual stream, norms, and positions are replicated and need no communication. The checkpoint
format is GPT-2's: `split(load(folder), machines)` loads it, `whole(model)` gathers it again.

System: megatron
Parent: gpt2
What differs:
- the first matrix of a sublayer is split by columns (`ColumnLinear`), the second by rows
  (`RowLinear`): one all-reduce per sublayer in the forward pass, and one in the backward pass
- attention is split by heads (`TensorParallelAttention`)
- the vocabulary is split as well (`VocabParallelEmbedding`, `VocabParallelHead`), and the loss is
  computed from shards of the logits (`Megatron.loss`)
- the vocabulary is padded to a size that can be split (`vocab_size`)
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
    """This device's shard of a GPT."""

    head: VocabParallelHead

    def loss(self, tokens: Tensor) -> Tensor:
        """Return the mean next-token cross-entropy of tokens (B, T), without gathering logits."""
        logits = self.head.own(self.decoder(tokens[:, :-1]))
        return split_cross_entropy(logits, tokens[:, 1:], self.head.embedding.machines).mean()


def split(model: GPT, machines: DeviceGroup) -> Megatron:
    """Return this device's shard of `model`, which is modified in place. Raises ValueError if
    heads, feed-forward units or vocabulary can't be split evenly.
    """
    for block in model.decoder.stack.blocks:
        block.attn = TensorParallelAttention(block.attn, machines)  # type: ignore[arg-type]
        block.ff.inner = ColumnLinear(block.ff.inner, machines)  # type: ignore
        block.ff.out = RowLinear(block.ff.out, machines)  # type: ignore
    embedding = VocabParallelEmbedding(model.decoder.embedding, machines)
    model.decoder.embedding = embedding
    return Megatron(model.decoder, VocabParallelHead(embedding), model.config).train(model.training)


def whole(model: Megatron) -> dict[str, Tensor]:
    """Return GPT-2's state dict, name -> tensor, gathered from the shards of all devices, which
    must all call this.
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
    """Build this device's shard of a decoder; all devices initialize the same full model, from the
    same seed. Defaults are the paper's largest, 8.3 billion parameters.
    """
    return split(gpt2.gpt2(config, **changes), DeviceGroup() if machines is None else machines)
