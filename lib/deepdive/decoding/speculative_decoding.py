"""Speculative decoding: a draft model proposes tokens, the target model verifies them in one call.

The draft's token x, sampled from its q, is accepted with the probability min(1, p(x) / q(x)), where
p is the target model's. The first rejected token is resampled from the residual max(p - q, 0) /
sum; after accepted tokens only, one more from p. So each token is distributed as if from p:

    min(p(x), q(x))  +  max(p(x) - q(x), 0)  =  p(x)         # accepted, or resampled

A call of the target model generates at least one token and at most `ahead` + 1.

Source: Leviathan, Kalman and Matias 2023, algorithm 1; Chen et al. 2023, algorithm 2.
"""

from typing import NamedTuple

import torch
from torch import Tensor, nn

from deepdive.core.checks import positive
from deepdive.decoding.scores import cut
from deepdive.decoding.session import Prompt, check_logits, first_tokens, generating, lengths
from deepdive.tokenizers.base import BOS, EOS


class Speculated(NamedTuple):
    """The new tokens, without the end token; the number of calls of the target model; the number of
    drafted tokens, and how many of these were accepted (`stayed`).
    """

    tokens: list[int]
    calls: int
    drafted: int
    stayed: int


def speculative(
    model: nn.Module,
    draft: nn.Module,
    *,
    ahead: int = 4,
    temperature: float = 1.0,
    top_k: int | None = None,
    top_p: float | None = None,
    min_p: float | None = None,
    generator: torch.Generator | None = None,
    max_length: int = 128,
    prompt: Prompt | None = None,
    bos: int = BOS,
    eos: int | None = EOS,
) -> Speculated:
    """Sample one text from `model`, distributed as in `sample`, with `ahead` draft tokens per call.

    Temperature and filters apply to both models; top_k=1 is equal to `greedy`. The other arguments
    are as in `sample`, but the prompt has one row. Both models' states must have `crop(length)`.

    Raises ValueError for an `ahead` below 1, for a prompt of several rows and for vocabularies of
    different sizes, TypeError for a model without `begin` and `step` or a state without `crop`.
    """
    positive(ahead=ahead)
    first_tokens(draft, (), prompt, bos)
    rows = first_tokens(model, (), prompt, bos)
    if len(rows) != 1:
        raise ValueError(f"prompt: got {len(rows)} rows, expected 1: call once per sequence")
    text, P, calls, drafted, accepted = rows[0].tolist(), rows.shape[1], 0, 0, 0
    end = P + len(lengths(max_length))
    with generating(model) as step, generating(draft) as draft_step:
        target, drafter = (_Reader(each, (temperature, top_k, top_p, min_p), rows.device)
                          for each in (model, draft))  # fmt: skip
        while len(text) < end and eos not in text[P:]:
            step(calls)
            draft_step(calls)
            start = len(text)
            qs: list[Tensor] = []
            while len(qs) < min(ahead, end - start - 1) and (not qs or text[-1] != eos):
                qs.append(drafter.after(text, 1)[0])
                text.append(_draw(qs[-1], generator))
            ps = target.after(text, len(qs) + 1)
            new = _judged(ps, qs, text[start:], generator)
            text[start:] = new
            calls, drafted, accepted = calls + 1, drafted + len(qs), accepted + len(new) - 1
            for reader in (target, drafter):
                reader.forget(len(text) - 1)
    new = text[P:]
    return Speculated(new[: new.index(eos)] if eos in new else new, calls, drafted, accepted)


def _judged(
    ps: Tensor, qs: list[Tensor], guesses: list[int], generator: torch.Generator | None
) -> list[int]:
    """Return the accepted tokens and one more, given the target model's probabilities (n + 1, V) at
    the n drafted tokens and after the last, and the draft model's, n of (V,).
    """
    for n, (p, q, guess) in enumerate(zip(ps, qs, guesses, strict=False)):
        if p.shape != q.shape:
            raise ValueError(f"draft: got a vocabulary of {len(q)}, expected {len(p)}, as in model")
        accept = (p[guess] / q[guess]).clamp(max=1)
        if not _draw(torch.stack((1 - accept, accept)), generator):
            residual = (p - q).clamp(min=0)
            return [*guesses[:n], _draw(residual if residual.any() else p, generator)]
    return [*guesses, _draw(ps[-1], generator)]


def _draw(weights: Tensor, generator: torch.Generator | None) -> int:
    """Sample an index with probability proportional to `weights` (V,)."""
    return int(torch.multinomial(weights, 1, generator=generator))


class _Reader:
    """A model, its state (cache), and the number of tokens of the text in it."""

    def __init__(
        self, model: nn.Module, cuts: tuple[float, int | None, float | None, float | None],
        device: torch.device,
    ) -> None:  # fmt: skip
        self.model, self.cuts, self.device, self.length = model, cuts, device, 0
        self.state = model.begin()  # type: ignore[operator]
        if not callable(getattr(self.state, "crop", None)):
            raise TypeError(
                f"the state of {type(model).__name__} has no crop(length), which is needed to drop "
                "rejected tokens"
            )

    def after(self, text: list[int], n: int) -> Tensor:
        """Process new tokens; return the probabilities (n, V) after the text's last n tokens."""
        new = torch.tensor([text[self.length :]], device=self.device)
        logits = self.model.step(new, self.state)[0, -n:]  # type: ignore[operator]
        if self.length == 0:
            check_logits(logits)
        self.length = len(text)
        return cut(logits, *self.cuts).softmax(-1)

    def forget(self, length: int) -> None:
        """Crop the state to the first `length` tokens."""
        if length < self.length:
            self.state.crop(length)
            self.length = length
