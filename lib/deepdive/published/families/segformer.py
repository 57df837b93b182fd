"""SegFormer with its decoder: config settings and name table."""

from collections.abc import Mapping
from typing import Any

from torch import Tensor

from deepdive.models.vision import segformer
from deepdive.models.vision.segformer_config import SegformerConfig
from deepdive.published.families.encoders import layer
from deepdive.published.families.swin import several
from deepdive.published.form import Family, activation
from deepdive.published.names import Names

FEW = "stages.{}.blocks.{}.attn.patches.project.weight"
THEIRS = "segformer.encoder.block.{}.{}"
LAYERS = layer(
    THEIRS,
    "attention.self.query attention.self.key attention.self.value attention.output.dense "
    "layer_norm_1 mlp.dense1 mlp.dense2 layer_norm_2",
    "stages.{}.blocks.{}",
)


def names(config: SegformerConfig) -> Names:
    """Return the name table; a kernel of the sequence reduction is a matrix in our model."""

    def kernel(weight: Tensor) -> Tensor:
        side = next(n for n in config.rates if n * n * len(weight) == weight.shape[1])
        return weight.unflatten(1, (len(weight), side, side))

    ours = "stages.{}.blocks.{}."
    attention = {
        theirs: name.replace(f"{ours}attn.", f"{ours}attn.attention.")
        for theirs, name in LAYERS.pairs.items()
    }
    return Names(
        {
            **attention,
            f"{THEIRS}.attention.self.sr": f"{ours}attn.patches.project",
            f"{THEIRS}.attention.self.layer_norm": f"{ours}attn.norm",
            f"{THEIRS}.mlp.dwconv.dwconv": f"{ours}ff.depthwise",
            "segformer.encoder.patch_embeddings.{}.proj": "stages.{}.patches.project",
            "segformer.encoder.patch_embeddings.{}.layer_norm": "stages.{}.patches.norm",
            "segformer.encoder.layer_norm.{}": "stages.{}.norm",
            "decode_head.linear_c.{}.proj": "decoder.projections.{}",
            "decode_head.linear_fuse": "decoder.fuse",
            "decode_head.batch_norm": "decoder.norm",
            "decode_head.classifier": "decoder.classify",
        },
        {FEW: (lambda weight: weight.flatten(1), kernel)},
    )


def finished(config: SegformerConfig, theirs: Mapping[str, Any]) -> SegformerConfig:
    """Set the number of classes from id2label."""
    return config.but(n_classes=len(theirs["id2label"]))


def labels(config: SegformerConfig) -> Mapping[str, Any]:
    classes = [f"LABEL_{i}" for i in range(config.n_classes)]
    return {
        "num_encoder_blocks": len(config.widths),
        "id2label": {str(i): label for i, label in enumerate(classes)},
        "label2id": {label: i for i, label in enumerate(classes)},
    }


SEGFORMER = Family(
    architecture="SegformerForSemanticSegmentation",
    build=segformer.segformer,
    base=segformer.B0,
    settings={
        "channels": "num_channels",
        "depths": several("depths"),
        "widths": several("hidden_sizes"),
        "heads": several("num_attention_heads"),
        "sizes": several("patch_sizes"),
        "strides": several("strides"),
        "rates": several("sr_ratios"),
        "ratios": several("mlp_ratios"),
        "d_decoder": "decoder_hidden_size",
        "dropout": "hidden_dropout_prob",
        "attention_dropout": "attention_probs_dropout_prob",
        "decoder_dropout": "classifier_dropout_prob",
        "activation": activation("hidden_act"),
    },
    names=names,
    expected={"reshape_last_stage": True},
    finish=finished,
    derived=labels,
)
FAMILIES = (SEGFORMER,)
