"""Cases of Funnel-Transformer and of what its layers are made of."""

from typing import Any

import torch
from torch import Tensor

from deepdive.core import gelu_tanh
from deepdive.core.masks import Mask
from deepdive.layers.funnel_attention import FunnelAttention, FunnelBlock, Level
from deepdive.models.bert import xlnet
from deepdive.models.bert.bert import bert
from deepdive.models.efficient import funnel
from deepdive.models.efficient.funnel import Funnel
from deepdive.positions.xl import PooledXLPosition, XLPosition
from laws import (
    ORDERED,
    TWO_SIDED,
    Case,
    NotApplicable,
    case,
    padding_of,
    random_rows,
    set_weights,
    with_padding,
)
from laws.positions.base import queries_and_keys

ORACLE = "transformers FunnelModel and FunnelBaseModel"
ROW = torch.tensor([[4, 9, 6, 8, 5, 7]])
X = random_rows(2, 6, 16)
WIDTH_16 = funnel.TINY.but(d_model=16, d_head=4, d_ff=32)
NO_CACHE = NotApplicable("a layer of an encoder, which is given both sequences")
ONE_BLOCK: dict[str, Any] = {
    "block_sizes": (2,), "n_decoder_layers": None, "separate_cls": False, "dropout": 0.0,
    "attention_dropout": 0.0,
}  # fmt: skip


