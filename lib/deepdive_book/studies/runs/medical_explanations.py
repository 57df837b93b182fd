"""Case study 7: why does a tuned classifier say so? Each method's numbers for words, and how far
they can be trusted: what the model does without the words that a method puts first.

    one = Said.of(text, tokenizer)                         # words that fit, with their pieces
    values = reasons(one, model, label, mask_id)           # {method: (W,)}
    told = evaluate(one, model, label, mask_id, values)      # {method: (comprehensive, sufficient)}
"""

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from deepdive.explain.evaluation.faithfulness import comprehensiveness, sufficiency
from deepdive.explain.side_by_side import METHODS, Asked

POINT = "encoder.embeddings.embedded"
SHARES = (0.05, 0.1, 0.2)  # of about a hundred words: five, ten, twenty


@dataclass(frozen=True)
class Said:
    """The first words of a text, as many as a model's `length` tokens hold, and their pieces."""

    words: tuple[str, ...]
    tokens: Tensor  # (1, T)
    owner: Tensor  # (T,), -1 for marks

    @classmethod
    def of(cls, text: str, tokenizer: Any, length: int = 128) -> "Said":
        words: list[str] = []
        tokens, owner = [tokenizer.bos], [-1]
        for word in text.split():
            pieces = tokenizer.encode(word)
            if len(tokens) + len(pieces) + 1 > length:
                break
            if pieces:
                tokens += pieces
                owner += [len(words)] * len(pieces)
                words.append(word)
        tokens.append(tokenizer.eos)
        owner.append(-1)
        return cls(tuple(words), torch.tensor([tokens]), torch.tensor(owner))

    def asked(self, model: nn.Module, label: int, blank: int) -> Asked:
        """Why does `model` give this text this label? A word that is gone is `blank`."""
        device = next(model.parameters()).device
        return Asked(model, POINT, self.tokens.to(device), self.owner, label, blank)


def reasons(asked: Asked, names: tuple[str, ...] = tuple(METHODS)) -> dict[str, Tensor]:
    """What each method says of each word, (W,)."""
    return {name: METHODS[name](asked).detach().cpu().double() for name in names}


def evaluate(asked: Asked, values: dict[str, Tensor]) -> dict[str, tuple[float, float]]:
    """By how much the model's margin falls without the words that a method puts first
    (comprehensiveness: more is better), and with these alone (sufficiency: less is better).
    """
    game = asked.game()
    return {
        name: (
            float(comprehensiveness(game, value, SHARES)),
            float(sufficiency(game, value, SHARES)),
        )
        for name, value in values.items()
    }
