"""A mixture of candidate layers, weighted by the softmax of learned parameters."""

from collections.abc import Mapping

import torch
from torch import Tensor, nn

from deepdive.core.context import Context, Layer


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
