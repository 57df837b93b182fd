"""I-BERT against transformers: in floats, gradients too, and in whole numbers with fixed ranges."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any
from unittest import mock

import pytest
import torch
import torch.nn.functional as F
from parity_bert import MASK, SIZES, SRC, reference, saved_and_loaded
from parity_proofs import alike
from parity_registry import differs, equal, parity
from torch import Tensor, nn
from transformers import IBertConfig, IBertForMaskedLM, IBertModel
from transformers.models.ibert import quant_modules

from deepdive.core import relu
from deepdive.layers.integer_layers import IntegerFeedForward, calibrated
from deepdive.layers.integers import (
    EXP,
    ROOM,
    QuantizedTensor,
    i_exp,
    i_gelu,
    i_layer_norm,
    i_softmax,
    i_sqrt,
    plus,
    quantized,
    scale_of,
)
from deepdive.models.bert import ibert
from deepdive.models.bert.bert import Bert
from deepdive.models.bert.ibert_errors import KINDS, errors
from deepdive.published import family, load, save

SETTINGS: dict[str, Any] = {"type_vocab_size": 1, "layer_norm_eps": 1e-5}
NO_DROPOUT = dict.fromkeys(("hidden_dropout_prob", "attention_probs_dropout_prob"), 0.0)
PADDED = SRC.masked_fill(~MASK, 1)  # RoBERTa's padding is 1
SEEDS = range(4)


@parity("ibert")
def ibert_agrees() -> None:
    in_floats()
    for seed in SEEDS:
        in_whole_numbers(seed)


def in_floats() -> None:
    theirs = reference(IBertForMaskedLM, IBertConfig, **SIZES, **SETTINGS)
    ours = saved_and_loaded(theirs, partial(load, head="masked_lm"))
    for row, mask in ((PADDED, MASK), (PADDED.flip(1), MASK.flip(1))):
        output, expected = ours(row, mask)[mask], theirs(row, mask.long()).logits[mask]
        assert differs(output, expected) < 1e-12
        alike(ours, theirs, output, expected, [family("ibert").table("masked_lm")])


def in_whole_numbers(seed: int) -> None:
    """The same ranges, and every state is the same whole number."""
    for output, expected in whole_states(*pair(seed)):
        equal(output, expected)


def whole_states(theirs: IBertModel, ours: Bert, ranges: Any) -> list[tuple[Tensor, Tensor]]:
    """Our states and theirs, as multiples of the last scale, of each text."""
    given(theirs, ranges)
    whole = ibert.integer(ours, ranges)
    step = scale_of(reach(ranges, "stack.blocks.1.ff_residual.norm.out"), 8)
    return [
        (whole(row, mask)[mask] / step, theirs(row, mask.long()).last_hidden_state[mask] / step)
        for row, mask in ((PADDED, MASK), (PADDED.flip(1), MASK.flip(1)))
    ]


def pair(seed: int, cut: bool = True) -> tuple[IBertModel, Bert, dict[str, tuple[float, float]]]:
    """Theirs in whole numbers, ours in floats, and the ranges of the same texts.

    Weights of theirs go from -127 to 126, ours from -127 to 127 as in the paper: `cut` leaves none
    beyond 126.
    """
    theirs = reference(IBertModel, IBertConfig, seed, **SIZES, **SETTINGS, quant_mode=True)
    with torch.no_grad():
        for p in theirs.parameters() if cut else ():
            if p.ndim == 2:
                rows = p if p.shape[0] not in (28, 14, 1, 12) else p.view(1, -1)
                rows *= -rows.gather(1, rows.abs().argmax(1, keepdim=True)).sign()
                rows.copy_(rows.minimum(rows.abs().amax(1, keepdim=True) * 126 / 127))
    theirs.config.quant_mode = False  # the file has floats; `integer` makes whole numbers of them
    ours = saved_and_loaded(theirs, load)
    assert isinstance(ours, Bert)
    ranges = calibrated(ours, [PADDED, PADDED.flip(1)])
    # Theirs tells every layer the scale of the embeddings, not that of the layer below: alike here.
    between = [
        n for n in ranges if n == "embeddings.norm.out" or n.endswith("ff_residual.norm.out")
    ]
    widest = max((ranges[n] for n in between), key=lambda ends: max(map(abs, ends)))
    ranges |= dict.fromkeys(between, widest)
    return theirs, ours, {name: in_float32(name, ends) for name, ends in ranges.items()}


def bits(name: str) -> int:
    if not name.endswith("norm.in"):
        return 8
    return 16 if name.startswith("embeddings") else 22


def in_float32(name: str, ends: tuple[float, float]) -> tuple[float, float]:
    """A range whose scale is a float32, as which theirs writes it, and twice as wide as what floats
    reached, since whole numbers reach further: where it saturates, theirs goes to -128.
    """
    largest = 2 ** (bits(name) - 1) - 1
    scale = float(torch.tensor(2 * max(map(abs, ends)) / largest).float())
    return -scale * largest, scale * largest


def reach(ranges: Any, name: str) -> Tensor:
    return torch.tensor(ranges[name][1], dtype=torch.float64)


PLACES = {
    "attention.self.query_activation": "attn.q.out",
    "attention.self.key_activation": "attn.kv.k",
    "attention.self.value_activation": "attn.kv.v",
    "attention.self.output_activation": "attn.out.in",
    "attention.output.ln_input_act": "attn_residual.norm.in",
    "attention.output.output_activation": "attn_residual.norm.out",
    "pre_intermediate_act": "attn_residual.norm.out",
    "intermediate.output_activation": "ff.out.in",
    "pre_output_act": "ff.out.in",
    "output.ln_input_act": "ff_residual.norm.in",
    "output.output_activation": "ff_residual.norm.out",
}


def given(theirs: IBertModel, ranges: Any) -> None:
    """Set their ranges to ours. Theirs of exp in softmax is one of its whole numbers: ours is 1."""
    found = {"embeddings.embeddings_act1": ranges["embeddings.norm.in"][1]}
    found["embeddings.output_activation"] = ranges["embeddings.norm.out"][1]
    for i in range(len(theirs.encoder.layer)):
        here = f"stack.blocks.{i}"
        for there, name in PLACES.items():
            found[f"encoder.layer.{i}.{there}"] = ranges[f"{here}.{name}"][1]
        q, k = (scale_of(reach(ranges, f"{here}.attn.{n}"), 8) for n in ("q.out", "kv.k"))
        one = 2**ROOM / (EXP[0] * (q * k / math.sqrt(4)) ** 2)  # heads are 4 wide
        found[f"encoder.layer.{i}.attention.self.softmax.act"] = float(one)
    for name, part in theirs.named_modules():
        if isinstance(part, quant_modules.QuantAct) and name in found:
            far = found[name]
            part.x_min, part.x_max = torch.tensor([[-far], [far]], dtype=torch.float64)


def test_ibert_agrees() -> None:
    ibert_agrees()


def symmetric(ctx: Any, x: Tensor, bits: int, percentile: bool, scale: Tensor) -> Tensor:
    """Equation 1 of the paper, in the place of SymmetricQuantFunction's cut."""
    top = 2 ** (bits - 1) - 1
    return (x / (scale.view(-1, 1) if x.ndim == 2 else scale)).round().clamp(-top, top)


