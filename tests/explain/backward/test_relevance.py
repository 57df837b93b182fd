"""Relevance: conservation, the rules written out, captum, planted truth, what is refused."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from captum.attr import LRP
from captum.attr._utils.lrp_rules import Alpha1_Beta0_Rule, EpsilonRule
from parity_registry import perturb
from torch import Tensor, nn
from transformers import BertConfig, BertForSequenceClassification, LlamaConfig
from transformers import LlamaForSequenceClassification as Llama

from deepdive.core import GatedFeedForward
from deepdive.core.hooks import HookPoint, record, replace
from deepdive.explain.backward.deeplift import deeplift
from deepdive.explain.backward.relevance import (
    attn_lrp,
    conservation_gap,
    deep_taylor,
    lrp,
)
from deepdive.explain.backward.rules import Rules, passed, shared
from deepdive.explain.classifiers.adapt import adapt
from deepdive.explain.gradients import gradient_x_input
from deepdive.layers.heads import Classifier
from deepdive.models.bert import bert
from deepdive.models.transformer import decoder_only, transformer

EMBEDDED = "encoder.embeddings.embedded"
TOKENS = torch.tensor([[1, 9, 8, 22, 5, 2]])
METHODS = [lrp, attn_lrp, deep_taylor]


class Of(nn.Module):
    """A module, with a hook point before it."""

    def __init__(self, inner: Any) -> None:
        super().__init__()
        self.rows, self.inner = HookPoint(), inner

    def forward(self, x: Tensor) -> Tensor:
        return self.inner(self.rows(x))


def first(model: nn.Module, given: Tensor) -> Callable[[], Tensor]:
    """What is explained: the numbers of the first input."""
    return lambda: model(given)[0]


def run_on(model: Of, x: Tensor) -> tuple[Of, str, Any]:
    """A model of rows to rows, its point, and the numbers of its middle row."""
    return model, "rows", lambda: model(x)[0, 1]


def classifier(size: float = 0.2, biases: bool = False) -> Classifier:
    torch.manual_seed(0)
    model = Classifier(bert.bert(bert.TINY, vocab_size=30), 32, 3).double().eval()
    perturb(model, size=size)
    return model if biases else without_biases(model)


def without_biases(model: Any) -> Any:
    with torch.no_grad():
        for name, p in model.named_parameters():
            if name.endswith("bias"):
                p.zero_()
    return model


def mlp(*widths: int, biases: float = 0.0, curve: type[nn.Module] = nn.ReLU) -> Any:
    torch.manual_seed(1)
    pairs = list(pairwise(widths))
    layers = [part for a, b in pairs for part in (nn.Linear(a, b), curve())][:-1]
    model: Any = nn.Sequential(*layers).double()
    for layer in model[::2]:
        layer.bias.data = biases * torch.randn_like(layer.bias)
    return model


# -- conservation


def test_relevance_sums_to_the_output_where_no_bias_adds_anything() -> None:
    model = classifier()
    output = model(TOKENS)[0]
    for method in (lrp, deep_taylor):
        found = method(model, EMBEDDED, lambda: model(TOKENS)[0])
        assert found.shape == (3, 6)
        torch.testing.assert_close(found.sum(-1), output, rtol=1e-7, atol=1e-7)
    plain = gradient_x_input(model, EMBEDDED, lambda: model(TOKENS)[0])
    assert (plain.sum(-1) - output).abs().max() > 0.5 * output.abs().max()


@pytest.mark.parametrize("kind", ["gpt", "transformer", "gated", "llama"])
def test_it_is_conserved_in_every_form_of_layer(kind: str) -> None:
    """Before and behind the norm, causal, with cross-attention, gates, rotated and grouped."""
    torch.manual_seed(0)
    if kind == "transformer":
        sizes: dict[str, Any] = {"d_model": 16, "n_heads": 4, "n_layers": 2, "d_ff": 24}
        model: Any = without_biases(perturb(transformer.transformer(30, **sizes).double().eval()))
        for side in (model.encoder, model.decoder):
            side.position.embed = lambda rows, positions: rows  # added behind the point: a bias
        with record(model, "decoder.embedded") as seen:
            model(TOKENS, TOKENS)
        none = torch.zeros_like(seen["decoder.embedded"][0])

        def output() -> Tensor:
            with replace(model, "decoder.embedded", none):  # else it too is an input
                return model(TOKENS, TOKENS)[0, -1, :3]

        found = lrp(model, "encoder.embedded", output)
        torch.testing.assert_close(found.sum(-1), output(), rtol=1e-6, atol=1e-7)
        return
    if kind == "gated":
        model = Of(nn.Sequential(GatedFeedForward(6, 8), nn.Linear(6, 3))).double()
        x = torch.randn(1, 1, 6).double()
        run: Callable[[], Tensor] = lambda: without_biases(model)(x)[0, 0]  # noqa: E731
        point = "rows"
    elif kind == "llama":
        sizes = {
            "vocab_size": 30, "hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 4,
            "intermediate_size": 24, "num_key_value_heads": 2, "num_labels": 3, "pad_token_id": 0,
        }  # fmt: skip
        theirs: Any = Llama(LlamaConfig(**sizes))  # type: ignore[no-untyped-call]
        model = adapt(perturb(theirs.double().eval()))
        run, point = (lambda: model(TOKENS)[0]), "*.embedded"
    else:
        model = without_biases(
            perturb(
                decoder_only.decoder_only(30, d_model=16, n_heads=4, n_layers=2, d_ff=24)
                .double()
                .eval()
            )
        )
        nn.init.zeros_(model.decoder.position.table.weight)  # added behind the point: a bias
        run, point = (lambda: model(TOKENS)[0, -1, :3]), "*embedded"
    found = lrp(model, point, run)
    torch.testing.assert_close(found.sum(-1), run(), rtol=1e-6, atol=1e-7)


def test_what_the_biases_take_is_what_is_missing() -> None:
    """One layer: sum of R = output - sum over j of R_j b_j / z_j."""
    model, x = Of(mlp(4, 5, 2, biases=1.0)), torch.randn(1, 1, 4).double()
    found = lrp(model, "rows", lambda: model(x)[0, 0]).sum(-1)
    first, _, last = model.inner
    z = first(x)[0, 0]
    taken = last.bias + (last.weight * z.relu() * first.bias / z).sum(-1)
    torch.testing.assert_close(found, model(x)[0, 0] - taken)
    gap = conservation_gap(lambda: model(x)[0, 0], lrp(model, "rows", lambda: model(x)[0, 0]))
    torch.testing.assert_close(gap, taken)
    assert not gap.requires_grad
    with pytest.raises(ValueError, match="give the output that was explained"):
        conservation_gap(lambda: model(x)[0], gap[:, None])


def test_deep_taylor_is_conserved_and_keeps_the_sign_where_biases_only_hold_back() -> None:
    net, x = mlp(6, 16, 16, 3, biases=0.05), 3 * torch.rand(1, 40, 6).double()
    for layer in net[::2]:
        layer.bias.data = -layer.bias.abs()
    model = Of(net)
    outputs = model(x)[0, :, 1]
    found = deep_taylor(model, "rows", lambda: model(x)[0, :, 1])
    speaks = outputs > 0
    assert 5 < speaks.sum() < 40
    torch.testing.assert_close(found.sum(-1)[speaks], outputs[speaks])
    assert (found * outputs.sign()[:, None] >= 0).all()


# -- the rules, written out


def test_rules_change_no_value() -> None:
    model = classifier(biases=True)
    expected, values = model(TOKENS), []

    def output() -> Tensor:
        values.append(model(TOKENS))
        return values[-1][0]

    for method in METHODS:
        method(model, EMBEDDED, output)
        torch.testing.assert_close(values[-1], expected)
    assert all(p.requires_grad for p in model.parameters())


def handed_back(x: Tensor, weight: Tensor, bias: Tensor, r: Tensor, epsilon: float) -> Tensor:
    """The epsilon rule, unit by unit, from its definition."""
    found = torch.zeros_like(x)
    z = weight @ x + bias
    for j in range(len(z)):
        for i in range(len(x)):
            found[i] += x[i] * weight[j, i] / (z[j] + epsilon * z[j].sign()) * r[j]
    return found


def test_the_epsilon_rule_unit_by_unit() -> None:
    model, x = Of(mlp(4, 6, 5, 3, biases=0.5, curve=nn.Tanh)), torch.randn(4).double()
    a, b, c = model.inner[::2]
    for epsilon in (1e-9, 0.3):
        found = lrp(model, "rows", lambda: model(x[None, None])[0, 0], epsilon)
        one = a(x).tanh()
        two = b(one).tanh()
        for t in range(3):
            z = c(two)[t]
            r = two * c.weight[t] / (z + epsilon * z.sign()) * z
            r = handed_back(one, b.weight, b.bias, r, epsilon)
            r = handed_back(x, a.weight, a.bias, r, epsilon)
            torch.testing.assert_close(found[t, 0], r.sum())


def test_the_positive_rule_entry_by_entry_for_inputs_of_both_signs() -> None:
    net = mlp(4, 3, biases=1.0)
    summed = Of(lambda rows: net(rows.sum(1)))
    for x in torch.randn(4, 4).double():
        entries = x.diag()[None]  # row i has entry i alone
        found = deep_taylor(summed, "rows", lambda: summed(entries)[0])  # noqa: B023
        speaks = (x * net[0].weight).clamp(min=0)
        shares = (speaks / speaks.sum(-1, keepdim=True)).nan_to_num()  # none: it keeps all
        torch.testing.assert_close(found, shares * net(x)[:, None])


def test_attention_in_one_call_is_taken_apart_with_its_mask() -> None:
    x, held_back = torch.randn(1, 3, 4).double(), torch.ones(3, 3, dtype=torch.bool).tril()
    far = torch.zeros(3, 3).double().masked_fill(~held_back, float("-inf"))

    def written_out(rows: Tensor) -> Tensor:
        scores = (rows @ rows.mT).masked_fill(~held_back, -1e300) / 2
        return scores.softmax(-1) @ rows

    def one_call(**given: Any) -> Any:
        return lambda rows: F.scaled_dot_product_attention(*3 * [rows[:, None]], **given)[:, 0]

    calls = [one_call(is_causal=True), one_call(attn_mask=held_back), one_call(attn_mask=far)]
    calls.append(one_call(attn_mask=far, scale=0.5))
    for method in (lrp, attn_lrp):
        expected = method(*run_on(Of(written_out), x))
        for call in calls:
            torch.testing.assert_close(method(*run_on(Of(call), x)), expected)


def test_attention_s_rules_entry_by_entry() -> None:
    """softmax(q k) v from its definition: R of the values, and R of the scores by their rule."""
    x = torch.randn(1, 3, 4).double()
    q, k, v = (torch.randn(4, 4).double() for _ in range(3))

    def attention(rows: Tensor) -> Tensor:
        return ((rows @ q) @ (rows @ k).mT).softmax(-1) @ (rows @ v)

    model = Of(attention)
    found = [m(model, "rows", lambda: model(x)[0, 1, :1])[0] for m in (lrp, attn_lrp)]
    rows = x[0]
    scores = (rows @ q) @ (rows @ k).T
    weights, values = scores.softmax(-1), rows @ v
    by_value = weights[1] * values[:, 0]  # R of each value and of each weight, if it takes all
    torch.testing.assert_close(found[0], by_value)
    r = by_value / 2
    of_score = scores[1] * (r - weights[1] * r.sum())
    expected = by_value / 2 + of_score / 2  # the keys' half, each its own row's
    expected[1] += of_score.sum() / 2  # the query's half
    torch.testing.assert_close(found[1], expected)
    torch.testing.assert_close(found[1].sum(), r.sum() + of_score.sum())


def test_a_layer_norm_is_a_linear_layer_with_its_deviation() -> None:
    norm, x = perturb(nn.LayerNorm(5).double()), torch.randn(1, 1, 5).double()
    model = Of(norm)
    found = lrp(model, "rows", lambda: model(x)[0, 0])[:, 0]
    torch.testing.assert_close(found, (norm(x) - norm.bias)[0, 0])
    plain = gradient_x_input(model, "rows", lambda: model(x)[0, 0])[:, 0]
    assert plain.abs().max() < 1e-4  # a norm knows no scale: its gradient x input is nothing


def test_one_call_and_step_by_step_attention_are_explained_alike() -> None:
    model = classifier(biases=True)
    mask = torch.tensor([[True, True, True, True, False, False]])
    for method in METHODS:
        fused = method(model, EMBEDDED, lambda: model(TOKENS, mask)[0])
        with record(model, "*.weights"):
            steps = method(model, EMBEDDED, lambda: model(TOKENS, mask)[0])
        torch.testing.assert_close(fused, steps)
        assert (fused[:, 4:] == 0).all()


def test_a_model_of_transformers_is_explained_as_ours() -> None:
    torch.manual_seed(0)
    settings: dict[str, Any] = {
        "vocab_size": 30, "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4,
        "intermediate_size": 64, "max_position_embeddings": 64, "num_labels": 3,
    }  # fmt: skip
    their_own: Any = BertForSequenceClassification(BertConfig(**settings))
    theirs = adapt(their_own.double().eval())
    ours = classifier(biases=True)
    from deepdive.published.classifier import published

    theirs.model.load_state_dict(published(ours))
    for method in METHODS:
        found = [method(model, "*.embedded", first(model, TOKENS)) for model in (ours, theirs)]
        torch.testing.assert_close(*found)


# -- captum


@pytest.mark.parametrize("biases", [0.0, 0.5])
@pytest.mark.parametrize("epsilon", [1e-9, 0.25])
def test_captum_s_epsilon_rule(epsilon: float, biases: float) -> None:
    net, x = mlp(6, 8, 7, 3, biases=biases), torch.randn(5, 6).double()
    for layer in net[::2]:
        layer.rule = EpsilonRule(epsilon=epsilon)
    theirs = LRP(net).attribute(x, target=1)
    model = Of(net)
    ours = lrp(model, "rows", lambda: model(x[None])[0, :, 1], epsilon)
    torch.testing.assert_close(ours.diagonal(), theirs.sum(-1), rtol=1e-6, atol=1e-7)


def test_captum_s_positive_rule() -> None:
    net, x = mlp(6, 8, 7, 3), torch.rand(5, 6).double()
    for layer in net[::2]:
        layer.rule = Alpha1_Beta0_Rule(set_bias_to_zero=True)
    target = int(net(x)[0].argmax())
    theirs = LRP(net).attribute(x[:1], target=target)
    model = Of(net)
    ours = deep_taylor(model, "rows", lambda: model(x[None, :1])[0, 0, target : target + 1])
    torch.testing.assert_close(ours[0], theirs.sum(-1), rtol=1e-6, atol=1e-7)


# -- planted truth, and what is refused


def test_a_planted_row_gets_all_of_it_and_rows_that_are_not_read_nothing() -> None:
    def planted(rows: Tensor) -> Tensor:
        return F.gelu(F.linear(rows[:, 2], torch.ones(1, 4).double()))

    model, x = Of(planted), torch.randn(1, 5, 4).double()
    for method in METHODS:
        found = method(model, "rows", lambda: model(x)[0])[0]
        torch.testing.assert_close(found[2], model(x)[0, 0])
        assert (found[[0, 1, 3, 4]] == 0).all()


def test_what_has_no_rule_is_refused_by_name() -> None:
    model, x = Of(lambda rows: rows.sum(-1).sin()), torch.randn(1, 2, 3)
    with pytest.raises(ValueError, match="no rule for torch's sin; there are rules for"):
        lrp(model, "rows", lambda: model(x)[0])
    model = Of(lambda rows: rows.sum(-1))
    with pytest.raises(ValueError, match="log_softmax: explain a logit"):
        lrp(model, "rows", lambda: model(x)[0].log_softmax(-1))
    assert Rules({"sin": lambda f, x: f(x)}).rules.keys() == {"sin"}


class ByHand(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        return x.exp()

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> Tensor:
        return g


by_hand: Any = ByHand.apply


def test_a_backward_pass_by_hand_is_refused() -> None:
    model, x = Of(lambda rows: 2 * by_hand(rows).sum(-1)), torch.randn(1, 2, 3)
    for method in [*METHODS, deeplift]:
        with pytest.raises(ValueError, match="ByHandBackward has a custom backward pass"):
            method(model, "rows", lambda: model(x)[0])


def test_passed_and_shared() -> None:
    x = torch.tensor([1.0, -2.0, 0.0], requires_grad=True)
    y = passed(x.exp(), 3 * x)
    assert torch.equal(y, x.exp())
    assert torch.autograd.grad(y.sum(), x)[0].tolist() == [3, 3, 3]
    z = shared(torch.tensor([5.0, 6.0, 7.0]), x, epsilon=1.0)
    assert z.tolist() == [5, 6, 7]
    assert torch.autograd.grad(z.sum(), x)[0].tolist() == [2.5, -2, 0]


def test_a_layer_with_its_weight_the_other_way_round_shares_alike() -> None:
    """transformers' GPT-2 adds its bias and multiplies in one call."""
    x, w, b = torch.randn(1, 4, 5).double(), torch.randn(5, 3).double(), torch.randn(3).double()
    one = Of(lambda rows: F.linear(rows, w.T, b).relu().sum(1))
    other = Of(lambda rows: torch.addmm(b, rows[0], w).relu().sum(0, keepdim=True))
    for method in (lrp, deep_taylor):
        found = [method(model, "rows", first(model, x)) for model in (one, other)]
        torch.testing.assert_close(*found)
