"""ELECTRA: the discriminator, and the generator that is published beside it."""

from deepdive.models.bert import electra
from deepdive.models.bert.pretraining import ElectraDiscriminator
from deepdive.published.families.encoders import (
    BERT,
    EMBEDDINGS,
    LAYERS,
    SETTINGS,
    UNUSED,
    like,
    masked,
)
from deepdive.published.form import Family, Head
from deepdive.published.names import Names

ELECTRA: Family = like(
    BERT,
    "Electra",
    electra.electra,
    electra.SMALL,  # what transformers takes for a setting that a config.json has not
    settings=SETTINGS | {"d_embedding": "embedding_size"},
    names=EMBEDDINGS | LAYERS | Names({"embeddings_project": "embeddings.project"}),
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
        "masked_lm": Head(
            "ElectraForMaskedLM",
            electra.is_masked_lm,
            masked(
                "generator_predictions.dense generator_predictions.LayerNorm "
                "generator_lm_head.bias generator_lm_head.weight"
            ),
        ),
    },
)
FAMILIES = (ELECTRA,)
