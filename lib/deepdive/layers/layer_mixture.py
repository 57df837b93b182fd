"""An encoder that returns mixtures of all its layers, and a decoder whose layers each attend to one
of them, as in transparent attention (Bapna et al. 2018). The model is
`deepdive.models.transformer.transparent`.
"""

from collections.abc import Callable
from dataclasses import replace

import torch
from torch import Tensor, nn

from deepdive.core.checks import positive
from deepdive.core.context import Context
from deepdive.core.stack import Stack


class TransparentStack(Stack):
    """An encoder's layers, which return one mixture of their states per decoder layer.

        h_0 = x;  h_i = block_i(h_{i-1})                  # each (B, S, d_model)
        memory_j = sum over i of softmax(W[:, j])_i h_i   # W (N + 1, M), `mixture`

    Raises ValueError when n_decoder_layers is not positive.
    Source: Bapna et al. 2018, the weights s_ij.
    """

    def __init__(
        self,
        make_block: Callable[[int], nn.Module],
        n_layers: int,
        n_decoder_layers: int,
        norm: nn.Module | None = None,
    ) -> None:
        positive(n_decoder_layers=n_decoder_layers)
        super().__init__(make_block, n_layers, norm)
        self.mixture = nn.Parameter(torch.zeros(n_layers + 1, n_decoder_layers))

    def layer_weights(self) -> Tensor:
        """Return the softmax over encoder states, (N + 1, M): column j is that of decoder layer
        j.
        """
        return self.mixture.softmax(0)

    def states(self, x: Tensor, context: Context) -> Tensor:
        """Return the embeddings and the output of each layer, (N + 1, B, S, d_model)."""
        found = [x]
        for i, block in enumerate(self.blocks):
            found.append(block(found[-1], context.for_layer(i)))
        return torch.stack([h if self.norm is None else self.norm(h) for h in found])

    def forward(self, x: Tensor, context: Context) -> Tensor:
        """Return the memories (B, S, M, d_model)."""
        return torch.einsum("ibsd,ij->bsjd", self.states(x, context), self.layer_weights())


class LayeredMemoryStack(Stack):
    """A decoder's layers, of which layer j attends to memory j: (B, S, j, d_model).

    Raises ValueError unless there is one memory per layer.
    """

    def forward(self, x: Tensor, context: Context) -> Tensor:
        """Return the stream (B, T, d_model) after all blocks."""
        memory = context.memory
        if memory is None or memory.ndim != 4 or memory.shape[2] != len(self.blocks):
            raise ValueError(
                f"memory must be (B, S, M={len(self.blocks)}, d_model), one per decoder layer, as "
                f"TransparentStack returns; got {None if memory is None else tuple(memory.shape)}"
            )
        for j, block in enumerate(self.blocks):
            x = block(x, replace(context.for_layer(j), memory=memory[:, :, j]))
        return x if self.norm is None else self.norm(x)
