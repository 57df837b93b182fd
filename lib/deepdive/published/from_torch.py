"""Convert PyTorch's Transformer layers to ours: the same function, with the weights copied.

    block = from_torch(nn.TransformerEncoderLayer(512, 8))         # a Block
    stack = from_torch(nn.TransformerEncoder(layer, 6))            # a Stack
    encoder, decoder = from_torch_transformer(nn.Transformer())    # two Stacks

What differs from torch: ours are batch first, and True in a mask means "may attend", but in torch's
bool masks "may not": pass `~mask`.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

from torch import nn

from deepdive.core import Block, FeedForward, LayerNorm, MultiHeadAttention, PostNorm, PreNorm
from deepdive.core.stack import Stack
from deepdive.published.weights import Join, Rule, Split, adopt

ATTENTION: list[Rule] = [
    Split(r"\bin_proj_(weight|bias)$", (r"q.\1", r"k.\1", r"v.\1")),
    (r"\b(q|k|v)_proj_weight$", r"\1.weight"),  # kdim and vdim differ from embed_dim
    Join((r"\bk\.(weight|bias)$", r"\bv\.(weight|bias)$"), r"kv.\1"),
    (r"\bout_proj\.", "out."),
]
LAYER: list[Rule] = [
    (r"\bself_attn\.", "attn."),
    (r"\bmultihead_attn\.", "cross."),
    *ATTENTION,
    (r"\blinear1\.", "ff.inner."),
    (r"\blinear2\.", "ff.out."),
    (r"\bnorm1\.", "attn_residual.norm."),
]
ENCODER: list[Rule] = [*LAYER, (r"\bnorm2\.", "ff_residual.norm."), (r"\blayers\.", "blocks.")]
DECODER: list[Rule] = [
    *LAYER,
    (r"\bnorm2\.", "cross_residual.norm."),
    (r"\bnorm3\.", "ff_residual.norm."),
    (r"\blayers\.", "blocks."),
]


def from_torch(theirs: nn.Module) -> nn.Module:
    """Return our equivalent of a torch module, with its weights, dtype and device.

    nn.MultiheadAttention -> MultiHeadAttention, nn.Transformer{En,De}coderLayer -> Block,
    nn.Transformer{En,De}coder -> Stack. Raises TypeError for another module, ValueError for a
    setting that ours do not have.
    """
    known: dict[type[nn.Module], tuple[Callable[[Any], nn.Module], list[Rule]]] = {
        nn.MultiheadAttention: (_attention, ATTENTION),
        nn.TransformerEncoderLayer: (_block, ENCODER),
        nn.TransformerDecoderLayer: (_block, DECODER),
        nn.TransformerEncoder: (_stack, ENCODER),
        nn.TransformerDecoder: (_stack, DECODER),
    }
    if type(theirs) not in known:
        raise TypeError(
            f"theirs: got {type(theirs).__name__}, expected nn.MultiheadAttention or one of the "
            "nn.Transformer... layers and stacks (for nn.Transformer: from_torch_transformer)"
        )
    build, rules = known[type(theirs)]
    like = next(theirs.parameters())
    ours = build(theirs).to(like.device, like.dtype)
    adopt(ours, theirs.state_dict(), rules)
    return ours.train(theirs.training)


def from_torch_transformer(theirs: nn.Transformer) -> tuple[Stack, Stack]:
    """Return the encoder and the decoder of an nn.Transformer, which has no embeddings."""
    encoder, decoder = from_torch(theirs.encoder), from_torch(theirs.decoder)
    assert isinstance(encoder, Stack)
    assert isinstance(decoder, Stack)
    return encoder, decoder


def _attention(theirs: nn.MultiheadAttention) -> MultiHeadAttention:
    if theirs.bias_k is not None or theirs.add_zero_attn:
        raise ValueError("theirs: add_bias_kv and add_zero_attn are not supported")
    if theirs.kdim != theirs.vdim:
        raise ValueError(
            f"theirs: got kdim={theirs.kdim} and vdim={theirs.vdim}; ours project keys and values "
            "from the same states, so build it with kdim = vdim"
        )
    return MultiHeadAttention(
        theirs.embed_dim,
        theirs.num_heads,
        d_context=theirs.kdim,
        bias=theirs.out_proj.bias is not None,
        dropout=theirs.dropout,
    )


def _block(theirs: nn.TransformerEncoderLayer | nn.TransformerDecoderLayer) -> Block:
    ff = FeedForward(
        theirs.linear1.in_features,
        theirs.linear1.out_features,
        theirs.activation,
        theirs.dropout.p,
        bias=theirs.linear1.bias is not None,
    )
    cross: Any = getattr(theirs, "multihead_attn", None)
    scheme = PreNorm if theirs.norm_first else PostNorm
    return Block(
        _attention(theirs.self_attn),
        ff,
        None if cross is None else _attention(cross),
        partial(scheme, norm=lambda _width: _norm(theirs.norm1), dropout=theirs.dropout1.p),
    )


def _stack(theirs: nn.TransformerEncoder | nn.TransformerDecoder) -> Stack:
    layers: Any = theirs.layers
    norm = None if theirs.norm is None else _norm(theirs.norm)
    return Stack(lambda i: _block(layers[i]), len(layers), norm)


def _norm(theirs: nn.Module) -> LayerNorm:
    if not isinstance(theirs, nn.LayerNorm):
        raise ValueError(f"norm: got {type(theirs).__name__}, expected nn.LayerNorm")
    return LayerNorm(theirs.normalized_shape[0], theirs.eps, bias=theirs.bias is not None)
