"""Reformer: attention by hashing, chunks and reversible layers, against its references.

Its oracle, transformers, differs from its paper in two points. It lets a query meet all of
two chunks, also what stands there from other buckets; and it counts a key once in each round that
met it, where the paper counts it once. `ReleasedLSHAttention` is the oracle's form, and equals it.
`LSHAttention` is the paper's, and equals its equation, written in loops. The bridge between the two
is `as_often_as_met`: the oracle's output is a softmax to whose scores the logarithm of the count is
added, the paper's the same without the logarithm, over keys of the same bucket.
"""

from __future__ import annotations

import logging
import math
from itertools import pairwise
from pathlib import Path

import pytest
import torch
from parity_proofs import real, rows, tokens
from parity_registry import differs, equal, equal_gradients, parity, perturb
from torch import Tensor, nn

from deepdive.attention.by_content.hashing import attended_pairs, draw_rotations, hash_rows
from deepdive.attention.by_content.lsh import LSHAttention, LSHMaskAttention, ReleasedLSHAttention
from deepdive.attention.by_content.shared_qk import (
    SharedQKAttention,
    SharedQKMultiHeadAttention,
    directions,
)
from deepdive.attention.by_position.chunk import ChunkAttention
from deepdive.core import FeedForward, MultiHeadAttention
from deepdive.core.masks import Causal, Padding
from deepdive.layers.feed_forward import ChunkedFeedForward
from deepdive.layers.reversible import ReversibleBlock, ReversibleStack
from deepdive.models.efficient.reformer import Reformer, ReformerEmbeddings
from deepdive.positions import AxialPosition
from deepdive.published import from_config, load
from deepdive.published.families.efficient import REFORMER
from deepdive.published.form import Setting
from deepdive.published.weights import adopt, translate

# -- the paper's equations, in loops


@parity(SharedQKAttention)
def shared_qk() -> None:
    """A row is its own key only where no other is allowed."""
    q, v, keys = rows(2, 2, 7, 4), rows(2, 2, 7, 3, seed=1), real([7, 4], 7)
    output = SharedQKAttention()(q, q, v, Causal() & Padding(keys))
    expected = torch.zeros_like(output)
    for b, h, t in [(b, h, t) for b in range(2) for h in range(2) for t in range(7)]:
        others = [s for s in range(t) if keys[b, s]] or ([t] if keys[b, t] else [])
        expected[b, h, t] = plainly(q[b, h], v[b, h], t, others)
    equal(output, expected)
    equal_gradients(output, expected, {"q": (q, q), "v": (v, v)})


def plainly(q: Tensor, v: Tensor, t: int, others: list[int]) -> Tensor:
    unit = [q[s] / (q[s].square().mean() + 1e-6).sqrt() / math.sqrt(len(q[s])) for s in others]
    scores = torch.stack([q[t] @ key for key in unit])
    return scores.softmax(0) @ v[others]


