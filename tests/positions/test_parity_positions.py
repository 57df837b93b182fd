"""Schemes of position against transformers, or against their equations in loops, in float64."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from itertools import product
from typing import Any

import pytest
import torch
from parity_bert import MASK, SEGMENTS, SIZES, SRC, reference, saved_and_loaded
from parity_proofs import alike, real, rows
from parity_registry import differs, equal, equal_gradients, parity, perturb
from torch import Tensor, nn
from transformers import (
    BloomConfig,
    BloomForCausalLM,
    RoFormerConfig,
    RoFormerForMaskedLM,
    RoFormerModel,
    T5Config,
    Wav2Vec2BertConfig,
)
from transformers.models.t5.modeling_t5 import T5Attention
from transformers.models.wav2vec2_bert.modeling_wav2vec2_bert import Wav2Vec2BertSelfAttention

from deepdive.attention import ShawAttention
from deepdive.core import Block, FeedForward, LayerNorm, MultiHeadAttention, Position, Slot
from deepdive.core.masks import Causal, Padding
from deepdive.core.stack import Stack
from deepdive.positions import (
    ALiBi,
    CausalT5Bias,
    MusicPosition,
    RotaryPosition,
    ShawPosition,
    StructuralPosition,
    T5Bias,
    XLPosition,
    depths,
    skew,
    slopes,
    tree_offsets,
)
from deepdive.published import family, from_config, load
from deepdive.published.weights import Join, Rule

KEYS = real([13, 9, 5], 13)
PROJECTIONS: tuple[Rule, ...] = (
    (r"^linear_q\.", "q."),
    Join((r"^linear_k\.", r"^linear_v\."), "kv."),
    (r"^linear_out\.", "out."),
    (r"^distance_embedding\.weight$", "position.keys"),
    (r"^linear_pos\.", "position.W."),
    (r"^pos_bias_u$", "position.u"),
    (r"^pos_bias_v$", "position.v"),
)


def additive(keys: Tensor, causal: bool = False) -> Tensor:
    """A padding mask as transformers add it, (B, 1, 1 or T, S)."""
    dense = keys[:, None, None]
    if causal:
        dense = dense & Causal().dense(keys.shape[1], keys.shape[1])
    return torch.zeros(dense.shape).double().masked_fill(~dense, torch.finfo(torch.float64).min)


def adopted(ours: nn.Module, theirs: nn.Module, rules: tuple[Rule, ...]) -> nn.Module:
    from deepdive.published.weights import adopt

    adopt(ours, theirs.state_dict(), rules)
    return ours


def conformer(kind: str) -> Wav2Vec2BertSelfAttention:
    """One attention of Wav2Vec2-BERT, 12 wide, 3 heads; its scores are computed in float64."""
    torch.manual_seed(0)
    config = Wav2Vec2BertConfig(
        hidden_size=12,
        num_attention_heads=3,
        position_embeddings_type=kind,
        left_max_position_embeddings=4,
        right_max_position_embeddings=2,
        attention_dropout=0.0,
        attn_implementation="eager",
    )
    return perturb(Wav2Vec2BertSelfAttention(config).double().eval())


@parity(ShawPosition)
def shaw_keys() -> None:
    """The table is nn.Embedding there, a matrix here."""
    theirs = conformer("relative_key")
    ours = MultiHeadAttention(12, 3, position=ShawPosition(4, 4, 2)).double()
    adopted(ours, theirs, PROJECTIONS)
    for causal in (False, True):
        x, y = rows(3, 13, 12), rows(3, 13, 12)
        mask = Padding(KEYS) & Causal() if causal else Padding(KEYS)
        expected = theirs(y, additive(KEYS, causal))[0][KEYS]
        alike(ours, theirs, ours(x, mask=mask)[KEYS], expected, PROJECTIONS, inputs=[(x, y)])


@parity(XLPosition)
def transformer_xl() -> None:
    """Wav2Vec2-BERT's attention is Transformer-XL's, two-sided: u, v, waves, shift."""
    theirs = conformer("relative")
    ours = MultiHeadAttention(12, 3, position=XLPosition(12, 3)).double()
    adopted(ours, theirs, PROJECTIONS)
    waves = ours.position.waves.table(torch.arange(12, -13, -1))[None]
    x, y = rows(3, 13, 12), rows(3, 13, 12)
    expected = theirs(y, additive(KEYS), waves)[0][KEYS]
    output = ours(x, mask=Padding(KEYS))[KEYS]
    alike(ours, theirs, output, expected, PROJECTIONS, inputs=[(x, y)])


def gathered_memory() -> None:
    """Keys from an earlier segment: the four terms in loops, skewed and gathered."""
    for T, S in ((1, 1), (1, 6), (4, 4), (3, 7)):
        scheme = perturb(XLPosition(8, 2, 4).double())
        q, k, at = rows(2, 2, T, 4), rows(2, 2, S, 4, seed=1), torch.arange(S)

        def entry(t: int, s: int, scheme=scheme, q=q, k=k, T=T, S=S) -> Tensor:
            r = scheme.W(scheme.waves.table(torch.tensor(S - T + t - s))).view(2, 4)
            asked = (q[:, :, t] + scheme.v) * r + scheme.u * k[:, :, s]
            return asked.sum(-1) / 2

        leaves = {n: (p, p) for n, p in [*scheme.named_parameters(), ("q", q), ("k", k)]}
        twice = at.expand(2, S)
        for q_at, k_at in ((at[S - T :], at), (twice[:, S - T :], twice)):  # skewed, gathered
            added = scheme.bias(q, k, q_at, k_at)
            by_hand = torch.stack(
                [torch.stack([entry(t, s) for s in range(S)], -1) for t in range(T)], -2
            )
            equal(added, by_hand)
            equal_gradients(added, by_hand, leaves)


def test_transformer_xl_with_a_memory() -> None:
    gathered_memory()


T5_RULES: tuple[Rule, ...] = (
    Join((r"^k\.", r"^v\."), "kv."),
    (r"^o\.", "out."),
    (r"^relative_attention_bias\.", "position.table."),
)


@parity(T5Bias, CausalT5Bias)
def t5() -> None:
    for kind, decoder in ((T5Bias, False), (CausalT5Bias, True)):
        config = T5Config(
            d_model=12, d_kv=4, num_heads=3, relative_attention_num_buckets=8,
            relative_attention_max_distance=10, is_decoder=decoder, dropout_rate=0.0,
            attn_implementation="eager",
        )  # fmt: skip
        torch.manual_seed(0)
        theirs = perturb(T5Attention(config, True, layer_idx=0, is_causal=decoder).double().eval())
        ours = MultiHeadAttention(12, 3, bias=False, scale=1.0, position=kind(3, 8, 10)).double()
        adopted(ours, theirs, T5_RULES)
        x, y = rows(3, 13, 12), rows(3, 13, 12)
        mask = Padding(KEYS) & Causal() if decoder else Padding(KEYS)
        expected = theirs(y, additive(KEYS, decoder))[0][KEYS]
        alike(ours, theirs, ours(x, mask=mask)[KEYS], expected, T5_RULES, inputs=[(x, y)])
        buckets()


def buckets() -> None:
    """The published settings, and others, at every offset up to far beyond the last bucket."""
    far = torch.arange(-3000, 3001)
    for n, most in ((32, 128), (8, 10), (64, 256), (12, 100)):
        for kind, two in ((T5Bias, True), (CausalT5Bias, False)):
            expected = T5Attention._relative_position_bucket(far, two, n, most)
            assert torch.equal(kind(1, n, most).buckets(far), expected)


def bloom_from(theirs: BloomForCausalLM) -> nn.Module:
    """BLOOM in our parts, so that one scheme is what is tried; its q, k, v stand head by head."""
    config = theirs.config

    def block(i: int) -> Block:
        attention = MultiHeadAttention(config.hidden_size, config.n_head, position=scheme)
        made = Block(attention, FeedForward(config.hidden_size, 4 * config.hidden_size, tanh_gelu))
        made.double()
        layer = theirs.transformer.h[i]
        made.attn_residual.norm.load_state_dict(layer.input_layernorm.state_dict())
        made.ff_residual.norm.load_state_dict(layer.post_attention_layernorm.state_dict())
        fused = layer.self_attention.query_key_value
        for name in ("weight", "bias"):
            parts = getattr(fused, name).unflatten(0, (config.n_head, 3, -1)).transpose(0, 1)
            q, k, v = (part.flatten(0, 1).detach() for part in parts)
            getattr(attention.q, name).data.copy_(q)
            getattr(attention.kv, name).data.copy_(torch.cat([k, v]))
        attention.out.load_state_dict(layer.self_attention.dense.state_dict())
        made.ff.inner.load_state_dict(layer.mlp.dense_h_to_4h.state_dict())
        made.ff.out.load_state_dict(layer.mlp.dense_4h_to_h.state_dict())
        return made

    def tanh_gelu(x: Tensor) -> Tensor:
        return x * 0.5 * (1 + torch.tanh(0.79788456 * x * (1 + 0.044715 * x * x)))

    scheme = ALiBi(config.n_head)
    norm = LayerNorm(config.hidden_size).double()
    norm.load_state_dict(theirs.transformer.ln_f.state_dict())
    return Stack(block, config.n_layer, norm)


@parity(ALiBi)
def bloom() -> None:
    """BLOOM adds slope * place of the key, which softmax cannot tell from ours; its softmax is
    computed in float32, so 1e-5 and 1e-4. Padding behind only: with padding in front theirs gives
    NaN in float64, where its masks add up to -inf.
    """
    for heads in (4, 3):
        theirs = reference(
            BloomForCausalLM, BloomConfig, vocab_size=28, hidden_size=12, n_layer=2, n_head=heads,
            attn_implementation="eager",
        )  # fmt: skip
        ours = bloom_from(theirs)
        for mask in (MASK, torch.ones_like(MASK)):
            x = rows(3, 7, 12)
            y = x.detach().clone().requires_grad_()
            keys = mask.long()
            expected = theirs.transformer(inputs_embeds=y, attention_mask=keys).last_hidden_state
            inner = theirs.transformer.word_embeddings_layernorm(x)
            output = ours(inner, mask=Padding(mask) & Causal())
            equal(output[mask], expected[mask], 1e-5)
            equal_gradients(output[mask], expected[mask], {"x": (x, y)}, 1e-4)


def test_slopes_of_the_paper_and_of_other_numbers_of_heads() -> None:
    from transformers.models.bloom.modeling_bloom import _get_alibi_slopes

    assert slopes(8) == [2.0**-n for n in range(1, 9)]
    for heads in range(1, 40):
        expected = _get_alibi_slopes(heads, torch.device("cpu"))
        assert torch.allclose(torch.tensor(slopes(heads)), expected, rtol=1e-5, atol=0)


@parity(RotaryPosition)
def roformer_agrees() -> None:
    """Theirs keeps sine and cosine in a table of float32: it is filled again, in float64."""
    settings = {**SIZES, "rotary_value": False}
    for width in (16, 8):
        theirs = reference(RoFormerForMaskedLM, RoFormerConfig, embedding_size=width, **settings)
        ours = saved_and_loaded(theirs, partial(load, head="masked_lm"))
        in_float64(theirs.roformer)
        for row, mask in ((SRC, MASK), (SRC.flip(1), MASK.flip(1))):
            output = ours.masked_logits(ours.bert(row, mask, SEGMENTS))[mask]
            expected = theirs(row, mask.long(), SEGMENTS).logits[mask]
            alike(ours, theirs, output, expected, [family("roformer").table("masked_lm")])
        body = saved_and_loaded(theirs, load)
        equal(body(SRC, MASK, SEGMENTS), ours.bert(SRC, MASK, SEGMENTS))
        whole = reference(RoFormerModel, RoFormerConfig, embedding_size=width, **settings)
        mine = saved_and_loaded(whole, load)
        in_float64(whole)
        equal(mine(SRC[:1]), whole(SRC[:1]).last_hidden_state)


def in_float64(model: RoFormerModel) -> None:
    table = model.encoder.embed_positions.weight
    half = table.shape[1] // 2
    angles = RotaryPosition(2 * half).angles(torch.arange(len(table)))
    filled = torch.cat([angles.sin(), angles.cos()], -1)
    fresh = RoFormerModel(model.config).encoder.embed_positions.weight.double()  # not perturbed
    assert differs(filled, fresh) < 1e-6
    table.data = filled


def test_a_roformer_that_turns_values_is_refused() -> None:
    config = RoFormerConfig(**SIZES, rotary_value=True).to_dict()
    with pytest.raises(ValueError, match="rotary_value"):
        from_config(config)
    assert from_config({**config, "rotary_value": False}).stack.blocks[0].attn.position


# Equations in loops


@parity(ShawAttention)
def shaw_whole() -> None:
    """Equations 3 and 4 of the paper, a vector for each pair, gradients included."""
    for T, S, left, right in ((7, 7, 2, 3), (3, 9, 2, 2), (5, 5, 8, 0), (1, 4, 0, 1)):
        position = perturb(ShawPosition(4, left, right).double())
        mechanism = perturb(ShawAttention(4, left, right).double(), seed=1)
        q, k, v = rows(2, 3, T, 4), rows(2, 3, S, 4, seed=1), rows(2, 3, S, 4, seed=2)
        keys, at = real([S, max(S - 2, 1)], S), torch.arange(S)
        output = mechanism(q, k, v, Padding(keys) & Causal(), position.bias(q, k, at[S - T :], at))
        offset = torch.arange(S) - torch.arange(S - T, S)[:, None]
        named = offset.clamp(-left, right) + left
        by_hand = torch.zeros(2, 3, T, 4).double()
        for b, h, t in product(range(2), range(3), range(T)):
            seen = [s for s in range(S - T + t + 1) if keys[b, s]]
            asked = [k[b, h, s] + position.keys[named[t, s]] for s in seen]
            weights = (torch.stack(asked) @ q[b, h, t] / 2).softmax(0)
            mixed = [v[b, h, s] + mechanism.values[named[t, s]] for s in seen]
            by_hand[b, h, t] = weights @ torch.stack(mixed)
        leaves = {
            "keys": position.keys, "values": mechanism.values, "q": q, "k": k, "v": v,
        }  # fmt: skip
        equal(output, by_hand)
        equal_gradients(output, by_hand, {n: (p, p) for n, p in leaves.items()})


@parity(MusicPosition)
def music() -> None:
    """Weights and gradients of the equation in loops; the skewed product is the gathered one."""
    for T, S, left in ((6, 6, 5), (6, 6, 2), (2, 7, 3), (1, 4, 9)):
        scheme = perturb(MusicPosition(3, 4, left).double())
        q, k, at = rows(2, 3, T, 4), rows(2, 3, S, 4, seed=1), torch.arange(S)
        added = scheme.bias(q, k, at[S - T :], at)
        scores = torch.full((2, 3, T, S), -math.inf).double()
        for t in range(T):
            for s in range(S - T + t + 1):
                row = scheme.rows[:, left - min(S - T + t - s, left)]
                scores[:, :, t, s] = (q[:, :, t] * row).sum(-1) / 2
        weights, by_hand = added.softmax(-1), scores.softmax(-1)
        equal(weights, by_hand)
        equal_gradients(weights, by_hand, {"rows": (scheme.rows,) * 2, "q": (q, q)})


def test_skewing_is_a_gather() -> None:
    for T, L in ((1, 1), (1, 5), (4, 4), (4, 7), (3, 9)):
        products = rows(2, T, L)
        moved = skew(products)
        for t in range(T):
            kept = L - (T - 1 - t)
            assert torch.equal(moved[:, t, :kept], products[:, t, T - 1 - t :])


@parity(StructuralPosition)
def structural() -> None:
    """The rules, token by token, on random trees; embed and bias with gradients."""
    generator = torch.Generator().manual_seed(0)
    for T in (1, 2, 7, 12):
        heads = [random_tree(T, generator) for _ in range(2)]
        depth, offset = (torch.tensor(found) for found in zip(*map(by_rules, heads), strict=True))
        given = torch.tensor(heads)
        assert torch.equal(depths(given), depth)
        assert torch.equal(tree_offsets(given), offset)
        scheme = perturb(StructuralPosition(8, 4, 3).double())
        x, q, k = rows(2, T, 8), rows(2, 2, T, 4, seed=1), rows(2, 2, T, 4, seed=2)
        waves = scheme.waves.table
        placed = (
            waves(torch.arange(T)) @ scheme.order.weight.T + waves(depth) @ scheme.tree.weight.T
        )
        equal(scheme.embed(x, given), x + torch.tanh(placed))
        vectors = scheme.offsets.keys[offset.clamp(-3, 3) + 3]  # (B, T, T, d)
        by_hand = torch.einsum("bhtd,btsd->bhts", q, vectors) / 2
        added = scheme.bias(q, k, given, given)
        equal(added, by_hand)
        equal_gradients(added, by_hand, {"keys": (scheme.offsets.keys,) * 2, "q": (q, q)})


def random_tree(T: int, generator: torch.Generator) -> list[int]:
    """Heads of a tree: in a random order, each token hangs on one that came earlier."""
    order = torch.randperm(T, generator=generator).tolist()
    heads = [0] * T
    heads[order[0]] = order[0]
    for n in range(1, T):
        heads[order[n]] = order[int(torch.randint(n, (1,), generator=generator))]
    return heads


def by_rules(heads: list[int]) -> tuple[list[int], list[list[int]]]:
    def path(token: int) -> list[int]:
        return [token] if heads[token] == token else [token, *path(heads[token])]

    depth = [len(path(token)) - 1 for token in range(len(heads))]

    def offset(i: int, j: int) -> int:
        related = j in path(i) or i in path(j)
        size = abs(depth[i] - depth[j]) if related else depth[i] + depth[j]
        return size if j > i else -size if j < i else 0

    T = range(len(heads))
    return depth, [[offset(i, j) for j in T] for i in T]


# What holds for all

SCHEMES: dict[str, Callable[[], Position]] = {
    "shaw": lambda: ShawPosition(4, 3),
    "t5": lambda: CausalT5Bias(3, 8, 6),
    "alibi": lambda: ALiBi(3),
    "rotary": lambda: RotaryPosition(4),
    "xl": lambda: XLPosition(12, 3),
    "music": lambda: MusicPosition(3, 4, 3),
}


@pytest.mark.parametrize("name", SCHEMES)
def test_cached_decoding_and_left_padding(name: str) -> None:
    """Step by step = at once; places given from the first real token on = no padding."""
    torch.manual_seed(0)
    mechanism = ShawAttention(4, 3) if name == "shaw" else None
    position = SCHEMES[name]()
    attention = MultiHeadAttention(12, 3, mechanism=mechanism, position=position).double()
    perturb(attention)
    x = rows(2, 7, 12).detach()
    with torch.no_grad():
        whole, slot = attention(x, mask=Causal()), Slot()
        steps = [
            attention(x[:, a:b], mask=Causal(), cache=slot) for a, b in ((0, 3), (3, 4), (4, 7))
        ]
        equal(torch.cat(steps, 1), whole)
        behind = torch.cat([rows(2, 2, 12, seed=9).detach(), x], 1)
        keys = torch.arange(9).expand(2, 9) > 1
        places = (torch.arange(9) - 2).clamp(min=0).expand(2, 9)
        padded = attention(behind, mask=Padding(keys) & Causal(), positions=places)
        equal(padded[:, 2:], whole)


MUTATIONS: dict[str, tuple[str, str, Any, Callable[[], None]]] = {
    "an offset off by one": (
        "ShawPosition", "worth",
        lambda self, q, offsets: KEPT["ShawPosition"](self, q, offsets + 1), shaw_keys),
    "waves of the opposite offset": (
        "XLPosition", "worth",
        lambda self, q, offsets: KEPT["XLPosition"](self, q, -offsets), transformer_xl),
    "a bucket for the offset's other sign": (
        "T5Bias", "worth", lambda self, q, offsets: KEPT["T5Bias"](self, q, -offsets), t5),
    "slopes of half the size": (
        "ALiBi", "worth", lambda self, q, offsets: KEPT["ALiBi"](self, q, offsets) / 2, bloom),
    "the last two vectors exchanged": (
        "MusicPosition", "worth",
        lambda self, q, offsets: KEPT["MusicPosition"](self, q, offsets - 1), music),
}  # fmt: skip
KEPT = {
    name: kind.worth
    for name, kind in {
        "ShawPosition": ShawPosition, "XLPosition": XLPosition, "T5Bias": T5Bias, "ALiBi": ALiBi,
        "MusicPosition": MusicPosition,
    }.items()
}  # fmt: skip


@pytest.mark.parametrize("name", MUTATIONS)
def test_a_wrong_scheme_is_seen(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    kind, method, wrong, proof = MUTATIONS[name]
    monkeypatch.setattr(f"deepdive.positions.{kind}.{method}", wrong)
    with pytest.raises(AssertionError):
        proof()


def test_rotation_by_halves_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    kept = RotaryPosition.rotate

    def halves(self: RotaryPosition, x: Tensor, positions: Tensor) -> Tensor:
        pairs = x.unflatten(-1, (2, -1)).transpose(-1, -2).flatten(-2)
        turned = kept(self, pairs, positions)
        return turned.unflatten(-1, (-1, 2)).transpose(-1, -2).flatten(-2)

    monkeypatch.setattr(RotaryPosition, "rotate", halves)
    with pytest.raises(AssertionError):
        roformer_agrees()
