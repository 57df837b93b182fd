"""Connectionist temporal classification (CTC): train T frames to output U labels, without an
alignment between them. Graves et al. 2006.

Each frame outputs a label, or the blank. A path is one output per frame; `collapse` maps it to a
label sequence: merge repeats, then remove blanks. So c c - a t t and - c a a - t both give "cat",
and two equal labels in a row need a blank between them. The probability of a label sequence is the
sum over all its paths, computed on a lattice without enumerating them. Its states z are the labels
with a blank before, between, and after them,

    z = - c - a - t -            # S = 2 U + 1
    alpha[t, s] = log of the total probability of all paths to state s after frame t
    alpha[0] = 0 in state 0, impossible elsewhere
    alpha[t, s] = logsumexp(alpha[t-1, s], alpha[t-1, s-1], alpha[t-1, s-2] if skip[s])
                  + log p[t, z[s]]
    skip[s] = z[s] is no blank, and z[s] != z[s-2]
    log p(text) = logsumexp(alpha[T, S-1], alpha[T, S-2])

What differs from cross-entropy:
- frames have no individual targets; the loss is -log p(text), marginalized over all alignments
- no alignment is needed, but there must be enough frames (`frames_needed`)

Source: Graves et al. 2006, sections 3 and 4.1; autograd replaces their backward recursion.
"""

from collections.abc import Iterable
from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor

from deepdive.core.masks import describe

NEVER = -1e30  # log of a probability of 0; finite, so that differences are not NaN


def collapse(path: Iterable[int], blank: int = 0) -> list[int]:
    """Return the label sequence of a path: merge repeats, then remove blanks.

    [0, 3, 3, 0, 3, 1] with blank 0 is [3, 3, 1].
    """
    text, last = [], blank
    for symbol in path:
        if symbol not in (last, blank):
            text.append(int(symbol))
        last = symbol
    return text


def frames_needed(targets: Tensor, target_lengths: Tensor) -> Tensor:
    """Return the fewest frames (B,) that can output each text: its labels, and a blank before
    each immediate repeat. targets int64 (B, U), the first `target_lengths` (B,) of which count.
    """
    here = torch.arange(targets.shape[1], device=targets.device) < target_lengths[:, None]
    twice = (targets[:, 1:] == targets[:, :-1]) & here[:, 1:]
    return target_lengths + twice.sum(1)


def ctc_loss(
    logits: Tensor, lengths: Tensor, targets: Tensor, target_lengths: Tensor, blank: int = 0
) -> Tensor:
    """Return -log p(text) of each sequence, (B,), without reduction.

    logits (B, T, V), of which the first `lengths` (B,) frames count; targets int64 (B, U), of which
    the first `target_lengths` (B,) count, none of them the blank. An empty text is all blanks.
    Raises ValueError for a text that needs more frames than there are (`frames_needed`).
    """
    alphas = forward(logits, lengths, targets, target_lengths, blank)
    batch = torch.arange(len(logits), device=logits.device)
    last = F.pad(alphas[lengths, batch], (1, 0), value=NEVER)  # (B, 1 + S): an empty text ends once
    ends = torch.stack((2 * target_lengths, 2 * target_lengths + 1), 1)
    return -last.gather(1, ends).logsumexp(1)


def forward(
    logits: Tensor, lengths: Tensor, targets: Tensor, target_lengths: Tensor, blank: int = 0
) -> Tensor:
    """Return alpha (T + 1, B, S), S = 2 U + 1; arguments and errors are those of `ctc_loss`.

    alpha[0] is before the first frame. Sequence b's last is alpha[lengths[b], b]; later values are
    undefined.
    """
    log_p, _, moves = lattice(logits, lengths, targets, target_lengths, blank)
    alpha = _before(moves)
    alphas = [alpha]
    for scores in log_p.unbind(1):
        alpha = _ways(alpha, moves).logsumexp(2) + scores
        alphas.append(alpha)
    return torch.stack(alphas)


class Alignment(NamedTuple):
    """The most probable path of a text.

    path      the label of each frame, including blanks
    spans     for each label of the text its first frame, and the one after its last
    log_prob  log p of this path alone
    """

    path: list[int]
    spans: list[tuple[int, int]]
    log_prob: float


