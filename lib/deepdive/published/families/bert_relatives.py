"""ELECTRA, ConvBERT, MPNet, Splinter, LUKE and I-BERT: config settings, name tables, heads."""

from collections.abc import Mapping

from torch import Tensor

from deepdive.models.bert import convbert, electra, ibert, luke, luke_heads, mpnet, splinter
from deepdive.models.bert.pretraining import ElectraDiscriminator
from deepdive.published.families.encoders import (
    BERT,
    EMBEDDINGS,
    LAYER,
    LAYERS,
    ROBERTA,
    SETTINGS,
    UNUSED,
    beyond,
    is_masked_lm,
    layer,
    like,
    masked,
)
from deepdive.published.form import Head
from deepdive.published.names import Names, Pairs, axis

# ELECTRA: the discriminator, and the generator that is published with it.
GENERATOR = masked(
    "predictions.dense predictions.LayerNorm lm_head.bias lm_head.weight", "generator_"
)
ELECTRA = like(
    BERT,
    "Electra",
    electra.electra,
    electra.SMALL,  # transformers' defaults for missing settings
    settings=SETTINGS | {"d_embedding": "embedding_size"},
    names=EMBEDDINGS | LAYERS | {"embeddings_project": "embeddings.project"},
    unused=(*UNUSED, "discriminator_predictions.", "generator_"),
    heads={
        "replaced": Head(
            "ElectraForPreTraining",
            ElectraDiscriminator,
            Names(
                {
                    "discriminator_predictions.dense": "dense",
                    "discriminator_predictions.dense_prediction": "out",
                }
            ),
        ),
        "masked_lm": Head("ElectraForMaskedLM", electra.is_masked_lm, GENERATOR),
    },
)

# ConvBERT
THEIRS, OURS = f"{LAYER}.attention.self", "stack.blocks.{}.attn.convolution"
# Their pointwise layer is a convolution with a kernel of 1 and a separate bias.
CONVOLUTION = Names(
    {
        f"{THEIRS}.key_conv_attn_layer.bias": f"{OURS}.pointwise.bias",
        f"{THEIRS}.key_conv_attn_layer.depthwise": f"{OURS}.depthwise",
        f"{THEIRS}.key_conv_attn_layer.pointwise": f"{OURS}.pointwise",
        f"{THEIRS}.conv_kernel_layer": f"{OURS}.chosen",
        f"{THEIRS}.conv_out_layer": f"{OURS}.value",
    },
    {f"{OURS}.pointwise": axis(-1)},
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
    names=EMBEDDINGS | LAYERS | CONVOLUTION | {"embeddings_project": "embeddings.project"},
    unused=(*UNUSED, "generator_", "discriminator_predictions.", "sequence_summary."),
    heads=is_masked_lm("ConvBert", GENERATOR),
)

# MPNet, published in one size
MPNET_LAYERS = layer(
    LAYER,
    "attention.attn.q attention.attn.k attention.attn.v attention.attn.o attention.LayerNorm "
    "intermediate.dense output.dense output.LayerNorm",
)
# The relative position bias is shared by all layers; here it has the name of the first layer's.
BIAS: Pairs = {"encoder.relative_attention_bias": "stack.blocks.0.attn.position.table"}
MPNET = like(
    BERT,
    "MPNet",
    mpnet.mpnet,
    mpnet.BASE,
    settings={k: v for k, v in SETTINGS.items() if k != "n_segments"} | {"max_length": beyond(2)},
    # transformers always uses 32 buckets, whatever config.json says.
    expected={"pad_token_id": 1, "relative_attention_num_buckets": 32, "tie_word_embeddings": True},
    names=EMBEDDINGS | MPNET_LAYERS | BIAS,
    heads=is_masked_lm("MPNet", masked("dense layer_norm bias decoder.weight", "lm_head.")),
)

# Splinter in two sizes, with its pretraining head (question-aware span selection).
# Name table of one selector, theirs -> ours; there is one for the start and one for the end.
SELECTOR = {
    "query_{}_transform.dense": "ask.0",
    "query_{}_transform.LayerNorm": "ask.2",
    "{}_transform.dense": "answer.0",
    "{}_transform.LayerNorm": "answer.2",
    "{}_classifier": "product",
}
SPLINTER = like(
    BERT,
    "Splinter",
    splinter.splinter,
    splinter.BASE,
    settings=SETTINGS | {"question": "question_token_id"},
    expected={},
    unused=(*UNUSED, "splinter_qass."),
    heads={
        "spans": Head(
            "SplinterForQuestionAnswering",
            splinter.Splinter,
            Names(
                {
                    f"splinter_qass.{theirs.format(end)}": f"{end}.{ours}"
                    for end in ("start", "end")
                    for theirs, ours in SELECTOR.items()
                }
            ),
        )
    },
)

# LUKE: RoBERTa's names, entity embeddings, and three more query projections in each layer
ENTITIES: Pairs = {
    f"entity_embeddings.{theirs}": f"entities.{ours}"
    for theirs, ours in {
        "entity_embeddings": "tokens",
        "entity_embedding_dense": "project",
        "position_embeddings": "position",
        "token_type_embeddings": "segments",
        "LayerNorm": "norm",
    }.items()
}
QUERIES: Pairs = {
    f"{LAYER}.attention.self.{kind}_query": f"stack.blocks.{{}}.attn.{kind}"
    for kind in ("w2e", "e2w", "e2e")
}
TOLD: Pairs = {
    "entity_predictions.transform.dense": "entity.dense",
    "entity_predictions.transform.LayerNorm": "entity.norm",
    "entity_predictions.bias": "entity.head.bias",
    "entity_predictions.decoder.weight": "entity.head.embedding.weight",
}
LUKE = like(
    ROBERTA,
    "Luke",
    luke.luke,
    luke.BASE,
    settings={**ROBERTA.settings, "n_entities": "entity_vocab_size", "d_entity": "entity_emb_size"},
    expected={"use_entity_aware_attention": True, **ROBERTA.expected},
    names=EMBEDDINGS | LAYERS | ENTITIES | QUERIES,
    unused=(*ROBERTA.unused, "entity_predictions."),
    heads=is_masked_lm(
        "Luke",
        masked("dense layer_norm decoder.bias decoder.weight", "lm_head.") | TOLD,
        luke_heads.for_masked_lm,
    ),
)

# I-BERT: RoBERTa's names, and for each weight the integers that its last run computed
MADE = (
    "weight_scaling_factor", "weight_integer", "bias_integer", "fc_scaling_factor",
    "act_scaling_factor", "x_min", "x_max", "shift",
)  # fmt: skip


def _without_made(found: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Drop integers, scales and ranges, which `integer` and `calibrated` compute here."""
    return {name: t for name, t in found.items() if name.rpartition(".")[2] not in MADE}


IBERT = like(
    ROBERTA,
    "IBert",
    ibert.ibert,
    ibert.BASE,
    expected={**ROBERTA.expected, "quant_mode": False},
    older=(*ROBERTA.older, _without_made),
    heads=is_masked_lm("IBert", masked("dense layer_norm bias decoder.weight", "lm_head.")),
)
FAMILIES = (ELECTRA, CONVBERT, MPNET, SPLINTER, LUKE, IBERT)
