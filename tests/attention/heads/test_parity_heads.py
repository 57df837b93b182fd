"""Heads that talk, share, disagree, or see at their own scale: the papers' equations as loops."""

from __future__ import annotations

import pytest
import torch
from parity_proofs import real, rows
from parity_registry import equal, equal_gradients, parity, perturb
from torch import Tensor

from deepdive.attention import (
    CollaborativeAttention,
    DisagreeingAttention,
    MultiScaleAttention,
    TalkingHeadsAttention,
)
from deepdive.attention.by_content.shared_columns import by_head, share
from deepdive.attention.heads.collaborative import collaborative
from deepdive.core import MultiHeadAttention
from deepdive.core.hooks import collect_losses, record
from deepdive.core.masks import Causal, Padding


def softmax(scores: list[Tensor], allowed: list[bool]) -> list[Tensor]:
    """The softmax over the allowed entries, by hand; 0 elsewhere."""
    powers = [s.exp() if yes else s * 0 for s, yes in zip(scores, allowed, strict=True)]
    total = sum(powers)
    return [p / total if any(allowed) else p for p in powers]


@parity(TalkingHeadsAttention)
def talking_heads() -> None:
    """Shazeer et al. 2020: J = Q K^T, L = J P_l, W = softmax(L), U = W P_w, O = U V, by loops.

    The scale, a mask and a bias are the library's: the first on J, the others on L.
    """
    B, H, maps, T, S, d = 2, 3, 4, 5, 7, 4
    ours = perturb(TalkingHeadsAttention(H, maps).double())
    q, k, v = (rows(B, H, n, d, seed=i) for i, n in enumerate((T, S, S)))
    bias, keys = rows(maps, T, S, seed=3), real([7, 4], S)
    mask = Padding(keys) & Causal()
    allowed = mask.dense(T, S).expand(B, 1, T, S)
    out = []
    for b in range(B):
        for t in range(T):
            J = [[d**-0.5 * (q[b, i, t] * k[b, i, s]).sum() for s in range(S)] for i in range(H)]
            U = [[torch.zeros((), dtype=torch.float64)] * S for _ in range(H)]
            for m in range(maps):
                L = [
                    sum(ours.before[i, m] * J[i][s] for i in range(H)) + bias[m, t, s]
                    for s in range(S)
                ]
                W = softmax(L, allowed[b, 0, t].tolist())
                U = [[U[j][s] + ours.after[m, j] * W[s] for s in range(S)] for j in range(H)]
            out.append([sum(U[j][s] * v[b, j, s] for s in range(S)) for j in range(H)])
    expected = torch.stack([torch.stack(row) for row in out]).view(B, T, H, d).transpose(1, 2)
    output = ours(q, k, v, mask, bias)
    equal(output, expected)
    leaves = {"q": (q, q), "k": (k, k), "v": (v, v), "bias": (bias, bias)}
    leaves |= {name: (p, p) for name, p in ours.named_parameters()}
    equal_gradients(output, expected, leaves)


def test_mixing_the_wrong_way_round_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    from deepdive.attention.heads import talking_heads as module

    def other(mixing: Tensor, maps: Tensor) -> Tensor:
        turned = mixing if mixing.shape[0] == mixing.shape[1] else mixing.flip(0).T
        return (turned @ maps.flatten(2)).unflatten(2, maps.shape[2:])

    monkeypatch.setattr(module, "across", other)
    with pytest.raises(AssertionError):
        talking_heads()