@torch.no_grad()
def align(
    logits: Tensor, lengths: Tensor, targets: Tensor, target_lengths: Tensor, blank: int = 0
) -> list[Alignment]:
    """Return the most probable path of each text: `forward` with maxima instead of sums, then
    backtracking (Viterbi). Arguments and errors are those of `ctc_loss`.
    """
    log_p, states, moves = lattice(logits, lengths, targets, target_lengths, blank)
    best = _before(moves)
    bests, back = [best], []
    for scores in log_p.unbind(1):
        best, choice = _ways(best, moves).max(2)
        best = best + scores
        bests.append(best)
        back.append(2 - choice)  # how many states back
    found = []
    for b, (n, u) in enumerate(zip(lengths.tolist(), target_lengths.tolist(), strict=True)):
        end = bests[n][b]
        s = 2 * u if u == 0 or end[2 * u] >= end[2 * u - 1] else 2 * u - 1
        log_prob, visited = float(end[s]), []
        for t in reversed(range(n)):
            visited.append(s)
            s -= int(back[t][b, s])
        visited.reverse()
        spans = []
        for k in range(1, 2 * u, 2):
            first = visited.index(k)
            spans.append((first, first + visited.count(k)))
        found.append(Alignment(states[b, visited].tolist(), spans, log_prob))
    return found


def lattice(
    logits: Tensor, lengths: Tensor, targets: Tensor, target_lengths: Tensor, blank: int = 0
) -> tuple[Tensor, Tensor, Tensor]:
    """Return log p of each state's label in each frame (B, T, S), the states' labels z (B, S),
    and the transitions into each (B, S, 3), from two states before, one before and itself: 0, or
    `NEVER` where a path may not skip.
    """
    _check(logits, lengths, targets, target_lengths, blank)
    B, U = targets.shape
    here = torch.arange(U, device=targets.device) < target_lengths[:, None]
    states = targets.new_full((B, 2 * U + 1), blank)
    states[:, 1::2] = targets.where(here, blank)
    precise = torch.promote_types(logits.dtype, torch.float32)
    log_p = F.log_softmax(logits, -1, dtype=precise).clamp(min=NEVER)
    log_p = log_p.gather(2, states[:, None].expand(-1, log_p.shape[1], -1))
    moves = torch.zeros(B, 2 * U + 1, 3, dtype=precise, device=logits.device)
    skip = (states[:, 2:] != blank) & (states[:, 2:] != states[:, :-2])
    moves[:, 2:, 0].masked_fill_(~skip, NEVER)
    return log_p, states, moves


def _before(moves: Tensor) -> Tensor:
    """alpha[0], (B, S)."""
    alpha = torch.full_like(moves[..., 0], NEVER)
    alpha[:, 0] = 0.0
    return alpha


def _ways(alpha: Tensor, moves: Tensor) -> Tensor:
    """Each state's three predecessors, (B, S, 3), from alpha (B, S) of the previous frame."""
    return F.pad(alpha, (2, 0), value=NEVER).unfold(1, 3, 1) + moves


def _check(
    logits: Tensor, lengths: Tensor, targets: Tensor, target_lengths: Tensor, blank: int
) -> None:
    if logits.ndim != 3 or not logits.is_floating_point():
        raise ValueError(f"logits: got {describe(logits)}, expected floats (B, T, V)")
    B, T, V = logits.shape
    if not 0 <= blank < V:
        raise ValueError(f"blank={blank}: expected one of the {V} symbols of the logits")
    if targets.ndim != 2 or len(targets) != B or targets.dtype != torch.int64:
        raise ValueError(f"targets: got {describe(targets)}, expected int64 ({B}, U)")
    for name, value, most in (
        ("lengths", lengths, T),
        ("target_lengths", target_lengths, targets.shape[1]),
    ):
        if value.shape != (B,) or value.dtype != torch.int64:
            raise ValueError(f"{name}: got {describe(value)}, expected int64 ({B},)")
        if B and (int(value.min()) < 0 or int(value.max()) > most):
            raise ValueError(f"{name}={value.tolist()}: expected 0 to {most}")
    here = torch.arange(targets.shape[1], device=targets.device) < target_lengths[:, None]
    wrong = here & ((targets == blank) | (targets < 0) | (targets >= V))
    if wrong.any():
        b, u = wrong.nonzero()[0].tolist()
        raise ValueError(
            f"targets[{b}, {u}]={int(targets[b, u])}: expected a symbol below {V} that is not the "
            f"blank, {blank}"
        )
    needed = frames_needed(targets, target_lengths)
    short = (needed > lengths).nonzero()
    if len(short):
        b = int(short[0])
        raise ValueError(
            f"targets[{b}] needs {int(needed[b])} frames, {int(target_lengths[b])} symbols and a "
            f"blank between repeated symbols; lengths[{b}] is {int(lengths[b])}. "
            "Subsample less, or drop such sequences by `frames_needed`"
        )
