"""Reformer, Informer and Perceiver: config settings and name tables."""

from collections.abc import Mapping
from typing import Any

from torch import Tensor

from deepdive.attention import ReleasedLSHAttention
from deepdive.layers.series import Distil
from deepdive.models.efficient import informer, perceiver, reformer
from deepdive.models.efficient.reformer_config import ReformerConfig
from deepdive.published.form import Family, Setting, activation
from deepdive.published.names import Names, Pairs, fairseq_layer


def reformer_names(config: ReformerConfig) -> Names:
    """Return the name table of a Reformer: an LSH layer has a separate value matrix, a local one
    has values concatenated to its keys.
    """
    layer, block = "encoder.layers.{}", "stack.blocks.{}"
    attention, hashed = f"{layer}.attention.self_attention", f"{block}.attn.v"
    pairs: Pairs = {
        f"{attention}.value".format(i): hashed.format(i)
        for i, kind in enumerate(config.layers)
        if kind == "lsh"
    }
    pairs |= {
        (f"{attention}.key", f"{attention}.value"): f"{block}.attn.kv",
        f"{attention}.query_key": f"{block}.attn.qk",
        f"{attention}.query": f"{block}.attn.q",
        f"{layer}.attention.layer_norm": f"{block}.attn_norm",
        f"{layer}.attention.output.dense": f"{block}.attn.out",
        f"{layer}.feed_forward.layer_norm": f"{block}.ff_norm",
        f"{layer}.feed_forward.dense.dense": f"{block}.ff.inner",
        f"{layer}.feed_forward.output.dense": f"{block}.ff.out",
        "encoder.layer_norm": "stack.norm",
        "embeddings.word_embeddings": "embeddings.tokens",
        "embeddings.position_embeddings.weights": "embeddings.position.tables",
        "embeddings.position_embeddings.embedding": "embeddings.position.table",
    }
    return Names(pairs)


def _axial(config: ReformerConfig, theirs: Mapping[str, Any]) -> ReformerConfig:
    if not theirs.get("axial_pos_embds", True):
        return config
    return config.but(
        axial=(tuple(theirs["axial_pos_shape"]), tuple(theirs["axial_pos_embds_dim"]))
    )


def _their_axial(config: ReformerConfig) -> dict[str, Any]:
    if config.lsh is not ReleasedLSHAttention:
        raise ValueError(
            f"lsh={config.lsh.__name__}: transformers has only the released form, whose attention "
            "weights differ; build the model with lsh=ReleasedLSHAttention"
        )
    if config.axial is None:
        return {"axial_pos_embds": False}
    shape, widths = config.axial
    return {"axial_pos_embds": True, "axial_pos_shape": shape, "axial_pos_embds_dim": widths}


REFORMER = Family(
    architecture="ReformerModel",
    build=reformer.reformer,
    base=reformer.BASE.but(lsh=ReleasedLSHAttention),
    settings={
        "vocab_size": "vocab_size",
        "d_model": "hidden_size",
        "n_heads": "num_attention_heads",
        "d_head": "attention_head_size",
        "d_ff": "feed_forward_size",
        "layers": Setting("attn_layers", tuple),
        "max_length": "max_position_embeddings",
        "chunk": "lsh_attn_chunk_length",
        "rounds": "num_hashes",
        "buckets": Setting("num_buckets", lambda n: tuple(n) if isinstance(n, list) else n),
        "local_chunk": "local_attn_chunk_length",
        "local_before": "local_num_chunks_before",
        "local_after": "local_num_chunks_after",
        "dropout": "hidden_dropout_prob",
        "lsh_dropout": "lsh_attention_probs_dropout_prob",
        "local_dropout": "local_attention_probs_dropout_prob",
        "eps": "layer_norm_eps",
        "activation": activation("hidden_act"),
        "causal": "is_decoder",
    },
    expected={"lsh_num_chunks_before": 1, "lsh_num_chunks_after": 0},
    finish=_axial,
    derived=_their_axial,
    names=reformer_names,
    prefix="reformer.",
    unused=("lm_head.",),
    # Older files contain mask values, the substitutes for minus infinity.
    older=(lambda found: {n: t for n, t in found.items() if "mask_value_float" not in n},),
)


def informer_half(theirs: str, ours: str) -> Names:
    """Return the name table of the encoder or the decoder, with these prefixes."""
    pairs: Pairs = {
        f"{theirs}value_embedding.value_projection": f"{ours}embedding.values",
        f"{theirs}layernorm_embedding": f"{ours}embedding.norm",
        f"{theirs}conv_layers.{{}}.downConv": f"{ours}distils.{{}}.convolution",
        f"{theirs}conv_layers.{{}}.norm": f"{ours}distils.{{}}.norm",
    }
    return Names(pairs | fairseq_layer(f"{theirs}layers.{{}}", f"{ours}blocks.{{}}"))


# The settings from which transformers computes the features of a time series.
SERIES = (
    "prediction_length", "context_length", "input_size", "lags_sequence", "scaling",
    "num_time_features", "num_dynamic_real_features", "num_static_real_features",
    "num_static_categorical_features", "cardinality", "embedding_dimension",
)  # fmt: skip


