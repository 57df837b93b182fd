"""Transformer-XL as a language model: a head tied to the token embedding."""

from torch import Tensor, nn

from deepdive.core.embeddings import TiedHead
from deepdive.layers.segment_memory import Memory
from deepdive.models.efficient.transformer_xl import TransformerXL


class TransformerXLLM(nn.Module):
    """Transformer-XL as a language model: token ids (B, T) -> logits (B, T, V)."""

    def __init__(self, body: TransformerXL) -> None:
        super().__init__()
        self.body, self.head = body, TiedHead(body.tokens, bias=True)

    def forward(
        self, tokens: Tensor, mask: Tensor | None = None, memory: Memory | None = None
    ) -> Tensor:
        """Return the logits of the token after each; arguments as in `TransformerXL.forward`."""
        return self.head(self.body(tokens, mask, memory))

    def begin(self) -> Memory:
        """Return an empty memory for `step`."""
        return self.body.begin()

    def step(self, tokens: Tensor, state: Memory) -> Tensor:
        """Return logits (B, t, V) for the next tokens (B, t); updates the memory in place."""
        return self(tokens, memory=state)


def for_lm(body: TransformerXL) -> TransformerXLLM:
    """Add a language modeling head, tied to the model's token embedding."""
    return TransformerXLLM(body)
