"""What a `Writer` writes of utterances, letter by letter."""

from __future__ import annotations

from typing import Any

from torch import Tensor

from deepdive.data.speech import Utterances
from deepdive.decoding.one_by_one import greedy
from deepdive.tokenizers import BOS, EOS, CharTokenizer
from deepdive.training.tasks.speech import in_order
from deepdive.training.tasks.writing import Writer


def written(
    model: Writer,
    utterances: Utterances,
    tokenizer: CharTokenizer,
    longest: int = 100,
    **settings: Any,
) -> list[str]:
    """Return what the model writes of each utterance, the most probable letter at each step, at
    most `longest` of them; `settings` are those of `in_order`.
    """

    def of(features: Tensor, mask: Tensor) -> list[str]:
        ids = greedy(model.model, features, mask, bos=BOS, eos=EOS, max_length=longest)
        return [tokenizer.decode(row) for row in ids]

    return in_order(of, utterances, model, **settings)
