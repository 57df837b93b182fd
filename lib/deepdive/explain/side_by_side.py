"""One answer of a text classifier, explained by every method that gives each word a number.

    asked = Asked(model, "encoder.embeddings.embedded", tokens, owner, label, blank)
    values = {name: method(asked) for name, method in METHODS.items()}          # (W,) each

All explain one number, how far the model is on the side of `label`, and take one meaning of *gone*:
a word that is gone is the token `blank`, and integrated gradients begin with all words gone. So
their numbers may be compared; each method has settings of its own elsewhere.
"""

import zlib
from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from deepdive.core.hooks import record
from deepdive.explain.attention_weights.gradient_rollout import gradient_rollout
from deepdive.explain.backward.relevance import attn_lrp
from deepdive.explain.games.game import Game, grouped, margin
from deepdive.explain.games.lime import lime, perturb
from deepdive.explain.games.perturbation import occlusion
from deepdive.explain.games.removal import masked
from deepdive.explain.games.shapley import kernel_shap
from deepdive.explain.gradients import (
    gradient_norm,
    gradient_x_input,
    integrated_gradients,
    smoothgrad,
)
from deepdive.explain.rollout import one_call, rollout

COPIES = 16  # texts that the methods of many steps read at once
SAMPLES = 300  # sets of words that LIME and kernel SHAP ask for


@dataclass(frozen=True)
class Asked:
    """Why does the model give this text this label?

    model     tokens (B, T) -> logits (B, n_classes), in evaluation mode
    point     the hook point of the rows (B, T, d) that enter its first layer
    tokens    (1, T), with their marks
    owner     (T,), the word of each token, 0 .. W - 1; -1 for marks
    label     the answer to explain
    blank     the id of the token that stands for a word that is gone
    weights   the hook points of the attention weights, the first layer first
    """

    model: nn.Module
    point: str
    tokens: Tensor
    owner: Tensor
    label: int
    blank: int
    weights: str = "*.weights"

    def output(self) -> Tensor:
        """How far the model is on the side of `label`, (1,)."""
        return margin(self.model(self.tokens), self.label)

    def copies(self) -> Tensor:
        """The same for `COPIES` copies of the text, (COPIES, 1): so many steps in one run."""
        return margin(self.model(self.tokens.expand(COPIES, -1)), self.label)[:, None]

    def game(self) -> Game:
        """Which words stay -> how far the model is on the side of `label`."""
        of_pieces = masked(
            lambda t: margin(self.model(t), self.label), self.tokens[0], self.blank, batch=32
        )
        return grouped(of_pieces, self.owner)

    def of_words(self, pieces: Tensor) -> Tensor:
        """The sums (W,) over the tokens of each word, of numbers (T,)."""
        inside = self.owner >= 0
        sums = torch.zeros(int(self.owner.max()) + 1, dtype=torch.float64)
        return sums.index_add(0, self.owner[inside], pieces.detach().double().cpu()[inside])

    def emptied(self) -> Tensor:
        """The rows (T, d) of the text without any of its words."""
        hidden = self.tokens.masked_fill(self.owner[None].to(self.tokens.device) >= 0, self.blank)
        with torch.no_grad(), record(self.model, self.point) as seen:
            self.model(hidden)
        return one_call(seen)[0][0]

    def attention(self) -> list[Tensor]:
        """The weights (1, H, T, T) of each layer."""
        with torch.no_grad(), record(self.model, self.weights) as seen:
            self.model(self.tokens)
        return one_call(seen)


def _of_rows(method: Callable[..., Tensor]) -> Callable[[Asked], Tensor]:
    return lambda a: a.of_words(method(a.model, a.point, a.output)[0])


def _smooth(a: Asked) -> Tensor:
    draw = torch.Generator(a.tokens.device).manual_seed(0)
    return a.of_words(smoothgrad(a.model, a.point, a.copies, generator=draw)[0])


def _integrated(a: Asked) -> Tensor:
    found, _ = integrated_gradients(a.model, a.point, a.copies, a.emptied())
    return a.of_words(found[0])


def _lime(a: Asked) -> Tensor:
    game = a.game()
    return lime(game, perturb(game.size, SAMPLES))[0]


def _random(a: Asked) -> Tensor:
    """Another draw for each text, the same for every model."""
    draw = torch.Generator().manual_seed(zlib.crc32(bytes(str(a.tokens.tolist()), "ascii")))
    return torch.rand(int(a.owner.max()) + 1, generator=draw, dtype=torch.float64)


METHODS: dict[str, Callable[[Asked], Tensor]] = {
    "gradient norm": _of_rows(gradient_norm),
    "gradient x input": _of_rows(gradient_x_input),
    "SmoothGrad": _smooth,
    "integrated gradients": _integrated,
    "AttnLRP": _of_rows(attn_lrp),
    "occlusion": lambda a: occlusion(a.game()),
    "LIME": _lime,
    "kernel SHAP": lambda a: kernel_shap(a.game(), SAMPLES),
    "attention, last layer": lambda a: a.of_words(a.attention()[-1].mean(1)[0, 0]),
    "attention rollout": lambda a: a.of_words(rollout(a.attention())[-1, 0, 0]),
    "attention x gradient": lambda a: a.of_words(
        gradient_rollout(a.model, a.weights, a.output).flatten()
    ),
    "random": _random,
}
