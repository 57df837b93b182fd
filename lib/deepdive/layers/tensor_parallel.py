"""Tensor-parallel layers, of which each machine has a shard. Shoeybi et al. 2019, section 3.

Each is built from the full layer, which it shards: so any number of machines starts equal, and a
model that was trained on one continues training on several.
"""

from dataclasses import replace
from typing import ClassVar

import torch.nn.functional as F
from torch import Tensor, nn

from deepdive.core import Context, MultiHeadAttention
from deepdive.core.checks import divides
from deepdive.core.embeddings import TiedHead, TokenEmbedding, check_tokens
from deepdive.layers.collectives import DeviceGroup, all_gather, all_reduce, broadcast_in, share

Axes = dict[str, tuple[int, int]]


class Shard(nn.Module):
    """Base class of tensor-parallel layers.

    cut  parameter -> (the axis along which it is sharded, how many matrices are along it)
    """

    cut: ClassVar[Axes]
    machines: DeviceGroup

    def take(self, full: nn.Module) -> None:
        """Set each parameter to this machine's shard of that of `full`, or all if not sharded."""
        for name, parameter in full.named_parameters():
            shard = parameter.detach()
            if name in self.cut:
                shard = share(shard, self.machines, *self.cut[name])
            owner, _, last = name.rpartition(".")
            setattr(self.get_submodule(owner), last, nn.Parameter(shard.clone()))


class ColumnLinear(Shard, nn.Linear):
    """Column-parallel linear layer, y_i = x @ A_i + b_i: this machine's columns of A.

    The backward pass sums the machines' gradients of x (`broadcast_in`).
    """

    cut: ClassVar[Axes] = {"weight": (0, 1), "bias": (0, 1)}

    def __init__(self, full: nn.Linear, machines: DeviceGroup) -> None:
        divides(ways=machines.ways, out_features=full.out_features)
        width = full.out_features // machines.ways
        super().__init__(full.in_features, width, full.bias is not None)
        self.machines = machines
        self.take(full)

    def forward(self, x: Tensor) -> Tensor:
        """Return (..., out_features / ways) for x (..., in_features)."""
        return super().forward(broadcast_in(x, self.machines))


class RowLinear(Shard, nn.Linear):
    """Row-parallel linear layer, y = sum_i x_i @ A_i + b: this machine's rows of A.

    The forward pass sums over the machines (`all_reduce`), then adds the bias once.
    """

    cut: ClassVar[Axes] = {"weight": (1, 1)}

    def __init__(self, full: nn.Linear, machines: DeviceGroup) -> None:
        divides(ways=machines.ways, in_features=full.in_features)
        width = full.in_features // machines.ways
        super().__init__(width, full.out_features, full.bias is not None)
        self.machines = machines
        self.take(full)

    def forward(self, x: Tensor) -> Tensor:
        """Return (..., out_features) for x (..., in_features / ways)."""
        y = all_reduce(F.linear(x, self.weight), self.machines)
        return y if self.bias is None else y + self.bias


class TensorParallelAttention(Shard, MultiHeadAttention):
    """Tensor-parallel multi-head attention: each head is computed on one machine, without
    communication until their outputs are projected by W_out, a `RowLinear`.
    """

    cut: ClassVar[Axes] = {
        "q.weight": (0, 1), "q.bias": (0, 1), "kv.weight": (0, 2), "kv.bias": (0, 2)
    }  # fmt: skip

    def __init__(self, full: MultiHeadAttention, machines: DeviceGroup) -> None:
        divides(ways=machines.ways, n_kv_heads=full.n_kv_heads)
        super().__init__(
            full.d_model, full.n_heads // machines.ways, d_head=full.d_head,
            n_kv_heads=full.n_kv_heads // machines.ways, bias=full.q.bias is not None,
            scale=full.scale, mechanism=full.mechanism, position=full.position,
        )  # fmt: skip
        self.machines = machines
        self.take(full)
        self.out = RowLinear(full.out, machines)

    def forward(self, x: Tensor, context: Context) -> Tensor:
        """Return (B, T, d_model), as the full layer does."""
        if context.memory is not None:
            context = replace(context, memory=broadcast_in(context.memory, self.machines))
        return super().forward(broadcast_in(x, self.machines), context)


class VocabParallelEmbedding(Shard, TokenEmbedding):
    """Vocabulary-parallel embedding: a token of another machine's shard is 0 here, and the sum over
    the machines is its embedding.
    """

    cut: ClassVar[Axes] = {"weight": (0, 1)}

    def __init__(self, full: TokenEmbedding, machines: DeviceGroup) -> None:
        divides(ways=machines.ways, vocab_size=full.vocab_size)
        super().__init__(full.vocab_size, full.d_model, full.scale)
        self.machines = machines
        self.take(full)

    def forward(self, tokens: Tensor) -> Tensor:
        """Return embeddings (B, T, d_model) for token ids (B, T)."""
        check_tokens(tokens)
        if int(tokens.min()) < 0 or int(tokens.max()) >= self.vocab_size:
            raise ValueError(
                f"tokens hold ids from {int(tokens.min())} to {int(tokens.max())}, expected 0 to "
                f"{self.vocab_size - 1}: encode with the vocabulary that the model was built for"
            )
        index, in_shard = own_shard(tokens, len(self.weight), self.machines)
        x = F.embedding(index, self.weight) * in_shard.unsqueeze(-1)
        return self.scale * all_reduce(x, self.machines)


class VocabParallelHead(TiedHead):
    """An output layer that shares the matrix of a `VocabParallelEmbedding`: each machine computes
    the logits of its shard of the vocabulary.
    """

    embedding: VocabParallelEmbedding

    def own(self, x: Tensor) -> Tensor:
        """Return this machine's logits (..., vocab_size / ways) for x (..., d_model)."""
        return super().forward(broadcast_in(x, self.embedding.machines))

    def forward(self, x: Tensor) -> Tensor:
        """Return all logits (..., vocab_size), on every machine."""
        return all_gather(self.own(x), self.embedding.machines)


def own_shard(tokens: Tensor, width: int, machines: DeviceGroup) -> tuple[Tensor, Tensor]:
    """Return each token's index in this machine's shard of the vocabulary, `width` tokens, 0 where
    it is in another's, and whether it is in this one.
    """
    index = tokens - machines.rank * width
    in_shard = (index >= 0) & (index < width)
    return index.masked_fill(~in_shard, 0), in_shard


def split_cross_entropy(logits: Tensor, targets: Tensor, machines: DeviceGroup) -> Tensor:
    """Return -log p(targets) (...) for this machine's shard of the logits (..., V / ways).

    The machines exchange three numbers per token, not its V logits: the largest logit, the sum of
    the exponentials, and the target's logit.
    Source: Shoeybi et al. 2019, section 3.
    """
    largest = machines.most(logits.detach().amax(-1))
    total = all_reduce((logits - largest.unsqueeze(-1)).exp().sum(-1), machines)
    index, here = own_shard(targets, logits.shape[-1], machines)
    target = all_reduce(logits.gather(-1, index.unsqueeze(-1)).squeeze(-1) * here, machines)
    return total.log() + largest - target
