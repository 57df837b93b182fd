"""ViT, DeiT and MAE: settings, names of weights."""

from dataclasses import replace
from typing import Any

from torch import Tensor

from deepdive.models.vision import deit, mae, vit
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
PARTS = (
    "attention.attention.query attention.attention.key attention.attention.value "
    "attention.output.dense layernorm_before intermediate.dense output.dense layernorm_after"
)
LAYERS = layer(LAYER, PARTS)


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


def encoder(config: Any) -> Names:
    """Their names for the whole encoder."""
    return embeddings(config) | LAYERS | Names({"layernorm": "stack.norm"})


def mae_names(config: mae.MaeConfig) -> Names:
    """Their names for both stacks. In their files a pixel's channels stand together, here a
    channel's pixels.
    """
    size, channels = config.patch_size, config.channels

    def ours(rows: Tensor) -> Tensor:
        return rows.unflatten(0, (size, size, channels)).movedim(2, 0).flatten(0, 2)

    def theirs(rows: Tensor) -> Tensor:
        return rows.unflatten(0, (channels, size, size)).movedim(0, 2).flatten(0, 2)

    lone = (lambda numbers: numbers.flatten(), lambda numbers: numbers[None, None])
    table = (lambda numbers: numbers.squeeze(0), lambda numbers: numbers.unsqueeze(0))
    decoder = Names(
        {
            "decoder.mask_token": "mask",
            "decoder.decoder_pos_embed": "decoder_positions",
            "decoder.decoder_embed": "narrow",
            "decoder.decoder_norm": "decoder.norm",
            "decoder.decoder_pred": "out",
        },
        {
            "mask": lone,
            "decoder_positions": table,
            "out": (ours, theirs),
        },
    )
    layers = layer("decoder.decoder_encoder.layer.{}", PARTS, "decoder.blocks.{}")
    return encoder(config).within("vit.", "encoder.") | decoder | layers


VIT = Family(
    model_type="vit",
    architecture="ViTModel",
    build=vit.vit,
    base=vit.BASE,
    settings=SETTINGS,
    names=encoder,
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
MAE = replace(
    VIT,
    model_type="vit_mae",
    architecture="ViTMAEForPreTraining",
    build=mae.mae,
    base=mae.BASE,
    settings=SETTINGS
    | {
        "decoder_d_model": "decoder_hidden_size",
        "decoder_n_heads": "decoder_num_attention_heads",
        "decoder_n_layers": "decoder_num_hidden_layers",
        "decoder_d_ff": "decoder_intermediate_size",
        "share": "mask_ratio",
        "normalised": "norm_pix_loss",
    },
    names=mae_names,
    prefix="",
    unused=(),
)
FAMILIES = (VIT, DEIT, MAE)
