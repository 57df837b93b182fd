"""Multilingual encoders XLM-R, XLM, RemBERT, CANINE: settings, names. mBERT is a `bert`."""

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

from deepdive.core import gelu, relu
from deepdive.core.feed_forward import Activation
from deepdive.models.bert import bert
from deepdive.models.bert.embeddings import BertEmbeddings, LanguageEmbeddings
from deepdive.models.multilingual import canine, rembert, xlm, xlmr
from deepdive.positions import SinusoidalPosition
from deepdive.published.families.encoders import (
    BERT,
    EMBEDDINGS,
    LAYERS,
    PARTS,
    ROBERTA,
    SETTINGS,
    is_masked_lm,
    layer,
    like,
    masked,
)
from deepdive.published.form import Family, Head, Setting
from deepdive.published.names import Names, Pairs

XLMR = like(
    ROBERTA,
    "XLMRoberta",
    xlmr.xlmr,
    xlmr.BASE,
    prefix="roberta.",
    heads=is_masked_lm("XLMRoberta", masked("dense layer_norm bias decoder.weight", "lm_head.")),
)
REMBERT = like(
    BERT,
    "RemBert",
    rembert.rembert,
    rembert.BASE,
    settings=SETTINGS
    | {"d_embedding": "input_embedding_size", "d_output": "output_embedding_size"},
    names=EMBEDDINGS | LAYERS | {"encoder.embedding_hidden_mapping_in": "embeddings.project"},
    expected={"is_decoder": False, "add_cross_attention": False, "tie_word_embeddings": False},
    heads=is_masked_lm(
        "RemBert",
        masked("dense LayerNorm decoder.bias decoder.weight", "cls.predictions."),
        rembert.for_masked_lm,
    ),
)


# XLM


def either(key: str, yes: Any, no: Any) -> Setting:
    """Return a setting: True for `yes`, False for `no`. It raises ValueError for another value."""

    def theirs(value: Any) -> bool:
        if value not in (yes, no):
            raise ValueError(f"{key}: {value!r} has no published form; expected {yes!r} or {no!r}")
        return bool(value is yes)

    return Setting(key, lambda true: yes if true else no, theirs)


def _older(config: xlm.XlmConfig, theirs: Mapping[str, Any]) -> xlm.XlmConfig:
    """Read the vocabulary size, `n_words` in older files; d_ff is always 4 * d_model."""
    words = config.vocab_size if "vocab_size" in theirs else theirs.get("n_words")
    return config.but(d_ff=4 * config.d_model, vocab_size=words or config.vocab_size)


def _four_times(config: xlm.XlmConfig) -> dict[str, Any]:
    if config.d_ff != 4 * config.d_model:
        raise ValueError(
            f"d_ff={config.d_ff}: XLM is published only with 4 * d_model={4 * config.d_model}"
        )
    return {}


PLACES = "position_embeddings.weight"


def _xlm_names(config: xlm.XlmConfig) -> Names:
    """Return the name table of an XLM; sinusoidal positions are computed, not loaded."""
    table: Pairs = {"position_embeddings": "embeddings.position.table"}
    return Names(
        {
            "embeddings": "embeddings.tokens",
            "lang_embeddings": "embeddings.languages",
            "layer_norm_emb": "embeddings.norm",
            **({} if config.position is xlm.sinusoids else table),
            "attentions.{}.q_lin": "stack.blocks.{}.attn.q",
            ("attentions.{}.k_lin", "attentions.{}.v_lin"): "stack.blocks.{}.attn.kv",
            "attentions.{}.out_lin": "stack.blocks.{}.attn.out",
            "layer_norm1.{}": "stack.blocks.{}.attn_residual.norm",
            "ffns.{}.lin1": "stack.blocks.{}.ff.inner",
            "ffns.{}.lin2": "stack.blocks.{}.ff.out",
            "layer_norm2.{}": "stack.blocks.{}.ff_residual.norm",
        }
    )


def _check_waves(model: bert.Bert, tensors: Mapping[str, Tensor]) -> None:
    """Raise ValueError for a sinusoidal position table that training has changed."""
    position = model.embeddings.position
    for name in (PLACES, f"{XLM.prefix}{PLACES}"):
        if isinstance(position, SinusoidalPosition) and name in tensors:
            rows = tensors[name]
            expected = position.table(torch.arange(len(rows)))
            if (rows - expected).abs().max() > 2e-3:  # single and half precision stay below
                raise ValueError(f"{name} was trained; only sinusoidal positions are supported")


ACTIVATION: tuple[Activation, Activation] = (gelu, relu)
XLM = Family(
    architecture="XLMModel",
    build=xlm.xlm,
    base=xlm.BASE,
    settings={
        "vocab_size": "vocab_size",
        "d_model": "emb_dim",
        "n_heads": "n_heads",
        "n_layers": "n_layers",
        "max_length": "max_position_embeddings",
        "n_languages": "n_langs",
        "dropout": "dropout",
        "attention_dropout": Setting("attention_dropout", written="weights_dropout"),
        "eps": "layer_norm_eps",
        "activation": either("gelu_activation", *ACTIVATION),
        "embeddings": either("use_lang_emb", LanguageEmbeddings, BertEmbeddings),
        "position": either("sinusoidal_embeddings", xlm.sinusoids, bert.learned_positions),
        "model": either("causal", xlm.CausalXlm, xlm.Xlm),
    },
    names=_xlm_names,
    prefix="transformer.",
    expected={"is_encoder": True, "asm": False, "tie_word_embeddings": True},
    finish=_older,
    derived=_four_times,
    check=_check_waves,
    unused=("position_ids", "position_embeddings.", "pred_layer.", "sequence_summary.",
            "qa_outputs.", "classifier.", "logits_proj."),
    heads={
        "lm": Head(
            "XLMWithLMHeadModel",
            xlm.for_lm,
            Names(
                {
                    "pred_layer.proj.bias": "scores.bias",
                    "pred_layer.proj.weight": "scores.embedding.weight",
                }
            ),
        )
    },
)  # fmt: skip


# CANINE

CANINE = like(
    BERT,
    "Canine",
    canine.canine,
    canine.BASE,
    settings={name: key for name, key in SETTINGS.items() if name != "vocab_size"}
    | {
        "n_hashes": "num_hash_functions",
        "n_buckets": "num_hash_buckets",
        "chunk": "local_transformer_stride",
        "rate": "downsampling_rate",
        "kernel": "upsampling_kernel_size",
    },
    names=Names(
        {
            "char_embeddings.HashBucketCodepointEmbedder_{}": "embeddings.tokens.tables.{}",
            "char_embeddings.char_position_embeddings": "embeddings.position.table",
            "char_embeddings.token_type_embeddings": "embeddings.segments",
            "char_embeddings.LayerNorm": "embeddings.norm",
            **{
                f"{theirs}.{part}": f"{ours}.{part.replace('LayerNorm', 'norm')}"
                for theirs, ours in (
                    ("chars_to_molecules", "downsample"),
                    ("projection", "upsample"),
                )
                for part in ("conv", "LayerNorm")
            },
        }
    )
    | layer("initial_char_encoder.layer.0", PARTS, "first")
    | LAYERS
    | layer("final_char_encoder.layer.0", PARTS, "last"),
    expected={},
    unused=("pooler.", "classifier.", "qa_outputs.", "cls.", "char_embeddings.position_ids"),
)
FAMILIES = (XLMR, REMBERT, XLM, CANINE)
