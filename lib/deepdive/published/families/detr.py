"""DETR with a ResNet: config settings and name tables of both published forms, with timm's names
(`use_timm_backbone=True`, as in facebook/detr-resnet-50) or transformers' (revision no_timm).
"""

from collections.abc import Mapping
from typing import Any

from torch import Tensor

from deepdive.layers.residual_conv import Basic, Bottleneck
from deepdive.models.vision import detr, resnet_config
from deepdive.models.vision.resnet import ResNetConfig
from deepdive.published.form import Family, Setting, activation
from deepdive.published.names import Names, Pairs, fairseq_layer
from deepdive.published.weights import Sources

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
TWICE = ("attention_heads", "layers", "ffn_dim")  # the decoder's must equal the encoder's
LAYERS: dict[str, Any] = {"basic": Basic, "bottleneck": Bottleneck}
TIMM: dict[str, ResNetConfig] = {  # timm's config has a name, no sizes
    "resnet18": resnet_config.RESNET_18,
    "resnet34": resnet_config.RESNET_34,
    "resnet50": resnet_config.RESNET_50,
    "resnet101": resnet_config.RESNET_101,
    "resnet152": resnet_config.RESNET_152,
}
BODY = "model.backbone.conv_encoder.model."
HEAD = "class_labels_classifier"


def finish(config: detr.DetrConfig, theirs: Mapping[str, Any]) -> detr.DetrConfig:
    """Read the settings of the backbone. Raises ValueError for one that is not supported, and for
    a decoder whose sizes differ from the encoder's.
    """
    for part in TWICE:
        one, other = (theirs.get(f"{side}_{part}") for side in ("encoder", "decoder"))
        if one != other:
            raise ValueError(f"config has encoder_{part}={one}, decoder_{part}={other}: not equal")
    body = theirs.get("backbone_config")
    if body is None:
        body = backbone_of(theirs)
    kind = body.get("model_type")
    if kind not in BACKBONES:
        raise ValueError(
            f"config has a backbone_config of type {kind!r}; supported: {', '.join(BACKBONES)}"
        )
    return config.but(backbone=BACKBONES[kind](body))


def backbone_of(theirs: Mapping[str, Any]) -> dict[str, Any]:
    """Return the backbone_config of a config.json that has it in top-level keys."""
    if not theirs.get("use_timm_backbone", True):
        if theirs.get("backbone") not in (None, "resnet50"):
            raise ValueError(
                f"config has backbone={theirs['backbone']!r} and use_timm_backbone=False; give its "
                "backbone_config"
            )
        return {"model_type": "resnet"}
    given = theirs.get("backbone_kwargs") or {}
    return {
        "model_type": "timm_backbone",
        "backbone": theirs.get("backbone") or "resnet50",
        "num_channels": given.get("in_chans", theirs.get("num_channels", 3)),
        **{key: value for key, value in given.items() if key != "in_chans"},
    }


def of_transformers(body: Mapping[str, Any]) -> ResNetConfig:
    """Return our config of a transformers ResNet. Raises ValueError for one not supported."""
    if body.get("downsample_in_first_stage") or body.get("downsample_in_bottleneck"):
        raise ValueError("config has downsample_in_...=True, which is not supported")
    if body.get("hidden_act", "relu") != "relu":
        raise ValueError(
            f"config has a backbone with hidden_act={body['hidden_act']!r}; only relu is supported"
        )
    kind = body.get("layer_type", "bottleneck")
    if kind not in LAYERS:
        raise ValueError(f"config has layer_type={kind!r}; expected one of {', '.join(LAYERS)}")
    depths = tuple(body.get("depths", resnet_config.RESNET_50.depths))
    last(body.get("out_features"), f"stage{len(depths)}", "out_features")
    last(body.get("out_indices"), len(depths), "out_indices")
    return ResNetConfig(
        channels=body.get("num_channels", 3),
        d_stem=body.get("embedding_size", 64),
        widths=tuple(body.get("hidden_sizes", resnet_config.RESNET_50.widths)),
        depths=depths,
        layer=LAYERS[kind],
    )


def of_timm(body: Mapping[str, Any]) -> ResNetConfig:
    """Return our config of a timm ResNet, by name. Raises ValueError for one not supported."""
    name = str(body.get("backbone")).split(".")[0]  # after the dot: its training data
    if name not in TIMM:
        raise ValueError(
            f"config has a timm backbone {body.get('backbone')!r}; supported: {', '.join(TIMM)}"
        )
    if body.get("output_stride") not in (None, 32):
        raise ValueError(
            f"config has output_stride={body['output_stride']}, a dilated backbone (DC5); only one "
            "without dilation, output_stride=32, is supported"
        )
    last(body.get("out_indices"), len(TIMM[name].depths), "out_indices")
    return TIMM[name].but(channels=body.get("num_channels", 3), family="timm_backbone")


BACKBONES = {"timm_backbone": of_timm, "resnet": of_transformers}


