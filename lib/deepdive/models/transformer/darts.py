"""DARTS: search for a stack of sublayers by gradient descent. Liu, Simonyan and Yang 2019, "DARTS:
Differentiable Architecture Search".

Long because no parent has a mixed layer, nor a training that alternates.

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

from collections.abc import Callable, Iterable, Mapping

import torch
from torch import Tensor, nn

from deepdive.core import Context, Layer, LayerNorm, Position, relu
from deepdive.core.feed_forward import Activation
from deepdive.core.stack import Stack
from deepdive.models.transformer.decoder_only import DecoderOnly, around_stack
from deepdive.models.transformer.sandwich import sublayer_stack

Loss = Callable[[nn.Module, Tensor], Tensor]


class MixedLayer(Layer):
    """sum over candidates i of softmax(alpha)[i] * candidate_i(x): a mixed operation.

    `candidates` are layers by name, each with its own residual connection; a module that is no
    `Layer`, such as `nn.Identity`, only gets x. A one-hot mixture equals that candidate.
    Raises ValueError without candidates.
    Source: Liu, Simonyan and Yang 2019, the continuous relaxation.
    """

    reads = ("mask", "positions")
    instead = "a mixed layer is for the search: decode with the chosen sublayers (`chosen_order`)"

    def __init__(self, candidates: Mapping[str, nn.Module]) -> None:
        super().__init__()
        if not candidates:
            raise ValueError("candidates is empty: a mixture needs at least one layer")
        self.candidates = nn.ModuleDict(candidates)
        self.alpha = nn.Parameter(torch.zeros(len(candidates)))

    def forward(self, x: Tensor, context: Context) -> Tensor:
        """Return the weighted sum (B, T, d_model) of all candidates' outputs."""
        total = torch.zeros_like(x)
        for weight, layer in zip(self.alpha.softmax(0), self.candidates.values(), strict=True):
            total = total + weight * (layer(x, context) if isinstance(layer, Layer) else layer(x))
        return total

    def chosen(self) -> str:
        """Return the name of the candidate with the largest weight, the first of equals."""
        return [*self.candidates][int(self.alpha.argmax())]


def chosen_order(model: nn.Module) -> str:
    """Return the names of the chosen candidates of all mixed layers, such as "sfi"."""
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

    stack = Stack(
        lambda _: MixedLayer({name: candidate(name) for name in names}),
        n_layers,
        LayerNorm(d_model),
    )
    return around_stack(stack, vocab_size, d_model, max_length)


def tiny(vocab_size: int = 32) -> DecoderOnly:
    """Return a supernet for tests: 2 mixed layers, width 32, 4 heads, 64 positions."""
    return supernet(vocab_size, d_model=32, n_layers=2, d_ff=64)
