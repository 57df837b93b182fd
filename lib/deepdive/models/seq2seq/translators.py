"""What the published translators FSMT and Marian share: two sides, settings, names of weights."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from deepdive.attention import MultiHeadAttention
from deepdive.checks import not_negative, positive
from deepdive.layers import Block, FeedForward, PostNorm, gelu, relu
from deepdive.layers.embeddings import TokenEmbedding
from deepdive.layers.feed_forward import Activation
from deepdive.layers.stacks import Stack
from deepdive.models.transformer.transformer import Decoder, Encoder, Transformer
from deepdive.positions import BlockedSinusoidalPosition
from deepdive.published.weights import Join, Rule, adopt, check_config


@dataclass(frozen=True)
class Side:
    """The layers of an encoder or a decoder: how many, their heads, their feed-forward width."""

    n_layers: int
    n_heads: int
    d_ff: int

    def __post_init__(self) -> None:
        positive(n_heads=self.n_heads, d_ff=self.d_ff)
        not_negative(n_layers=self.n_layers)


@dataclass(frozen=True)
class Dropouts:
    """The probabilities of dropout on the stream, on attention weights, after the activation."""

    stream: float = 0.1
    weights: float = 0.0
    activation: float = 0.0


USUAL = Dropouts()


def compose(
    source: TokenEmbedding,
    target: TokenEmbedding,
    head: nn.Module,
    *,
    position: BlockedSinusoidalPosition,
    encoder: Side,
    decoder: Side,
    activation: Activation,
    dropouts: Dropouts,
) -> Transformer:
    """Return the post-norm Transformer of these parts; its two sides may differ in size."""
    d_model = source.d_model

    def attention(side: Side) -> MultiHeadAttention:
        return MultiHeadAttention(d_model, side.n_heads, dropout=dropouts.weights)

    def block(side: Side, cross: MultiHeadAttention | None) -> Block:
        ff = FeedForward(d_model, side.d_ff, activation, dropouts.activation)
        return Block(attention(side), ff, cross, partial(PostNorm, dropout=dropouts.stream))

    encoders = Stack(lambda _layer: block(encoder, None), encoder.n_layers)
    decoders = Stack(lambda _layer: block(decoder, attention(decoder)), decoder.n_layers)
    return Transformer(
        Encoder(source, position, encoders, dropouts.stream),
        Decoder(target, position, decoders, dropouts.stream),
        head,
    )


ACTIVATIONS: dict[str, Activation] = {"relu": relu, "gelu": gelu, "swish": F.silu, "silu": F.silu}
# Settings of older checkpoints that change the function, and the only value that is built here.
EXPECTED: dict[str, Any] = {
    "normalize_before": False,
    "normalize_embedding": False,
    "add_final_layer_norm": False,
    "static_position_embeddings": True,
    "encoder_layerdrop": 0.0,
    "decoder_layerdrop": 0.0,
}


def numbers(config: Mapping[str, Any], model_type: str) -> dict[str, Any]:
    """Return the arguments that `config` (a config.json) gives a builder, vocabularies left out.

    Raises ValueError, naming it, for a setting that is not built here.
    """
    check_config(config, model_type, EXPECTED)
    if config["activation_function"] not in ACTIVATIONS:
        raise ValueError(
            f"config has activation_function={config['activation_function']!r}; expected one of "
            f"{', '.join(ACTIVATIONS)}"
        )

    def side(name: str) -> Side:
        return Side(*(config[f"{name}_{k}"] for k in ("layers", "attention_heads", "ffn_dim")))

    return {
        "d_model": config["d_model"],
        "encoder": side("encoder"),
        "decoder": side("decoder"),
        "activation": ACTIVATIONS[config["activation_function"]],
        "dropouts": Dropouts(
            *(config.get(k, 0.0) for k in ("dropout", "attention_dropout", "activation_dropout"))
        ),
        "scale": config["d_model"] ** 0.5 if config["scale_embedding"] else 1.0,
    }


# Their weights have fairseq's names.
NAMES: tuple[Rule, ...] = (
    (r"^model\.", ""),
    (r"\.embed_tokens\.", ".embedding."),
    (r"\.layers\.", ".stack.blocks."),
    (r"\.self_attn\.", ".attn."),
    (r"\.encoder_attn\.", ".cross."),
    (r"\.q_proj\.", ".q."),
    Join((r"\.k_proj\.", r"\.v_proj\."), ".kv."),
    (r"\.out_proj\.", ".out."),
    (r"\.fc1\.", ".ff.inner."),
    (r"\.fc2\.", ".ff.out."),
    (r"\.self_attn_layer_norm\.", ".attn_residual.norm."),
    (r"\.encoder_attn_layer_norm\.", ".cross_residual.norm."),
    (r"\.final_layer_norm\.", ".ff_residual.norm."),
)
# Tables of waves, which our positions compute; not every file has them.
WAVES = ("model.encoder.embed_positions.weight", "model.decoder.embed_positions.weight")


def adopt_checkpoint(
    model: Transformer, tensors: Mapping[str, Tensor], names: Iterable[Rule]
) -> Transformer:
    """Let `model` adopt a checkpoint's tensors; return it, in evaluation mode.

    Raises ValueError for tables of waves that are not the model's: training has changed them.
    """
    position = model.encoder.position
    assert isinstance(position, BlockedSinusoidalPosition)
    for name in WAVES:
        if name in tensors:
            rows = tensors[name][position.offset :]
            expected = position.table(torch.arange(len(rows)))
            if (rows - expected).abs().max() > 2e-3:  # single and half precision stay below
                raise ValueError(f"{name} was trained; here positions are computed, not stored")
    adopt(model, tensors, names, leave_out=WAVES)
    return model.eval()
