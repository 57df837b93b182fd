"""Beam search: the best unfinished hypotheses of a sequence are extended in parallel."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from deepdive.decoding.scores import Rule, check_choice, follow, renormalize
from deepdive.decoding.session import Prompt, check_logits, first_tokens, generating, lengths
from deepdive.tokenizers.base import BOS, EOS

Penalty = Callable[[int, float], float]


def wu_penalty(length: int, alpha: float) -> float:
    """((5 + length) / 6) ** alpha. Source: Wu et al. 2016, equation 14."""
    return float(((5 + length) / 6) ** alpha)


def power_penalty(length: int, alpha: float) -> float:
    """length ** alpha: with alpha = 1 a score is the mean log-probability of a token."""
    return float(length**alpha)


@dataclass(frozen=True)
class Hypothesis:
    """A finished hypothesis of beam search.

    `log_prob` sums log p(token) over `tokens` and the end token; `score` is that sum divided by the
    length penalty, and decides the order. `ended` is false for one that was cut at max_length.
    """

    tokens: list[int]
    log_prob: float
    score: float
    ended: bool


def beam(
    model: nn.Module,
    *inputs: Any,
    width: int = 4,
    alpha: float = 0.6,
    penalty: Penalty = wu_penalty,
    n_best: int = 1,
    look_ahead: int | None = 0,
    max_length: int = 128,
    prompt: Prompt | None = None,
    bos: int = BOS,
    eos: int | None = EOS,
    rules: Sequence[Rule] = (),
) -> list[list[Hypothesis]]:
    """Return the `n_best` hypotheses of each example from beam search of `width`, best first.

        score(y) = log p(y) / penalty(length(y), alpha)        # the end token counts as one

    Every beam is extended by every token. Among the best `width` continuations, those that end are
    finished; the best `width` that do not end are the next beams. An example is done when `width`
    hypotheses are finished and no beam could still beat one of them if its next `look_ahead` tokens
    had log p = 0. `look_ahead` = 0 stops early, max_length makes the test exact, and None stops at
    `width` finished hypotheses. alpha = 0 leaves log p as it is.

    The other arguments are as in `greedy`, but `rules` receive log-probabilities.
    Raises ValueError for a width, n_best, alpha or look_ahead out of range, and if no token is
    allowed for an example without a hypothesis. Source: Wu et al. 2016, section 7.
    """
    if not 1 <= n_best <= width:
        raise ValueError(f"beam needs 1 <= n_best <= width; got n_best={n_best}, width={width}")
    if not alpha >= 0 or (look_ahead or 0) < 0:
        raise ValueError(
            f"alpha and look_ahead must not be negative; got alpha={alpha}, look_ahead={look_ahead}"
        )
    tokens = first_tokens(model, inputs, prompt, bos)
    search = _Search(len(tokens), width, -1 if eos is None else eos, tokens.device)
    with generating(model) as step:
        state = model.begin(*inputs)  # type: ignore[operator]
        for length in lengths(max_length):
            step(length)
            logits = model.step(tokens, state)[:, -1]  # type: ignore[operator]
            if length == 0:
                check_logits(logits)
            dtype = logits.to(torch.promote_types(logits.dtype, torch.float32))
            search.propose(follow(rules, renormalize(dtype, length), length), length)
            search.put_aside(penalty(length + 1, alpha), cut=length + 1 == max_length)
            if length + 1 == max_length:
                break
            index = search.go_on(
                None
                if look_ahead is None
                else penalty(min(length + 1 + look_ahead, max_length), alpha)
            )
            if len(index) == 0:
                break
            state.reorder(index)
            tokens = search.written[:, :, -1].reshape(-1, 1)
    return [hypotheses[:n_best] for hypotheses in search.aside]


class _Search:
    """The state of the search: the beams of each example, and its finished hypotheses.

    rows     the R examples that are not done; the tensors below contain only these
    total    log p of each beam, (R, beams), best first
    written  the generated tokens of each beam, (R, beams, length)
    kept     how many continuations from `propose` become the next beams
    """

    def __init__(self, B: int, width: int, eos: int, device: torch.device) -> None:
        self.width, self.eos = width, eos
        self.rows = list(range(B))
        self.total = torch.zeros(B, 1, device=device)
        self.written = torch.empty(B, 1, 0, dtype=torch.int64, device=device)
        self.aside: list[list[Hypothesis]] = [[] for _ in self.rows]

    def propose(self, log_p: Tensor, length: int) -> None:
        """Find the best continuations of all beams, given log p of the next token (R * beams, V).

        The best `width` + beams are enough, because at most one continuation per beam is `eos`.
        """
        R, n = self.total.shape
        V = log_p.shape[-1]
        totals = (self.total.unsqueeze(-1) + log_p.view(R, n, V)).flatten(1)  # (R, n * V)
        ends = n if 0 <= self.eos < V else 0
        self.best, index = totals.topk(min(self.width + ends, n * V))  # (R, k), best first
        self.parent, self.token = index // V, index % V
        self.kept = self.best.shape[1] - ends  # at least this many do not end
        best = self.best[:, 0]
        if not (best > float("-inf")).all():
            bad = [r for r, row in enumerate(self.rows) if best[r].isnan() or not self.aside[row]]
            check_choice(best[bad], length, [self.rows[r] for r in bad])

    def put_aside(self, penalty: float, cut: bool) -> None:
        """Finish those of the best `width` that end; all of them at max_length (`cut`)."""
        ends = self.token == self.eos
        finished = (ends | cut) & (self.best > float("-inf"))
        for r, c in finished[:, : self.width].nonzero().tolist():
            ended = bool(ends[r, c])
            tokens = self.written[r, self.parent[r, c]].tolist()
            log_prob = float(self.best[r, c])
            new = Hypothesis(
                tokens if ended else [*tokens, int(self.token[r, c])],
                log_prob,
                log_prob / penalty,
                ended,
            )
            hypotheses = self.aside[self.rows[r]]
            hypotheses.append(new)
            hypotheses.sort(key=lambda h: -h.score)
            del hypotheses[self.width :]

    def go_on(self, bound: float | None) -> Tensor:
        """Select the next beams, the best `width` that do not end; return each one's parent beam.

        An example is done if no beam can be extended, or if it has `width` hypotheses and either
        `bound` is None or log p of its best beam / `bound` does not exceed their worst score.
        """
        n = self.total.shape[1]
        if self.kept == 0:  # a vocabulary with only the end token
            return self.parent.new_empty(0)
        unfinished = self.best.masked_fill(self.token == self.eos, float("-inf"))
        total, top = unfinished.topk(self.kept)
        if top.shape[1] == n:
            order = _in_place(self.parent.gather(1, top))
            total, top = total.gather(1, order), top.gather(1, order)
        best = total.amax(dim=1)
        bounds = best / bound if bound else torch.full_like(best, float("-inf"))
        alive = (best > float("-inf")).tolist()
        rows = [r for r, b in enumerate(bounds.tolist()) if alive[r] and self._hopeful(r, b)]
        self.rows = [self.rows[r] for r in rows]
        self.total = total[rows]
        first = torch.tensor(rows, dtype=torch.int64, device=total.device).unsqueeze(1) * n
        index = (first + self.parent.gather(1, top)[rows]).flatten()
        token = self.token.gather(1, top)[rows]
        old = self.written.flatten(0, 1).index_select(0, index).unflatten(0, token.shape)
        self.written = torch.cat((old, token.unsqueeze(-1)), dim=-1)
        return index

    def _hopeful(self, r: int, bound: float) -> bool:
        hypotheses = self.aside[self.rows[r]]
        return len(hypotheses) < self.width or bound > hypotheses[-1].score


def _in_place(parent: Tensor) -> Tensor:
    """Return an order of each example's continuations, given their parent beams (R, n), in which a
    beam's first continuation keeps the beam's index, so that its cache need not be copied.
    """
    used = (parent.unsqueeze(2) == parent.unsqueeze(1)).tril(-1).any(2)  # parent already taken
    free = (
        torch.ones_like(parent).scatter(1, parent, 0).argsort(dim=1, descending=True, stable=True)
    )
    rank = (used.cumsum(1) - 1).clamp(min=0)
    return torch.where(used, free.gather(1, rank), parent).argsort(1)
