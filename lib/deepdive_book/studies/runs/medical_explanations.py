"""Word attributions of a fine-tuned classifier (case study 7), and how faithful they are.

text = Tokenized.of(abstract, tokenizer)                  # the words that fit, with their tokens
values = attributions(text.asked(model, label, mask_id))  # {method: (W,)}
scores = evaluate(text.asked(model, label, mask_id), values)  # {method: (compr., suff.)}
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from deepdive.core.hooks import record, replace
from deepdive.explain.evaluation.faithfulness import comprehensiveness, sufficiency
from deepdive.explain.games.game import margin
from deepdive.explain.rollout import one_call
from deepdive.explain.side_by_side import METHODS, Asked
from deepdive.layers.heads import Classifier
from deepdive.models.bert.bert import bert

POINT = "encoder.embeddings.embedded"
FRACTIONS = (0.05, 0.1, 0.2)  # of about eighty words: four, eight, sixteen


@dataclass(frozen=True)
class Tokenized:
    """The first words of a text, those that fit in `length` tokens, and their tokens."""

    words: tuple[str, ...]
    tokens: Tensor  # (1, T)
    owner: Tensor  # (T,): the word of each token, -1 for special tokens

    @classmethod
    def of(cls, text: str, tokenizer: Any, length: int = 128) -> "Tokenized":
        words: list[str] = []
        tokens, owner = [tokenizer.bos], [-1]
        for word in text.split():
            ids = tokenizer.encode(word)
            if len(tokens) + len(ids) + 1 > length:
                break
            if ids:
                tokens += ids
                owner += [len(words)] * len(ids)
                words.append(word)
        tokens.append(tokenizer.eos)
        owner.append(-1)
        return cls(tuple(words), torch.tensor([tokens]), torch.tensor(owner))

    def asked(self, model: nn.Module, label: int, mask: int) -> Asked:
        """The prediction to explain: the margin of `label`; a removed word becomes `mask`."""
        device = next(model.parameters()).device
        return Asked(model, POINT, self.tokens.to(device), self.owner, label, mask)

    def without(self, kept: Tensor, mask: int) -> "Tokenized":
        """The same text with `mask` for every word that isn't in `kept` (W,)."""
        gone = torch.cat([~kept, torch.zeros(1, dtype=torch.bool)])[self.owner]
        tokens = self.tokens.masked_fill(gone & (self.owner >= 0), mask)
        return Tokenized(self.words, tokens, self.owner)


def attributions(asked: Asked, names: tuple[str, ...] = tuple(METHODS)) -> dict[str, Tensor]:
    """Each method's attribution of each word, (W,)."""
    return {name: METHODS[name](asked).detach().cpu().double() for name in names}


def evaluate(asked: Asked, values: dict[str, Tensor]) -> dict[str, tuple[float, float]]:
    """Comprehensiveness and sufficiency of each attribution, in units of the margin.

    Comprehensiveness is the drop without the top words (higher is better), sufficiency the drop
    with only the top words (lower is better), averaged over `FRACTIONS`.
    """
    game = asked.game()
    return {
        name: (
            float(comprehensiveness(game, value, FRACTIONS)),
            float(sufficiency(game, value, FRACTIONS)),
        )
        for name, value in values.items()
    }


def on_embeddings(
    model: nn.Module, tokens: Tensor, label: int
) -> tuple[Callable[[Tensor], Tensor], Callable[[Tensor], Tensor]]:
    """The margin of `label` as a function of embeddings, and the embeddings of tokens.

    The first maps (B, T, d) to (B,), the second (1, T) to (T, d): token, position, and segment
    embeddings after layer normalization, the input of the first layer.
    """

    def score(x: Tensor) -> Tensor:
        with replace(model, POINT, x):
            return margin(model(tokens.expand(len(x), -1)), label)

    @torch.no_grad()
    def embedded(ids: Tensor) -> Tensor:
        with record(model, POINT) as seen:
            model(ids)
        return one_call(seen)[0][0]

    return score, embedded


def small_prediction(words: int = 10) -> Asked:
    """A text of random tokens, the last word of two, and a small BERT with random weights."""
    torch.manual_seed(0)
    encoder = bert(vocab_size=100, d_model=16, n_heads=2, n_layers=2, d_ff=32)
    model = Classifier(encoder, 16, 3).double().eval()
    owner = torch.tensor([-1, *range(words), words - 1, -1])
    tokens = torch.randint(5, 100, (1, len(owner)))
    label = int(model(tokens)[0].argmax())
    return Asked(model, POINT, tokens, owner, label, blank=4)
