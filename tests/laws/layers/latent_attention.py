"""Cases of `deepdive.layers.latent_attention`."""

from __future__ import annotations

import torch
from torch import Tensor

from deepdive.core import MultiHeadAttention, Slot
from deepdive.core.masks import Causal
from deepdive.layers.latent_attention import AbsorbedLatentAttention, LatentAttention
from laws import ORDERED, Case, case, random_rows

X = random_rows(2, 5, 16)


def latent(**changes: int) -> LatentAttention:
    torch.manual_seed(0)
    return LatentAttention(16, 4, **{"d_head": 4, "rank": 6, "d_rotary": 2, **changes})


def absorbed(**changes: int) -> AbsorbedLatentAttention:
    torch.manual_seed(0)
    return AbsorbedLatentAttention(16, 4, **{"d_head": 4, "rank": 6, "d_rotary": 2, **changes})


def multi_head() -> tuple[Tensor, Tensor]:
    """A latent that is the row itself, after its norm, and rotary keys of 0: multi-head attention
    to the rows after this norm.
    """
    ours = latent(rank=16).double()
    plain = MultiHeadAttention(16, 4, bias=False, scale=6**-0.5).double()
    ours.norm.eps = 0.0
    with torch.no_grad():
        ours.kv.weight.copy_(torch.cat([torch.eye(16), torch.zeros(2, 16)]))
        plain.q.weight.copy_(ours.q.weight.unflatten(0, (4, 6))[:, :4].flatten(0, 1))
        made = ours.up.weight.unflatten(0, (4, 2, 4))
        plain.kv.weight.copy_(made.transpose(0, 1).flatten(0, 2))
        plain.out.weight.copy_(ours.out.weight)
    return ours(X), plain(X, memory=X / X.square().mean(-1, keepdim=True).sqrt())


def both_forms() -> tuple[Tensor, Tensor]:
    return absorbed().double()(X, mask=Causal()), latent().double()(X, mask=Causal())


def shifted() -> tuple[Tensor, Tensor]:
    layer = latent().double()
    return layer(X, positions=torch.arange(100, 105)), layer(X)


def kept() -> tuple[Tensor, Tensor]:
    """The cache holds rank + d_rotary numbers a token, whatever the number of heads."""
    slot = Slot()
    with torch.no_grad():
        latent().double()(X, cache=slot)
    assert slot.keys is not None
    assert slot.values is not None
    held = torch.tensor([*slot.keys.shape[1::2], *slot.values.shape[1::2]])
    return held.double(), torch.tensor([1, 2, 1, 6]).double()


REFUSALS = {
    "a width of no number": lambda: latent(rank=0),
    "an odd rotary width": lambda: latent(d_rotary=3),
    "a cache under gradients": lambda: latent()(torch.zeros(1, 3, 16), cache=Slot()),
}


@case("LatentAttention", LatentAttention)
def _() -> Case:
    return Case(
        place="layer",
        make=lambda: latent(q_rank=5),
        parity="transformers DeepseekV3Attention",
        limits={
            "a latent of all entries, no rotary key: multi-head": multi_head,
            "all places moved on: the same": shifted,
            "what the cache holds": kept,
        },
        refusals=REFUSALS,
        laws={"order": ORDERED},
    )


@case("AbsorbedLatentAttention", AbsorbedLatentAttention)
def _() -> Case:
    return Case(
        place="layer",
        make=absorbed,
        parity="transformers DeepseekV3Attention",
        limits={"the plain form": both_forms},
        refusals=REFUSALS,
        laws={"order": ORDERED},
    )