@parity(CollaborativeAttention)
def collaborative_heads() -> None:
    """Cordonnier et al. 2020: scores x_t Q diag(m_h) K^T y_s + content_h y_s, entry by entry."""
    B, T, S, H, R = 2, 4, 6, 3, 5
    ours = perturb(CollaborativeAttention(12, H, R, d_context=10).double())
    x, y = rows(B, T, 12), rows(B, S, 10, seed=1)
    keys = real([6, 4], S)
    K, content, V = ours.kv.weight.split([R, H, 12])
    v_bias = ours.kv.bias[-12:]
    scale, heads = (R / H) ** -0.5, []
    for b in range(B):
        for t in range(T):
            for h in range(H):
                scores = []
                for s in range(S):
                    score = (content[h] * y[b, s]).sum()
                    for r in range(R):
                        asked = (ours.q.weight[r] * x[b, t]).sum() * ours.mixing[h, r]
                        score = score + asked * (K[r] * y[b, s]).sum()
                    scores.append(scale * score)
                W = softmax(scores, keys[b].tolist())
                part = slice(4 * h, 4 * h + 4)
                heads.append(sum(W[s] * (V[part] @ y[b, s] + v_bias[part]) for s in range(S)))
    joined = torch.stack(heads).view(B, T, 12)
    expected = joined @ ours.out.weight.T + ours.out.bias
    output = ours(x, memory=y, memory_mask=Padding(keys))
    equal(output, expected)
    leaves = {"x": (x, x), "y": (y, y)} | {n: (p, p) for n, p in ours.named_parameters()}
    equal_gradients(output, expected, leaves)


def test_content_that_is_left_out_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    kept = CollaborativeAttention.queries

    def without(self: CollaborativeAttention, x: Tensor) -> Tensor:
        queries = kept(self, x)
        return torch.cat([queries[..., : self.d_shared], 0 * queries[..., self.d_shared :]], -1)

    monkeypatch.setattr(CollaborativeAttention, "queries", without)
    with pytest.raises(AssertionError):
        collaborative_heads()


def test_the_error_of_a_conversion_is_that_of_the_written_out_tensor() -> None:
    layer = perturb(MultiHeadAttention(24, 4).double())
    w_q, w_k = (w.unflatten(0, (4, 6)).mT for w in (layer.q.weight, layer.kv.weight[:24]))
    wanted, errors = w_q @ w_k.mT, []
    for R in (4, 8, 12, 18, 23, 24, 30):
        found, error = collaborative(layer, R)
        made = torch.einsum("rd,hr,re->hde", found.q.weight, found.mixing, found.kv.weight[:R])
        written = ((wanted - made).norm() / wanted.norm()).item()
        assert abs(error - written) < 1e-7
        q, k, m = by_head(w_q, w_k, min(R, 24))
        alone = (wanted - torch.einsum("dr,hr,er->hde", q, m, k)).norm() / wanted.norm()
        assert error <= alone + 1e-9, "sharing is never worse than heads that share nothing"
        errors.append(error)
    assert errors == sorted(errors, reverse=True)
    assert errors[-2:] == [0.0, 0.0]


def test_a_tensor_of_low_rank_is_found() -> None:
    """Heads made of 3 shared columns: no head is of rank 3 alone among 4, all are together."""
    Q, K, M = (rows(n, 3, seed=i).detach() for i, n in enumerate((12, 10, 4)))
    w_q = torch.stack([torch.cat([Q * M[h], torch.zeros(12, 1)], 1) for h in range(4)])
    w_k = torch.cat([K, torch.zeros(10, 1)], 1).expand(4, 10, 4)
    assert share(w_q, w_k, 3, rounds=300)[3] < 1e-6
    q, k, m = by_head(w_q, w_k, 3)
    alone = torch.einsum("dr,hr,er->hde", q, m, k)
    assert ((w_q @ w_k.mT - alone).norm() / alone.norm()) > 0.3


def test_the_query_bias_is_converted_and_the_key_bias_moves_nothing() -> None:
    layer = perturb(MultiHeadAttention(12, 3).double())
    x, keys = rows(2, 5, 12).detach(), Padding(real([5, 3], 5))
    found, _ = collaborative(layer, 12)
    seen = []
    for one in (layer, found):
        with record(one, "mechanism.weights") as maps:
            one(x, mask=keys)
        seen.append(maps["mechanism.weights"][0])
    equal(*seen)
    assert found.kv.bias[:15].abs().max() == 0


