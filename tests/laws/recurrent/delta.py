"""Cases of `deepdive.recurrent.delta`."""

from __future__ import annotations

import torch
from torch import Tensor

from deepdive.core.masks import Window
from deepdive.recurrent.delta import GatedDelta, delta_chunk, delta_steps
from deepdive.recurrent.state import RecurrentState
from laws import IN_ORDER, Case, case, random_rows, with_state

X = random_rows(2, 5, 16)
ONE, ROWS = torch.ones(2, 3, 5).double(), torch.zeros(2, 3, 16)


def given() -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """q, k of length 1, v, and an empty memory."""
    q, k, v = (random_rows(2, 3, 5, 6, seed=seed) for seed in range(3))
    return q, k / k.norm(dim=-1, keepdim=True), v, torch.zeros(2, 3, 6, 6).double()


def linear_attention() -> tuple[Tensor, Tensor]:
    """Keys at right angles, all kept, all written: nothing is ever corrected."""
    q, _, v, S = given()
    k = torch.linalg.qr(random_rows(2, 3, 6, 6))[0][:, :, :5]
    return delta_chunk(q, k, v, 0 * ONE, ONE, S)[0], (q @ k.mT).tril() @ v


def the_delta_rule() -> tuple[Tensor, Tensor]:
    """All kept: S (I - write k k^T) + write v k^T, as Schlag et al. write it (of S turned)."""
    q, k, v, S = given()
    write, outputs = random_rows(2, 3, 5).sigmoid(), []
    W = S.mT  # (d_v, d_k)
    for t in range(5):
        k_t, w = k[:, :, t, :, None], write[:, :, t, None, None]
        W = W @ (torch.eye(6).double() - w * k_t @ k_t.mT) + w * v[:, :, t, :, None] @ k_t.mT
        outputs.append((W @ q[:, :, t, :, None])[..., 0])
    return delta_chunk(q, k, v, 0 * ONE, write, S)[0], torch.stack(outputs, 2)


def exact_recall() -> tuple[Tensor, Tensor]:
    """All written: a key asked at once answers with its value, though others stand there."""
    _, k, v, S = given()
    return delta_chunk(k, k, v, -ONE, ONE, S + 1)[0], v


def nothing_kept() -> tuple[Tensor, Tensor]:
    q, k, v, S = given()
    return delta_chunk(q, k, v, -500 * ONE, ONE, S + 1)[0], (q * k).sum(-1, keepdim=True) * v


def step_by_step() -> tuple[Tensor, Tensor]:
    q, k, v, S = given()
    keep, write = -random_rows(2, 3, 5).exp(), random_rows(2, 3, 5, seed=6).sigmoid()
    chunk, steps = (form(q, k, v, keep, write, S + 1) for form in (delta_chunk, delta_steps))
    return torch.cat(chunk, -2), torch.cat(steps, -2)


def short_chunks() -> tuple[Tensor, Tensor]:
    torch.manual_seed(0)
    short, long = GatedDelta(16, 4, chunk=2).double(), GatedDelta(16, 4).double()
    short.load_state_dict(long.state_dict())
    return short(X), long(X)


@case("GatedDelta", GatedDelta)
def _() -> Case:
    return Case(
        make=lambda: GatedDelta(16, 4, chunk=2),
        run=with_state,
        begin=lambda layer: RecurrentState(),
        parity="transformers torch_recurrent_gated_delta_rule, torch_chunk_gated_delta_rule",
        limits={
            "all kept: the delta rule": the_delta_rule,
            "and keys at right angles: linear attention": linear_attention,
            "all written: a key answers with its value": exact_recall,
            "nothing kept: the token alone": nothing_kept,
            "in a chunk: step by step": step_by_step,
            "in short chunks: in one": short_chunks,
        },
        refusals={
            "heads that do not divide": lambda: GatedDelta(16, 3),
            "rows of another width": lambda: GatedDelta(16, 4)(ROWS[..., :8]),
            "a window": lambda: GatedDelta(16, 4)(ROWS, Window(1)),
            "another's memory": lambda: GatedDelta(16, 4)(
                ROWS, None, RecurrentState((torch.zeros(2, 4),))
            ),
        },
        laws=IN_ORDER,
    )
