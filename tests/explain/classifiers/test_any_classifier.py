"""One classifier of transformers and ours with the same weights: whatever explains, says the same.

Games take a score, and so the model of transformers as it is; gradients need its hook points.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import torch
from parity_registry import perturb
from torch import Tensor, nn
from transformers import BertConfig, BertForSequenceClassification

from deepdive.explain.backward.deeplift import deeplift
from deepdive.explain.backward.relevance import lrp
from deepdive.explain.classifiers.adapt import adapt
from deepdive.explain.evaluation.faithfulness import comprehensiveness, deletion, insertion
from deepdive.explain.games.game import Game, all_coalitions, grouped, margin
from deepdive.explain.games.lime import lime
from deepdive.explain.games.lime import perturb as around
from deepdive.explain.games.perturbation import occlusion, smallest_erasure
from deepdive.explain.games.removal import deleted, masked, no_attend
from deepdive.explain.games.shapley import kernel_shap, shapley
from deepdive.explain.gradients import (
    gradient_norm,
    gradient_x_input,
    integrated_gradients,
    smoothgrad,
)
from deepdive.published.classifier import load

CLS, SEP, MASK, PAD = 1, 2, 3, 0
TEXT = torch.tensor([CLS, 22, 5, 17, 9, 28, SEP])
WORDS = torch.tensor([-1, 0, 1, 2, 3, 4, -1])  # the marks always stay
LABEL = 1


@pytest.fixture(scope="module")
def theirs() -> Any:
    torch.manual_seed(0)
    sizes: dict[str, Any] = {
        "vocab_size": 30, "hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 4,
        "intermediate_size": 24, "max_position_embeddings": 20, "num_labels": 3, "pad_token_id": 0,
    }  # fmt: skip
    model: Any = BertForSequenceClassification(BertConfig(**sizes))
    return perturb(model.double().eval(), size=0.3)


@pytest.fixture(scope="module")
def ours(theirs: Any, tmp_path_factory: pytest.TempPathFactory) -> nn.Module:
    folder: Path = tmp_path_factory.mktemp("bert")
    theirs.save_pretrained(folder)
    torch.set_default_dtype(torch.float64)
    try:
        return load(folder)
    finally:
        torch.set_default_dtype(torch.float32)


def score_of_theirs(model: Any) -> Callable[..., Tensor]:
    def score(tokens: Tensor, real: Tensor | None = None) -> Tensor:
        attention_mask = None if real is None else real.long()
        return margin(model(input_ids=tokens, attention_mask=attention_mask).logits, LABEL)

    return score


def score_of_ours(model: nn.Module) -> Callable[..., Tensor]:
    return lambda tokens, real=None: margin(model(tokens, real), LABEL)


GAMES: dict[str, Callable[[Callable[..., Tensor]], Game]] = {
    "masked": lambda score: masked(score, TEXT, MASK),
    "left out": lambda score: no_attend(score, TEXT),
    "deleted": lambda score: deleted(score, TEXT, pad=PAD),
}
OF_GAMES: dict[str, Callable[[Game], Any]] = {
    "occlusion": occlusion,
    "windows": partial(occlusion, window=2),
    "lime": lambda game: lime(game, around(game.size, 200)),
    "kernel shap": kernel_shap,
    "kernel shap, drawn": partial(kernel_shap, samples=60),
    "erasure": lambda game: smallest_erasure(game, float(game.everything()) - 0.1),
    "deletion": lambda game: deletion(game, occlusion(game)),
    "insertion": lambda game: insertion(game, occlusion(game)),
    "comprehensiveness": lambda game: comprehensiveness(game, occlusion(game)),
}


@pytest.mark.parametrize("removal", GAMES)
def test_what_takes_a_game_takes_either(removal: str, theirs: Any, ours: nn.Module) -> None:
    made = GAMES[removal]
    games = [
        grouped(made(score_of_theirs(theirs)), WORDS),
        grouped(made(score_of_ours(ours)), WORDS),
    ]
    assert games[0].everything() != games[0].nothing()
    for name, explain in OF_GAMES.items():
        found = [explain(game) for game in games]
        torch.testing.assert_close(*found, msg=partial("{}: {}".format, name))
    # Not only alike but right: all sets of five words can be counted.
    torch.testing.assert_close(kernel_shap(games[0]), shapley(games[1]))


def logits(model: nn.Module) -> Callable[[], Tensor]:
    return lambda: model(TEXT[None])[0]


def seeded_smoothgrad(model: nn.Module, point: str, output: Callable[[], Tensor]) -> Tensor:
    seed = torch.Generator().manual_seed(2)
    return smoothgrad(model, point, output, samples=4, generator=seed)


def test_what_takes_rows_takes_either(theirs: Any, ours: nn.Module) -> None:
    adapted = adapt(copy.deepcopy(theirs))
    of_rows: dict[str, Callable[..., Any]] = {
        "norm": gradient_norm,
        "x input": gradient_x_input,
        "integrated": partial(integrated_gradients, steps=20),
        "smooth": seeded_smoothgrad,
        "lrp": lrp,
        "deeplift": deeplift,
    }
    for name, explain in of_rows.items():
        found = [explain(model, "*.embedded", logits(model)) for model in (adapted, ours)]
        torch.testing.assert_close(*found, msg=partial("{}: {}".format, name))


def test_hook_points_change_nothing_but_a_text_without_any_key(theirs: Any) -> None:
    """Where no one may look at anything, each form of attention has an answer of its own, theirs in
    one call another than theirs step by step: the marks must stay.
    """
    adapted = adapt(copy.deepcopy(theirs))
    games = [no_attend(score_of_theirs(theirs), TEXT), no_attend(score_of_ours(adapted), TEXT)]
    kept = all_coalitions(len(TEXT))
    one, other = (game(kept) for game in games)
    torch.testing.assert_close(one[1:], other[1:])
    assert (one[0] - other[0]).abs() > 0.1
