"""Operations equal closed forms, whichever kernel runs; the card says what it assumes."""

import json
import time

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from deepdive_book.kit import cost
from deepdive_book.kit.cost import CostCard, measure
from deepdive_book.kit.flops import count_flops

B, T, S, D = 3, 5, 7, 16


def backward(output):
    (output[0] if isinstance(output, tuple) else output).sum().backward()


def test_linear_layer():
    layer, x = nn.Linear(D, 24), torch.randn(B, T, D, requires_grad=True)
    forward = 2 * B * T * D * 24
    assert count_flops(lambda: layer(x)) == forward
    assert count_flops(lambda: backward(layer(x))) == 3 * forward


@pytest.mark.parametrize("masked", [False, True])
def test_fused_attention(masked):
    """The products inside torch's fused kernel are counted; backward forms the scores again."""
    q = torch.randn(B, 4, T, D, requires_grad=True)
    k, v = (torch.randn(B, 4, S, D, requires_grad=True) for _ in range(2))
    mask = torch.ones(T, S, dtype=torch.bool).tril() if masked else None
    product = 2 * B * 4 * T * S * D

    def attend():
        return F.scaled_dot_product_attention(q, k, v, attn_mask=mask)

    with torch.no_grad():
        assert count_flops(attend) == 2 * product
    assert count_flops(lambda: backward(attend())) == 2 * product + 5 * product


def test_fused_and_explicit_attention_agree():
    q, k, v = torch.randn(B, 4, T, D), torch.randn(B, 4, S, D), torch.randn(B, 4, S, D)
    explicit = count_flops(lambda: (q @ k.mT).softmax(-1) @ v)
    assert explicit == count_flops(lambda: F.scaled_dot_product_attention(q, k, v))


@pytest.mark.parametrize(("kind", "gates"), [(nn.RNN, 1), (nn.GRU, 3), (nn.LSTM, 4)])
@pytest.mark.parametrize(("layers", "ways"), [(1, 1), (2, 2)])
def test_recurrent_layers(kind, gates, layers, ways):
    width = 24
    net = kind(D, width, num_layers=layers, bidirectional=ways == 2, batch_first=True)
    x = torch.randn(B, T, D, requires_grad=True)
    inputs = [D] + [ways * width] * (layers - 1)
    forward = sum(2 * B * T * gates * width * (n + width) * ways for n in inputs)
    with torch.no_grad():
        assert count_flops(lambda: net(x)) == forward
    trained = count_flops(lambda: backward(net(x)))
    # The first state needs no gradient, so some kernels leave its product out.
    spared = 2 * B * gates * width * width * layers * ways
    assert 3 * forward - spared <= trained <= 3 * forward


@pytest.mark.parametrize(("kind", "gates"), [(nn.RNNCell, 1), (nn.GRUCell, 3), (nn.LSTMCell, 4)])
def test_cells(kind, gates):
    cell, x = kind(D, 24), torch.randn(B, D)
    assert count_flops(lambda: cell(x)) == 2 * B * gates * 24 * (D + 24)


def test_torch_encoder_in_eval_mode_is_not_hidden_by_its_fast_path():
    layer = nn.TransformerEncoderLayer(D, 4, 32, batch_first=True).eval()
    x = torch.randn(B, T, D)
    with torch.no_grad():
        found = count_flops(lambda: layer(x))
    assert found == 2 * B * T * (4 * D * D + 2 * D * 32) + 2 * 2 * B * T * T * D
    assert torch.backends.mha.get_fastpath_enabled()


def test_vectors():
    assert count_flops(lambda: torch.ones(3, 4) @ torch.ones(4)) == 24
    assert count_flops(lambda: torch.ones(4) @ torch.ones(4)) == 8


def test_measure_counts_time_and_memory_but_not_the_counting(monkeypatch):
    now = iter([0.0, 10.0, 110.0, 115.0])  # start, counting from, counting to, end
    monkeypatch.setattr(time, "perf_counter", lambda: next(now))
    with measure() as card:
        one = card.count(lambda: torch.ones(10, 10) @ torch.ones(10, 10), times=2.5)
    assert (one, card.flops, card.seconds) == (2000.0, 5000.0, 15.0)
    assert card.peak_memory > 50e6  # torch alone takes more


def test_a_card_is_filled_when_the_work_fails():
    with pytest.raises(KeyError), measure() as card:
        raise KeyError
    assert card.seconds > 0


def test_implied_times_and_their_assumption():
    card = CostCard(flops=4.37e12 * 60, seconds=10.0, peak_memory=2**30, device="CPU, 2 threads")
    assert card.implied() == pytest.approx({"K80": 200.0, "T4": 4.37 * 60 / 8.1 / 0.3})
    text = str(card)
    for form in (text, card._repr_html_(), card._repr_markdown_()):
        for words in ("K80", "T4", "30%", "assumption", "4.37 TFLOP/s", "8.1 TFLOP/s", "1,024 MB"):
            assert words in form


def test_an_uncounted_card_implies_nothing():
    card = CostCard(seconds=1.0, peak_memory=2**20, device="here")
    assert card.implied() == {}
    assert "not counted" in str(card)
    assert "assumption" not in card._repr_html_()


def test_cards_add_up():
    a = CostCard(1e12, 2.0, 300, "CPU, 1 thread")
    b = CostCard(2e12, 3.0, 200, "CPU, 1 thread")
    both = a + b
    assert (both.flops, both.seconds, both.peak_memory) == (3e12, 5.0, 300)
    assert both.device == "CPU, 1 thread"
    assert (both + CostCard(device="T4")).device == "CPU, 1 thread + T4"
    assert sum([b], start=a) == both
    with pytest.raises(ValueError, match="efficiency"):
        a + CostCard(efficiency=0.5)


def test_a_card_goes_to_json():
    found = json.loads(json.dumps(CostCard(1e12, 2.0, 2**20, "x").as_dict()))
    assert found["peak_memory_mb"] == 1.0
    assert set(found["implied_seconds"]) == {gpu.name for gpu in cost.GPUS}
    assert found["assumed_efficiency"] == 0.3


@pytest.mark.parametrize("efficiency", [0.0, 1.5])
def test_efficiency_out_of_range(efficiency):
    with pytest.raises(ValueError, match="efficiency"), measure(efficiency):
        pass


def test_times_out_of_range():
    with pytest.raises(ValueError, match="times: got 0"):
        CostCard().count(lambda: None, times=0)


def test_html_is_escaped():
    assert "<b>" not in CostCard(device="<b>")._repr_html_()