def level(x: Tensor, mask: Mask | None = None) -> Level:
    T = x.shape[1]
    segments = (torch.arange(T) // 3).expand(x.shape[:2])
    return Level(torch.arange(T), segments, padding_of(mask))


def read(part: FunnelAttention | FunnelBlock, x: Tensor, mask: Any, state: Any) -> Tensor:
    here = level(x, mask)
    return part.read(x, x, here, here)


@case("funnel", Funnel)
def _() -> Case:
    def make(**changes: Any) -> Funnel:
        return funnel.funnel(funnel.TINY, **changes).double().eval()

    def xlnet_layers() -> tuple[Tensor, Tensor]:
        """One block, no bias, [CLS] a token like any other: XLNet's layers."""
        model = make(**ONE_BLOCK)
        plain = xlnet.xlnet(xlnet.TINY, eps=1e-9, activation=gelu_tanh).double().eval()
        for layer, other in zip(model.blocks[0], plain.stack.blocks, strict=True):
            state = {
                n.replace("attn.segments", "segments"): p for n, p in layer.state_dict().items()
            }
            other.load_state_dict({n: p for n, p in state.items() if n in other.state_dict()})
        x = model.norm(model.tokens(ROW))
        for block in plain.stack.blocks:
            x = block(x)
        return model(ROW), x

    def a_bert() -> tuple[Tensor, Tensor]:
        """One block, no positions and no segments: BERT's layers, whose queries have no bias."""
        model = make(**ONE_BLOCK)
        changes = {"d_model": 32, "n_heads": 4, "n_layers": 2, "d_ff": 64, "dropout": 0.0}
        plain = bert(**changes, eps=1e-9, activation=gelu_tanh).double().eval()
        for layer, other in zip(model.blocks[0], plain.stack.blocks, strict=True):
            set_weights(layer.attn.position, W__weight=0.0)
            set_weights(layer.attn.segments, e=0.0)
            other.load_state_dict(layer.state_dict(), strict=False)
        return model(ROW), plain.stack(model.norm(model.tokens(ROW)))

    def a_longer_text() -> tuple[Tensor, Tensor]:
        """Pooled lengths: 9, 5 and 3 with [CLS] apart and truncation."""
        model = make(block_sizes=(1, 1, 1), n_decoder_layers=None)
        return torch.tensor(model(torch.arange(4, 13)[None]).shape), torch.tensor((1, 3, 32))

    return Case(
        make=lambda: funnel.funnel(funnel.TINY, truncate=False),
        run=with_padding,
        vocab=32,
        parity=ORACLE,
        limits={
            "one block, no bias: XLNet's layers": xlnet_layers,
            "one block, no positions: BERT's layers": a_bert,
            "lengths": a_longer_text,
        },
        refusals={
            "an inverted mask": lambda: make()(ROW, torch.zeros(1, 6).bool()),
            "no batch axis": lambda: make()(ROW[0]),
            "an unknown segment": lambda: make()(ROW, None, torch.full_like(ROW, 3)),
            "a block without layers": lambda: funnel.funnel(funnel.TINY, block_sizes=(2, 0)),
        },
        laws={**TWO_SIDED, "order": ORDERED},
    )


@case("funnel/FunnelBlock", FunnelBlock)
def _() -> Case:
    def make() -> FunnelBlock:
        return funnel.layer(WIDTH_16)

    def sublayers_of_zero() -> tuple[Tensor, Tensor]:
        block = set_weights(make(), attn__out__weight=0.0, ff__out__weight=0.0)
        here = level(X)
        norms = block.attn_residual.norm, block.ff_residual.norm
        return block.read(X, X, here, here), norms[1](norms[0](X))

    return Case(
        make=make,
        run=read,
        parity=ORACLE,
        limits={"sublayers that return 0: the norms": sublayers_of_zero},
        refusals={"rows of another width": lambda: read(make(), torch.zeros(1, 6, 8), None, None)},
        laws={"no_leak": TWO_SIDED["no_leak"], "order": ORDERED, "cache": NO_CACHE},
    )


@case("funnel/FunnelAttention", FunnelAttention)
def _() -> Case:
    def make() -> FunnelAttention:
        return FunnelAttention(16, 4, 4)

    def plain() -> tuple[Tensor, Tensor]:
        """No positions, no segments: multi-head attention of all to all."""
        layer = set_weights(make(), position__W__weight=0.0, segments__e=0.0)
        return read(layer, X, None, None), layer.output(
            layer.mechanism(layer.queries(X), *layer.keys_and_values(X))
        )

    return Case(
        make=make,
        run=read,
        parity=ORACLE,
        limits={"no positions, no segments: attention": plain},
        refusals={"rows of another width": lambda: read(make(), torch.zeros(1, 6, 8), None, None)},
        laws={"no_leak": TWO_SIDED["no_leak"], "order": ORDERED, "cache": NO_CACHE},
    )


@case("PooledXLPosition", PooledXLPosition)
def _() -> Case:
    def make(separate_cls: bool = True) -> PooledXLPosition:
        scheme = PooledXLPosition(8, 3, 4, separate_cls)
        set_weights(scheme, u=random_rows(3, 4, seed=7), v=random_rows(3, 4, seed=8))
        return scheme

    def gathered(q_at: Tensor, k_at: Tensor) -> tuple[Tensor, Tensor]:
        q, k, _, _ = queries_and_keys(len(q_at), len(k_at))
        scheme = make(separate_cls=False)
        return scheme.bias(q, k, q_at, k_at), XLPosition.bias(
            scheme, q, k, q_at, k_at.expand(2, -1)
        )

    def cls_apart() -> tuple[Tensor, Tensor]:
        q, k, q_at, k_at = queries_and_keys(6, 6)
        scheme = make()
        relative = XLPosition.bias(scheme, q, k, q_at, k_at)
        content = (scheme.scale * scheme.u[:, None] @ k.transpose(-2, -1)).expand_as(relative)
        relative[:, :, 0], relative[:, :, :, 0] = content[:, :, 0], content[:, :, :, 0]
        return scheme.bias(q, k, q_at, k_at), relative

    return Case(
        place="position",
        make=lambda: PooledXLPosition(16, 4),
        parity=ORACLE,
        limits={
            "every second query: pair by pair": lambda: gathered(
                torch.arange(0, 8, 2), torch.arange(8)
            ),
            "pooled queries and keys: pair by pair": lambda: gathered(
                torch.arange(-3, 9, 4), torch.arange(-3, 9, 4)
            ),
            "queries of a pooled sequence, keys of the last": lambda: gathered(
                torch.arange(-3, 9, 4), torch.arange(-1, 9, 2)
            ),
            "uneven places: pair by pair": lambda: gathered(
                torch.tensor([0, 1, 5]), torch.arange(7)
            ),
            "[CLS] apart: no position, its content stays": cls_apart,
        },
        refusals={"heads that do not divide": lambda: PooledXLPosition(10, 4)},
    )
