"""Translation language modeling (XLM): MLM on a sentence concatenated with its translation."""

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from deepdive.core.masks import describe


class TranslationPairs(NamedTuple):
    """Joined pairs, each (B, T); T is the longest pair's length.

    tokens     int64: the first sentence, then the second, then padding
    real       bool: True = not padding
    positions  int64: 0, 1, ... in the first sentence, and from 0 again in the second; 0 in padding
    languages  int64: of each token; padding has the second sentence's
    second     bool: True = a token of the second sentence
    """

    tokens: Tensor
    real: Tensor
    positions: Tensor
    languages: Tensor
    second: Tensor


def join_translations(
    first: Sequence[Sequence[int]],
    second: Sequence[Sequence[int]],
    languages: tuple[int | Sequence[int] | Tensor, int | Sequence[int] | Tensor],
    pad: int,
) -> TranslationPairs:
    """Concatenate each sentence with its translation.

        tokens    = first[b] + second[b] + padding
        positions = 0 .. len(first[b]) - 1, 0 .. len(second[b]) - 1

    first, second: token ids, one list per sentence, each with its own special tokens at both ends.
    languages: the first sentences' language and the second's, each one id, or one per pair.
    pad: the padding token.

    Mask both sentences by `mask_tokens(pairs.tokens, tokenizer)`; the loss is that of
    masked language modeling: a masked word can be predicted from the other language. Where
    the second sentences are empty, this is masked language modeling of the first alone.
    Raises ValueError for sides of different length, a pair without tokens, or languages that are
    neither one id nor one per pair.

    Source: Conneau and Lample 2019, section 3.4 and figure 1, and their released code
    (`concat_batches` with `reset_positions`).
    """
    if len(first) != len(second) or not len(first):
        raise ValueError(
            f"first has {len(first)} sentences, second {len(second)}: expected equal counts, "
            "1 or more"
        )
    lengths = torch.tensor([[len(a), len(b)] for a, b in zip(first, second, strict=True)])
    starts, ends = lengths[:, :1], lengths.sum(1, keepdim=True)  # of the second sentence, (B, 1)
    if int(ends.min()) == 0:
        empty = int(ends.argmin())
        raise ValueError(f"first[{empty}] and second[{empty}] are both empty: drop the pair")
    at = torch.arange(int(ends.max()))  # (T,)
    real, beyond = at < ends, at >= starts  # (B, T)
    tokens = torch.full(real.shape, pad)
    joined = [[*a, *b] for a, b in zip(first, second, strict=True)]
    tokens[real] = torch.tensor([token for ids in joined for token in ids])
    one, two = (_of_each(language, len(first)) for language in languages)
    return TranslationPairs(
        tokens,
        real,
        positions=(at - starts * beyond) * real,
        languages=torch.where(beyond, two, one),
        second=beyond & real,
    )


def _of_each(language: int | Sequence[int] | Tensor, rows: int) -> Tensor:
    """Return the language of each pair, (B, 1)."""
    ids = torch.as_tensor(language)
    if ids.is_floating_point() or ids.ndim > 1 or (ids.ndim == 1 and len(ids) != rows):
        raise ValueError(
            f"languages: got {describe(ids)} for {rows} pairs; give one id, or one per pair"
        )
    return ids.expand(rows)[:, None]
