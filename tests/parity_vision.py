"""What the proofs of the readers of images share: sizes, and the package's names in memory."""

from __future__ import annotations

from typing import Any

SETTINGS: dict[str, Any] = {
    "hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 24,
    "image_size": 12, "patch_size": 4, "num_channels": 3,
}  # fmt: skip
# In memory the package calls the parts of a layer otherwise than in its files.
IN_MEMORY = (
    (r"attention\.q_proj", "attention.attention.query"),
    (r"attention\.k_proj", "attention.attention.key"),
    (r"attention\.v_proj", "attention.attention.value"),
    (r"attention\.o_proj", "attention.output.dense"),
    (r"mlp\.fc1", "intermediate.dense"),
    (r"mlp\.fc2", "output.dense"),
    (r"(^|\.)layers\.", r"\1encoder.layer."),
)
