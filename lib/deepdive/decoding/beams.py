"""Beam search: the best unfinished sequences of a row grow side by side."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from deepdive.decoding.scores import Rule, check_choice, follow, renormalise
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
    """A sequence that the search found.

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
    """Return the `n_best` sequences of each row that a search of `width` finds, best first.

        score(y) = log p(y) / penalty(length(y), alpha)        # the end token counts as one

    Every beam is continued by every token. Among the best `width` continuations, those that end are
    put aside; the best `width` that do not end go on. A row is done when `width` sequences are
    aside and no beam could still beat one of them, if `look_ahead` more tokens cost it nothing: 0
    stops early, max_length is exact, None does not look at the beams. alpha = 0 leaves log p as is.

    The other arguments are those of `greedy`; here `rules` see log-probabilities.
    Raises ValueError for a width, n_best, alpha or look_ahead out of range, and where nothing may
    be chosen in a row that has no hypothesis yet.
    Source: Wu et al. 2016, section 7.
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
            precise = logits.to(torch.promote_types(logits.dtype, torch.float32))
            search.propose(follow(rules, renormalise(precise, length), length), length)
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
    return [found[:n_best] for found in search.aside]


class _Search:
    """What the search knows of its rows: the beams that grow, and the hypotheses put aside.

    rows     the R rows that are not done; the tensors below hold these only
    total    log p of each beam, (R, beams), best first
    written  the tokens of each beam, (R, beams, length)
    kept     how many of the continuations that `propose` finds go on as beams
    """

    def __init__(self, B: int, width: int, eos: int, device: torch.device) -> None:
        self.width, self.eos = width, eos
        self.rows = list(range(B))
        self.total = torch.zeros(B, 1, device=device)
        self.written = torch.empty(B, 1, 0, dtype=torch.int64, device=device)
        self.aside: list[list[Hypothesis]] = [[] for _ in self.rows]

    def propose(self, log_p: Tensor, length: int) -> None:
        """Find the best continuations of all beams, given log p of the next token (R * beams, V).

        `width` + beams of them are enough: each beam ends in one way at most.
        """
        R, n = self.total.shape
        V = log_p.shape[-1]
        totals = (self.total.unsqueeze(-1) + log_p.view(R, n, V)).flatten(1)  # (R, n * V)
        ends = n if 0 <= self.eos < V else 0
        self.best, index = totals.topk(min(self.width + ends, n * V))  # (R, k), best first
        self.parent, self.token = index // V, index % V
        self.kept = self.best.shape[1] - ends  # as many do not end, at least
        best = self.best[:, 0]
        if not (best > float("-inf")).all():
            lost = [r for r, row in enumerate(self.rows) if best[r].isnan() or not self.aside[row]]
            check_choice(best[lost], length, [self.rows[r] for r in lost])

    def put_aside(self, penalty: float, cut: bool) -> None:
        """Turn those of the best `width` that end into hypotheses, or all of them at the `cut`."""
        ends = self.token == self.eos
        chosen = (ends | cut) & (self.best > float("-inf"))
        for r, c in chosen[:, : self.width].nonzero().tolist():
            ended = bool(ends[r, c])
            tokens = self.written[r, self.parent[r, c]].tolist()
            log_prob = float(self.best[r, c])
            new = Hypothesis(
                tokens if ended else [*tokens, int(self.token[r, c])],
                log_prob,
                log_prob / penalty,
                ended,
            )
            found = self.aside[self.rows[r]]
            found.append(new)
            found.sort(key=lambda h: -h.score)
            del found[self.width :]

    def go_on(self, bound: float | None) -> Tensor:
        """Let the best `width` that do not end be the beams; return which old beam each continues.

        A row leaves when it has `width` hypotheses, and either there is no `bound` or its best
        beam, divided by it, is no better than the worst of them; and when no beam can go on.
        """
        n = self.total.shape[1]
        if self.kept == 0:  # a vocabulary that holds the end token only
            return self.parent.new_empty(0)
        open_ = self.best.masked_fill(self.token == self.eos, float("-inf"))
        total, chosen = open_.topk(self.kept)
        if chosen.shape[1] == n:
            order = _in_place(self.parent.gather(1, chosen))
            total, chosen = total.gather(1, order), chosen.gather(1, order)
        best = total.amax(dim=1)
        hopes = best / bound if bound else torch.full_like(best, float("-inf"))
        alive = (best > float("-inf")).tolist()
        stay = [r for r, hope in enumerate(hopes.tolist()) if alive[r] and self._hopeful(r, hope)]
        self.rows = [self.rows[r] for r in stay]
        self.total = total[stay]
        first = torch.tensor(stay, dtype=torch.int64, device=total.device).unsqueeze(1) * n
        index = (first + self.parent.gather(1, chosen)[stay]).flatten()
        token = self.token.gather(1, chosen)[stay]
        old = self.written.flatten(0, 1).index_select(0, index).unflatten(0, token.shape)
        self.written = torch.cat((old, token.unsqueeze(-1)), dim=-1)
        return index

    def _hopeful(self, r: int, hope: float) -> bool:
        found = self.aside[self.rows[r]]
        return len(found) < self.width or hope > found[-1].score


def _in_place(parent: Tensor) -> Tensor:
    """Order the continuations of each row (R, n), given the beam that each continues, so that the
    first of a beam takes its place: what is cached for it then need not move.
    """
    earlier = (parent.unsqueeze(2) == parent.unsqueeze(1)).tril(-1).any(2)  # its beam is taken
    childless = (
        torch.ones_like(parent).scatter(1, parent, 0).argsort(dim=1, descending=True, stable=True)
    )
    rank = (earlier.cumsum(1) - 1).clamp(min=0)
    return torch.where(earlier, childless.gather(1, rank), parent).argsort(1)
