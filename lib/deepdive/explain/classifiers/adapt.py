"""Hook points in any classifier of transformers, so that every explanation reads it as one of ours.

    model = adapt(AutoModelForSequenceClassification.from_pretrained(folder))
    with record(model, "*.weights") as seen:          # every layer's attention
        logits = model(tokens, mask)
    gradient_x_input(model, "*.embedded", lambda: model(tokens)[0, :1])

transformers lets a function of ours compute attention (`AttentionInterface`), and lets it see the
module that asks: this one has our `SoftmaxAttention` there, whose hook points can be heard.
"""

from typing import Any

import torch
from torch import Tensor, nn

from deepdive.core import SoftmaxAttention
from deepdive.core.hooks import HookPoint, forward_once

NAME = "deepdive"


class Adapted(nn.Module):
    """tokens (B, T) -> logits (B, n_classes), by a classifier of transformers with hook points.

    Hook points, below the names of its own modules:
        ....words              (B, T, d), the rows of the token table alone
        ....embedded           (B, T, d_model), what enters the first layer: after places and norm
                               where the model has a module `embeddings`, else the rows of the table
        ....mechanism.scores, ....mechanism.weights, ....values, ....heads
                               of each attention, as those of `MultiHeadAttention`
    """

    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self.model = model

    def forward(
        self, tokens: Tensor, mask: Tensor | None = None, segments: Tensor | None = None
    ) -> Tensor:
        """Return logits; `mask` bool (B, T), True = real token; `segments` int (B, T)."""
        given = {"input_ids": tokens}
        if mask is not None:
            given["attention_mask"] = mask.long()
        if segments is not None:
            given["token_type_ids"] = segments
        return self.model(**given).logits


def adapt(model: Any) -> Adapted:
    """Return a classifier of transformers with hook points; it is changed in place.

    Its logits stay the same to rounding. Attention has hook points where the model computes it
    through transformers' `AttentionInterface`: BERT, DistilBERT, RoBERTa, ELECTRA, GPT-2, Llama do,
    DeBERTa and XLNet do not, and there the points of its rows are all.
    Raises ImportError without transformers, TypeError for what is no model of transformers.
    """
    try:
        from transformers import AttentionInterface, AttentionMaskInterface, PreTrainedModel
        from transformers.masking_utils import eager_mask
    except ModuleNotFoundError as error:
        raise ImportError(f"{error}: pip install 'deepdive[casestudies]'") from error
    if not isinstance(model, PreTrainedModel):
        raise TypeError(
            f"model: got {type(model).__name__}, expected a model of transformers; one of ours "
            "has hook points already"
        )
    core, table = model.base_model, model.get_input_embeddings()
    _listen(table, "words")
    _listen(getattr(core, "embeddings", table), "embedded")
    AttentionInterface.register(NAME, attend)
    AttentionMaskInterface.register(NAME, eager_mask)
    if model._can_set_attn_implementation():
        model.set_attn_implementation(NAME)
        # Attention modules are known by what they call: one run finds them, `attend` marks them.
        forward_once(core, torch.zeros(1, 1, dtype=torch.long, device=model.device))
    return Adapted(model)


def attend(
    module: Any,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attention_mask: Tensor | None,
    scaling: float | None = None,
    dropout: float = 0.0,
    **_rest: Any,
) -> tuple[Tensor, None]:
    """Return the mixed values (B, T, H, d_head) for q, k, v (B, H, T, d_head): transformers' form.

    `attention_mask` is added to the scores. Keys and values may be fewer than the heads.
    """
    if not hasattr(module, "mechanism"):
        module.mechanism = SoftmaxAttention()
        module.values, module.heads = HookPoint(), HookPoint()
    module.mechanism.dropout.p = dropout  # theirs, 0 in evaluation
    groups = query.shape[1] // key.shape[1]
    key, value = (rows.repeat_interleave(groups, 1) for rows in (key, value))
    mixed = module.mechanism(query, key, module.values(value), None, attention_mask, scaling)
    return module.heads(mixed).transpose(1, 2), None


def _listen(module: Any, name: str) -> None:
    """Let what a module returns pass a hook point of this name, once."""
    if name not in dict(module.named_children()):
        setattr(module, name, HookPoint())
        # A function of the module, not of this call: a deep copy then passes its own point.
        module.register_forward_hook(_words if name == "words" else _embedded)


def _words(module: Any, _given: Any, output: Tensor) -> Tensor:
    return module.words(output)


def _embedded(module: Any, _given: Any, output: Tensor) -> Tensor:
    return module.embedded(output)
