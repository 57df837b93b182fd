"""Recurrent layers and models against torch.nn in float64; attention against its equations.

OpenNMT's GlobalAttention, the only published attention step, does not import on its own, so the
oracle of the two decoders is written here: the papers' equations with einsum, over torch's layers.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from unittest import mock

import pytest
import torch
from parity_recurrent import (
    SOURCE,
    SRC_REAL,
    TARGET,
    TGT_REAL,
    Weights,
    copied,
    equal_where_real,
    linear,
    ready,
    rows,
    softmax_over_real,
)
from parity_registry import equal, equal_gradients, parity, perturb
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from deepdive._fast import recurrent as fused
from deepdive.core.hooks import record
from deepdive.core.masks import Padding
from deepdive.models.seq2seq import attention_seq2seq, seq2seq
from deepdive.models.seq2seq.attention_decoders import BahdanauDecoder, LuongDecoder
from deepdive.models.seq2seq.attention_seq2seq import AttentionSeq2Seq
from deepdive.models.seq2seq.rnn_encoder import RNNEncoder
from deepdive.models.seq2seq.seq2seq import Seq2Seq
from deepdive.recurrent import (
    GRU,
    LSTM,
    RNN,
    Bidirectional,
    RecurrentStack,
    RecurrentState,
    from_torch,
)
from deepdive.recurrent.stacked import name_from_torch

LENGTHS = torch.tensor([5, 2, 7, 1])
REAL = Padding.from_lengths(LENGTHS).real


def theirs(kind: type[nn.RNNBase], n_layers: int, both: bool) -> nn.RNNBase:
    torch.manual_seed(0)
    module = kind(6, 5, n_layers, batch_first=True, bidirectional=both).double()
    perturb(module)
    return module


def read_theirs(module: nn.RNNBase, x: Tensor, packed: bool, begin: object = None) -> Tensor:
    """All real states and the end states, in one vector. End states: layer, direction, (h, c)."""
    if packed:
        rows = pack_padded_sequence(x, LENGTHS, batch_first=True, enforce_sorted=False)
        states, ends = module(rows, begin)
        states = pad_packed_sequence(states, batch_first=True)[0][REAL]
    else:
        states, ends = module(x, begin)
    ends = torch.stack(ends) if isinstance(ends, tuple) else ends[None]  # (h or c, L * D, B, H)
    return torch.cat([states.flatten(), ends.flatten()])


def read_ours(stack: RecurrentStack, x: Tensor, packed: bool, heard: bool) -> Tensor:
    state = RecurrentState()
    if heard:  # the loop, step by step
        with record(stack, "*.states"):
            states = stack(x, REAL if packed else None, state)
    else:
        states = stack(x, REAL if packed else None, state)
    values = [layer.values for layer in state.layers]  # layer, (h, c), (B, D * H)
    both = isinstance(stack.layers[0], Bidirectional)
    ends = [torch.stack([v.unflatten(-1, (1 + both, 5)) for v in layer]) for layer in values]
    laid = torch.stack(ends).permute(1, 0, 3, 2, 4)  # (h or c, L, D, B, H)
    return torch.cat([(states[REAL] if packed else states).flatten(), laid.flatten()])


def layers_equal(
    kind: type[nn.RNNBase],
    n_layers: tuple[int, ...] = (1, 2),
    directions: tuple[bool, ...] = (False, True),
    packings: tuple[bool, ...] = (False, True),
) -> None:
    """Every combination; the loop and the kernel; outputs, end states and all gradients."""
    for L, both, packed, heard in itertools.product(n_layers, directions, packings, (False, True)):
        oracle = theirs(kind, L, both)
        layer = from_torch(oracle)
        x, y = rows(4, 7, 6).requires_grad_(), rows(4, 7, 6).requires_grad_()
        ours, expected = read_ours(layer, x, packed, heard), read_theirs(oracle, y, packed)
        equal(ours, expected)
        pairs: Weights = {"x": (x, y)}
        own = dict(layer.named_parameters())
        for name, weight in oracle.named_parameters():
            pairs[name] = (own[name_from_torch(name, both)], weight)
        assert len(pairs) == len(own) + 1
        equal_gradients(ours, expected, pairs)


@parity(RNN)
def elman() -> None:
    layers_equal(nn.RNN, (1,), (False,))


@parity(LSTM)
def lstm() -> None:
    layers_equal(nn.LSTM, (1,), (False,))


@parity(GRU)
def gru() -> None:
    layers_equal(nn.GRU, (1,), (False,))


@parity(RecurrentStack)
def stack() -> None:
    for kind in (nn.RNN, nn.LSTM, nn.GRU):
        layers_equal(kind, (2, 3), (False,))


@parity(Bidirectional)
def both_directions() -> None:
    for kind in (nn.RNN, nn.LSTM, nn.GRU):
        layers_equal(kind, (1, 2), (True,))


# Models: theirs is composed here of torch's layers, which hold copies of the same weights. Each
# copy is noted beside its origin in `pairs`, for the gradients.


def by_torch(reader: RNNEncoder, pairs: Weights) -> Callable[..., tuple[Tensor, Tensor]]:
    """Embed, pack, run: tokens -> states (B, T, H) and end states (L * D, B, H)."""
    layers, width = reader.recurrent.layers, reader.embedding.d_model
    both = isinstance(layers[0], Bidirectional)
    table = nn.Embedding(*reader.embedding.weight.shape)
    copied(table, {"weight": reader.embedding.weight}, {})  # tied: its gradient has other parts
    hidden = reader.d_hidden // (1 + both)
    module = nn.GRU(width, hidden, len(layers), batch_first=True, bidirectional=both)
    own = dict(reader.recurrent.named_parameters())
    names = dict(module.named_parameters())
    copied(module, {name: own[name_from_torch(name, both)] for name in names}, pairs)

    def read(tokens: Tensor, real: Tensor, begin: Tensor | None = None) -> tuple[Tensor, Tensor]:
        packed = pack_padded_sequence(
            table(tokens) * width**0.5, real.sum(1), batch_first=True, enforce_sorted=False
        )
        states, ends = module(packed, begin)
        padded, _ = pad_packed_sequence(states, batch_first=True, total_length=tokens.shape[1])
        return padded, ends

    return read


@parity(RNNEncoder)
def reader() -> None:
    pairs: Weights = {}
    ours, state = ready(seq2seq.tiny()).encoder, RecurrentState()
    states, ends = by_torch(ours, pairs)(TARGET, TGT_REAL)
    equal_where_real(ours(TARGET, TGT_REAL, state), states, pairs)
    equal(state[0].values[0], ends[0])


@parity(Seq2Seq)
def plain() -> None:
    pairs: Weights = {}
    ours = ready(seq2seq.seq2seq(16, 14, d_model=6, d_hidden=8, n_layers=2))
    _, ends = by_torch(ours.encoder, pairs)(SOURCE, SRC_REAL)
    states, _ = by_torch(ours.decoder, pairs)(TARGET, TGT_REAL, ends)
    expected = linear(ours.head[2], pairs)(linear(ours.head[1], pairs)(states))
    equal_where_real(ours(SOURCE, TARGET, SRC_REAL, TGT_REAL), expected, pairs)


def general() -> AttentionSeq2Seq:
    score = attention_seq2seq.GeneralAttention
    return attention_seq2seq.attention_seq2seq(32, d_model=16, d_hidden=24, score=score)


def luong_by_equations(ours: AttentionSeq2Seq, pairs: Weights) -> Tensor:
    """score = h W m; a = softmax(score); c = sum a m; logits from tanh(W_c [c; h])."""
    memory, ends = by_torch(ours.encoder, pairs)(SOURCE, SRC_REAL)
    begin = torch.cat([ends[0], ends[1]], dim=-1)[None]
    h, _ = by_torch(ours.decoder.reader, pairs)(TARGET, TGT_REAL, begin)
    W, W_c = ours.decoder.attention.W.weight, ours.decoder.W_c
    pairs["W"], pairs["W_c"] = (W, W), (W_c.weight, W_c.weight)
    scores = torch.einsum("bth,mh,bsm->bts", h, W, memory)
    c = torch.einsum("bts,bsm->btm", softmax_over_real(scores, SRC_REAL[:, None]), memory)
    out = torch.einsum("bti,oi->bto", torch.cat([c, h], dim=-1), W_c.weight) + W_c.bias
    return linear(ours.head[1], pairs)(torch.tanh(out))


def bahdanau_by_equations(ours: AttentionSeq2Seq, pairs: Weights) -> Tensor:
    """Appendix A.2.2 step by step, over nn.GRUCell."""
    decoder, attention = ours.decoder, ours.decoder.attention
    memory, ends = by_torch(ours.encoder, pairs)(SOURCE, SRC_REAL)
    W, U, W_s, W_o = decoder.recurrent.W, decoder.recurrent.U, decoder.W_s, decoder.W_o
    W_q, W_k, u = attention.W_q, attention.W_k, attention.u
    weights = {"weight_ih": W.weight, "weight_hh": U.weight, "bias_ih": W.bias, "bias_hh": U.bias}
    cell = copied(nn.GRUCell(W.in_features, U.in_features), weights, pairs)
    pairs |= {str(len(pairs) + i): (w, w) for i, w in enumerate((W_s.weight, W_q.weight, u.weight))}
    embedded = decoder.embedding.weight[TARGET] * decoder.embedding.d_model**0.5
    h = torch.tanh(torch.einsum("bi,oi->bo", ends[1], W_s.weight) + W_s.bias)
    score_logits, logits = linear(ours.head[1], pairs), []
    for t in range(TARGET.shape[1]):
        asked = torch.einsum("bh,ah->ba", h, W_q.weight) + W_q.bias
        keys = torch.einsum("bsm,am->bsa", memory, W_k.weight)
        scores = torch.einsum("bsa,a->bs", torch.tanh(asked[:, None] + keys), u.weight[0])
        c = torch.einsum("bs,bsm->bm", softmax_over_real(scores, SRC_REAL), memory)
        h = cell(torch.cat([embedded[:, t], c], dim=-1), h)
        together = torch.cat([c, h, embedded[:, t]], dim=-1)
        deep = torch.einsum("bi,oi->bo", together, W_o.weight) + W_o.bias
        logits.append(score_logits(torch.maximum(deep[:, 0::2], deep[:, 1::2])))
    return torch.stack(logits, dim=1)


@parity(LuongDecoder, AttentionSeq2Seq)
def luong() -> None:
    pairs: Weights = {}
    ours = ready(general())
    expected = luong_by_equations(ours, pairs)
    equal_where_real(ours(SOURCE, TARGET, SRC_REAL, TGT_REAL), expected, pairs)


@parity(BahdanauDecoder)
def bahdanau() -> None:
    pairs: Weights = {}
    ours = ready(attention_seq2seq.tiny_rnnsearch())
    expected = bahdanau_by_equations(ours, pairs)
    equal_where_real(ours(SOURCE, TARGET, SRC_REAL, TGT_REAL), expected, pairs)


PROOFS = (elman, lstm, gru, stack, both_directions, reader, plain, luong, bahdanau)


@pytest.mark.parametrize("proof", PROOFS, ids=lambda proof: proof.__name__)
def test_parity(proof: Callable[[], None]) -> None:
    proof()


# One mistake each; the proof must see it.


def without_bias(self: RNN, Wx: Tensor, values: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
    return (torch.tanh(Wx + nn.functional.linear(values[0], self.U.weight)),)


def gates_exchanged(self: LSTM, Wx: Tensor, values: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
    h, c = values
    f, i, g, o = (Wx + self.U(h)).chunk(4, dim=-1)
    c = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)
    return (torch.sigmoid(o) * torch.tanh(c), c)


def reset_before_product(self: GRU, Wx: Tensor, values: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
    """As the paper writes it; the bias of U's last block is inside r in torch."""
    h, H = values[0], self.d_hidden
    r, z = torch.sigmoid(Wx[:, : 2 * H] + self.U(h)[:, : 2 * H]).chunk(2, dim=-1)
    n = torch.tanh(Wx[:, 2 * H :] + self.U(r * h)[:, 2 * H :])
    return ((1 - z) * n + z * h,)


