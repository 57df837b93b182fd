"""Decoding arguments from a published checkpoint's generation_config.json."""

from pathlib import Path
from typing import Any

from deepdive.decoding.beams import power_penalty
from deepdive.decoding.scores import Rule, forbid, force, renormalize
from deepdive.published.weights import read_config

# Settings that would change the output, and the value at which they have no effect.
IDLE: dict[str, Any] = {
    "do_sample": False,
    "min_length": 0,
    "min_new_tokens": None,
    "forced_bos_token_id": None,
    "repetition_penalty": 1.0,
    "encoder_repetition_penalty": 1.0,
    "no_repeat_ngram_size": 0,
    "encoder_no_repeat_ngram_size": 0,
    "exponential_decay_length_penalty": None,
    "suppress_tokens": None,
    "begin_suppress_tokens": None,
    "sequence_bias": None,
    "num_beam_groups": 1,
    "diversity_penalty": 0.0,
    "guidance_scale": None,
    "stop_strings": None,
}


def greedy_settings(folder: str | Path, max_length: int | None = None) -> dict[str, Any]:
    """Return the arguments of `greedy` from the checkpoint's settings.

        greedy(model, src, src_mask, **greedy_settings(folder))

    max_length  the maximum number of new tokens; by default the checkpoint's max_length - 1 (it
                also counts the first token), or 128 if it has none

    Raises ValueError for a setting that is not implemented here.
    """
    config = _generation(folder)
    if max_length is None:
        max_length = config["max_length"] - 1 if config.get("max_length") else 128
    rules: list[Rule] = []
    if config.get("bad_words_ids"):
        rules.append(forbid(*(_single("bad_words_ids", ids) for ids in config["bad_words_ids"])))
    if config.get("forced_eos_token_id") is not None:
        last = _single("forced_eos_token_id", config["forced_eos_token_id"])
        rules.append(force(last, at=max_length - 1))
    if config.get("renormalize_logits"):
        rules.append(renormalize)
    return {
        "bos": config["decoder_start_token_id"],
        "eos": _single("eos_token_id", config["eos_token_id"]),
        "max_length": max_length,
        "rules": rules,
    }


def beam_settings(folder: str | Path, max_length: int | None = None) -> dict[str, Any]:
    """Return the arguments of `beam` from the checkpoint's settings.

    These divide log p by length ** length_penalty (`power_penalty`), not by Wu's penalty.
    """
    config = _generation(folder)
    common = greedy_settings(folder, max_length)
    stop = config.get("early_stopping") or False
    look_ahead = {False: 0, True: None, "never": common["max_length"]}[stop]
    return {
        **common,
        "width": config.get("num_beams") or 1,
        "alpha": 1.0 if config.get("length_penalty") is None else config["length_penalty"],
        "penalty": power_penalty,
        "look_ahead": look_ahead,
    }


def _generation(folder: str | Path) -> dict[str, Any]:
    """Read the generation settings; older checkpoints have them in config.json."""
    has_file = (Path(folder) / "generation_config.json").is_file()
    config = read_config(folder, "generation_config.json" if has_file else "config.json")
    for name, value in IDLE.items():
        if config.get(name) not in (None, value):
            raise ValueError(f"folder: its settings have {name}={config[name]}, not supported here")
    return config


def _single(name: str, value: int | list[int]) -> int:
    values = value if isinstance(value, list) else [value]
    if len(values) != 1:
        raise ValueError(f"folder: its settings have {name}={value}; expected a single token")
    return values[0]
