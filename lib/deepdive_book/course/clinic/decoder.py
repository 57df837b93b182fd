"""The small decoder that all patients share, and its training."""

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from deepdive_book.course.clinic.parts import Parts
from deepdive_book.course.specimens.decoder import LENGTH, LETTERS, texts

WIDTH, SMALL = 64, 0.02


class Decoder(nn.Module):
    """One layer of attention with one head, and a feed-forward layer; made of `parts`."""

    def __init__(self, parts: Parts) -> None:
        super().__init__()
        self.parts = dict(parts)
        self.letters = nn.Parameter(torch.randn(LETTERS + 1, WIDTH))
        self.q, self.k, self.v, self.out = (
            nn.Parameter(torch.randn(WIDTH, WIDTH) / WIDTH**0.5) for _ in range(4)
        )
        self.ff = nn.Sequential(nn.Linear(WIDTH, 2 * WIDTH), nn.ReLU(), nn.Linear(2 * WIDTH, WIDTH))
        self.drop, self.head = nn.Dropout(0.1), nn.Linear(WIDTH, LETTERS + 1)

    def forward(self, tokens: Tensor, size: float = 1.0) -> dict[str, Tensor]:
        """Return rows (B, T, d) as they go in, queries, keys, scores, weights, and logits."""
        normed, T = self.parts["epsilon"], tokens.shape[1]
        rows = size * SMALL * (self.letters[tokens] + self.parts["position"](T, WIDTH))
        x = self.drop(normed(rows))
        queries, keys = x @ self.q, x @ self.k
        scores = queries @ keys.mT * self.parts["scale"](WIDTH)
        weights = scores.masked_fill(~self.parts["mask"](T), -1e9).softmax(-1)
        x = normed(x + self.drop(weights @ (x @ self.v) @ self.out))
        x = normed(x + self.drop(self.ff(x)))
        return {
            "rows": rows, "queries": queries, "keys": keys, "scores": scores,
            "weights": weights, "logits": self.head(x),
        }  # fmt: skip


def loss_of(model: Decoder, tokens: Tensor) -> Tensor:
    read, wanted = model.parts["shift"](tokens)
    logits = model(read)["logits"][:, -LENGTH:]
    return F.cross_entropy(logits.flatten(0, 1), wanted[:, -LENGTH:].flatten())


def train(model: Decoder, steps: int, seed: int) -> list[float]:
    """Train `model`; return its losses on texts that it has not seen."""
    adam = torch.optim.Adam(model.parameters(), 3e-3)
    seeds, unseen = iter(range(1000 * seed + 100, 1000 * seed + 100 + steps)), texts(64)

    def step() -> None:
        adam.zero_grad()
        loss_of(model, texts(32, next(seeds))).backward()
        adam.step()

    def judge() -> float:
        with torch.no_grad():
            return loss_of(model, unseen).item()

    return model.parts["eval"](lambda name: model.train(name == "train"), step, judge, steps)
