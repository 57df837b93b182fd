"""Marian and FSMT: config settings, name tables, and a check of sinusoidal positions."""

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor, nn

from deepdive.models.transformer import fsmt, marian
from deepdive.models.transformer.translator_config import TranslatorConfig
from deepdive.positions import BlockedSinusoidalPosition
from deepdive.published.form import Family, Setting, activation
from deepdive.published.names import Names, axis, fairseq_layer


def _is_scaled(scale: float | None) -> bool:
    if scale not in (None, 1.0):
        raise ValueError(f"scale={scale}: translators are published with None, sqrt(d_model), or 1")
    return scale is None


SETTINGS: dict[str, str | Setting] = {
    "d_model": "d_model",
    "n_layers": "encoder_layers",
    "n_decoder_layers": "decoder_layers",
    "n_heads": "encoder_attention_heads",
    "n_decoder_heads": "decoder_attention_heads",
    "d_ff": "encoder_ffn_dim",
    "d_decoder_ff": "decoder_ffn_dim",
    "activation": activation("activation_function"),
    "scale": Setting("scale_embedding", lambda scaled: None if scaled else 1.0, _is_scaled),
    "dropout": "dropout",
    "attention_dropout": "attention_dropout",
    "ff_dropout": "activation_dropout",
    "pad": "pad_token_id",
    "start": "decoder_start_token_id",
    "end": "eos_token_id",
}
# Settings in older checkpoints that change the function.
EXPECTED: dict[str, Any] = {
    "normalize_before": False,
    "normalize_embedding": False,
    "add_final_layer_norm": False,
    "static_position_embeddings": True,
    "encoder_layerdrop": 0.0,
    "decoder_layerdrop": 0.0,
}


def side(side: str) -> Names:
    """Return the name table of the encoder or the decoder."""
    layers = fairseq_layer(f"model.{side}.layers.{{}}", f"{side}.stack.blocks.{{}}")
    return Names({f"model.{side}.embed_tokens": f"{side}.embedding", **layers})


SIDES = ("encoder", "decoder")
WAVES = tuple(f"model.{side}.embed_positions.weight" for side in SIDES)


def check_waves(model: nn.Module, tensors: Mapping[str, Tensor]) -> None:
    """Raise ValueError for sinusoidal position tables that training has changed."""
    for side, name in zip(SIDES, WAVES, strict=True):
        position = model.get_submodule(side).position
        if isinstance(position, BlockedSinusoidalPosition) and name in tensors:
            rows = tensors[name][position.offset :]
            if len(rows) == 0:
                raise ValueError(
                    f"{name} has {len(tensors[name])} rows, but its first position is after the "
                    f"padding's row, pad_token_id={position.offset - 1}"
                )
            expected = position.table(torch.arange(len(rows)))
            if (rows - expected).abs().max() > 2e-3:  # single and half precision stay below
                raise ValueError(f"{name} was trained; only sinusoidal positions are supported")


def _special(config: TranslatorConfig) -> dict[str, int]:
    """Return the settings of the padding token and the decoder's start token."""
    start = config.padding if config.start is None else config.start
    return {"pad_token_id": config.padding, "decoder_start_token_id": start}


def _check_ties(config: TranslatorConfig) -> None:
    if config.tgt_vocab is None and config.vocabularies is marian.untied:
        raise ValueError(
            "config has tie_word_embeddings=false, but shares the embeddings of encoder and "
            "decoder: transformers versions disagree on what is tied then"
        )


def _marian(config: TranslatorConfig, theirs: Mapping[str, Any]) -> TranslatorConfig:
    if not theirs.get("share_encoder_decoder_embeddings", True):
        config = config.but(tgt_vocab=theirs.get("decoder_vocab_size") or config.src_vocab)
    _check_ties(config)
    return config


def _of_marian(config: TranslatorConfig) -> dict[str, Any]:
    _check_ties(config)
    return {
        "share_encoder_decoder_embeddings": config.tgt_vocab is None,
        "decoder_vocab_size": config.tgt_vocab or config.src_vocab,
        **_special(config),
    }


def with_bias(head: str) -> Names:
    """Return the name table of an output layer `head` whose bias is (1, V) in files."""
    return Names({"final_logits_bias": "head.bias", "lm_head": head}, {"head.bias": axis(0)})


def _marian_names(config: TranslatorConfig) -> Names:
    names = with_bias("head.embedding" if config.vocabularies is marian.tied else "head")
    shared = Names({} if config.tgt_vocab else {"model.shared": "encoder.embedding"})
    return side("encoder") | side("decoder") | names | shared


MARIAN = Family(
    architecture="MarianMTModel",
    build=marian.marian,
    base=marian.BASE,
    settings=SETTINGS
    | {
        "src_vocab": "vocab_size",
        "vocabularies": Setting(
            "tie_word_embeddings",
            lambda tied: marian.tied if tied else marian.untied,
            lambda vocabularies: vocabularies is marian.tied,
        ),
    },
    names=_marian_names,
    expected=EXPECTED,
    finish=_marian,
    derived=_of_marian,
    check=check_waves,
    unused=WAVES,
)
FSMT = Family(
    architecture="FSMTForConditionalGeneration",
    build=fsmt.fsmt,
    base=fsmt.BASE,
    settings=SETTINGS | {"src_vocab": "src_vocab_size", "tgt_vocab": "tgt_vocab_size"},
    names=side("encoder") | side("decoder") | {"model.decoder.output_projection": "head"},
    expected={"tie_word_embeddings": False, **EXPECTED},
    derived=lambda config: {
        "tgt_vocab_size": config.tgt_vocab or config.src_vocab,
        **_special(config),
    },
    check=check_waves,
    unused=WAVES,
)
FAMILIES = (MARIAN, FSMT)
