"""From word pieces to words: what a model did with each word of a sentence.

A tree joins words, a model reads pieces: *unhappily* may be three. `cut` says which piece belongs
to which word, `word_attention` and `word_states` go back from pieces to words, and the readers run
a model over many sentences and hand out what passed its hook points.
"""

from collections.abc import Callable, Iterator, Sequence

import torch
from torch import Tensor, nn

from deepdive.core.hooks import record

Encode = Callable[[str], list[int]]


def cut(
    encode: Encode, words: Sequence[str], first: int, last: int, unknown: int
) -> tuple[Tensor, Tensor]:
    """Return the ids (T,) of a sentence's pieces between two marks, and their owners (T,).

    encode         the ids of one word (a tokeniser's `encode`); a word without any is `unknown`
    first, last    the ids of the marks, [CLS] and [SEP]

    owner[t] is the word that piece t belongs to: 0 for the first mark, 1 .. W for the words of the
    sentence, W + 1 for the last mark.
    """
    ids, owner = [first], [0]
    for place, word in enumerate(words, start=1):
        pieces = encode(word) or [unknown]
        ids += pieces
        owner += [place] * len(pieces)
    return torch.tensor([*ids, last]), torch.tensor([*owner, len(words) + 1])


def word_attention(weights: Tensor, owner: Tensor) -> Tensor:
    """Return the attention between words (..., W, W) for that between their pieces (..., T, T).

        to_word[t, v] = sum of weights[t, s] over the pieces s of word v
        word[w, v]    = mean of to_word[t, v] over the pieces t of word w

    so that rows that sum to 1 still do. `owner` (T,) are integers 0 .. W - 1, each of them there.
    Raises ValueError when the shapes do not fit or a word has no piece.
    Source: Clark et al. 2019, section 4.1.
    """
    if weights.shape[-2:] != (len(owner), len(owner)):
        raise ValueError(
            f"weights have shape {tuple(weights.shape)}, expected (..., {len(owner)}, "
            f"{len(owner)}): one row and column for each entry of owner"
        )
    member = _members(owner).to(weights)
    return member.T / member.sum(0)[:, None] @ weights @ member


def word_states(states: Tensor, owner: Tensor) -> Tensor:
    """Return the mean state of each word's pieces (..., W, d) for states (..., T, d).

    Raises ValueError when the shapes do not fit or a word has no piece.
    """
    if states.ndim < 2 or states.shape[-2] != len(owner):
        raise ValueError(
            f"states have shape {tuple(states.shape)}, expected (..., {len(owner)}, d): one row "
            "for each entry of owner"
        )
    member = _members(owner).to(states)
    return member.T / member.sum(0)[:, None] @ states


def _members(owner: Tensor) -> Tensor:
    """(T, W): does piece t belong to word w?"""
    member = owner[:, None] == torch.arange(int(owner.max()) + 1, device=owner.device)
    empty = (~member.any(0)).nonzero().flatten().tolist()
    if empty:
        raise ValueError(f"owner names no piece of the words {empty}: number them without gaps")
    return member


def read(
    model: nn.Module, ids: Sequence[Tensor], *points: str, batch: int = 16
) -> Iterator[tuple[int, list[Tensor]]]:
    """Run the model over sentences; yield the place of each, and what passed the points in it.

    ids       a sentence's pieces (T,), of any lengths; `model(tokens, mask)` reads batches of them
    points    patterns of hook points, as in `deepdive.core.hooks.record`; a point's tensor is cut
    to
              the sentence's T pieces: (H, T, T) for weights, (T, d) for states

    Sentences of like length run together, so they come in another order than they are given.
    """
    device = next(model.parameters()).device
    order = sorted(range(len(ids)), key=lambda i: len(ids[i]))
    for start in range(0, len(order), batch):
        chosen = order[start : start + batch]
        rows = [ids[i].to(device) for i in chosen]
        tokens = nn.utils.rnn.pad_sequence(rows, batch_first=True)
        mask = torch.tensor([[t < len(row) for t in range(tokens.shape[1])] for row in rows])
        with torch.no_grad(), record(model, *points) as seen:
            model(tokens, mask.to(device))
        passed = [values[0] for values in seen.values()]
        for b, i in enumerate(chosen):
            yield i, [_real(tensor[b], len(ids[i])) for tensor in passed]


def _real(tensor: Tensor, length: int) -> Tensor:
    """The part of (H, T, T) or (T, d) that is no padding."""
    return tensor[:, :length, :length] if tensor.ndim == 3 else tensor[:length]
