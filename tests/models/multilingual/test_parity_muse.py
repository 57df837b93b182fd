"""mUSE: its pooling against sentence-transformers, its encoder against torch's, its heads by loops.
No installable model is known to prove the whole.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from unittest import mock

import pytest
import torch
import torch.nn.functional as F
from parity_proofs import real, rows
from parity_registry import equal, equal_gradients, parity
from sentence_transformers.sentence_transformer.modules import Pooling
from torch import Tensor, nn

from deepdive.layers.heads.pretraining import AttentionPooling
from deepdive.models.multilingual import muse
from deepdive.models.multilingual.muse import Muse, root_sum
from deepdive.training.objectives import additive_margin

MASK = real([6, 4, 1], 6)
TOKENS = torch.randint(4, 32, (3, 6), generator=torch.Generator().manual_seed(0))


def theirs_of(ours: Muse) -> nn.TransformerEncoder:
    """torch's encoder with our weights."""
    layer = nn.TransformerEncoderLayer(32, 4, 64, 0.0, batch_first=True)
    theirs = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False).double().eval()
    with torch.no_grad():
        for one, block in zip(theirs.layers, ours.encoder.stack.blocks, strict=True):
            attn = block.attn
            one.self_attn.in_proj_weight.copy_(torch.cat((attn.q.weight, attn.kv.weight)))
            one.self_attn.in_proj_bias.copy_(torch.cat((attn.q.bias, attn.kv.bias)))
            for into, of in (
                (one.self_attn.out_proj, attn.out), (one.linear1, block.ff.inner),
                (one.linear2, block.ff.out), (one.norm1, block.attn_residual.norm),
                (one.norm2, block.ff_residual.norm),
            ):  # fmt: skip
                into.load_state_dict(of.state_dict())
    return theirs


@parity(Muse)
def muse_agrees() -> None:
    torch.manual_seed(0)
    ours = muse.tiny().double().eval()
    with torch.no_grad():
        for parameter in ours.parameters():
            parameter.add_(0.1 * torch.randn_like(parameter))
    theirs = theirs_of(ours)
    x = rows(3, 6, 32)
    states = ours.encoder.stack(x, mask=muse_mask())
    expected = theirs(x, src_key_padding_mask=~MASK)
    equal(states[MASK], expected[MASK])
    pooled = Pooling(32, "mean_sqrt_len_tokens")(
        {"token_embeddings": expected, "attention_mask": MASK.long()}
    )["sentence_embedding"]
    found = root_sum(states, MASK)
    equal(found, pooled)
    equal_gradients(found, pooled, {"x": (x, x)})
    waves = torch.zeros(6, 32, dtype=torch.float64)
    for t, i in itertools.product(range(6), range(32)):
        waves[t, i] = (math.cos if i % 2 else math.sin)(t / 10_000 ** ((i - i % 2) / 32))
    embedded = ours.encoder.embedding.weight[TOKENS] * 32**0.5 + waves
    vectors = root_sum(theirs(embedded, src_key_padding_mask=~MASK), MASK)
    equal(ours(TOKENS, MASK), vectors / vectors.norm(dim=-1, keepdim=True))


def muse_mask() -> object:
    from deepdive.core.masks import Padding

    return Padding(MASK)


@parity(AttentionPooling)
def attention_pooling_agrees() -> None:
    part, x = AttentionPooling(8).double(), rows(3, 6, 8)
    with torch.no_grad():
        part.score.weight.copy_(rows(1, 8, seed=1))
    asked = part.score.weight.expand(3, 1, 8)
    expected = F.scaled_dot_product_attention(
        asked, x, x, attn_mask=MASK[:, None], scale=1.0
    ).squeeze(1)
    found = part(x, MASK)
    equal(found, expected)
    equal_gradients(found, expected, {"x": (x, x)})


def test_the_heads_by_loops() -> None:
    """normalise(W2 tanh(W1 [a ; c] + b1) + b2), and logits of [u ; v ; |u - v| ; u * v]."""
    model = muse.tiny().double()
    u, v = rows(2, 32).detach(), rows(2, 32, seed=1).detach()
    first, _, second = model.answer
    low, _, high = model.relation
    for b in range(2):
        joined = [*u[b].tolist(), *v[b].tolist()]
        inner = [
            math.tanh(sum(w * x for w, x in zip(row, joined, strict=True)) + bias)
            for row, bias in zip(first.weight.tolist(), first.bias.tolist(), strict=True)
        ]
        out = torch.tensor(inner).double() @ second.weight.double().T + second.bias
        found = model.answers(u, v)[b]
        assert (found - out / out.norm()).abs().max() < 1e-6
        pairs = list(zip(u[b].tolist(), v[b].tolist(), strict=True))
        features = [*u[b].tolist(), *v[b].tolist()]
        features += [abs(p - q) for p, q in pairs] + [p * q for p, q in pairs]
        hidden = torch.tensor(features).double() @ low.weight.T + low.bias
        logits = hidden.clamp_min(0) @ high.weight.T + high.bias
        assert (model.entails(u, v)[b] - logits).abs().max() < 1e-6
    turned = model.entails(v, u)
    assert (turned - model.entails(u, v)).abs().max() > 1e-6, "who entails whom matters"


def test_three_tasks_train_one_encoder() -> None:
    """Each task's loss reaches the shared encoder, and its own parts alone."""
    model = muse.tiny()
    q, a = TOKENS, (TOKENS + 3) % 28 + 4
    losses: dict[str, Callable[[], Tensor]] = {
        "answer": lambda: additive_margin(
            model(q, MASK), model.answers(model(a), model(q)), 0.0, hard=model(a.flip(0))[:, None]
        ),
        "relation": lambda: F.cross_entropy(
            model.entails(model(q, MASK), model(a)), torch.tensor([0, 1, 2])
        ),
        "": lambda: additive_margin(model(q, MASK), model(a)),
    }
    for own, loss in losses.items():
        model.zero_grad()
        loss().backward()
        with_gradient = {n.split(".")[0] for n, p in model.named_parameters() if p.grad is not None}
        assert with_gradient == {"encoder", own} - {""}


MUTATIONS: dict[str, tuple[Callable[[], None], str, object]] = {
    "the mean": (
        muse_agrees, f"{__name__}.root_sum", lambda s, m: muse.root_sum(s, m) / m.sum(1, True)
    ),
    "padding in the sum": (
        muse_agrees, f"{__name__}.root_sum", lambda s, m: s.sum(1) / m.sum(1, True) ** 0.5
    ),
    "not normalised": (
        muse_agrees, "deepdive.models.multilingual.muse.normalize", lambda vectors: vectors
    ),
    "scores scaled": (
        attention_pooling_agrees, "deepdive.layers.heads.pretraining.AttentionPooling.forward",
        lambda self, s, m: (
            (self.score(s)[..., 0] / 8**0.5).masked_fill(~m, -torch.inf).softmax(-1)[:, None] @ s
        )[:, 0],
    ),
}  # fmt: skip


def test_the_proofs_are_green() -> None:
    muse_agrees()
    attention_pooling_agrees()


@pytest.mark.parametrize("name", MUTATIONS)
def test_a_mutation_is_seen(name: str) -> None:
    proof, target, wrong = MUTATIONS[name]
    with mock.patch(target, wrong), pytest.raises(AssertionError):
        proof()
