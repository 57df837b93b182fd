"""LUKE: RoBERTa's names, a second table of embeddings, and three more queries in each layer."""

from deepdive.models.bert import luke, luke_heads
from deepdive.published.families.encoders import EMBEDDINGS, LAYER, LAYERS, ROBERTA, like, masked
from deepdive.published.form import Head
from deepdive.published.names import Names

ENTITIES = Names(
    {
        f"entity_embeddings.{theirs}": f"entities.{ours}"
        for theirs, ours in {
            "entity_embeddings": "tokens",
            "entity_embedding_dense": "project",
            "position_embeddings": "position",
            "token_type_embeddings": "segments",
            "LayerNorm": "norm",
        }.items()
    }
)
QUERIES = Names(
    {
        f"{LAYER}.attention.self.{kind}_query": f"stack.blocks.{{}}.attn.{kind}"
        for kind in ("w2e", "e2w", "e2e")
    }
)
TOLD = Names(
    {
        "entity_predictions.transform.dense": "entity.dense",
        "entity_predictions.transform.LayerNorm": "entity.norm",
        "entity_predictions.bias": "entity.head.bias",
        "entity_predictions.decoder.weight": "entity.head.embedding.weight",
    }
)
LUKE = like(
    ROBERTA,
    "Luke",
    luke.luke,
    luke.BASE,
    settings={
        **ROBERTA.settings,
        "n_entities": "entity_vocab_size",
        "d_entity": "entity_emb_size",
    },
    expected={"use_entity_aware_attention": True, **ROBERTA.expected},
    names=EMBEDDINGS | LAYERS | ENTITIES | QUERIES,
    unused=(*ROBERTA.unused, "entity_predictions."),
    heads={
        "masked_lm": Head(
            "LukeForMaskedLM",
            luke_heads.for_masked_lm,
            masked("dense layer_norm decoder.bias decoder.weight", "lm_head.") | TOLD,
        )
    },
)
FAMILIES = (LUKE,)
