"""ViT and DeiT: settings, names of weights."""

from dataclasses import replace
from typing import Any

from deepdive.models.vision import deit, vit
from deepdive.published.families.encoders import LAYER, layer
from deepdive.published.form import Family, Setting, activation
from deepdive.published.names import Names

SETTINGS: dict[str, str | Setting] = {
    "image_size": "image_size",
    "patch_size": "patch_size",
    "channels": "num_channels",
    "d_model": "hidden_size",
    "n_heads": "num_attention_heads",
    "n_layers": "num_hidden_layers",
    "d_ff": "intermediate_size",
    "dropout": "hidden_dropout_prob",
    "attention_dropout": "attention_probs_dropout_prob",
    "eps": "layer_norm_eps",
    "activation": activation("hidden_act"),
}
LAYERS = layer(
    LAYER,
    "attention.attention.query attention.attention.key attention.attention.value "
    "attention.output.dense layernorm_before intermediate.dense output.dense layernorm_after",
)


def kernel_of(ours: str, config: Any) -> Names:
    """The layout of patches' matrix in their files: a kernel in four axes."""
    sides = config.channels, config.patch_size, config.patch_size
    both = (lambda weight: weight.flatten(1), lambda weight: weight.unflatten(1, sides))
    return Names({}, {ours: both})


def embeddings(config: Any) -> Names:
    """Their names for what enters: a kernel in four axes, tables with an axis for the batch."""
    matrix = "embeddings.patches.project.weight"
    table = (lambda numbers: numbers.squeeze(0), lambda numbers: numbers.unsqueeze(0))
    tokens = (lambda numbers: numbers.squeeze(1), lambda numbers: numbers.unsqueeze(1))
    first, second = "embeddings.cls_token", "embeddings.distillation_token"
    special = first if config.n_special == 1 else (first, second)
    return kernel_of(matrix, config) | Names(
        {
            special: "embeddings.special",
            "embeddings.position_embeddings": "embeddings.positions",
            "embeddings.patch_embeddings.projection.weight": matrix,
            "embeddings.patch_embeddings.projection.bias": "embeddings.patches.project.bias",
        },
        {
            "embeddings.special": tokens,
            "embeddings.positions": table,
        },
    )


VIT = Family(
    model_type="vit",
    architecture="ViTModel",
    build=vit.vit,
    base=vit.BASE,
    settings=SETTINGS,
    names=lambda config: embeddings(config) | LAYERS | Names({"layernorm": "stack.norm"}),
    prefix="vit.",
    expected={"qkv_bias": True},
    unused=("pooler.", "classifier."),
)
DEIT = replace(
    VIT,
    model_type="deit",
    architecture="DeiTModel",
    build=deit.deit,
    base=deit.BASE,
    prefix="deit.",
    unused=("pooler.", "classifier.", "cls_classifier.", "distillation_classifier."),
)
FAMILIES = (VIT, DEIT)
