"""The logit lens: the model's output head applied to the residual stream after each layer.

    head = lambda stream: model.head(model.decoder.stack.norm(stream))
    logit_lens(model, "*.stream", lambda: model(tokens), head)          # (L, B, T, V)

What differs:
- nothing is trained: the model's own final norm and head decode the stream after every layer
- information in directions that the head ignores is not shown; a map trained for each layer can
  decode more (the tuned lens)
Source: nostalgebraist 2020, "interpreting GPT: the logit lens"; Belrose et al. 2023.
"""

from collections.abc import Callable

import torch
from torch import Tensor, nn

from deepdive.core.hooks import record
from deepdive.explain.rollout import one_call


def logit_lens(
    model: nn.Module, pattern: str, run: Callable[[], object], head: Callable[[Tensor], Tensor]
) -> Tensor:
    """Return head(stream) after each layer, (L, ...) for a head that returns (...).

    pattern    the hook points of the residual stream (B, T, d), in layer order: "*.stream"
    run        runs the model once
    head       everything after the last layer: the last of L is then the model's output

    Source: nostalgebraist 2020; Belrose et al. 2023.
    """
    with torch.no_grad(), record(model, pattern) as seen:
        run()
        streams = one_call(seen)
    with torch.no_grad():
        return torch.stack([head(stream) for stream in streams])
