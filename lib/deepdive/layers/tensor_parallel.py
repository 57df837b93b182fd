"""Layers of which each machine holds a share. Shoeybi et al. 2019, section 3.

Each is made of the whole layer, which it cuts: so any number of machines begins alike, and a model
that was trained on one goes on training on several.
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
    """Base of layers of which each machine holds a share.

    cut  parameter -> (the axis along which it is cut, how many matrices stand along it)
    """

    cut: ClassVar[Axes]
    machines: DeviceGroup

    def take(self, whole: nn.Module) -> None:
        """Give each parameter this machine's share of that of `whole`, or all where it is uncut."""
        for name, parameter in whole.named_parameters():
            mine = parameter.detach()
            if name in self.cut:
                mine = share(mine, self.machines, *self.cut[name])
            owner, _, last = name.rpartition(".")
            setattr(self.get_submodule(owner), last, nn.Parameter(mine.clone()))


class ColumnLinear(Shard, nn.Linear):
    """y_i = x @ A_i + b_i: this machine's columns of A, and so a part of each row that comes out.

    The sum of the machines' gradients of x is taken on the way back (`copied`).
    """

    cut: ClassVar[Axes] = {"weight": (0, 1), "bias": (0, 1)}

    def __init__(self, whole: nn.Linear, machines: DeviceGroup) -> None:
        divides(ways=machines.ways, out_features=whole.out_features)
        width = whole.out_features // machines.ways
        super().__init__(whole.in_features, width, whole.bias is not None)
        self.machines = machines
        self.take(whole)

    def forward(self, x: Tensor) -> Tensor:
        """Return (..., out_features / ways) for x (..., in_features)."""
        return super().forward(broadcast_in(x, self.machines))


class RowLinear(Shard, nn.Linear):
    """y = sum_i x_i @ A_i + b: this machine's rows of A meet its part of each row that comes in.

    The sum over the machines is taken on the way out (`summed`), the bias added once behind it.
    """

    cut: ClassVar[Axes] = {"weight": (1, 1)}

    def __init__(self, whole: nn.Linear, machines: DeviceGroup) -> None:
        divides(ways=machines.ways, in_features=whole.in_features)
        width = whole.in_features // machines.ways
        super().__init__(width, whole.out_features, whole.bias is not None)
        self.machines = machines
        self.take(whole)

    def forward(self, x: Tensor) -> Tensor:
        """Return (..., out_features) for x (..., in_features / ways)."""
        y = all_reduce(F.linear(x, self.weight), self.machines)
        return y if self.bias is None else y + self.bias


class TensorParallelAttention(Shard, MultiHeadAttention):
    """Multi-head attention, a share of whose heads is this machine's: each head is computed whole
    on one machine, and nothing is said until their outputs are joined by W_out, a `RowLinear`.
    """

    cut: ClassVar[Axes] = {
        "q.weight": (0, 1), "q.bias": (0, 1), "kv.weight": (0, 2), "kv.bias": (0, 2)
    }  # fmt: skip

    def __init__(self, whole: MultiHeadAttention, machines: DeviceGroup) -> None:
        divides(ways=machines.ways, n_kv_heads=whole.n_kv_heads)
        super().__init__(
            whole.d_model, whole.n_heads // machines.ways, d_head=whole.d_head,
            n_kv_heads=whole.n_kv_heads // machines.ways, bias=whole.q.bias is not None,
            scale=whole.scale, mechanism=whole.mechanism, position=whole.position,
        )  # fmt: skip
        self.machines = machines
        self.take(whole)
        self.out = RowLinear(whole.out, machines)

    def forward(self, x: Tensor, context: Context) -> Tensor:
        """Return (B, T, d_model), as the whole layer does."""
        if context.memory is not None:
            context = replace(context, memory=broadcast_in(context.memory, self.machines))
        return super().forward(broadcast_in(x, self.machines), context)


class VocabParallelEmbedding(Shard, TokenEmbedding):
    """An embedding a share of whose vocabulary is this machine's: a token of another's share is 0
    here, and the sum over the machines is its row.
    """

    cut: ClassVar[Axes] = {"weight": (0, 1)}

    def __init__(self, whole: TokenEmbedding, machines: DeviceGroup) -> None:
        divides(ways=machines.ways, vocab_size=whole.vocab_size)
        super().__init__(whole.vocab_size, whole.d_model, whole.scale)
        self.machines = machines
        self.take(whole)

    def forward(self, tokens: Tensor) -> Tensor:
        """Return rows (B, T, d_model) for integer tokens (B, T)."""
        check_tokens(tokens)
        if int(tokens.min()) < 0 or int(tokens.max()) >= self.vocab_size:
            raise ValueError(
                f"tokens hold ids from {int(tokens.min())} to {int(tokens.max())}, expected 0 to "
                f"{self.vocab_size - 1}: encode with the vocabulary that the model was built for"
            )
        mine, here = own_shard(tokens, len(self.weight), self.machines)
        rows = F.embedding(mine, self.weight) * here.unsqueeze(-1)
        return self.scale * all_reduce(rows, self.machines)


class VocabParallelHead(TiedHead):
    """An output layer that shares the matrix of a `VocabParallelEmbedding`: each machine scores its
    own share of the vocabulary.
    """

    embedding: VocabParallelEmbedding

    def own(self, x: Tensor) -> Tensor:
        """Return this machine's logits (..., vocab_size / ways) for rows (..., d_model)."""
        return super().forward(broadcast_in(x, self.embedding.machines))

    def forward(self, x: Tensor) -> Tensor:
        """Return all logits (..., vocab_size), which every machine then holds."""
        return all_gather(self.own(x), self.embedding.machines)


def own_shard(tokens: Tensor, width: int, machines: DeviceGroup) -> tuple[Tensor, Tensor]:
    """Return each token's place in this machine's share of the vocabulary, `width` tokens, 0 where
    it is in another's, and whether it is here.
    """
    place = tokens - machines.rank * width
    here = (place >= 0) & (place < width)
    return place.masked_fill(~here, 0), here


def split_cross_entropy(logits: Tensor, wanted: Tensor, machines: DeviceGroup) -> Tensor:
    """Return -log p(wanted) (...) for this machine's share of the logits (..., V / ways).

    What passes between machines is three numbers a token, not its V logits: the largest logit, the
    sum of the exponentials, and the wanted token's logit.
    Source: Shoeybi et al. 2019, section 3.
    """
    top = machines.most(logits.detach().amax(-1))
    total = all_reduce((logits - top.unsqueeze(-1)).exp().sum(-1), machines)
    mine, here = own_shard(wanted, logits.shape[-1], machines)
    right = all_reduce(logits.gather(-1, mine.unsqueeze(-1)).squeeze(-1) * here, machines)
    return total.log() + top - right