def deaf_to_padding(
    kernel: object, weights: object, x: Tensor, real: object, values: object
) -> object:
    return fused._call(kernel, weights, values, x, batch_first=True)


def never_frozen(self: RNN, Wx: Tensor, values: tuple[Tensor, ...], real: object = None) -> object:
    h, *rest = self.cell(Wx, values)
    return (self.states(h), *rest)


def with_residual(self: RecurrentStack, x: Tensor, mask: object, state: RecurrentState) -> Tensor:
    for i, layer in enumerate(self.layers):
        x = layer(x, mask, state[i]) + (x if i else 0.0)
    return x


MISTAKES = {
    "elman: a bias left out": (elman, RNN, "cell", without_bias),
    "lstm: input and forget exchanged": (lstm, LSTM, "cell", gates_exchanged),
    "lstm: the kernel reads padding": (lstm, fused, "read", deaf_to_padding),
    "gru: r before the product": (gru, GRU, "cell", reset_before_product),
    "stack: a layer is skipped past": (stack, RecurrentStack, "forward", with_residual),
    "both directions: the second starts in the padding": (
        both_directions, RNN, "advance", never_frozen
    ),
    "reader: rows not scaled": (
        reader, seq2seq.TokenEmbedding, "forward", lambda table, tokens: table.weight[tokens]
    ),
    "plain: the decoder starts from zero": (
        plain, Seq2Seq, "begin", lambda model, src, mask: RecurrentState()
    ),
    "luong: scores scaled": (
        luong, attention_seq2seq.GeneralAttention, "default_scale", staticmethod(lambda d: d**-0.5)
    ),
    "bahdanau: no tanh in the score": (
        bahdanau,
        attention_seq2seq.AdditiveAttention,
        "score",
        lambda a, q, k, s: s * a.u(a.W_q(q).unsqueeze(-2) + k.unsqueeze(-3)).squeeze(-1),
    ),
    "bahdanau: the decoder starts from zero": (
        bahdanau,
        RNN,
        "begin",
        lambda layer, x, state: (x.new_zeros(x.shape[0], layer.d_hidden),) * layer.n_values,
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_is_seen(name: str) -> None:
    proof, owner, attribute, mistake = MISTAKES[name]
    with (
        mock.patch.object(owner, attribute, mistake),
        pytest.raises(AssertionError, match="differ"),
    ):
        proof()
