"""ProphetNet: config settings and name table."""

from collections.abc import Mapping

from torch import Tensor

from deepdive.models.generative import prophetnet
from deepdive.models.generative.prophetnet import ProphetNetConfig
from deepdive.published.form import Family, activation
from deepdive.published.names import Names, Pairs

SIDES = ("encoder", "decoder")


def _side(side: str) -> Pairs:
    """Return the name table of the encoder or the decoder."""
    theirs, ours = f"prophetnet.{side}", f"{side}.position"
    layer, block = f"{theirs}.layers.{{}}", f"{side}.stack.blocks.{{}}"
    pairs: Pairs = {
        f"{theirs}.word_embeddings": f"{side}.embedding",
        f"{theirs}.position_embeddings": f"{ours}.position.table",
        f"{theirs}.embeddings_layer_norm": f"{ours}.norm",
        f"{layer}.feed_forward.intermediate": f"{block}.ff.inner",
        f"{layer}.feed_forward.output": f"{block}.ff.out",
        f"{layer}.feed_forward_layer_norm": f"{block}.ff_residual.norm",
    }
    for part, attn in (("self_attn", "attn"), ("cross_attn", "cross")):
        attention, name = f"{layer}.{part}", f"{block}.{attn}"
        pairs[f"{attention}.query_proj"] = f"{name}.q"
        pairs[f"{attention}.key_proj", f"{attention}.value_proj"] = f"{name}.kv"
        pairs[f"{attention}.out_proj"] = f"{name}.out"
        pairs[f"{attention}_layer_norm"] = f"{name}_residual.norm"
    return pairs


def _last_first(rows: Tensor) -> Tensor:
    """Reorder their rows into ours: the first stream uses their last row."""
    return rows.roll(1, 0)


NAMES = Names(
    {
        **_side("encoder"),
        **_side("decoder"),
        "prophetnet.word_embeddings": "encoder.embedding",
        "prophetnet.decoder.layers.{}.self_attn.relative_pos_embeddings": (
            "decoder.stack.blocks.{}.attn.relative"
        ),
        "prophetnet.decoder.ngram_embeddings.weight": "decoder.unread",
        "lm_head": "head.embedding",
    },
    {"decoder.unread": (_last_first, lambda rows: rows.roll(-1, 0))},
)


def _with_streams(config: ProphetNetConfig) -> Mapping[str, int]:
    """Raise ValueError for no predicting stream or scaled embeddings: transformers has neither."""
    if config.n_future == 0 or config.scale != 1.0:
        raise ValueError(
            f"n_future={config.n_future}, scale={config.scale}: ProphetNet is published with "
            "n_future >= 1 and scale=1"
        )
    return {"pad_token_id": config.padding}


PROPHETNET = Family(
    architecture="ProphetNetForConditionalGeneration",
    build=prophetnet.prophetnet,
    base=prophetnet.BASE,
    settings={
        "src_vocab": "vocab_size",
        "d_model": "hidden_size",
        "n_layers": "num_encoder_layers",
        "n_decoder_layers": "num_decoder_layers",
        "n_heads": "num_encoder_attention_heads",
        "n_decoder_heads": "num_decoder_attention_heads",
        "d_ff": "encoder_ffn_dim",
        "d_decoder_ff": "decoder_ffn_dim",
        "activation": activation("activation_function"),
        "dropout": "dropout",
        "attention_dropout": "attention_dropout",
        "ff_dropout": "activation_dropout",
        "max_length": "max_position_embeddings",
        "n_future": "ngram",
        "n_buckets": "num_buckets",
        "max_distance": "relative_max_distance",
        "pad": "pad_token_id",
        "start": "decoder_start_token_id",
        "end": "eos_token_id",
    },
    names=NAMES,
    expected={"tie_word_embeddings": True, "add_cross_attention": True},
    derived=_with_streams,
)
FAMILIES = (PROPHETNET,)
