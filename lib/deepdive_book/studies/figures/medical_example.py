"""Interactive figure of case study 7: one abstract, the attributions of five methods.

medical_example()    # saved: `deepdive_book.studies.runs.medical_probes.example`
"""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from deepdive_book.ch07.figures.attribution_comparison import attribution_comparison
from deepdive_book.kit.markup import Html

SAVED = Path(__file__).with_suffix(".json")


def load_saved() -> dict[str, Any]:
    """The saved abstract: words, class names, probabilities, and attributions."""
    return dict(json.loads(SAVED.read_text(encoding="utf-8")))


def state_of(kept: Tensor) -> int:
    """Where a set of words is saved: 0 for the full text, i + 1 for the text without word i."""
    removed = (~kept).nonzero().flatten().tolist()
    if len(removed) > 1:
        raise ValueError(f"{len(removed)} words are removed; saved are texts without one word")
    return removed[0] + 1 if removed else 0


def medical_example() -> Html:
    """Return the figure with no word removed."""
    saved = load_saved()

    def probabilities(kept: Tensor) -> Tensor:
        return torch.tensor(saved["probabilities"][state_of(kept)])

    def attribution(method: int) -> Callable[[Tensor], Tensor]:
        return lambda kept: torch.tensor(saved["values"][state_of(kept)][method])

    methods = {name: attribution(m) for m, name in enumerate(saved["methods"])}
    return attribution_comparison(
        saved["words"], probabilities, methods, saved["names"], most=1, gone="[MASK] replaces it"
    )
