"""DARTS: search for a stack of sublayers by gradient descent. Liu, Simonyan and Yang 2019, "DARTS:
Differentiable Architecture Search".

System: darts
Parent: sandwich
What differs:
- each sublayer is a mixture of candidates, weighted by the softmax of learned architecture
  parameters (`MixedLayer`, `alpha`)
- two kinds of steps alternate: the weights follow the training loss, `alpha` the validation loss
  (`search`, the first-order form)
- at the end each mixture is replaced by its largest candidate (`chosen_order`)
Source: Liu, Simonyan and Yang 2019, the continuous relaxation and the first-order approximation.
Book: table 1.1
"""

from collections.abc import Callable, Iterable

import torch
from torch import Tensor, nn

from deepdive.core import LayerNorm, Position, relu
from deepdive.core.feed_forward import Activation
from deepdive.core.stack import Stack
from deepdive.layers.mixed_layer import MixedLayer
from deepdive.layers.sublayers import sublayer_stack
from deepdive.models.transformer.decoder_only import DecoderOnly, around_stack

Loss = Callable[[nn.Module, Tensor], Tensor]


def chosen_order(model: nn.Module) -> str:
    """Return the chosen candidates of all mixed layers, such as "sfi"."""
    return "".join(m.chosen() for m in model.modules() if isinstance(m, MixedLayer))


def search(
    model: nn.Module,
    loss: Loss,
    batches: Iterable[tuple[Tensor, Tensor]],
    weight_optimizer: torch.optim.Optimizer,
    alpha_optimizer: torch.optim.Optimizer,
) -> str:
    """Train weights and architecture parameters in turn; return the chosen order.

    `batches` yields pairs (training, validation). For each, the alphas take one step down the
    validation loss at the current weights (first order: the weights count as constants), then the
    weights take one step down the training loss. Each optimizer has its own parameters.
    Source: Liu, Simonyan and Yang 2019, algorithm 1 with xi = 0.
    """
    for train, validation in batches:
        for optimizer, batch in ((alpha_optimizer, validation), (weight_optimizer, train)):
            model.zero_grad(set_to_none=True)
            loss(model, batch).backward()
            optimizer.step()
    return chosen_order(model)


def supernet(
    vocab_size: int,
    *,
    d_model: int = 64,
    n_heads: int = 4,
    n_layers: int = 3,
    d_ff: int = 128,
    max_length: int = 64,
    names: str = "scfi",
    activation: Activation = relu,
    position: Callable[[], Position] | None = None,
    bias: bool = False,
) -> DecoderOnly:
    """Build a language model of `n_layers` mixed layers over the sublayers that `names` lists, as
    in `sublayer_stack`.
    """

    def candidate(name: str) -> nn.Module:
        stack = sublayer_stack(
            name, d_model, n_heads, d_ff, activation=activation, position=position, bias=bias
        )
        return stack.blocks[0] if stack.blocks else nn.Identity()

    def mixed(_layer: int) -> MixedLayer:
        return MixedLayer({name: candidate(name) for name in names})

    stack = Stack(mixed, n_layers, LayerNorm(d_model))
    return around_stack(stack, vocab_size, d_model, max_length)


def tiny(vocab_size: int = 32) -> DecoderOnly:
    """Return a supernet for tests: 2 mixed layers, width 32, 4 heads, 64 positions."""
    return supernet(vocab_size, d_model=32, n_layers=2, d_ff=64)