def test_a_weight_of_127_is_all_that_differs() -> None:
    """As drawn, weights reach 127 and theirs cuts them at 126; once they are not cut, every state
    is the same whole number. So the difference is this operation and no other.
    """
    cuts = differences = 0
    for seed in SEEDS:
        theirs, ours, ranges = pair(seed, cut=False)
        differences += sum(
            int((a - b).abs().gt(0.5).sum()) for a, b in whole_states(theirs, ours, ranges)
        )
        for part in theirs.modules():
            if isinstance(part, quant_modules.QuantLinear):
                cuts += weights_cut(part.weight, part.weight_integer)
        forward = mock.patch.object(
            quant_modules.SymmetricQuantFunction, "forward", staticmethod(symmetric)
        )
        with forward:
            for output, expected in whole_states(theirs, ours, ranges):
                equal(output, expected)
    assert cuts > 100
    assert differences > 100


def weights_cut(weight: Tensor, theirs: Tensor) -> int:
    """How many weights theirs cuts; asserts, in fractions, that equation 1 gives 127 for these, and
    theirs for all others.
    """
    found = 0
    for row, whole in zip(weight.tolist(), theirs.tolist(), strict=True):
        scale = Fraction(max(map(abs, row))) / 127
        for x, q in zip(row, whole, strict=True):
            exact = round(Fraction(x) / scale)
            assert q == min(exact, 126), (q, exact)
            found += exact == 127
    return found


