"""Speech2Text and Whisper: settings and name tables; for Speech2Text2's decoder only names."""

from collections.abc import Mapping
from typing import Any

from deepdive.core.feed_forward import Activation
from deepdive.models.speech import speech2text, whisper
from deepdive.models.speech.speech_config import SpeechConfig
from deepdive.published.families.translators import SETTINGS as TRANSLATORS
from deepdive.published.families.translators import WAVES, check_waves
from deepdive.published.form import Family, Setting, activation_of, name_of
from deepdive.published.names import Names, Pairs, fairseq_layer

SETTINGS: dict[str, str | Setting] = {**TRANSLATORS, "vocab_size": "vocab_size"}
EXPECTED = {"tie_word_embeddings": True, "encoder_layerdrop": 0.0, "decoder_layerdrop": 0.0}
TOKENS: Pairs = {"model.decoder.embed_tokens": "decoder.embedding"}


def _layers(side: str) -> Pairs:
    layers = fairseq_layer(f"model.{side}.layers.{{}}", f"{side}.stack.blocks.{{}}")
    return {**layers, f"model.{side}.layer_norm": f"{side}.stack.norm"}


SIDES = Names({**TOKENS, **_layers("encoder"), **_layers("decoder")})


def _finish(config: SpeechConfig, theirs: Mapping[str, Any]) -> SpeechConfig:
    kernels = tuple(theirs.get("conv_kernel_sizes", config.kernels))
    if theirs.get("num_conv_layers", len(kernels)) != len(kernels):
        raise ValueError(
            f"config has num_conv_layers={theirs['num_conv_layers']} and conv_kernel_sizes="
            f"{list(kernels)}; expected one kernel size per layer"
        )
    return config.but(kernels=kernels)


SPEECH2TEXT = Family(
    architecture="Speech2TextForConditionalGeneration",
    build=speech2text.speech2text,
    base=speech2text.BASE,
    settings=SETTINGS | {"n_features": "input_feat_per_channel", "width": "conv_channels"},
    names=SIDES
    | {"model.encoder.conv.conv_layers.{}": "encoder.front.convs.{}", "lm_head": "head.embedding"},
    # Their encoder compares the mask (0 and 1) with this id: another one would give no positions.
    expected={"input_channels": 1, "pad_token_id": 1, **EXPECTED},
    finish=_finish,
    derived=lambda config: {
        "conv_kernel_sizes": list(config.kernels),
        "num_conv_layers": len(config.kernels),
    },
    unused=tuple(f"model.{side}.embed_positions.weights" for side in ("encoder", "decoder")),
)


def _whisper_names(config: SpeechConfig) -> Names:
    """Return Whisper's name table: keys have no bias, convolutions are counted from 1."""
    pairs: Pairs = {}
    for theirs, ours in SIDES.pairs.items():
        if isinstance(theirs, tuple):
            pairs[tuple(f"{name}.weight" for name in theirs)] = f"{ours}.weight"
            pairs[f"{theirs[1]}.bias"] = ours.removesuffix(".kv") + ".v_bias"
        else:
            pairs[theirs] = ours
    convs: Pairs = {f"model.encoder.conv{i + 1}": f"encoder.front.convs.{i}" for i in range(2)}
    others: Pairs = {
        "model.decoder.embed_positions": "decoder.position.table",
        "proj_out": "head.embedding",
    }
    return Names({**pairs, **convs, **others})


# transformers ignores scale_embedding, and applies activation_function in the layers, but not in
# the convolutions: only the published values of both are supported.
def _gelu(name: str) -> Activation:
    if name != "gelu":
        raise ValueError(f"config has activation_function={name}; only gelu is supported")
    return activation_of(name)


def _name_of_gelu(activation: Activation) -> str:
    if (name := name_of(activation)) != "gelu":
        raise ValueError(f"activation={name}: Whisper is published only with gelu")
    return name


def _unscaled(config: SpeechConfig) -> dict[str, Any]:
    if config.scale != 1.0:
        raise ValueError(f"scale={config.scale}: Whisper is published only with scale=1")
    return {}


WHISPER = Family(
    architecture="WhisperForConditionalGeneration",
    build=whisper.whisper,
    base=whisper.BASE,
    settings={name: key for name, key in SETTINGS.items() if name != "scale"}
    | {
        "activation": Setting("activation_function", _gelu, _name_of_gelu),
        "n_features": "num_mel_bins",
        "window": Setting("max_source_positions", lambda rows: 2 * rows, lambda n: n // 2),
        "max_length": "max_target_positions",
    },
    names=_whisper_names,
    expected=EXPECTED | {"scale_embedding": False},
    derived=_unscaled,
    check=check_waves,
    unused=WAVES[:1],
)
FAMILIES = (SPEECH2TEXT, WHISPER)


# Speech2Text2ForCausalLM, in transformers until version 4; not a family, as it is only a decoder.
SPEECH2TEXT2 = Names(
    {
        **TOKENS,
        **fairseq_layer("model.decoder.layers.{}", "decoder.stack.blocks.{}"),
        "lm_head": "head.embedding",
    }
)
