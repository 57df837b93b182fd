"""MPNet, one size of which is published, and the head that fills gaps."""

from deepdive.models.bert import mpnet
from deepdive.published.families.encoders import (
    BERT,
    EMBEDDINGS,
    LAYER,
    SETTINGS,
    beyond,
    is_masked_lm,
    layer,
    like,
    masked,
)
from deepdive.published.names import Names

LAYERS = layer(
    LAYER,
    "attention.attn.q attention.attn.k attention.attn.v attention.attn.o attention.LayerNorm "
    "intermediate.dense output.dense output.LayerNorm",
)
# The bias is one tensor of all layers; here it has the name that it has in the first.
BIAS = Names({"encoder.relative_attention_bias": "stack.blocks.0.attn.position.table"})
MPNET = like(
    BERT,
    "MPNet",
    mpnet.mpnet,
    mpnet.BASE,
    settings={k: v for k, v in SETTINGS.items() if k != "n_segments"} | {"max_length": beyond(2)},
    # Theirs takes 32 buckets, whatever their number in config.json is.
    expected={
        "pad_token_id": 1,
        "relative_attention_num_buckets": 32,
        "tie_word_embeddings": True,
    },
    names=EMBEDDINGS | LAYERS | BIAS,
    heads=is_masked_lm("MPNet", masked("dense layer_norm bias decoder.weight", "lm_head.")),
)
FAMILIES = (MPNET,)
