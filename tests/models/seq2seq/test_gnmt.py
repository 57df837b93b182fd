"""GNMT's published size, the token of the language wanted, and equation 14."""

from __future__ import annotations

import math

import pytest
import torch
from torch import Tensor, nn

from deepdive.core.hooks import record
from deepdive.decoding import beam, wu_penalty
from deepdive.decoding.coverage import coverage, rerank
from deepdive.models.seq2seq import attention_seq2seq, gnmt
from deepdive.models.seq2seq.attention_seq2seq import AttentionSeq2Seq
from deepdive.models.seq2seq.multilingual_gnmt import add_target_language_token

SRC = torch.tensor([[7, 5, 9, 11, 2], [4, 12, 2, 0, 0], [10, 4, 13, 2, 0]])
TGT = torch.tensor([[1, 9, 4, 5], [1, 6, 8, 0], [1, 7, 0, 0]])


def ready() -> AttentionSeq2Seq:
    torch.manual_seed(0)
    return gnmt.gnmt(32, d_model=16, d_hidden=12, n_layers=4).double().eval()


def test_published_size() -> None:
    with torch.device("meta"):
        model = gnmt.base()
    layers = model.encoder.recurrent.layers
    assert len(layers) == len(model.decoder.upper) + 1 == 8
    assert layers[1].d_input == 2048  # both directions of the bottom layer
    assert model(SRC.to("meta"), TGT.to("meta")).shape == (3, 4, 32_000)


def test_the_token_of_the_language_stands_first() -> None:
    asked, mask = add_target_language_token(20, SRC, SRC != 0)
    assert asked[:, 0].tolist() == [20] * 3
    assert torch.equal(asked[:, 1:], SRC)
    assert mask is not None
    assert mask[:, 0].all()
    assert torch.equal(mask[:, 1:], SRC != 0)
    asked, mask = add_target_language_token(torch.tensor([20, 21, 20]), SRC)
    assert (asked[:, 0].tolist(), mask) == ([20, 21, 20], None)


def test_the_output_depends_on_the_token() -> None:
    model = ready()
    one, other = (
        model(*with_target(add_target_language_token(token, SRC, SRC != 0))) for token in (20, 21)
    )
    assert (one - other).abs().amax(dim=(1, 2)).min() > 1e-3
    mixed = model(
        *with_target(add_target_language_token(torch.tensor([20, 21, 20]), SRC, SRC != 0))
    )
    rows = torch.stack([one[0], other[1], one[2]])
    torch.testing.assert_close(mixed, rows, rtol=0, atol=1e-12)


def with_target(asked: tuple[Tensor, Tensor | None]) -> tuple[Tensor | None, ...]:
    return asked[0], TGT, asked[1]


def test_what_ask_for_refuses() -> None:
    with pytest.raises(ValueError, match="3 sources"):
        add_target_language_token(torch.tensor([4, 5]), SRC)
    with pytest.raises(ValueError, match="src_mask has shape"):
        add_target_language_token(4, SRC, (SRC != 0)[:, 1:])


def test_one_model_learns_two_languages() -> None:
    """Wanted forwards or backwards: the token alone tells which. Chance is ln 8 = 2.1."""
    torch.manual_seed(0)
    model = gnmt.gnmt(14, d_model=16, d_hidden=24, n_layers=3)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(300):
        source = torch.randint(4, 12, (32, 4))
        backwards = torch.rand(32) < 0.5
        answer = torch.where(backwards[:, None], source.flip(1), source)
        target = torch.cat([torch.ones(32, 1, dtype=torch.int64), answer], dim=1)
        asked, _ = add_target_language_token(12 + backwards.long(), source)
        logits = model(asked, target[:, :-1])
        loss = nn.functional.cross_entropy(logits.flatten(0, 1), target[:, 1:].flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    assert loss < 0.5


def test_coverage_by_hand() -> None:
    weights = torch.tensor([[0.9, 0.1, 0.0], [0.3, 0.3, 0.4]])  # sums 1.2, 0.4, 0.4
    assert coverage(weights, 0.2) == pytest.approx(0.2 * 2 * math.log(0.4), abs=1e-6)
    first = torch.tensor([True, True, False])
    assert coverage(weights, 0.2, first) == pytest.approx(0.2 * math.log(0.4), abs=1e-6)
    assert coverage(torch.eye(3), 0.2) == 0
    with pytest.raises(ValueError, match="one hypothesis"):
        coverage(weights[None], 0.2)


@pytest.mark.parametrize("make", [ready, lambda: attention_seq2seq.tiny().double().eval()])
def test_rerank_is_equation_14(make: object) -> None:
    model, mask = make(), SRC != 0
    found = beam(model, SRC, mask, width=3, n_best=3, alpha=0.0, max_length=5)
    ordered = rerank(model, found, SRC, mask, alpha=0.7, beta=0.4)
    for b, row in enumerate(ordered):
        assert {tuple(h.tokens) for h in row} == {tuple(h.tokens) for h in found[b]}
        assert [h.score for h in row] == sorted((h.score for h in row), reverse=True)
        for h in row:
            written = [*h.tokens, 2] if h.ended else h.tokens
            with record(model, "*.weights") as seen:
                source, read = SRC[b : b + 1, mask[b]], torch.tensor([[1, *written[:-1]]])
                log_p = model(source, read)[0].log_softmax(-1)
            (calls,) = seen.values()
            got = torch.cat(calls, dim=2)[0, 0].sum(0).clamp(max=1)
            total = sum(log_p[t, token].item() for t, token in enumerate(written))
            expected = total / wu_penalty(len(written), 0.7) + 0.4 * got.log().sum().item()
            assert h.score == pytest.approx(expected, abs=1e-5)


def test_rerank_without_coverage_is_the_search_s_order() -> None:
    model, mask = ready(), SRC != 0
    found = beam(model, SRC, mask, width=4, n_best=4, alpha=0.6, max_length=6)
    again = rerank(model, found, SRC, mask, alpha=0.6, beta=0.0)
    assert [[h.tokens for h in row] for row in again] == [[h.tokens for h in row] for row in found]
    with pytest.raises(ValueError, match="got 2 examples, expected 3"):
        rerank(model, found[:2], SRC, mask)
    assert not model.training
