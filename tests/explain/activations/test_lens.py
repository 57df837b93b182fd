"""The logit lens: its last layer is the model, and a planted layer is seen to decide."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from deepdive.core.hooks import HookPoint
from deepdive.explain.activations.lens import logit_lens
from deepdive.layers.heads import Classifier
from deepdive.models.bert import bert
from deepdive.models.transformer import decoder_only


def test_the_last_layer_says_what_the_model_says() -> None:
    tokens = torch.randint(0, 32, (2, 5))
    model: Any = decoder_only.tiny().eval()

    def head(stream: Tensor) -> Tensor:
        return model.head(model.decoder.stack.norm(stream))

    found = logit_lens(model, "*.stream", lambda: model(tokens), head)
    assert found.shape == (2, 2, 5, 32)
    assert not found.requires_grad
    torch.testing.assert_close(found[-1], model(tokens))
    assert not torch.allclose(found[0], found[-1], atol=0.1)
    classifier = Classifier(bert.bert(bert.TINY), 32, 3).eval()
    found = logit_lens(
        classifier, "*.stream", lambda: classifier(tokens),
        lambda stream: classifier.out(classifier.pooler(stream)),
    )  # fmt: skip
    torch.testing.assert_close(found[-1], classifier(tokens))


class Decides(nn.Module):
    """Layer 1 of three writes the answer into the stream."""

    def __init__(self) -> None:
        super().__init__()
        self.streams = nn.ModuleList(HookPoint() for _ in range(3))
        self.written = nn.Parameter(torch.tensor([[0.0, 0.0], [0.0, 5.0], [1.0, 0.0]]))

    def forward(self, x: Tensor) -> Tensor:
        for stream, added in zip(self.streams, self.written, strict=True):
            x = stream(x + added)
        return x


def test_the_layer_that_decides_is_seen() -> None:
    model, x = Decides(), torch.tensor([[[1.0, 0.0]]])
    found = logit_lens(model, "*", lambda: model(x), lambda stream: stream[0, 0])
    assert found.argmax(-1).tolist() == [0, 1, 1]
