"""Swin: config settings and name table."""

from deepdive.models.vision import swin
from deepdive.published.families.encoders import layer
from deepdive.published.families.vit import kernel_of
from deepdive.published.form import Family, Setting, activation
from deepdive.published.names import Names
from deepdive.published.weights import Sources

LAYERS = layer(
    "encoder.layers.{}.blocks.{}",
    "attention.self.query attention.self.key attention.self.value attention.output.dense "
    "layernorm_before intermediate.dense output.dense layernorm_after",
    "stages.{}.{}.block",
)
AROUND = Names(
    {
        "embeddings.patch_embeddings.projection": "patches.project",
        "embeddings.norm": "patch_norm",
        "encoder.layers.{}.blocks.{}.attention.self.relative_position_bias_table": (
            "stages.{}.{}.block.attn.position.table.weight"
        ),
        "encoder.layers.{}.downsample.norm": "merges.{}.norm",
        "encoder.layers.{}.downsample.reduction": "merges.{}.reduce",
        "layernorm": "norm",
    }
)


def without_places(sources: Sources) -> Sources:
    """Drop the relative position index, which older files contain and our model computes."""
    return {n: s for n, s in sources.items() if not n.endswith(".relative_position_index")}


def several(key: str) -> Setting:
    """Return a setting with one number per stage."""
    return Setting(key, tuple, list)


SWIN = Family(
    architecture="SwinModel",
    build=swin.swin,
    base=swin.SMALLEST,
    settings={
        "image_size": "image_size",
        "patch_size": "patch_size",
        "channels": "num_channels",
        "d_model": "embed_dim",
        "depths": several("depths"),
        "heads": several("num_heads"),
        "window": "window_size",
        "ratio": "mlp_ratio",
        "dropout": "hidden_dropout_prob",
        "attention_dropout": "attention_probs_dropout_prob",
        "eps": "layer_norm_eps",
        "activation": activation("hidden_act"),
    },
    names=lambda config: kernel_of("patches.project.weight", config) | LAYERS | AROUND,
    prefix="swin.",
    expected={"qkv_bias": True, "use_absolute_embeddings": False},
    unused=("pooler.", "classifier.", "decoder.", "embeddings.mask_token"),
    older=(without_places,),
)
FAMILIES = (SWIN,)
