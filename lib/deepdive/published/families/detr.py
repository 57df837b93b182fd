"""DETR with a ResNet of transformers' own (`use_timm_backbone=False`): settings, names."""

from collections.abc import Mapping
from typing import Any

from torch import Tensor

from deepdive.layers.residual_conv import Basic, Bottleneck
from deepdive.models.vision import detr, resnet
from deepdive.published.form import Family, Setting, activation
from deepdive.published.names import Names, Pairs

SETTINGS: dict[str, str | Setting] = {
    "n_queries": "num_queries",
    "d_model": "d_model",
    "n_heads": "encoder_attention_heads",
    "n_layers": "encoder_layers",
    "d_ff": "encoder_ffn_dim",
    "dropout": "dropout",
    "attention_dropout": "attention_dropout",
    "activation": activation("activation_function"),
}
TWICE = ("attention_heads", "layers", "ffn_dim")  # the decoder's are the encoder's
LAYERS: dict[str, Any] = {"basic": Basic, "bottleneck": Bottleneck}
BODY = "model.backbone.conv_encoder.model."
HEAD = "class_labels_classifier"


def finish(config: detr.DetrConfig, theirs: Mapping[str, Any]) -> detr.DetrConfig:
    """Read what the record holds of the backbone. Raises ValueError for one that is not built here,
    and for a decoder of other sizes than the encoder.
    """
    for part in TWICE:
        one, other = (theirs.get(f"{side}_{part}") for side in ("encoder", "decoder"))
        if one != other:
            raise ValueError(f"config has encoder_{part}={one}, decoder_{part}={other}: not as one")
    body = theirs.get("backbone_config") or {}
    if body.get("model_type") != "resnet":
        raise ValueError(
            f"config has a backbone_config of type {body.get('model_type')!r}; only 'resnet' is "
            "built here: the revision no_timm of a published DETR has one"
        )
    if body.get("downsample_in_first_stage") or body.get("downsample_in_bottleneck"):
        raise ValueError("config halves elsewhere: downsample_in_...=True is not built here")
    backbone = resnet.ResNetConfig(
        channels=body.get("num_channels", 3),
        d_stem=body.get("embedding_size", 64),
        widths=tuple(body.get("hidden_sizes", resnet.RESNET_50.widths)),
        depths=tuple(body.get("depths", resnet.RESNET_50.depths)),
        layer=LAYERS[body.get("layer_type", "bottleneck")],
    )
    return config.but(backbone=backbone)


def derived(config: detr.DetrConfig) -> dict[str, Any]:
    """The way back of `finish`."""
    body, stages = config.backbone, len(config.backbone.depths)
    sizes = {"layers": config.n_layers, "ffn_dim": config.d_ff, "attention_heads": config.n_heads}
    return {
        **{f"decoder_{part}": sizes[part] for part in TWICE},
        "id2label": {str(i): f"LABEL_{i}" for i in range(config.n_kinds)},
        "backbone_config": {
            "model_type": "resnet", "num_channels": body.channels, "embedding_size": body.d_stem,
            "hidden_sizes": list(body.widths), "depths": list(body.depths),
            "layer_type": {made: name for name, made in LAYERS.items()}[body.layer],
            "out_features": [f"stage{stages}"],
        },
    }  # fmt: skip


def fit(config: detr.DetrConfig, tensors: Mapping[str, Tensor]) -> detr.DetrConfig:
    """The number of kinds, which stands in the size of the head."""
    head = tensors.get(f"{HEAD}.weight")
    return config if head is None else config.but(n_kinds=len(head) - 1)


def conv(theirs: str, ours: str) -> Pairs:
    """Their names for a convolution and its norm."""
    norm = {"weight": "weight", "bias": "bias", "running_mean": "mean", "running_var": "variance"}
    pairs: Pairs = {f"{theirs}.convolution": f"{ours}.0"}
    return pairs | {f"{theirs}.normalization.{t}": f"{ours}.1.{o}" for t, o in norm.items()}


def layer(side: str) -> Pairs:
    """Their names for a layer of the encoder or the decoder."""
    theirs, ours = f"model.{side}.layers.{{}}.", f"{side}.blocks.{{}}."
    attentions = {"self_attn": "attn"} | ({"encoder_attn": "cross"} if side == "decoder" else {})
    pairs: Pairs = {}
    for name, mine in attentions.items():
        pairs |= {
            f"{theirs}{name}.q_proj": f"{ours}{mine}.q",
            (f"{theirs}{name}.k_proj", f"{theirs}{name}.v_proj"): f"{ours}{mine}.kv",
            f"{theirs}{name}.out_proj": f"{ours}{mine}.out",
            f"{theirs}{name}_layer_norm": f"{ours}{mine}_residual.norm",
        }
    return pairs | {
        f"{theirs}fc1": f"{ours}ff.inner",
        f"{theirs}fc2": f"{ours}ff.out",
        f"{theirs}final_layer_norm": f"{ours}ff_residual.norm",
    }


NAMES = Names(
    {
        **conv(f"{BODY}embedder.embedder", "backbone.stem"),
        **conv(BODY + "encoder.stages.{}.layers.{}.shortcut", "backbone.stages.{}.{}.shortcut"),
        **conv(BODY + "encoder.stages.{}.layers.{}.layer.{}", "backbone.stages.{}.{}.convs.{}"),
        **layer("encoder"),
        **layer("decoder"),
        "model.decoder.layernorm": "decoder.norm",
        "model.input_projection": "project",
        "model.query_position_embeddings.weight": "queries",
        HEAD: "kinds",
        "bbox_predictor.layers.{}": "boxes.{}",
    }
)
DETR = Family(
    model_type="detr",
    architecture="DetrForObjectDetection",
    build=detr.detr,
    base=detr.BASE,
    settings=SETTINGS,
    names=NAMES,
    expected={
        "position_embedding_type": "sine",
        "dilation": False,
        "auxiliary_loss": False,
        "use_timm_backbone": False,
    },
    finish=finish,
    fit=fit,
    derived=derived,
)
FAMILIES = (DETR,)
