"""Speculative decoding: a quick model drafts a few tokens, the large one judges them in one call.

The draft's guess x, drawn from its q, stays with the probability min(1, p(x) / q(x)), where p is
the large model's. In the place of the first that does not stay, one token is drawn from what p has
more than q, max(p - q, 0) / sum; behind guesses that all stay, one from p. So every token comes as
if it had been drawn from p alone:

    min(p(x), q(x))  +  max(p(x) - q(x), 0)  =  p(x)         # its guess stayed, or one was refused

A call of the large model writes one token at least and `ahead` + 1 at most.

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
    """The new tokens, the end token left out; how often the large model was called for them; how
    many tokens were drafted, and how many of these stayed.
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
    """Draw one text from `model` as `sample` does, with `ahead` guesses of `draft` before a call.

    Temperature and cuts hold for both models; top_k=1 writes what `greedy` writes. The other
    arguments are those of `sample`, the prompt has one row. The states of both models can go back:
    they have `crop(length)`.
    Raises ValueError for an `ahead` below 1, for several rows and for vocabularies of two sizes,
    TypeError for a model that cannot step or go back.
    """
    positive(ahead=ahead)
    first_tokens(draft, (), prompt, bos)
    rows = first_tokens(model, (), prompt, bos)
    if len(rows) != 1:
        raise ValueError(
            f"prompt has {len(rows)} rows, and each needs a cache of its own: give one"
        )
    text, P, calls, drafted, stayed = rows[0].tolist(), rows.shape[1], 0, 0, 0
    end = P + len(lengths(max_length))
    with generating(model) as step, generating(draft) as draft_step:
        judge, guesser = (_Reader(each, (temperature, top_k, top_p, min_p), rows.device)
                          for each in (model, draft))  # fmt: skip
        while len(text) < end and eos not in text[P:]:
            step(calls)
            draft_step(calls)
            start = len(text)
            qs: list[Tensor] = []
            while len(qs) < min(ahead, end - start - 1) and (not qs or text[-1] != eos):
                qs.append(guesser.after(text, 1)[0])
                text.append(_draw(qs[-1], generator))
            ps = judge.after(text, len(qs) + 1)
            new = _judged(ps, qs, text[start:], generator)
            text[start:] = new
            calls, drafted, stayed = calls + 1, drafted + len(qs), stayed + len(new) - 1
            for reader in (judge, guesser):
                reader.forget(len(text) - 1)
    new = text[P:]
    return Speculated(new[: new.index(eos)] if eos in new else new, calls, drafted, stayed)


def _judged(
    ps: Tensor, qs: list[Tensor], guesses: list[int], generator: torch.Generator | None
) -> list[int]:
    """Return the guesses that stay, and one token more. Given are the large model's probabilities
    (n + 1, V) at each of the n guesses and behind the last, and the draft's, n of (V,).
    """
    for n, (p, q, guess) in enumerate(zip(ps, qs, guesses, strict=False)):
        if p.shape != q.shape:
            raise ValueError(f"draft has {len(q)} tokens and model {len(p)}: expected as many")
        stays = (p[guess] / q[guess]).clamp(max=1)
        if not _draw(torch.stack((1 - stays, stays)), generator):
            more = (p - q).clamp(min=0)
            return [*guesses[:n], _draw(more if more.any() else p, generator)]
    return [*guesses, _draw(ps[-1], generator)]


def _draw(weights: Tensor, generator: torch.Generator | None) -> int:
    """The one place where chance comes in: an index, drawn by its weight (V,)."""
    return int(torch.multinomial(weights, 1, generator=generator))


class _Reader:
    """A model, its state, and how many tokens of the text it has read."""

    def __init__(
        self, model: nn.Module, cuts: tuple[float, int | None, float | None, float | None],
        device: torch.device,
    ) -> None:  # fmt: skip
        self.model, self.cuts, self.device, self.length = model, cuts, device, 0
        self.state = model.begin()  # type: ignore[operator]
        if not callable(getattr(self.state, "crop", None)):
            raise TypeError(
                f"the state of {type(model).__name__} has no crop(length): it cannot go back "
                "behind a guess that did not stay"
            )

    def after(self, text: list[int], n: int) -> Tensor:
        """Read what is new of the text; return the probabilities (n, V) after its last n tokens."""
        new = torch.tensor([text[self.length :]], device=self.device)
        logits = self.model.step(new, self.state)[0, -n:]  # type: ignore[operator]
        if self.length == 0:
            check_logits(logits)
        self.length = len(text)
        return cut(logits, *self.cuts).softmax(-1)

    def forget(self, length: int) -> None:
        """Go back to the first `length` tokens, if more were read."""
        if length < self.length:
            self.state.crop(length)
            self.length = length
