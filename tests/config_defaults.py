"""Write what transformers takes for a key that a config.json lacks, one table per family.

    python tests/config_defaults.py     # renews lib/deepdive/published/defaults.json

The values are read from the installed transformers; `test_config_defaults.py` compares them.
"""

import json
import re
from pathlib import Path
from typing import Any

from transformers.models.auto.configuration_auto import CONFIG_MAPPING

from deepdive.published import families, form
from deepdive.published.families import FAMILIES

# Defaults of transformers' model classes, which read these keys by getattr.
BY_GETATTR: dict[str, dict[str, Any]] = {
    "deberta-v2": {"position_buckets": -1, "conv_kernel_size": 0},
}
FROM_OTHERS = {"num_decoder_layers": "=num_layers", "dense_act_fn": None, "is_gated_act": None}
# Computed by transformers from other keys: "=KEY" is that key's value; "?" is refused here.
COMPUTED: dict[str, dict[str, Any]] = {
    "roformer": {"embedding_size": "=hidden_size"},
    "informer": {"context_length": "=prediction_length", "feature_size": "?"},
    "marian": {"decoder_vocab_size": "=vocab_size"},
    "detr": {"backbone_config": None},
    "gpt_neo": {"attention_layers": None},
    "llama": {"num_key_value_heads": "=num_attention_heads", "head_dim": None},
    "mistral": {"head_dim": None},
    "qwen2": {"head_dim": None, "layer_types": None, "sliding_window": 4096},
    "qwen3": {"layer_types": None, "sliding_window": 4096},
    "t5": FROM_OTHERS,
    "mt5": FROM_OTHERS,
}
# Version 5 has it no longer: its config class in version 4.
ERNIE_M: dict[str, Any] = {
    "vocab_size": 250_002, "hidden_size": 768, "num_hidden_layers": 12, "num_attention_heads": 12,
    "intermediate_size": 3072, "hidden_act": "gelu", "hidden_dropout_prob": 0.1,
    "attention_probs_dropout_prob": 0.1, "max_position_embeddings": 514, "type_vocab_size": 16,
    "pad_token_id": 1, "layer_norm_eps": 1e-05, "is_decoder": False,
}  # fmt: skip


def keys() -> set[str]:
    """Return every string in the families' files that could be a key."""
    found: set[str] = set()
    for path in Path(families.__file__).parent.glob("*.py"):
        found |= set(re.findall(r'"(\w+)"', path.read_text(encoding="utf-8")))
    return found


def defaults(model_type: str) -> dict[str, Any]:
    """Return transformers' defaults of one family for the keys that are read here."""
    if model_type == "ernie_m":
        return ERNIE_M
    theirs, read = CONFIG_MAPPING[model_type]().to_dict(), keys()
    own = {"model_type", "label2id", "architectures"}  # of the file, no setting
    found = {key: value for key, value in theirs.items() if key in read - own}
    found |= BY_GETATTR.get(model_type, {}) | COMPUTED.get(model_type, {})
    return json.loads(json.dumps(dict(sorted(found.items()))))


if __name__ == "__main__":
    table = {name: defaults(name) for name in FAMILIES}
    lines = ",\n".join(f" {json.dumps(name)}: {json.dumps(row)}" for name, row in table.items())
    form.DEFAULTS.write_text("{\n" + lines + "\n}\n", encoding="utf-8")
