"""DeeBERT: BERT with a classifier after every layer, which returns as soon as one is certain enough
(early exit). Xin et al. 2020, "DeeBERT: Dynamic Early Exiting for Accelerating BERT Inference".

Long because no parent stops in the middle of a forward pass.

System: deebert
Parent: bert
What differs:
- every layer has a classifier of its own, an off-ramp (`DeeBert.ramps`)
- an example leaves at the first off-ramp whose prediction has an entropy below a threshold; the
  layers above it don't run (`DeeBert.early_exit`)
- training has two stages: encoder and last off-ramp, then the other off-ramps on the frozen encoder
  (`DeeBert.trainable`; `deepdive.training.objectives.early_exit`)
Source: Xin et al. 2020, sections 3.1 and 3.2.
Book: table 1.1
"""

from collections.abc import Iterator
from typing import NamedTuple

import torch
from torch import Tensor, nn

from deepdive.core.checks import numbers, positive
from deepdive.core.embeddings import check_tokens
from deepdive.core.masks import padding
from deepdive.layers.heads import Pooler, initialize
from deepdive.models.bert.bert import TINY, Bert, bert


class Exits(NamedTuple):
    """Logits (B, n_classes) at each example's exit, and the exit's layer (B,), counted from 1."""

    logits: Tensor
    layers: Tensor


class DeeBert(nn.Module):
    """A BERT encoder whose layers each have an off-ramp: out(dropout(pooler(states)))."""

    def __init__(self, encoder: Bert, n_classes: int, dropout: float = 0.1) -> None:
        super().__init__()
        positive(n_classes=n_classes)
        self.bert, self.n_classes, d_model = encoder, n_classes, encoder.config.d_model
        self.ramps = nn.ModuleList(
            nn.Sequential(Pooler(d_model), nn.Dropout(dropout), nn.Linear(d_model, n_classes))
            for _ in encoder.stack.blocks
        )
        for ramp in self.ramps:
            initialize(ramp)

    def forward(
        self, tokens: Tensor, mask: Tensor | None = None, segments: Tensor | None = None
    ) -> Tensor:
        """Return logits (B, n_classes) of the last off-ramp for tokens (B, T); mask True = real."""
        return self.ramps[-1](self.bert(tokens, mask, segments))

    def all_exits(
        self, tokens: Tensor, mask: Tensor | None = None, segments: Tensor | None = None
    ) -> Tensor:
        """Return the logits of all off-ramps, (n_layers, B, n_classes)."""
        x, real, every = self.embed(tokens, mask, segments), padding(mask, tokens, "mask"), []
        for block, ramp in zip(self.bert.stack.blocks, self.ramps, strict=True):
            x = block(x, mask=real)
            every.append(ramp(x))
        return torch.stack(every)

    def early_exit(
        self, tokens: Tensor, threshold: float, mask: Tensor | None = None,
        segments: Tensor | None = None,
    ) -> Exits:  # fmt: skip
        """Return each example's prediction at the first off-ramp with an entropy below `threshold`.

        Only the examples that are still inside go through the next layer. Entropies are in nats; 0
        gives the full model, and more than log(n_classes) the first off-ramp.
        Raises ValueError for a threshold that is negative or not finite.
        """
        numbers(threshold=threshold)
        x, real = self.embed(tokens, mask, segments), mask
        inside = torch.arange(len(tokens), device=tokens.device)
        found, layers = x.new_zeros(len(tokens), self.n_classes), inside + 0
        layered = zip(self.bert.stack.blocks, self.ramps, strict=True)
        for layer, (block, ramp) in enumerate(layered, start=1):
            x = block(x, mask=padding(real, tokens[inside], "mask"))
            logits = ramp(x)
            leaves = (entropy(logits) < threshold) | (layer == len(self.ramps))
            found[inside[leaves]], layers[inside[leaves]] = logits[leaves], layer
            x, inside = x[~leaves], inside[~leaves]
            real = None if real is None else real[~leaves]
            if not len(inside):
                break
        return Exits(found, layers)

    def embed(self, tokens: Tensor, mask: Tensor | None, segments: Tensor | None) -> Tensor:
        """Return the embeddings (B, T, d_model)."""
        check_tokens(tokens)
        embeddings = self.bert.embeddings
        return embeddings(tokens, segments, embeddings.positions(tokens, mask))

    def trainable(self, stage: int) -> Iterator[nn.Parameter]:
        """Freeze what the stage doesn't train, and yield what it trains: in stage 1 the encoder and
        the last off-ramp, in stage 2 the other off-ramps. Raises ValueError for another stage.
        """
        if stage not in (1, 2):
            raise ValueError(f"stage={stage}: expected 1 (encoder, last ramp) or 2 (the others)")
        others = {id(p) for ramp in self.ramps[:-1] for p in ramp.parameters()}
        for parameter in self.parameters():
            parameter.requires_grad_((id(parameter) in others) == (stage == 2))
        return (p for p in self.parameters() if p.requires_grad)


def entropy(logits: Tensor) -> Tensor:
    """Return the entropy in nats, (...), of the softmax of logits (..., n_classes)."""
    return -(logits.softmax(-1) * logits.log_softmax(-1)).sum(-1)


def tiny() -> DeeBert:
    """Return a small model for tests: 2 layers, 32 wide, 3 classes."""
    return DeeBert(bert(TINY), 3, dropout=0.0)
