"""wav2vec 2.0, HuBERT and data2vec-audio: config settings, name tables, heads."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from torch import Tensor

from deepdive.core import PostNorm, PreNorm
from deepdive.layers.speech_frontend import group_norm_first, layer_norms
from deepdive.models.speech import data2vec_audio, hubert, wav2vec2
from deepdive.models.speech.wav2vec2_pretraining import Wav2Vec2ForPreTraining
from deepdive.published.families.encoders import SIZES, layer
from deepdive.published.form import Family, Head, Setting, activation
from deepdive.published.names import Names, axis

NORMS = {"group": group_norm_first, "layer": layer_norms}


def known(key: str, values: Mapping[Any, Any]) -> Setting:
    """Return a setting whose values name our parts. It raises ValueError for another value."""

    def ours(value: Any) -> Any:
        if value not in values:
            raise ValueError(f"config has {key}={value!r}; expected one of {list(values)}")
        return values[value]

    def theirs(part: Any) -> Any:
        for value, mine in values.items():
            if mine is part:
                return value
        raise ValueError(f"{part!r} has no published name in {key}")

    return Setting(key, ours, theirs)


SETTINGS: dict[str, str | Setting] = {
    "widths": Setting("conv_dim", tuple, list),
    "kernels": Setting("conv_kernel", tuple, list),
    "strides": Setting("conv_stride", tuple, list),
    "convolution_bias": "conv_bias",
    "convolution_activation": activation("feat_extract_activation"),
    "place_groups": "num_conv_pos_embedding_groups",
    **SIZES,
    "activation": activation("hidden_act"),
    "eps": "layer_norm_eps",
    "vocab_size": "vocab_size",
    "dropout": "hidden_dropout",
    "ff_dropout": "activation_dropout",
    "attention_dropout": "attention_dropout",
    "project_dropout": "feat_proj_dropout",
    "final_dropout": "final_dropout",
}
BOTH_FORMS: dict[str, str | Setting] = {
    "place_width": "num_conv_pos_embeddings",
    "norms": known("feat_extract_norm", NORMS),
    "residual": known("do_stable_layer_norm", {False: PostNorm, True: PreNorm}),
}
CODES: dict[str, str | Setting] = {
    "codes": "num_codevectors_per_group",
    "codebooks": "num_codevector_groups",
    "d_code": "codevector_dim",
    "d_target": "proj_codevector_dim",
    "temperature": "contrastive_logits_temperature",
    "n_negatives": "num_negatives",
}
LAYERS = layer(
    "encoder.layers.{}",
    "attention.q_proj attention.k_proj attention.v_proj attention.out_proj layer_norm "
    "feed_forward.intermediate_dense feed_forward.output_dense final_layer_norm",
)
FEATURES = Names(
    {
        "feature_extractor.conv_layers.{}.conv": "embeddings.features.convolutions.{}",
        "feature_extractor.conv_layers.{}.layer_norm": "embeddings.features.norms.{}",
        "feature_projection.layer_norm": "embeddings.norm",
        "feature_projection.projection": "embeddings.project",
        "masked_spec_embed": "embeddings.mask",
    }
)
KERNEL = "encoder.pos_conv_embed.conv"
PLACES = Names(
    {
        f"{KERNEL}.parametrizations.weight.original0": "embeddings.places.gain",
        f"{KERNEL}.parametrizations.weight.original1": "embeddings.places.direction",
        f"{KERNEL}.bias": "embeddings.places.bias",
    },
    {"embeddings.places.gain": (lambda gain: gain.flatten(), lambda gain: gain[None, None])},
)
OLDER = (  # files with torch's first weight_norm
    (r"conv\.weight_g$", "conv.parametrizations.weight.original0"),
    (r"conv\.weight_v$", "conv.parametrizations.weight.original1"),
)
STACKED = Names({"encoder.pos_conv_embed.layers.{}.conv": "embeddings.places.convolutions.{}"})


def names(config: Any) -> Names:
    """Return the name table; the encoder's norm is before the stack (post-norm) or after it."""
    norm = "stack.norm" if config.residual.final_norm else "embeddings.norm_placed"
    places = STACKED if config.family == data2vec_audio.BASE.family else PLACES
    return FEATURES | places | LAYERS | {"encoder.layer_norm": norm}


def with_or_without_gaps(config: Any, tensors: Mapping[str, Tensor]) -> Any:
    """Set `masked` from the tensors: a file may lack the mask embedding despite its config."""
    return config.but(masked=any(name.endswith("masked_spec_embed") for name in tensors))


def hides(config: Any, theirs: Mapping[str, Any]) -> Any:
    """Set `masked`: whether there is an embedding for masked positions."""
    time, feature = theirs.get("mask_time_prob", 0.05), theirs.get("mask_feature_prob", 0.0)
    return config.but(masked=time > 0 or feature > 0)


def written(config: Any) -> dict[str, Any]:
    return {} if config.masked else {"mask_time_prob": 0.0, "mask_feature_prob": 0.0}


def ctc(name: str) -> dict[str, Head]:
    return {"ctc": Head(f"{name}ForCTC", wav2vec2.for_ctc, Names({"lm_head": "out"}), "encoder")}


WAV2VEC2 = Family(
    architecture="Wav2Vec2Model",
    build=wav2vec2.wav2vec2,
    base=wav2vec2.BASE,
    settings=SETTINGS | BOTH_FORMS | CODES,
    names=names,
    prefix="wav2vec2.",
    expected={"add_adapter": False, "adapter_attn_dim": None},
    finish=hides,
    fit=with_or_without_gaps,
    derived=written,
    unused=("quantizer.", "project_hid.", "project_q.", "lm_head.", "projector.", "classifier."),
    older=OLDER,
    heads={
        "pretraining": Head(
            "Wav2Vec2ForPreTraining",
            Wav2Vec2ForPreTraining,
            Names(
                {
                    "quantizer.codevectors": "quantizer.table",
                    "quantizer.weight_proj": "quantizer.scores",
                    "project_hid": "say",
                    "project_q": "target",
                },
                {"quantizer.table": axis(0)},
            ),
            "encoder",
        )
    }
    | ctc("Wav2Vec2"),
)
HUBERT = replace(
    WAV2VEC2,
    architecture="HubertModel",
    build=hubert.hubert,
    base=hubert.BASE,
    settings=SETTINGS | BOTH_FORMS,
    prefix="hubert.",
    expected={"feat_proj_layer_norm": True, "conv_pos_batch_norm": False},
    heads=ctc("Hubert"),
)
DATA2VEC_AUDIO = replace(
    WAV2VEC2,
    architecture="Data2VecAudioModel",
    build=data2vec_audio.data2vec_audio,
    base=data2vec_audio.BASE,
    settings=SETTINGS
    | {"place_width": "conv_pos_kernel_size", "place_layers": "num_conv_pos_embeddings"},
    prefix="data2vec_audio.",
    expected={"add_adapter": False},
    older=(),
    heads=ctc("Data2VecAudio"),
)
FAMILIES = (WAV2VEC2, HUBERT, DATA2VEC_AUDIO)
