"""ViT, DeiT, MAE and data2vec-vision: config settings and name tables."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from torch import Tensor

from deepdive.models.vision import data2vec, deit, mae, vit
from deepdive.models.vision.mae_config import MaeConfig
from deepdive.published.families.encoders import LAYER, SIZES, layer
from deepdive.published.form import Family, Setting, activation
from deepdive.published.names import Names, Pairs, axis

SETTINGS: dict[str, str | Setting] = {
    "image_size": "image_size",
    "patch_size": "patch_size",
    "channels": "num_channels",
    **SIZES,
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
    """Return the layout of the patch projection: a 4D convolution kernel in their files."""
    sides = config.channels, config.patch_size, config.patch_size
    both = (lambda weight: weight.flatten(1), lambda weight: weight.unflatten(1, sides))
    return Names({}, {ours: both})


def embeddings(config: Any) -> Names:
    """Return the name table of the embeddings: a 4D kernel, and tables with a batch axis."""
    matrix = "embeddings.patches.project.weight"
    first, second = "embeddings.cls_token", "embeddings.distillation_token"
    special = first if config.n_special == 1 else (first, second)
    return kernel_of(matrix, config) | Names(
        {
            special: "embeddings.special",
            "embeddings.position_embeddings": "embeddings.positions",
            "embeddings.patch_embeddings.projection.weight": matrix,
            "embeddings.patch_embeddings.projection.bias": "embeddings.patches.project.bias",
        },
        {"embeddings.special": axis(1), "embeddings.positions": axis(0)},
    )


def encoder(config: Any) -> Names:
    """Return the name table of the full encoder."""
    return embeddings(config) | LAYERS | {"layernorm": "stack.norm"}


def mae_names(config: MaeConfig) -> Names:
    """Return the name table of encoder and decoder. The output is ordered by pixel, then channel,
    in their files; ours by channel, then pixel.
    """
    size, channels = config.patch_size, config.channels

    def ours(rows: Tensor) -> Tensor:
        return rows.unflatten(0, (size, size, channels)).movedim(2, 0).flatten(0, 2)

    def theirs(rows: Tensor) -> Tensor:
        return rows.unflatten(0, (channels, size, size)).movedim(0, 2).flatten(0, 2)

    vector = (lambda numbers: numbers.flatten(), lambda numbers: numbers[None, None])
    decoder = Names(
        {
            "decoder.mask_token": "mask",
            "decoder.decoder_pos_embed": "decoder_positions",
            "decoder.decoder_embed": "project",
            "decoder.decoder_norm": "decoder.norm",
            "decoder.decoder_pred": "out",
        },
        {"mask": vector, "decoder_positions": axis(0), "out": (ours, theirs)},
    )
    layers = layer("decoder.decoder_encoder.layer.{}", PARTS, "decoder.blocks.{}")
    return encoder(config).within("vit.", "encoder.") | decoder | layers


VIT = Family(
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
    architecture="DeiTModel",
    build=deit.deit,
    base=deit.BASE,
    prefix="deit.",
    unused=("pooler.", "classifier.", "cls_classifier.", "distillation_classifier."),
)


def data2vec_names(config: data2vec.Data2VecConfig) -> Names:
    """Return the name table; keys have no bias."""
    ours, theirs = "stack.blocks.{}.attn.kv", LAYER + ".attention.attention"
    each = f"{theirs}.relative_position_bias", "stack.blocks.{}"
    bias_of = ("encoder.relative_position_bias", "stack.blocks.0") if config.shared else each
    vector = (lambda numbers: numbers.flatten(), lambda numbers: numbers[None, None])
    own: Pairs = {
        "embeddings.cls_token": "embeddings.special",
        "embeddings.mask_token": "embeddings.mask",
        "embeddings.patch_embeddings.projection": "embeddings.patches.project",
        (f"{theirs}.key.weight", f"{theirs}.value.weight"): f"{ours}.weight",
        f"{theirs}.value.bias": "stack.blocks.{}.attn.v_bias",
        f"{LAYER}.lambda_1": "stack.blocks.{}.attn_residual.gain",
        f"{LAYER}.lambda_2": "stack.blocks.{}.ff_residual.gain",
        bias_of[0] + ".relative_position_bias_table": bias_of[1] + ".attn.position.table.weight",
    }  # fmt: skip
    layers = {t: o for t, o in LAYERS.pairs.items() if not o.endswith(".attn.kv")}
    layouts = {"embeddings.special": axis(0), "embeddings.mask": vector}
    kernel = kernel_of("embeddings.patches.project.weight", config)
    return Names({**layers, **own}, layouts) | kernel


MAE = replace(
    VIT,
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
        "normalized": "norm_pix_loss",
    },
    names=mae_names,
    prefix="",
    unused=(),
)


def one_bias(config: data2vec.Data2VecConfig, theirs: Mapping[str, Any]) -> Any:
    """Return our config. Raises ValueError unless one bias, shared or per layer, is used."""
    if bool(theirs.get("use_relative_position_bias")) == config.shared:
        raise ValueError(
            "config has use_relative_position_bias and use_shared_relative_position_bias both "
            "true or both false; expected exactly one"
        )
    return config


DATA2VEC = replace(
    VIT,
    architecture="Data2VecVisionModel",
    build=data2vec.data2vec,
    base=data2vec.BASE,
    settings=SETTINGS
    | {
        "gain": "layer_scale_init_value",
        "shared": "use_shared_relative_position_bias",
        "masked": "use_mask_token",
    },
    names=data2vec_names,
    prefix="data2vec_vision.",
    expected={"use_absolute_position_embeddings": False, "use_mean_pooling": True},
    finish=one_bias,
    derived=lambda config: {"use_relative_position_bias": not config.shared},
)
FAMILIES = (VIT, DEIT, MAE, DATA2VEC)