def test_ranges_move_as_theirs() -> None:
    """Three batches in floats, theirs in training without dropout: the same ranges."""
    theirs = reference(IBertModel, IBertConfig, **SIZES, **SETTINGS, **NO_DROPOUT)
    ours = saved_and_loaded(theirs, load)
    assert isinstance(ours, Bert)
    texts = [SRC[:1], SRC[:1].flip(1), SRC[:1] % 7 + 4]
    theirs.train()
    for text in texts:
        theirs(text)
    ranges, there = calibrated(ours, texts), dict(theirs.named_modules())
    for i in range(2):
        for name, here in PLACES.items():
            act: Any = there[f"encoder.layer.{i}.{name}"]
            found = torch.tensor(ranges[f"stack.blocks.{i}.{here}"]).double()
            first = torch.cat((act.x_min, act.x_max)).double()  # theirs begins at -+1e-5
            assert torch.allclose(found, first, atol=3e-5), (name, found, first)


def test_gelu_and_exp_keep_the_papers_bounds() -> None:
    x = torch.linspace(-5, 5, 20_001).double()
    found = i_gelu(quantized(x, scale_of(torch.tensor(5.0), 20), 20)).value
    assert 0.0180 < float((found - F.gelu(x)).abs().max()) < 0.0183  # the paper: 1.8e-2
    x = torch.linspace(-20, 0, 20_001).double()
    found = i_exp(quantized(x, scale_of(torch.tensor(20.0), 24), 24)).value
    assert 0.0018 < float((found - x.exp()).abs().max()) < 0.00195  # the paper: 1.9e-3


def test_each_operation_is_theirs() -> None:
    """IntGELU, IntSoftmax and IntLayerNorm on the same whole numbers, of several scales."""
    q = torch.randint(-3000, 3000, (5, 7, 16), generator=torch.Generator().manual_seed(1))
    q[0, :, 0] += (8 - q[0].sum(-1)) % 16  # the means of the first text are all ties
    for size in (2e-3, 5e-4, 1e-4):
        scale = torch.tensor([size]).double()
        theirs = quant_modules.IntSoftmax(8, quant_mode=True).double().eval()
        one = 2**ROOM / (EXP[0] * scale**2)
        theirs.act.x_min, theirs.act.x_max = -one, one
        assert torch.equal(
            theirs(q * scale, scale)[0], i_softmax(QuantizedTensor(q, scale[0])).value
        )
        small = scale / 8
        gelus = quant_modules.IntGELU(quant_mode=True)(q * small, small)[0]
        assert differs(i_gelu(QuantizedTensor(q, small)).value, gelus) < 1e-9
        norm = quant_modules.IntLayerNorm(16, 1e-5, 32, quant_mode=True).double().eval()
        nn.init.normal_(norm.weight, 1.0, 0.1), nn.init.normal_(norm.bias)
        ours = i_layer_norm(QuantizedTensor(q, scale[0]), norm.weight, norm.bias)
        expected = norm(q * scale, scale)[0]
        steps = ((ours.value - expected) / ours.scale).abs().amax(-1).detach()
        # Where the mean is halfway between two whole numbers ours goes up, torch.round to the even
        # one: y is 1 away, factor / 2 steps of the result. Elsewhere it is the same number.
        mean, tie = (2 * q.sum(-1) + 16) // 32, q.sum(-1) % 16 == 8
        odd, y = tie & (mean % 2 == 1), q - mean[..., None]
        factor = 2**31 // i_sqrt((y * y).sum(-1))
        assert odd.any()
        assert (tie & ~odd).any()
        assert float(steps[~odd].max()) < 0.01
        assert torch.allclose(steps[odd], factor[odd].double() / 2, atol=1, rtol=0)


def test_the_root_is_the_root() -> None:
    edges = [2**k + d for k in range(1, 52) for d in (-1, 0, 1)]
    n = torch.tensor([0, *range(5000), *edges])
    assert i_sqrt(n).tolist() == [math.isqrt(i) for i in n.tolist()]


def test_a_sum_is_on_the_scale_that_is_asked_for() -> None:
    a, b = (
        QuantizedTensor(torch.tensor([5, -7, 40]), torch.tensor(s).double()) for s in (0.5, 0.03)
    )
    total = plus(torch.tensor(0.01).double(), 22, a, b)
    assert torch.allclose(total.value, a.value + b.value, atol=0.011)
    assert total.q.dtype == torch.int32
    wide = QuantizedTensor(torch.tensor([2**40 + 12_345, -(2**40)]), torch.tensor(1e-9).double())
    assert torch.equal(
        wide.rescaled(torch.tensor(1e-4).double(), 32).q, torch.tensor([10995116, -10995116]).int()
    )


