"""InfoXLM's cross-lingual contrast: match a sentence to its translation among many others, with
keys from a momentum encoder. The system's header is that of
`deepdive.models.multilingual.infoxlm`.
"""

from collections.abc import Sequence

import torch
from torch import Tensor

from deepdive.core.checks import not_negative
from deepdive.training.objectives.sentences import _alike
from deepdive.training.objectives.token import cross_entropy

Sentence = Sequence[int]
Pair = tuple[Sentence, Sentence]


class KeyQueue:
    """A FIFO queue of the newest `size` keys of earlier batches, `keys` (n, d) with n at most
    `size`, the oldest first; without gradient. Before the first batch it is empty.
    """

    def __init__(self, size: int) -> None:
        not_negative(size=size)
        self.size = size
        self.keys: Tensor | None = None

    def put(self, keys: Tensor) -> None:
        """Enqueue the keys (B, d) of a batch, after its loss was computed; dequeue the oldest."""
        keys = keys.detach() if self.keys is None else torch.cat((self.keys, keys.detach()))
        self.keys = keys[max(len(keys) - self.size, 0) :].clone()


def translation_contrast(
    queries: Tensor, keys: Tensor, queue: KeyQueue | None = None, temperature: float = 0.25
) -> Tensor:
    """Contrastive loss: match query i to key i, its translation, among the batch and the queue:

        loss = mean over i of  -log( exp(q_i . k_i / temperature)
                                     / sum over k in keys and queue of exp(q_i . k / temperature) )

    No gradient reaches a key: the teacher that computed it is updated by EMA. With an empty queue
    only the batch is used. The released code omits the batch's other keys, which enter its queue
    a step later; with a long queue that changes almost nothing.
    queries, keys: (B, d). Raises ValueError where shapes differ, the temperature is not above 0,
    or there is one key only.

    Source: Chi et al. 2021, section 3.3, equation of XlCo; the temperature is the code's default.
    """
    _alike(queries, keys, "queries", "keys")
    if not temperature > 0:
        raise ValueError(f"temperature: got {temperature}, expected a number above 0")
    every = keys.detach()
    if queue is not None and queue.keys is not None:
        every = torch.cat((every, queue.keys.to(every)))
    if len(every) < 2:
        raise ValueError("keys: got one and no queue, expected negatives to contrast with")
    right = torch.arange(len(queries), device=queries.device)
    return cross_entropy(queries @ every.T / temperature, right, pad=None)


def mix_translations(
    pairs: Sequence[Pair], others: Sequence[Pair], draw: torch.Generator | None = None
) -> list[Pair]:
    """Concatenate each pair (c, d) with one of `others` (c', d'), in one of two equiprobable ways:

        (c + c', d + d')    or    (c + d', d + c')

    Both sides have the same meaning in the same order, and in the second way each side has two
    languages. A model that used only the language, or one of the two sentences, would not match it.
    Sentences are lists of tokens. Raises ValueError unless there are as many others as pairs.

    Source: Chi et al. 2021, section 3.3, "mixup contrast".
    """
    if len(pairs) != len(others):
        raise ValueError(f"others: {len(others)} for {len(pairs)} pairs, expected one each")
    crossed = (torch.rand(len(pairs), generator=draw) < 0.5).tolist()
    mixed: list[Pair] = []
    for (c, d), other, cross in zip(pairs, others, crossed, strict=True):
        first, second = reversed(other) if cross else other
        mixed.append(([*c, *first], [*d, *second]))
    return mixed
