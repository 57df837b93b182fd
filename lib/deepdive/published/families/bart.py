"""BART, PLBART, mBART, Pegasus and LED: config settings and name tables."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from deepdive.models.efficient import led
from deepdive.models.generative import bart, mbart, pegasus, plbart
from deepdive.models.transformer.translator_config import TranslatorConfig
from deepdive.published.families.translators import SETTINGS, WAVES, check_waves, side, with_bias
from deepdive.published.form import Family, Setting
from deepdive.published.names import Names, Pairs

EXPECTED: dict[str, Any] = {
    "tie_word_embeddings": True, "encoder_layerdrop": 0.0, "decoder_layerdrop": 0.0,
}  # fmt: skip
MODEL = (
    side("encoder")
    | side("decoder")
    | with_bias("head.embedding")
    | {"model.shared": "encoder.embedding"}
)
SIDES = ("encoder", "decoder")
FINAL_NORMS = Names({f"model.{side}.layer_norm": f"{side}.stack.norm" for side in SIDES})


def _positions(side: str) -> Pairs:
    return {
        f"model.{side}.embed_positions": f"{side}.position.position.table",
        f"model.{side}.layernorm_embedding": f"{side}.position.norm",
    }


LEARNED = MODEL | Names(_positions("encoder") | _positions("decoder"))
DENOISERS: dict[str, str | Setting] = {
    **SETTINGS, "src_vocab": "vocab_size", "max_length": "max_position_embeddings",
}  # fmt: skip


def _padding(config: TranslatorConfig) -> Mapping[str, int]:
    return {"pad_token_id": config.padding}


def _family(
    kind: str, build: Callable[..., Any], base: Any, names: Names = LEARNED, **more: Any
) -> Family:
    """Return the family of a BART-like model, `kind` being its name in transformers."""
    return Family(
        architecture=f"{kind}ForConditionalGeneration",
        build=build,
        base=base,
        names=names,
        **{"settings": DENOISERS, "expected": EXPECTED, "derived": _padding, **more},
    )


BART = _family("Bart", bart.bart, bart.BASE, expected=EXPECTED | {
    "normalize_before": False, "normalize_embedding": True, "add_final_layer_norm": False,
    "static_position_embeddings": False,
})  # fmt: skip
PLBART = _family("PLBart", plbart.plbart, plbart.BASE)
MBART = _family("MBart", mbart.mbart, mbart.BASE, LEARNED | FINAL_NORMS)
PEGASUS = _family(
    "Pegasus",
    pegasus.pegasus,
    pegasus.BASE,
    MODEL | FINAL_NORMS,
    settings=SETTINGS | {"src_vocab": "vocab_size"},
    check=check_waves,
    unused=WAVES,
)


def _led_names() -> Names:
    """Return BART's names with `led.` instead of `model.`, and Longformer's self-attention."""
    layer, block = "model.encoder.layers.{}.self_attn", "encoder.stack.blocks.{}.attn"
    local = f"{layer}.longformer_self_attn"
    names = LEARNED | {
        f"{local}.query": f"{block}.q",
        (f"{local}.key", f"{local}.value"): f"{block}.kv",
        f"{local}.query_global": f"{block}.global_q",
        (f"{local}.key_global", f"{local}.value_global"): f"{block}.global_kv",
        f"{layer}.output": f"{block}.out",
    }

    def renamed(theirs: str | tuple[str, ...]) -> str | tuple[str, ...]:
        if isinstance(theirs, tuple):
            return tuple(name.replace("model.", "led.", 1) for name in theirs)
        return theirs.replace("model.", "led.", 1)

    return replace(names, pairs={renamed(t): ours for t, ours in names.pairs.items()})


def _only_unscaled(config: TranslatorConfig) -> Mapping[str, int]:
    if config.scale != 1.0:
        raise ValueError(f"scale={config.scale}: LED is published only with scale=1")
    return _padding(config)


LED = _family(
    "LED",
    led.led,
    led.BASE,
    _led_names(),
    settings={name: key for name, key in DENOISERS.items() if name != "scale"}
    | {
        "max_length": "max_encoder_position_embeddings",
        "max_written": "max_decoder_position_embeddings",
        "window": Setting("attention_window", lambda w: tuple(w) if isinstance(w, list) else w),
    },
    derived=_only_unscaled,
)
FAMILIES = (BART, PLBART, MBART, PEGASUS, LED)