def _series(config: informer.InformerConfig, theirs: Mapping[str, Any]) -> informer.InformerConfig:
    for size in ("attention_heads", "ffn_dim"):
        if theirs.get(f"encoder_{size}") != theirs.get(f"decoder_{size}"):
            raise ValueError(f"config has different encoder_{size} and decoder_{size}; only equal "
                             "ones are supported")  # fmt: skip
    return config.but(series={key: theirs[key] for key in SERIES if key in theirs})


def _their_series(config: informer.InformerConfig) -> dict[str, Any]:
    if not config.series:
        raise ValueError(
            "series: got none, but transformers needs the settings of the series' features; build "
            f"the model with series=a dictionary of {', '.join(SERIES)}"
        )
    if config.series.get("num_static_categorical_features"):
        raise ValueError(
            "series: num_static_categorical_features is above 0, but their embedding was not "
            "loaded from the file: transformers would initialize another at random"
        )
    return {
        **config.series,
        "decoder_attention_heads": config.n_heads,
        "decoder_ffn_dim": config.d_ff,
        "attention_dropout": config.dropout,
        **dict.fromkeys(("activation_dropout", "encoder_layerdrop", "decoder_layerdrop"), 0.0),
    }


INFORMER = Family(
    architecture="InformerModel",
    build=informer.informer,
    base=informer.BASE,
    settings={
        "n_features": "feature_size",
        "d_model": "d_model",
        "n_heads": "encoder_attention_heads",
        "n_layers": "encoder_layers",
        "n_decoder_layers": "decoder_layers",
        "d_ff": "encoder_ffn_dim",
        "factor": "sampling_factor",
        "distil": Setting("distil", lambda on: Distil if on else None, bool),
        "dropout": "dropout",
    },
    expected={"attention_type": "prob", "activation_function": "gelu"},
    finish=_series,
    derived=_their_series,
    names=informer_half("encoder.", "encoder.") | informer_half("decoder.", ""),
    prefix="model.",
    # Positions are computed here; feature embeddings and the output distribution are not loaded.
    unused=("encoder.embed_positions.", "decoder.embed_positions.", "embedder.",
            "parameter_projection."),
)  # fmt: skip


def perceiver_names(config: perceiver.PerceiverConfig) -> Names:
    """Return the name table of latents and encoder: keys and values may differ in width."""
    cross = "encoder.cross_attention"
    pairs: Pairs = {
        "embeddings.latents": "latents",
        f"{cross}.attention.self.layernorm2": "cross.context_norm",
    }
    rows = {}
    for theirs, ours, width in (
        (cross, "cross", config.d_input),
        ("encoder.self_attends.{}", "layers.{}", config.d_latents),
    ):
        attention, scores = f"{theirs}.attention.self", config.d_scores or width
        rows[f"{ours}.attn.kv"] = (scores, config.d_values or scores)
        pairs |= {
            f"{attention}.layernorm1": f"{ours}.attn_residual.norm",
            f"{attention}.query": f"{ours}.attn.q",
            (f"{attention}.key", f"{attention}.value"): f"{ours}.attn.kv",
            f"{theirs}.attention.output.dense": f"{ours}.attn.out",
            f"{theirs}.layernorm": f"{ours}.ff_residual.norm",
            f"{theirs}.mlp.dense1": f"{ours}.ff.inner",
            f"{theirs}.mlp.dense2": f"{ours}.ff.out",
        }
    return Names(pairs, rows=rows)


def _width_of_input(
    config: perceiver.PerceiverConfig, tensors: Mapping[str, Tensor]
) -> perceiver.PerceiverConfig:
    """Set the input width from the tensors: config.json lacks it for images and audio."""
    norm = "encoder.cross_attention.attention.self.layernorm2.weight"
    found = [tensor for name, tensor in tensors.items() if name.endswith(norm)]
    return config.but(d_input=len(found[0])) if found else config


PERCEIVER = Family(
    architecture="PerceiverModel",
    build=perceiver.perceiver,
    base=perceiver.BASE,
    settings={
        "d_input": "d_model",
        "n_latents": "num_latents",
        "d_latents": "d_latents",
        "n_layers": "num_self_attends_per_block",
        "n_blocks": "num_blocks",
        "n_heads": "num_self_attention_heads",
        "n_cross_heads": "num_cross_attention_heads",
        "d_scores": "qk_channels",
        "d_values": "v_channels",
        "widening": "self_attention_widening_factor",
        "cross_widening": "cross_attention_widening_factor",
        "dropout": "attention_probs_dropout_prob",
    },
    expected={
        "hidden_act": "gelu",
        "use_query_residual": True,
        "cross_attention_shape_for_attention": "kv",
    },
    names=perceiver_names,
    prefix="perceiver.",
    fit=_width_of_input,
    # Input preprocessors and output decoders are not loaded.
    unused=("input_preprocessor.", "decoder.", "output_postprocessor.", "embedding_decoder."),
)
FAMILIES = (REFORMER, INFORMER, PERCEIVER)
