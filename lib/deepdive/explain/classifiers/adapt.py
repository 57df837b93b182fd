"""Hook points in any Hugging Face classifier, so that every explanation method works on it.

    model = adapt(AutoModelForSequenceClassification.from_pretrained(folder))
    with record(model, "*.weights") as seen:          # every layer's attention
        logits = model(tokens, mask)
    gradient_x_input(model, "*.embedded", lambda: model(tokens)[0, :1])

transformers lets a custom function compute attention (`AttentionInterface`) and passes it the
calling module: ours calls `SoftmaxAttention` there, whose hook points can be recorded.
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
        ....words              (B, T, d), the token embeddings alone
        ....embedded           (B, T, d_model), the first layer's input: with positions and norm
                               if the model has a module `embeddings`, else the token embeddings
        ....mechanism.scores, ....mechanism.weights, ....values, ....heads
                               of each attention layer, as in `MultiHeadAttention`
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
    """Add hook points to a transformers classifier, in place, and return it.

    Its logits stay the same up to rounding. Attention has hook points if the model computes it
    through transformers' `AttentionInterface`: BERT, DistilBERT, RoBERTa, ELECTRA, GPT-2, Llama do;
    DeBERTa and XLNet do not, and only have the hook points of the embeddings.
    Raises ImportError without transformers, TypeError for a model that is not from transformers.
    """
    try:
        from transformers import AttentionInterface, AttentionMaskInterface, PreTrainedModel
        from transformers.masking_utils import eager_mask
    except ModuleNotFoundError as error:
        raise ImportError(f"{error}: pip install 'deepdive[casestudies]'") from error
    if not isinstance(model, PreTrainedModel):
        raise TypeError(
            f"model: got {type(model).__name__}, expected a transformers PreTrainedModel; a "
            "deepdive model already has hook points"
        )
    core, table = model.base_model, model.get_input_embeddings()
    _listen(table, "words")
    _listen(getattr(core, "embeddings", table), "embedded")
    AttentionInterface.register(NAME, attend)
    AttentionMaskInterface.register(NAME, eager_mask)
    if model._can_set_attn_implementation():
        model.set_attn_implementation(NAME)
        # A forward pass finds the attention modules: `attend` adds the hook points when called.
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
    """Return the attention output (B, T, H, d_head) for q, k, v (B, H, T, d_head), as transformers.

    `attention_mask` is added to the scores. Key and value heads may be fewer than query heads.
    """
    if not hasattr(module, "mechanism"):
        module.mechanism = SoftmaxAttention()
        module.values, module.heads = HookPoint(), HookPoint()
    module.mechanism.dropout.p = dropout  # transformers' rate, 0 in evaluation mode
    groups = query.shape[1] // key.shape[1]
    key, value = (x.repeat_interleave(groups, 1) for x in (key, value))
    output = module.mechanism(query, key, module.values(value), None, attention_mask, scaling)
    return module.heads(output).transpose(1, 2), None


def _listen(module: Any, name: str) -> None:
    """Pass a module's output through a hook point of this name, unless it has one already."""
    if name not in dict(module.named_children()):
        setattr(module, name, HookPoint())
        # The hook looks the point up on the module: a deep copy then uses its own hook point.
        module.register_forward_hook(_words if name == "words" else _embedded)


def _words(module: Any, _given: Any, output: Tensor) -> Tensor:
    return module.words(output)


def _embedded(module: Any, _given: Any, output: Tensor) -> Tensor:
    return module.embedded(output)