@parity(DisagreeingAttention)
def disagreement() -> None:
    """Li et al. 2018: mean cosines of V and O, mean overlap of A, over all pairs of heads."""
    B, H, T, d = 2, 3, 5, 4
    weights = (0.5, 2.0, 3.0)
    ours = DisagreeingAttention(subspace=weights[0], position=weights[1], output=weights[2])
    q, k, v = (rows(B, H, T, d, seed=i) for i in range(3))
    keys = real([5, 3], T)
    with collect_losses(ours) as losses:
        ours(q, k, v, Padding(keys))
    n = int(keys.sum())
    terms = [torch.zeros((), dtype=torch.float64)] * 3
    for b, t in keys.nonzero().tolist():
        A, outputs = [], []
        for h in range(H):
            scores = [q[b, h, t] @ k[b, h, s] / d**0.5 for s in range(T)]
            A.append(torch.stack(softmax(scores, keys[b].tolist())))
            outputs.append(sum(A[h][s] * v[b, h, s] for s in range(T)))
        for i in range(H):
            for j in range(H):
                pairs = [(v[b, i, t], v[b, j, t]), (outputs[i], outputs[j])]
                cosines = [(x @ y) / (x.norm() * y.norm()) for x, y in pairs]
                each = (cosines[0], (A[i] * A[j]).abs().sum(), cosines[1])
                terms = [m + e / (H * H * n) for m, e in zip(terms, each, strict=True)]
    expected = sum(w * term for w, term in zip(weights, terms, strict=True))
    loss = torch.as_tensor(losses.total())
    equal(loss, torch.as_tensor(expected))
    equal_gradients(loss, torch.as_tensor(expected), {"q": (q, q), "k": (k, k), "v": (v, v)})


def test_a_loss_that_counts_padding_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    from deepdive.attention.heads import disagreement as module

    monkeypatch.setattr(module, "_mean", lambda values, real: values.mean())
    with pytest.raises(AssertionError):
        disagreement()


def test_fit_adds_the_loss_and_heads_part() -> None:
    """The collected loss trains: copies that are told apart by nothing else drift apart."""
    from deepdive.attention.heads.disagreement import agreement

    torch.manual_seed(0)
    layer = MultiHeadAttention(8, 2, mechanism=DisagreeingAttention(subspace=1.0))
    with torch.no_grad():
        layer.kv.weight[12:] = layer.kv.weight[8:12] + 0.1 * torch.randn(4, 8)
    x, optimizer = torch.randn(4, 6, 8), torch.optim.SGD(layer.parameters(), lr=1.0)

    def alike() -> float:
        with record(layer, "values") as seen:
            layer(x)
        return agreement(seen["values"][0], torch.ones(1, 6).bool()).item()

    start = alike()
    for _ in range(100):
        optimizer.zero_grad()
        with collect_losses(layer) as losses:
            layer(x)
        torch.as_tensor(losses.total()).backward()
        optimizer.step()
    assert start > 0.95
    assert alike() < 0.6


@parity(MultiScaleAttention)
def multi_scale() -> None:
    """Guo et al. 2020: in head h query t reads keys t - w_h ... t + w_h, row by row."""
    reaches, B, T, S, d = (2, None, 0, 2, 1), 2, 5, 9, 4
    ours = MultiScaleAttention(reaches)
    q, k, v = (rows(B, 5, n, d, seed=i) for i, n in enumerate((T, S, S)))
    keys = real([9, 6], S)
    for causal in (False, True):
        out = []
        for b in range(B):
            for h, reach in enumerate(reaches):
                for t in range(S - T, S):  # the last T places
                    near = [
                        bool(keys[b, s])
                        and (reach is None or abs(t - s) <= reach)
                        and (s <= t or not causal)
                        for s in range(S)
                    ]
                    scores = [d**-0.5 * (q[b, h, t - S + T] * k[b, h, s]).sum() for s in range(S)]
                    W = softmax(scores, near)
                    out.append(sum(W[s] * v[b, h, s] for s in range(S)))
        expected = torch.stack(out).view(B, 5, T, d)
        mask = Padding(keys) & Causal() if causal else Padding(keys)
        output = ours(q, k, v, mask)
        equal(output, expected)
        equal_gradients(output, expected, {"q": (q, q), "k": (k, k), "v": (v, v)})


def test_heads_in_the_order_of_their_groups_are_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Tensor, "argsort", lambda order: torch.arange(len(order)))
    with pytest.raises(AssertionError):
        multi_scale()