def test_nothing_but_whole_numbers_inside() -> None:
    model = ibert.ibert(ibert.TINY).eval()
    texts = [
        torch.randint(4, 32, (2, 9), generator=torch.Generator().manual_seed(i)) for i in (1, 2)
    ]
    whole = ibert.integer(model, calibrated(model, texts))
    seen: list[Any] = []
    for part in whole.modules():
        part.register_forward_hook(lambda part, given, out: seen.append((part, out)))
    whole(texts[0])
    wholes = [out.q for _, out in seen if isinstance(out, QuantizedTensor)]
    assert len(wholes) > 20
    assert not any(q.is_floating_point() for q in wholes)
    assert [type(part).__name__ for part, out in seen if isinstance(out, Tensor)] == ["IntegerBert"]
    assert not list(whole.parameters())
    assert whole.stack.blocks[0].attn.q.weight.dtype == torch.int8  # type: ignore[union-attr]
    found = errors(model, calibrated(model, texts), texts[0])
    assert list(found) == [*KINDS, "all"]
    assert min(found.values()) > 0
    assert max(found.values()) < 0.1  # of states that are normalised


def test_read_and_written(tmp_path: Path) -> None:
    model = ibert.ibert(ibert.TINY).eval()
    theirs = IBertModel.from_pretrained(save(model, tmp_path)).eval()
    row = torch.randint(4, 32, (2, 9))
    assert torch.allclose(model(row), theirs(row).last_hidden_state, atol=1e-5)
    again = load(tmp_path)
    assert torch.equal(again(row), model(row))


def test_what_is_refused() -> None:
    model = ibert.ibert(ibert.TINY)
    cases: dict[str, Callable[[], object]] = {
        "texts: got none": lambda: calibrated(model, []),
        "ranges has no": lambda: ibert.integer(model, {}),
        "quantize with more bits$": lambda: i_gelu(quantized(torch.ones(3), torch.tensor(0.1), 8)),
        "between 1e-9 and ln 2": lambda: i_exp(
            QuantizedTensor(-torch.arange(3), torch.tensor(0.8).double())
        ),
        "is unknown; expected": lambda: errors(model, {}, PADDED, kinds=["pooler"]),
        "only gelu has an integer form": lambda: relu_ff(model),
        "times as fine": lambda: QuantizedTensor(torch.ones(1).long(), torch.tensor(1.0)).rescaled(
            torch.tensor(1e-12), 8
        ),
    }
    for message, refused in cases.items():
        with pytest.raises(ValueError, match=message):
            refused()


def relu_ff(model: Bert) -> object:
    return IntegerFeedForward(ibert.ibert(ibert.TINY, activation=relu).stack.blocks[0].ff, {}, "")


def short_gelu(x: QuantizedTensor) -> QuantizedTensor:
    return quantized(F.gelu(x.value), x.scale.abs(), 32)


MUTATIONS: dict[str, tuple[str, object]] = {
    "erf's b": ("deepdive.layers.integers.ERF", (-0.2888, -1.7)),
    "exp's a": ("deepdive.layers.integers.EXP", (0.3585, 0.96963238, 1.0)),
    "ln 2": ("deepdive.layers.integers.LN2", 0.69),
    "GELU in floats": ("deepdive.layers.integer_layers.i_gelu", short_gelu),
    "a root of floats, rounded up": (
        "deepdive.layers.integers.i_sqrt",
        lambda n: n.double().sqrt().ceil().long() + 40,
    ),
    "weights of 7 bits": (
        "deepdive.layers.integer_layers.quantized",
        lambda x, scale, bits: quantized(x, 2 * scale, bits) if x.ndim == 2 else None,
    ),
    "the norm's epsilon": (
        "deepdive.core.LayerNorm.forward",
        lambda self, x: F.layer_norm(x, x.shape[-1:], self.weight, self.bias, 1e-3),
    ),
    "positions from the first column": (
        "deepdive.models.bert.roberta.RobertaEmbeddings.positions",
        lambda self, tokens, mask: torch.arange(tokens.shape[1]),
    ),
}


@pytest.mark.parametrize("name", MUTATIONS)
def test_a_mutation_is_seen(name: str) -> None:
    target, wrong = MUTATIONS[name]
    with mock.patch(target, wrong), pytest.raises(AssertionError):
        ibert_agrees()
