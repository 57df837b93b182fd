"""ConvBERT: settings, names of weights, heads."""

from torch import Tensor

from deepdive.models.bert import convbert
from deepdive.published.families.encoders import (
    BERT,
    EMBEDDINGS,
    LAYER,
    LAYERS,
    SETTINGS,
    UNUSED,
    is_masked_lm,
    like,
)
from deepdive.published.names import Names

THEIRS, OURS = f"{LAYER}.attention.self", "stack.blocks.{}.attn.convolution"


def _column(bias: Tensor) -> Tensor:
    return bias.unsqueeze(-1)


# Their layer by points is a convolution of one column, with a bias beside it.
CONVOLUTION = Names(
    {
        f"{THEIRS}.key_conv_attn_layer.bias": f"{OURS}.pointwise.bias",
        f"{THEIRS}.key_conv_attn_layer.depthwise": f"{OURS}.depthwise",
        f"{THEIRS}.key_conv_attn_layer.pointwise": f"{OURS}.pointwise",
        f"{THEIRS}.conv_kernel_layer": f"{OURS}.chosen",
        f"{THEIRS}.conv_out_layer": f"{OURS}.value",
    },
    {f"{OURS}.pointwise": (lambda numbers: numbers.squeeze(-1), _column)},
)
FILLS = Names(
    {
        "generator_predictions.dense": "masked.dense",
        "generator_predictions.LayerNorm": "masked.norm",
        "generator_lm_head.bias": "masked.head.bias",
        "generator_lm_head.weight": "masked.head.embedding.weight",
    }
)
CONVBERT = like(
    BERT,
    "ConvBert",
    convbert.convbert,
    convbert.BASE,
    settings=SETTINGS
    | {
        "d_embedding": "embedding_size",
        "ratio": "head_ratio",
        "kernel": "conv_kernel_size",
        "groups": "num_groups",
    },
    expected={"is_decoder": False, "add_cross_attention": False, "tie_word_embeddings": True},
    names=EMBEDDINGS | LAYERS | CONVOLUTION | Names({"embeddings_project": "embeddings.project"}),
    unused=(*UNUSED, "generator_", "discriminator_predictions.", "sequence_summary."),
    heads=is_masked_lm("ConvBert", FILLS),
)
FAMILIES = (CONVBERT,)
