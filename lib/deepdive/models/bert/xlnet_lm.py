"""What XLNet is trained with: scores of the vocabulary at the places that are asked for."""

from torch import Tensor, nn

from deepdive.core.embeddings import TiedHead
from deepdive.models.bert.xlnet import Memory, XLNet


class XLNetLM(nn.Module):
    """`XLNet.predict`, then scores of the vocabulary: tokens, sees, places -> (B, M, V)."""

    def __init__(self, bert: XLNet, head: TiedHead) -> None:
        super().__init__()
        self.bert, self.head = bert, head

    def forward(
        self,
        tokens: Tensor,
        sees: Tensor,
        places: Tensor,
        mask: Tensor | None = None,
        segments: Tensor | None = None,
        memory: Memory | None = None,
    ) -> Tensor:
        """Return the logits of each place; the arguments are those of `XLNet.predict`."""
        return self.head(self.bert.predict(tokens, sees, places, mask, segments, memory))


def for_lm(model: XLNet) -> XLNetLM:
    """Put the head of the objective on a model; its own embedding scores the tokens."""
    return XLNetLM(model, TiedHead(model.tokens, bias=True))
