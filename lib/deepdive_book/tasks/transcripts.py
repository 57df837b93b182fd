"""What a `Writer` writes of utterances, letter by letter; and what CTC beside it says of them."""

from __future__ import annotations

from typing import Any

from torch import Tensor

from deepdive.data.speech import Utterances
from deepdive.decoding.sampling import greedy
from deepdive.models.speech.asr_heads import Seq2SeqASR
from deepdive.tokenizers import BOS, EOS, CharTokenizer
from deepdive_book.tasks.speech import in_order, spelled


def written(
    model: Seq2SeqASR,
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


def said_beside(
    model: Seq2SeqASR, utterances: Utterances, tokenizer: CharTokenizer, **settings: Any
) -> list[str]:
    """Return what the scores on the encoder's states say of each utterance, without the decoder:
    the letters of the most probable path (CTC); `settings` as for `written`.
    """

    def of(features: Tensor, mask: Tensor) -> list[Tensor]:
        state = model.model.begin(features, mask)
        lengths = state.memory_mask.real.sum(1).tolist()
        return [rows[:n] for rows, n in zip(model.out(state.memory), lengths, strict=True)]

    return spelled(in_order(of, utterances, model, **settings), tokenizer)
