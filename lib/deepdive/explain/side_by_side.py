"""One prediction of a text classifier, explained by every feature attribution method.

    asked = Asked(model, "encoder.embeddings.embedded", tokens, owner, label, blank)
    values = {name: method(asked) for name, method in METHODS.items()}          # (W,) each

All explain one number, the margin of `label`, and remove words in the same way: a removed word is
replaced by the token `blank`, and the baseline of integrated gradients has all words removed. So
their values are comparable; each method's own settings are in its module.
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

COPIES = 16  # batch size of the methods with many steps
SAMPLES = 300  # word subsets that LIME and kernel SHAP evaluate


@dataclass(frozen=True)
class Asked:
    """The prediction to explain: a model, a text, and a label.

    model     tokens (B, T) -> logits (B, n_classes), in evaluation mode
    point     the hook point of the embeddings (B, T, d), the first layer's input
    tokens    (1, T), with special tokens
    owner     (T,), the word of each token, 0 .. W - 1; -1 for special tokens
    label     the class to explain
    blank     the id of the token that replaces removed words
    weights   the hook points of the attention weights, in layer order
    """

    model: nn.Module
    point: str
    tokens: Tensor
    owner: Tensor
    label: int
    blank: int
    weights: str = "*.weights"

    def output(self) -> Tensor:
        """The margin of `label`, (1,)."""
        return margin(self.model(self.tokens), self.label)

    def copies(self) -> Tensor:
        """The same for `COPIES` copies of the text, (COPIES, 1): as many steps in one run."""
        return margin(self.model(self.tokens.expand(COPIES, -1)), self.label)[:, None]

    def game(self) -> Game:
        """The game that maps the kept words to the margin of `label`."""
        of_pieces = masked(
            lambda t: margin(self.model(t), self.label), self.tokens[0], self.blank, batch=32
        )
        return grouped(of_pieces, self.owner)

    def of_words(self, pieces: Tensor) -> Tensor:
        """Sum token attributions (T,) over the tokens of each word, (W,)."""
        inside = self.owner >= 0
        sums = torch.zeros(int(self.owner.max()) + 1, dtype=torch.float64)
        return sums.index_add(0, self.owner[inside], pieces.detach().double().cpu()[inside])

    def emptied(self) -> Tensor:
        """The embeddings (T, d) of the text with all words replaced by `blank`."""
        text = self.tokens.masked_fill(self.owner[None].to(self.tokens.device) >= 0, self.blank)
        with torch.no_grad(), record(self.model, self.point) as seen:
            self.model(text)
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
    """Random attributions, different for each text, the same for every model."""
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
