"""From subword tokens to words: the attention and hidden states of each word of a sentence.

A parse tree relates words, but a model's input is subwords: *unhappily* may be three. `cut` aligns
tokens with words, `word_attention` and `word_states` pool tokens into words, and `read` runs a
model over many sentences and yields what its hook points recorded.
"""

from collections.abc import Callable, Iterator, Sequence

import torch
from torch import Tensor, nn

from deepdive.core.hooks import record

Encode = Callable[[str], list[int]]


def cut(
    encode: Encode, words: Sequence[str], first: int, last: int, unknown: int
) -> tuple[Tensor, Tensor]:
    """Return the token ids (T,) of a sentence between two special tokens, and their word ids (T,).

    encode         the ids of one word (a tokenizer's `encode`); a word without any is `unknown`
    first, last    the ids of the special tokens, [CLS] and [SEP]

    owner[t] is the word that token t belongs to: 0 for the first special token, 1 .. W for the
    words of the sentence, W + 1 for the last special token.
    """
    ids, owner = [first], [0]
    for index, word in enumerate(words, start=1):
        subwords = encode(word) or [unknown]
        ids += subwords
        owner += [index] * len(subwords)
    return torch.tensor([*ids, last]), torch.tensor([*owner, len(words) + 1])


def word_attention(weights: Tensor, owner: Tensor) -> Tensor:
    """Return word-level attention (..., W, W) for token-level attention (..., T, T).

        to_word[t, v] = sum of weights[t, s] over the tokens s of word v
        word[w, v]    = mean of to_word[t, v] over the tokens t of word w

    so rows that sum to 1 still do. `owner` (T,) has the word ids 0 .. W - 1, each at least once.
    Raises ValueError when the shapes do not fit or a word has no token.
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
    """Return each word's mean hidden state over its tokens, (..., W, d), for states (..., T, d).

    Raises ValueError when the shapes do not fit or a word has no token.
    """
    if states.ndim < 2 or states.shape[-2] != len(owner):
        raise ValueError(
            f"states have shape {tuple(states.shape)}, expected (..., {len(owner)}, d): one state "
            "per entry of owner"
        )
    member = _members(owner).to(states)
    return member.T / member.sum(0)[:, None] @ states


def _members(owner: Tensor) -> Tensor:
    """Membership matrix (T, W): does token t belong to word w?"""
    member = owner[:, None] == torch.arange(int(owner.max()) + 1, device=owner.device)
    empty = (~member.any(0)).nonzero().flatten().tolist()
    if empty:
        raise ValueError(f"owner: no token of the words {empty}; number words consecutively from 0")
    return member


def read(
    model: nn.Module, ids: Sequence[Tensor], *points: str, batch: int = 16
) -> Iterator[tuple[int, list[Tensor]]]:
    """Run the model over sentences; yield each one's index and its tensors at the hook points.

    ids       token ids (T,) of each sentence, of any lengths; batches go to `model(tokens, mask)`
    points    patterns of hook points, as in `deepdive.core.hooks.record`; a point's tensor is cut
              to the sentence's T tokens: (H, T, T) for weights, (T, d) for states

    Sentences are batched by length, so the order differs from the input's.
    """
    device = next(model.parameters()).device
    order = sorted(range(len(ids)), key=lambda i: len(ids[i]))
    for start in range(0, len(order), batch):
        chosen = order[start : start + batch]
        seqs = [ids[i].to(device) for i in chosen]
        tokens = nn.utils.rnn.pad_sequence(seqs, batch_first=True)
        mask = torch.tensor([[t < len(seq) for t in range(tokens.shape[1])] for seq in seqs])
        with torch.no_grad(), record(model, *points) as seen:
            model(tokens, mask.to(device))
        tensors = [values[0] for values in seen.values()]
        for b, i in enumerate(chosen):
            yield i, [_real(tensor[b], len(ids[i])) for tensor in tensors]


def _real(tensor: Tensor, length: int) -> Tensor:
    """The part of (H, T, T) or (T, d) without padding."""
    return tensor[:, :length, :length] if tensor.ndim == 3 else tensor[:length]
