"""Recurrent layers under padding, with torch's kernel and without; the models around them."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor, nn

from deepdive.attention import AdditiveAttention, DotAttention, GeneralAttention
from deepdive.core.hooks import ablate, record, replace
from deepdive.decoding import beam, greedy
from deepdive.models.encoder_decoder import EncoderDecoder
from deepdive.models.seq2seq import attention_seq2seq, gnmt, seq2seq
from deepdive.models.transformer import transformer
from deepdive.recurrent import (
    GRU,
    LSTM,
    RNN,
    Bidirectional,
    RecurrentStack,
    RecurrentState,
    bidirectional,
    from_torch,
    stacked,
)

KINDS = (RNN, LSTM, GRU)
LAYERS = {
    "RNN": lambda: RNN(4, 3),
    "LSTM": lambda: LSTM(4, 3),
    "GRU": lambda: GRU(4, 3),
    "bidirectional": lambda: Bidirectional(LSTM(4, 3), LSTM(4, 3)),
    "stack": lambda: stacked(LSTM, 4, 3, 2),
    "bidirectional stack": lambda: bidirectional(GRU, 4, 3, 2),
}
MODELS = {
    "seq2seq": seq2seq.tiny,
    "lstm": lambda: seq2seq.seq2seq(32, d_model=16, d_hidden=12, n_layers=2, kind=LSTM),
    "luong": attention_seq2seq.tiny,
    "luong, lstm": lambda: attention_seq2seq.attention_seq2seq(
        32, d_model=16, d_hidden=24, n_layers=2, kind=LSTM
    ),
    "bahdanau": attention_seq2seq.tiny_rnnsearch,
    "gnmt": lambda: gnmt.gnmt(32, d_model=16, d_hidden=12, n_layers=4),
}
SRC = torch.tensor([[7, 5, 9, 11, 2], [4, 12, 2, 0, 0], [10, 4, 13, 2, 0]])
TGT = torch.tensor([[1, 9, 4, 5], [1, 6, 8, 0], [1, 7, 0, 0]])


def rows(*shape: int) -> Tensor:
    generator = torch.Generator().manual_seed(0)
    return torch.randn(*shape, generator=generator, dtype=torch.float64)


def flat(state: RecurrentState) -> list[Tensor]:
    return [*(state.values or ()), *(v for layer in state.layers for v in flat(layer))]


@pytest.mark.parametrize("name", LAYERS)
@given(lengths=st.lists(st.integers(0, 5), min_size=1, max_size=4), seed=st.integers(0, 99))
def test_loop_and_kernel_agree(name: str, lengths: list[int], seed: int) -> None:
    """States, end states and gradients, wherever the real tokens stand, in rows with none too."""
    torch.manual_seed(seed)
    layer = LAYERS[name]().double()
    mask = torch.zeros(len(lengths), 5).bool()
    for b, length in enumerate(lengths):
        mask[b, torch.randperm(5)[:length]] = True
    x = torch.randn(len(lengths), 5, 4, dtype=torch.float64)
    ends, kernel_ends = RecurrentState(), RecurrentState()
    kernel = layer(x, mask, kernel_ends)
    with record(layer, "*states"):
        loop = layer(x, mask, ends)
    torch.testing.assert_close(loop, kernel, rtol=0, atol=1e-12)
    for a, b in zip(flat(ends), flat(kernel_ends), strict=True):
        torch.testing.assert_close(a, b, rtol=0, atol=1e-12)
    if mask.any():
        weights, direction = list(layer.parameters()), torch.randn_like(loop)
        gradients = [
            torch.autograd.grad((states * direction).sum(), weights) for states in (loop, kernel)
        ]
        for a, b in zip(*gradients, strict=True):
            torch.testing.assert_close(a, b, rtol=0, atol=1e-9)


@pytest.mark.parametrize("name", LAYERS)
def test_a_padded_row_is_read_as_if_alone(name: str) -> None:
    """States at real tokens and end states, of rows padded left, right and in between."""
    layer, x = LAYERS[name]().double(), rows(3, 6, 4)
    mask = torch.tensor([[1, 1, 1, 0, 0, 0], [0, 0, 1, 1, 1, 1], [1, 0, 1, 0, 0, 1]]).bool()
    x[~mask] = float("nan")  # no arithmetic may touch it
    ends = RecurrentState()
    states = layer(x, mask, ends)
    for b in range(3):
        alone_ends = RecurrentState()
        alone = layer(x[b : b + 1, mask[b]], None, alone_ends)
        torch.testing.assert_close(states[b : b + 1, mask[b]], alone, rtol=0, atol=1e-12)
        for together, single in zip(flat(ends), flat(alone_ends), strict=True):
            torch.testing.assert_close(together[b : b + 1], single, rtol=0, atol=1e-12)


@pytest.mark.parametrize("kind", KINDS)
def test_the_state_stands_still_in_padding(kind: type[RNN]) -> None:
    layer, x = kind(4, 3).double(), rows(1, 6, 4)
    states = layer(x, torch.tensor([[0, 1, 1, 0, 1, 0]]).bool())[0]
    assert (states[0] == 0).all()
    assert torch.equal(states[3], states[2])
    assert torch.equal(states[5], states[4])
    assert not torch.allclose(states[4], states[2])


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("heard", [False, True])
def test_a_row_without_a_real_token_keeps_its_state(kind: type[RNN], heard: bool) -> None:
    layer, x = kind(4, 3).double(), rows(2, 3, 4)
    start = tuple(rows(2, 3) + i for i in range(layer.n_values))
    state = RecurrentState(start)
    mask = torch.tensor([[0, 0, 0], [1, 1, 1]]).bool()
    if heard:
        with record(layer, "states"):
            states = layer(x, mask, state)
    else:
        states = layer(x, mask, state)
    assert torch.equal(states[0], start[0][:1].expand(3, -1))
    assert all(torch.equal(new[0], old[0]) for new, old in zip(state.values, start, strict=True))
    assert not torch.allclose(state.values[0][1], start[0][1])


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_lower_precision(kind: type[RNN], dtype: torch.dtype) -> None:
    layer, x = kind(4, 3).to(dtype), rows(2, 5, 4).to(dtype)
    mask = torch.tensor([[1] * 5, [1, 1, 1, 0, 0]]).bool()
    kernel = layer(x, mask)
    with record(layer, "states"):
        loop = layer(x, mask)
    assert kernel.dtype == loop.dtype == dtype
    torch.testing.assert_close(loop, kernel, rtol=0, atol=1e-6 if dtype == torch.float32 else 0.02)


def test_gates_can_be_recorded_and_replaced() -> None:
    layer, x = LSTM(4, 3).double(), rows(2, 5, 4)
    with record(layer, "*_gate", "cells", "states") as seen:
        states = layer(x)
    gates = {name: torch.stack(values, dim=1) for name, values in seen.items()}
    assert gates["forget_gate"].shape == (2, 5, 3)
    assert all(((gates[n] > 0) & (gates[n] < 1)).all() for n in gates if n.endswith("gate"))
    assert torch.equal(gates["states"], states)
    torch.testing.assert_close(gates["output_gate"] * gates["cells"].tanh(), states)
    with replace(layer, "forget_gate", torch.ones_like), ablate(layer, "input_gate"):
        kept = layer(x, None, RecurrentState((rows(2, 3), torch.ones(2, 3).double())))
    with record(layer, "output_gate") as shown:
        layer(x)
    assert kept.abs().max() <= torch.tanh(torch.tensor(1.0))  # the cell stayed at 1
    assert len(shown["output_gate"]) == 5
    with ablate(GRU(4, 3), "update_gate"):
        pass  # the name exists


def test_gradients_at_single_steps() -> None:
    """What the page on vanishing gradients needs: d loss / d h_t for every t."""
    layer = RNN(4, 3).double()
    with record(layer, "states") as seen:
        states = layer(rows(1, 6, 4))
        for h in seen["states"]:
            h.retain_grad()
        states[:, -1].sum().backward()
    sizes = [h.grad.norm().item() for h in seen["states"]]
    assert sizes[-1] == pytest.approx(3**0.5)
    assert all(size > 0 for size in sizes)


def test_gradients_in_eval_mode() -> None:
    """Saliency asks a model in eval mode for gradients."""
    for kind in KINDS:
        x = rows(2, 5, 4).requires_grad_()
        kind(4, 3).double().eval()(x).sum().backward()
        assert x.grad.abs().sum() > 0


def test_initial_weights() -> None:
    torch.manual_seed(0)
    layer = LSTM(6, 5)
    for block in layer.U.weight.chunk(4):
        torch.testing.assert_close(block @ block.T, torch.eye(5), rtol=0, atol=1e-5)
    assert [b.unique().tolist() for b in layer.W.bias.chunk(4)] == [[0.0], [1.0], [0.0], [0.0]]
    assert layer.U.bias.abs().max() == 0
    assert (layer.W.weight.abs() <= (6 / 11) ** 0.5).all()


def test_dropout_acts_between_layers_only() -> None:
    x = rows(2, 5, 4)
    one, two = stacked(GRU, 4, 3, 1, 0.5).double(), stacked(GRU, 4, 3, 2, 0.5).double()
    assert torch.equal(one(x), one(x))
    assert not torch.equal(two(x), two(x))
    with record(two, "layers.1.states") as seen:
        states = two(x)
    assert torch.equal(states, torch.stack(seen["layers.1.states"], dim=1))
    two.eval()
    assert torch.equal(two(x), two.layers[1](two.layers[0](x)))


@pytest.mark.parametrize(
    ("module", "said"),
    [
        (lambda: nn.RNN(4, 3, nonlinearity="relu"), "nonlinearity='relu'"),
        (lambda: nn.LSTM(4, 3, bias=False), "bias=False"),
        (lambda: nn.LSTM(4, 3, proj_size=2), "proj_size=2"),
        (lambda: nn.GRUCell(4, 3), "GRUCell"),
    ],
)
def test_torch_layers_that_are_refused(module: object, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        from_torch(module())


def test_from_torch_keeps_dtype_mode_and_shape() -> None:
    ours = from_torch(nn.LSTM(4, 3, 2, bidirectional=True, dropout=0.3).double().eval())
    assert isinstance(ours, RecurrentStack)
    assert not ours.training
    assert ours.dropout.p == 0.3
    assert {p.dtype for p in ours.parameters()} == {torch.float64}
    assert isinstance(ours.layers[1], Bidirectional)
    assert isinstance(ours.layers[1].right_to_left, LSTM)


# The models


def ready(make: object) -> EncoderDecoder:
    torch.manual_seed(0)
    return make().double().eval()


@pytest.mark.parametrize("name", MODELS)
def test_source_padding_does_not_matter(name: str) -> None:
    model = ready(MODELS[name])
    logits = model(SRC, TGT, SRC != 0, TGT != 0)
    other = torch.where(SRC == 0, 9, SRC)
    assert torch.equal(model(other, TGT, SRC != 0, TGT != 0), logits)
    alone = model(SRC[1:2, :3], TGT[1:2, :3])
    torch.testing.assert_close(logits[1:2, :3], alone, rtol=0, atol=1e-12)
    assert not torch.allclose(model(SRC, TGT)[1], logits[1])


@pytest.mark.parametrize("name", MODELS)
@torch.no_grad()
def test_step_by_step_is_the_full_pass(name: str) -> None:
    """With padded sources, and rows repeated as beam search repeats them."""
    model, mask = ready(MODELS[name]), SRC != 0
    full = model(SRC, TGT, mask)
    state = model.begin(SRC, mask)
    first = model.step(TGT[:, :2], state)
    rows_kept = torch.tensor([2, 2, 0, 1])
    state.reorder(rows_kept)
    rest = [model.step(TGT[rows_kept, t : t + 1], state) for t in (2, 3)]
    torch.testing.assert_close(first, full[:, :2], rtol=0, atol=1e-12)
    torch.testing.assert_close(torch.cat(rest, 1), full[rows_kept, 2:], rtol=0, atol=1e-12)


@pytest.mark.parametrize("name", MODELS)
def test_searches_find_what_the_full_pass_finds(name: str) -> None:
    """Greedy = argmax of the whole pass, row by row; a beam of 3 finds at least as much."""
    model, mask = ready(MODELS[name]), SRC != 0
    found = greedy(model, SRC, mask, max_length=5, eos=None)
    beams = beam(model, SRC, mask, width=3, alpha=0.0, max_length=5, eos=None)
    for b, tokens in enumerate(found):
        read = torch.tensor([[1, *tokens[:-1]]])
        log_p = model(SRC[b : b + 1, mask[b]], read).log_softmax(-1)[0]
        assert log_p.argmax(-1).tolist() == tokens
        assert beams[b][0].score >= log_p.max(-1).values.sum().item() - 1e-9


@pytest.mark.parametrize("make", [*MODELS.values(), transformer.tiny])
def test_what_does_not_fit_is_named_in_its_error(make: object) -> None:
    model = ready(make)
    with pytest.raises(ValueError, match="src has a batch of 3, tgt of 2"):
        model(SRC, TGT[:2])
    with pytest.raises(TypeError, match="tgt must be integers"):
        model(SRC, TGT.double())
    for masks, said in (
        ((torch.ones(3, 5), None), "src_mask must be a bool"),
        ((torch.ones(3, 4).bool(), None), "src_mask has shape"),
        ((torch.zeros(3, 5).bool(), None), "src_mask masks all tokens of sequence 0"),
        ((None, torch.ones(3, 4)), "tgt_mask must be a bool"),
        ((None, torch.zeros(3, 4).bool()), "tgt_mask masks all tokens of sequence 0"),
    ):
        with pytest.raises((TypeError, ValueError), match=said):
            model(SRC, TGT, *masks)


@pytest.mark.parametrize("name", ["luong", "luong, lstm", "bahdanau"])
@torch.no_grad()
def test_alignments_are_recorded_in_training_form_and_step_by_step(name: str) -> None:
    model, mask = ready(MODELS[name]), SRC != 0
    with record(model, "*.weights") as seen:
        model(SRC, TGT, mask)
    (weights,) = seen.values()
    together = torch.cat(weights, dim=2)
    assert together.shape == (3, 1, 4, 5)  # (B, H, T, S)
    torch.testing.assert_close(together.sum(-1), torch.ones(3, 1, 4).double())
    assert (together[:, 0].transpose(1, 2)[~mask] == 0).all()
    with record(model, "*.weights") as stepwise:
        state = model.begin(SRC, mask)
        for t in range(4):
            model.step(TGT[:, t : t + 1], state)
    (steps,) = stepwise.values()
    torch.testing.assert_close(torch.cat(steps, dim=2), together, rtol=0, atol=1e-12)


def test_bahdanau_projects_the_keys_once() -> None:
    model = ready(MODELS["bahdanau"])
    calls: list[tuple[int, ...]] = []
    point = model.decoder.attention.W_k
    point.register_forward_hook(lambda _m, _i, output: calls.append(tuple(output.shape)))
    model(SRC, TGT)
    state = model.begin(SRC)
    for t in range(3):
        model.step(TGT[:, t : t + 1], state)
    assert calls == [(3, 1, 5, 12)] * 2


def test_projected_keys_give_the_same_attention() -> None:
    attention = AdditiveAttention(4, 6, 5).double()
    q, k, mask = rows(2, 1, 3, 4), rows(2, 1, 7, 6), torch.rand(2, 1, 3, 7) > 0.3
    expected = attention(q, k, k, mask)
    assert torch.equal(attention.attend(q, attention.project_keys(k), k, mask), expected)


@pytest.mark.parametrize(
    "score",
    [lambda d, m: DotAttention(), GeneralAttention, AdditiveAttention],
    ids=["dot", "general", "additive"],
)
def test_luong_takes_any_score(score: object) -> None:
    model = attention_seq2seq.attention_seq2seq(16, d_model=8, d_hidden=12, score=score)
    assert model(SRC, TGT, SRC != 0).shape == (3, 4, 16)


def test_a_bahdanau_decoder_can_be_an_lstm() -> None:
    torch.manual_seed(0)
    model = attention_seq2seq.tiny_rnnsearch().double()
    model.decoder.recurrent = LSTM(40, 12).double()
    full, state = model(SRC, TGT), model.begin(SRC)
    steps = [model.step(TGT[:, t : t + 1], state) for t in range(4)]
    torch.testing.assert_close(torch.cat(steps, dim=1), full, rtol=0, atol=1e-12)


def test_two_kinds_do_not_fit() -> None:
    model = seq2seq.tiny()
    model.decoder.recurrent = stacked(LSTM, 16, 24, 1)
    with pytest.raises(ValueError, match="LSTM has 2 tensor"):
        model(SRC, TGT)


def test_published_sizes() -> None:
    def count(make: object) -> float:
        with torch.device("meta"):
            model = make()
        return sum(p.numel() for p in model.parameters()) / 1e6

    # The paper counts an output layer of its own: 80,000 x 1000 more.
    assert count(seq2seq.sutskever) + 80 == pytest.approx(384, abs=1)
    with torch.device("meta"):
        logits = attention_seq2seq.rnnsearch()(SRC.to("meta"), TGT.to("meta"))
        assert logits.shape == (3, 4, 30_000)
        logits = attention_seq2seq.luong()(SRC.to("meta"), TGT.to("meta"))
        assert logits.shape == (3, 4, 50_000)


@pytest.mark.parametrize("name", ["luong", "bahdanau"])
def test_attention_learns_to_reverse(name: str) -> None:
    """Chance is ln 10 = 2.3."""
    torch.manual_seed(0)
    builds = {
        "luong": lambda: attention_seq2seq.attention_seq2seq(14, d_model=16, d_hidden=32),
        "bahdanau": lambda: attention_seq2seq.rnnsearch(14, None, d_model=16, d_hidden=16),
    }
    model = builds[name]()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(250):
        source = torch.randint(4, 14, (32, 6))
        target = torch.cat([torch.ones(32, 1, dtype=torch.int64), source.flip(1)], dim=1)
        logits = model(source, target[:, :-1])
        loss = nn.functional.cross_entropy(logits.flatten(0, 1), target[:, 1:].flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    assert loss < 0.5