def in_loops(q: Tensor, v: Tensor, keys: Tensor, causal: bool, chunk: int, rounds: int) -> Tensor:
    """Kitaev et al. 2020, section 2: hash, sort, chunk; the union over rounds; one softmax."""
    B, H, T, d = q.shape
    rotations = draw_rotations(H, d, rounds, (4,), seed=0)
    output = torch.zeros(B, H, T, v.shape[-1], dtype=v.dtype)
    for b, h in [(b, h) for b in range(B) for h in range(H)]:
        sets: list[set[int]] = [set() for _ in range(T)]
        for r in range(rounds):
            x = q[b, h].detach() @ rotations[h, :, r]
            bucket = torch.cat([x, -x], dim=-1).argmax(-1).tolist()
            order = sorted((s for s in range(T) if keys[b, s]), key=lambda s: (bucket[s], s))
            chunk_of = {s: place // chunk for place, s in enumerate(order)}
            for t in order:
                sets[t] |= {
                    s
                    for s in order
                    if bucket[s] == bucket[t] and chunk_of[t] - chunk_of[s] in (0, 1)
                    if s != t and (s < t or not causal)
                }
        for t in range(T):
            chosen = sorted(sets[t]) or ([t] if keys[b, t] else [])
            if chosen:
                output[b, h, t] = plainly(q[b, h], v[b, h], t, chosen)
    return output


@parity(LSHAttention, LSHMaskAttention)
def lsh() -> None:
    keys = real([19, 12], 19)
    for chunk, rounds, causal in ((4, 3, False), (3, 2, True), (32, 1, False)):
        q, v = rows(2, 2, 19, 4), rows(2, 2, 19, 3, seed=1)
        mask = Padding(keys) & Causal() if causal else Padding(keys)
        for part in (LSHMaskAttention, LSHAttention):
            expected = in_loops(q, v, keys, causal, chunk, rounds)
            output = part(chunk, rounds, 4).eval()(q, q, v, mask)
            equal(output, expected)
            equal_gradients(output, expected, {"q": (q, q), "v": (v, v)})


def test_a_key_that_counts_twice_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(LSHAttention, "once", False)
    with pytest.raises(AssertionError):
        lsh()


def test_the_buckets_are_the_nearest_directions() -> None:
    x = rows(2, 3, 9, 8).detach()
    x[0, 0, 0] = 0
    for factors in ((6,), (2, 4)):
        rotations = draw_rotations(3, 8, 5, factors, seed=1)
        found, place, start = torch.zeros(2, 3, 5, 9, dtype=torch.int64), 1, 0
        for factor in factors:
            part = rotations[..., start : start + factor // 2]
            y = torch.einsum("bhtd,hdrn->bhrtn", x, part)
            found += place * torch.cat([y, -y], -1).argmax(-1)
            place, start = place * factor, start + factor // 2
        assert torch.equal(hash_rows(x, rotations, factors), found)


# -- transformers


def oracle_config(**more: object) -> object:
    from transformers import ReformerConfig

    logging.getLogger("transformers").setLevel(logging.ERROR)
    settings: dict[str, object] = {
        "vocab_size": 40, "hidden_size": 16, "num_attention_heads": 2, "attention_head_size": 6,
        "feed_forward_size": 24, "max_position_embeddings": 64, "axial_pos_shape": [4, 6],
        "axial_pos_embds_dim": [6, 10], "num_buckets": 4, "num_hashes": 3, "hash_seed": 0,
        "lsh_attn_chunk_length": 4, "local_attn_chunk_length": 6, "hidden_dropout_prob": 0.0,
        "local_attention_probs_dropout_prob": 0.0, "pad_token_id": 0,
        "attn_layers": ["local", "lsh", "lsh"],
    }  # fmt: skip
    return ReformerConfig(**(settings | more))


def oracle_attention(kind: str, **more: object) -> nn.Module:
    from transformers.models.reformer import modeling_reformer

    torch.manual_seed(0)
    config = oracle_config(attn_layers=[kind], **more)
    part = {"lsh": "LSHSelfAttention", "local": "LocalSelfAttention"}[kind]
    return perturb(getattr(modeling_reformer, part)(config).double()).eval()


@parity(ReleasedLSHAttention, SharedQKMultiHeadAttention)
def released() -> None:
    """Their layer has no W_out: ours is the identity. In one chunk it is full shared attention."""
    for T, causal, mechanism in (
        (16, False, ReleasedLSHAttention(4, 3, 4)),
        (16, True, ReleasedLSHAttention(4, 3, 4)),
        (16, False, ReleasedLSHAttention(4, 3, (2, 4))),
        (4, False, ReleasedLSHAttention(4, 3, 4)),
        (4, True, SharedQKAttention()),
    ):
        buckets = getattr(mechanism, "buckets", (4,))
        count = list(buckets) if len(buckets) > 1 else buckets[0]
        theirs = oracle_attention("lsh", is_decoder=causal, num_buckets=count)
        ours = SharedQKMultiHeadAttention(16, 2, d_head=6, bias=False, mechanism=mechanism)
        ours.double().eval()
        with torch.no_grad():
            ours.qk.weight.copy_(theirs.query_key.weight)
            ours.v.weight.copy_(theirs.value.weight)
        ours.out = nn.Identity()
        for keys in (real([T, T], T), real([T, T - 3], T)):
            x, y = rows(2, T, 16), rows(2, T, 16)
            mask = Padding(keys) & Causal() if causal else Padding(keys)
            output, expected = ours(x, mask=mask), theirs(y, attention_mask=keys).hidden_states
            equal(output[keys], expected[keys])
            leaves = {
                "x": (x, y),
                "qk": (ours.qk.weight, theirs.query_key.weight),
                "v": (ours.v.weight, theirs.value.weight),
            }
            equal_gradients(output[keys], expected[keys], leaves)


def test_as_often_as_met() -> None:
    """The bridge: how often each key was met, from the paper's sets, gives the oracle's output."""
    q, v = rows(1, 2, 16, 6), rows(1, 2, 16, 6, seed=1)
    everyone = torch.ones(1, 16, dtype=torch.bool)
    part = ReleasedLSHAttention(4, 3, 4).eval()
    sorted_q, _ = part.sort(q, q, everyone)
    chunk_of = sorted_q.place // 4  # (B, H, rounds, T)
    back = (chunk_of[..., :, None] - chunk_of[..., None, :]) % 16
    counts = (back <= 1).sum(2)  # the key in the query's chunk or the one before
    for r in range(3):  # the first chunk looks back to the last one of the round before
        last = chunk_of[:, :, r - 1] == 3
        counts += (chunk_of[:, :, r] == 0)[..., :, None] & last[..., None, :]
    scores = q @ directions(q).transpose(-2, -1) + counts.double().log()
    own = torch.eye(16, dtype=torch.bool)
    expected = scores.masked_fill(own, float("-inf")).softmax(-1) @ v
    equal(part(q, q, v), expected)
    ours = LSHAttention(4, 3, 4).eval()
    same = attended_pairs(*ours.sort(q, q, everyone), 16)
    assert bool((counts > 0)[same].all()), "the paper meets a part of what the oracle meets"
    paper = SharedQKAttention()(q, q, v, same | own)
    equal(ours(q, q, v), paper)
    assert differs(paper, expected) > 1e-3, "the two forms differ: the bridge proves something"


@parity(ChunkAttention)
def local() -> None:
    """Four chunks, and more steps around a chunk than there are: some are met again."""
    enough = ((1, 0, False), (1, 0, True), (1, 1, False), (2, 0, True))
    too_few = ((2, 2, False), (4, 0, True), (3, 1, False), (6, 5, True), (5, 0, False))
    for before, after, causal in enough + too_few:
        theirs = oracle_attention(
            "local", is_decoder=causal, local_num_chunks_before=before,
            local_num_chunks_after=after,
        )  # fmt: skip
        ours = MultiHeadAttention(
            16, 2, d_head=6, bias=False, mechanism=ChunkAttention(6, before, after)
        ).double()
        with torch.no_grad():
            ours.q.weight.copy_(theirs.query.weight)
            ours.kv.weight.copy_(torch.cat([theirs.key.weight, theirs.value.weight]))
        ours.out = nn.Identity()
        keys = real([24, 17], 24)
        x, y = rows(2, 24, 16), rows(2, 24, 16)
        mask = Padding(keys) & Causal() if causal else Padding(keys)
        output, expected = ours(x, mask=mask), theirs(y, attention_mask=keys).hidden_states
        equal(output[keys], expected[keys])
        equal_gradients(output[keys], expected[keys], {"x": (x, y)})


def models(**more: object) -> tuple[nn.Module, Reformer]:
    """Theirs in training mode, where alone its reversible backward runs; ours in evaluation, where
    its hash has the seed 0: neither drops anything.
    """
    from transformers import ReformerModel

    torch.manual_seed(0)
    config = oracle_config(**more)
    theirs = perturb(ReformerModel(config).double())
    ours = from_config(config.to_dict()).double().eval()
    adopt(ours, theirs.state_dict(), [REFORMER.table(config=ours.config)])
    return theirs, ours


@parity(Reformer, ReversibleStack, ReversibleBlock, AxialPosition, ReformerEmbeddings)
def whole_model() -> None:
    for more in (
        {},
        {"is_decoder": True, "num_buckets": [2, 4]},
        {"attn_layers": ["lsh"], "axial_pos_embds": False, "chunk_size_feed_forward": 1},
    ):
        theirs, ours = models(**more)
        length = 24 if theirs.config.axial_pos_embds else 32
        x, keys = tokens(2, length, vocab=40), real([length, length - 7], length)
        output = ours(x, keys)
        expected = theirs.train()(x, attention_mask=keys).last_hidden_state
        equal(output[keys], expected[keys])
        direction = rows(*expected.shape, seed=3).detach() * keys[..., None]
        theirs.zero_grad()
        (expected * direction).sum().backward()  # it adds to .grad by itself
        mine = torch.autograd.grad((output * direction).sum(), list(ours.parameters()))
        found = {n: p.grad for n, p in theirs.named_parameters() if p.grad is not None}
        wanted = translate(found, [REFORMER.table(config=ours.config)])
        for (name, _), gradient in zip(ours.named_parameters(), mine, strict=True):
            error = differs(gradient, wanted[name].tensor)
            assert error < 1e-8, f"gradient of {name} differs by {error:.1e}"
            assert gradient.abs().max() > 1e-12, f"gradient of {name} is zero: it proves nothing"
        for T in (3, 5, 11, 23):  # odd lengths, which theirs takes in evaluation only
            x, keys = tokens(2, T, vocab=40, seed=T), real([T, T - 2], T)
            expected = theirs.eval()(x, attention_mask=keys).last_hidden_state
            equal(ours(x, keys)[keys], expected[keys])


def test_a_norm_with_another_epsilon_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(REFORMER.settings, "eps", Setting("layer_norm_eps", lambda eps: 1e-5))
    with pytest.raises(AssertionError):
        whole_model()


def test_published_weights_are_read_from_a_folder(tmp_path: Path) -> None:
    from transformers import ReformerModelWithLMHead

    torch.manual_seed(1)
    theirs = perturb(ReformerModelWithLMHead(oracle_config(is_decoder=True))).double().eval()
    theirs.save_pretrained(tmp_path)
    ours = load(tmp_path).double()
    adopt(ours, theirs.reformer.state_dict(), [REFORMER.table(config=ours.config)])
    x = tokens(1, 24, vocab=40)
    assert ours.config.causal
    equal(ours(x), theirs.reformer(x).last_hidden_state)
    (tmp_path / "config.json").write_text(
        (tmp_path / "config.json")
        .read_text()
        .replace('"lsh_num_chunks_after": 0', '"lsh_num_chunks_after": 1')
    )
    with pytest.raises(ValueError, match="lsh_num_chunks_after=1"):
        load(tmp_path)


@parity(ChunkedFeedForward)
def chunked() -> None:
    from transformers.models.reformer.modeling_reformer import ChunkReformerFeedForward

    for rows_at_once in (3, 4):
        config = oracle_config(chunk_size_feed_forward=rows_at_once)
        theirs = perturb(ChunkReformerFeedForward(config).double()).eval()
        ours = ChunkedFeedForward(FeedForward(16, 24), rows_at_once).double()
        with torch.no_grad():
            for mine, other in (
                (ours.inner.inner, theirs.dense.dense), (ours.inner.out, theirs.output.dense),
            ):  # fmt: skip
                mine.load_state_dict(other.state_dict())
        x, y = rows(2, 12, 16), rows(2, 12, 16)
        output, expected = ours(theirs.layer_norm(x)), theirs(y)
        leaves = {"x": (x, y), "inner": (ours.inner.inner.weight, theirs.dense.dense.weight)}
        equal(output, expected)
        equal_gradients(output, expected, leaves)


def test_error_falls_with_rounds() -> None:
    """Rows near a few directions: more rounds meet more of what full attention weighs."""
    torch.manual_seed(0)
    q = 4 * rows(1, 4, 256, 16).detach()
    v = rows(1, 4, 256, 16, seed=1).detach()
    full = SharedQKAttention()(q, q, v)
    errors = [
        ((LSHAttention(16, n, seed=3).eval()(q, q, v) - full).norm() / full.norm()).item()
        for n in (1, 2, 4, 8, 16)
    ]
    assert all(later < before for before, later in pairwise(errors)), errors
    assert errors[-1] < errors[0] / 2, errors
