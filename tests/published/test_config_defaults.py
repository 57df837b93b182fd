"""A key that a config.json lacks means what transformers means by it, in every family."""

from __future__ import annotations

import dataclasses
import json
import re
from pathlib import Path
from typing import Any

import pytest
from config_defaults import defaults
from huggingface_hub.errors import StrictDataclassError
from published_sizes import tried
from transformers.models.auto.configuration_auto import CONFIG_MAPPING

from deepdive.core import relu
from deepdive.models.speech import whisper
from deepdive.published import save
from deepdive.published.families import FAMILIES
from deepdive.published.form import DEFAULTS

KEPT = json.loads(DEFAULTS.read_text(encoding="utf-8"))
DECODERS = ("llama", "mistral", "qwen2", "qwen3", "gemma")
THEIRS = [name for name in FAMILIES if name != "ernie_m"]  # version 5 has that one no longer


@pytest.mark.parametrize("name", THEIRS)
def test_the_table_is_that_of_the_installed_transformers(name: str) -> None:
    assert KEPT[name] == defaults(name), "run python tests/config_defaults.py"


def test_each_family_has_a_table() -> None:
    assert {*KEPT} == {*FAMILIES}
    assert all(KEPT.values())


def meaning(name: str, theirs: dict[str, Any]) -> Any:
    """Our record of a config.json, as fields; None where it is refused."""
    try:
        record = FAMILIES[name].config(theirs)
    except ValueError:
        return None
    found = {each.name: repr(getattr(record, each.name)) for each in dataclasses.fields(record)}
    return found | ({"d_head": repr(record.width)} if name in DECODERS else {})  # None: computed


def written(config: Any) -> dict[str, Any]:
    return json.loads(config.to_json_string(use_diff=False))


@pytest.mark.parametrize("name", THEIRS)
def test_a_missing_key_means_what_transformers_means(name: str) -> None:
    """Each key alone, of each config that is tried elsewhere, and of the default one."""
    build = CONFIG_MAPPING[name]
    for sizes in [{}, *tried(name)]:
        full = written(build(**sizes))
        for key in KEPT[name].keys() & full.keys():
            lacking = {other: value for other, value in full.items() if other != key}
            if KEPT[name][key] == "?":
                with pytest.raises(ValueError, match=f"config has no {key}"):
                    FAMILIES[name].config(lacking)
                continue
            try:
                meant = written(build.from_dict(dict(lacking)))
            except (ValueError, StrictDataclassError):
                continue  # transformers refuses it too
            assert meaning(name, lacking) == meaning(name, meant), (key, meant[key])


@pytest.mark.parametrize("name", THEIRS)
def test_a_config_without_any_key_means_the_default_one(name: str) -> None:
    """What `save_pretrained` would leave out if it left out all that is the default."""
    if "?" not in KEPT[name].values():
        assert meaning(name, {}) == meaning(name, written(CONFIG_MAPPING[name]()))


@pytest.mark.parametrize(
    ("name", "setting", "told"),
    [
        ("t5", {"dense_act_fn": "gelu"}, "dense_act_fn='gelu' and feed_forward_proj='relu'"),
        ("mt5", {"is_gated_act": False}, "is_gated_act=False and feed_forward_proj='gated-gelu'"),
        ("t5", {"feed_forward_proj": "gated-gelu", "dense_act_fn": "gelu"}, "dense_act_fn='gelu'"),
        ("whisper", {"scale_embedding": True}, "scale_embedding=True; only False"),
        ("whisper", {"activation_function": "relu"}, "activation_function=relu; only gelu"),
        ("ibert", {"quant_mode": True}, "quant_mode=True; only False"),
        ("deberta-v2", {"pos_att_type": ["c2p", "p2c"], "relative_attention": True,
                        "position_biased_input": False}, "position_buckets=-1, or lacks it"),
    ],
)  # fmt: skip
def test_what_transformers_would_compute_otherwise_is_refused(
    name: str, setting: dict[str, Any], told: str
) -> None:
    with pytest.raises(ValueError, match=re.escape(f"config has {told}")):
        FAMILIES[name].config(setting)


def test_the_same_said_twice_is_read() -> None:
    for proj, name in (("relu", "relu"), ("gated-gelu", "gelu_new"), ("gated-relu", "relu")):
        one, two = {"feed_forward_proj": proj}, {"dense_act_fn": name, "is_gated_act": "-" in proj}
        assert meaning("t5", one) == meaning("t5", one | two) is not None


def test_a_whisper_that_transformers_would_run_otherwise_is_not_published(tmp_path: Path) -> None:
    for changes in ({"scale": 2.0}, {"activation": relu}):
        model = whisper.whisper(whisper.TINY, **changes)
        with pytest.raises(ValueError, match="Whisper is published only with"):
            save(model, tmp_path / "none")