def last(chosen: Any, stage: Any, key: str) -> None:
    """Raise ValueError for a backbone whose output is not its last stage."""
    if chosen and chosen[-1] not in (stage, -1):
        raise ValueError(f"config has {key}={chosen}; only the last stage, {stage}, is supported")


def derived(config: detr.DetrConfig) -> dict[str, Any]:
    """Invert `finish`. Raises ValueError for a backbone that timm has no name for."""
    sizes = {"layers": config.n_layers, "ffn_dim": config.d_ff, "attention_heads": config.n_heads}
    return {
        **{f"decoder_{part}": sizes[part] for part in TWICE},
        "id2label": {str(i): f"LABEL_{i}" for i in range(config.n_classes)},
        "num_channels": config.backbone.channels,
        **(to_timm if config.backbone.family == "timm_backbone" else to_transformers)(
            config.backbone
        ),
    }


def to_timm(body: ResNetConfig) -> dict[str, Any]:
    plain = body.but(family="resnet", channels=3)
    for name, known in TIMM.items():
        if known == plain:
            return {"use_timm_backbone": True, "backbone": name, "backbone_config": None}
    raise ValueError(
        f"backbone: timm has no ResNet {body}; with family='resnet' any ResNet can be saved"
    )


def to_transformers(body: ResNetConfig) -> dict[str, Any]:
    return {
        "use_timm_backbone": False,
        "backbone_config": {
            "model_type": "resnet", "num_channels": body.channels, "embedding_size": body.d_stem,
            "hidden_sizes": list(body.widths), "depths": list(body.depths),
            "layer_type": {made: name for name, made in LAYERS.items()}[body.layer],
            "out_features": [f"stage{len(body.depths)}"],
        },
    }  # fmt: skip


def fit(config: detr.DetrConfig, tensors: Mapping[str, Tensor]) -> detr.DetrConfig:
    """Set the number of classes from the size of the classification head."""
    head = tensors.get(f"{HEAD}.weight")
    return config if head is None else config.but(n_classes=len(head) - 1)


def without_counters(sources: Sources) -> Sources:
    """Drop batch norm's num_batches_tracked, which some files contain."""
    counter = ".num_batches_tracked"
    return {n: s for n, s in sources.items() if not (n.startswith(BODY) and n.endswith(counter))}


NORM = {"weight": "weight", "bias": "bias", "running_mean": "mean", "running_var": "variance"}


def conv(theirs: str, norm: str, ours: str) -> Pairs:
    """Return the name table of a convolution and its norm."""
    pairs: Pairs = {BODY + theirs: f"backbone.{ours}.0"}
    return pairs | {f"{BODY}{norm}.{t}": f"backbone.{ours}.1.{o}" for t, o in NORM.items()}


def transformers_names() -> Pairs:
    def both(theirs: str, ours: str) -> Pairs:
        return conv(f"{theirs}.convolution", f"{theirs}.normalization", ours)

    return {
        **both("embedder.embedder", "stem"),
        **both("encoder.stages.{}.layers.{}.shortcut", "stages.{}.{}.shortcut"),
        **both("encoder.stages.{}.layers.{}.layer.{}", "stages.{}.{}.convs.{}"),
    }


def timm_names() -> Pairs:
    """Return timm's name table; timm counts stages and convolutions from 1."""
    pairs = conv("conv1", "bn1", "stem")
    for i in range(4):
        theirs, ours = f"layer{i + 1}.{{}}.", f"stages.{i}.{{}}."
        pairs |= conv(f"{theirs}downsample.0", f"{theirs}downsample.1", f"{ours}shortcut")
        for k in range(3):
            pairs |= conv(f"{theirs}conv{k + 1}", f"{theirs}bn{k + 1}", f"{ours}convs.{k}")
    return pairs


OF_BACKBONE = {"timm_backbone": timm_names(), "resnet": transformers_names()}


def names(config: detr.DetrConfig) -> Names:
    """Return DETR's name table, with timm's or transformers' names for the backbone."""
    return Names(
        {
            **OF_BACKBONE[config.backbone.family],
            **fairseq_layer("model.encoder.layers.{}", "encoder.blocks.{}"),
            **fairseq_layer("model.decoder.layers.{}", "decoder.blocks.{}"),
            "model.decoder.layernorm": "decoder.norm",
            "model.input_projection": "project",
            "model.query_position_embeddings.weight": "queries",
            HEAD: "classes",
            "bbox_predictor.layers.{}": "boxes.{}",
        }
    )


DETR = Family(
    architecture="DetrForObjectDetection",
    build=detr.detr,
    base=detr.BASE,
    settings=SETTINGS,
    names=names,
    expected={"position_embedding_type": "sine", "dilation": False, "auxiliary_loss": False},
    finish=finish,
    fit=fit,
    derived=derived,
    older=(without_counters,),
)
FAMILIES = (DETR,)
