"""The logit lens: what would the model say if it stopped after this layer?

    said = lambda stream: model.head(model.decoder.stack.norm(stream))
    logit_lens(model, "*.stream", lambda: model(tokens), said)          # (L, B, T, V)

What differs:
- nothing is learned: the model's own last norm and head read the stream after every layer
- where a layer writes in directions that the head does not read, it shows nothing; a map that is
  learned for each layer reads more (the tuned lens)
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

    pattern    the points of the stream (B, T, d), the first layer first: "*.stream"
    run        runs the model once
    head       all that the model does after its last layer: the last of L is what the model says

    Source: nostalgebraist 2020; Belrose et al. 2023.
    """
    with torch.no_grad(), record(model, pattern) as seen:
        run()
        streams = one_call(seen)
    with torch.no_grad():
        return torch.stack([head(stream) for stream in streams])
