"""The laws, tried on every part of the library. Parts are found by importing the library: a new
part is tested by existing.
"""

from __future__ import annotations

import copy
import importlib
import inspect
import pkgutil
from pathlib import Path

import pytest
import torch
from laws import CASES, LAWS, PARTS, Case, Fails, NotApplicable, Refuses
from parity_registry import proofs
from scaffold import close, perturbed, placed
from torch import Tensor, nn

import deepdive
from deepdive.core.hooks import hook_points, record
from deepdive.core.masks import Causal, Mask, Padding
from deepdive.published.weights import adopt, read
from deepdive.training.checkpoint import save_weights
from deepdive_book.site.atlas.examples import EXAMPLES
from deepdive_book.site.atlas.headers import headers
from deepdive_book.site.atlas.rows import LIBRARY, ROOT, SYSTEMS, read_csv

PROOFS = proofs()

# Modules that are no part of their own: each is inside a part that has a case, or says which tests
# it has in place of one.
WITHIN = {
    "Counted": "frequencies of n-grams, counted and not learned, which draft for a model",
    "Mechanism": "the base class of mechanisms, which computes nothing",
    "StructuredAttention": "the base class of those that read real keys and order from a mask",
    "PatternAttention": "the base class of mechanisms that are a mask, which it does not have",
    "GroupedAttention": "the base class of mechanisms in which queries stand in groups",
    "Position": "the base class that does nothing",
    "RelativePosition": "the base class of those that have a worth for each offset",
    "EncoderDecoder": "the base class of those that read a source, which it leaves to them",
    "SteadyBlock": "a Conformer block with other norms; tests/models/speech/test_recognisers.py",
    "SpokenDigits": "the live page's recogniser; tests/ch06c/test_spoken_digit_recognizer.py",
    "SpeechFrontend": "an encoder, and which of its states are real",
    "WeighedBag": "study 4's student, a sum over tokens; tests/studies/test_multilingual_"
    "distillation.py",
    "BagEncoder": "an encoder and a matrix, study 4's other student: the same tests",
    "SpanHead": "the head of page 4.8, over kept states; tests/ch04/test_cross_lingual_qa.py",
    "JointQAModel": "an encoder, two texts in a row, and the head of page 4.8: the same tests",
    "CTCModel": "an encoder and a matrix; tests/tasks/test_speech.py",
    "Seq2SeqASR": "a Speech2Text and a matrix beside it; tests/decoding/test_writing.py",
    "EmbeddedStack": "the base class of a Transformer's encoder and decoder",
    "Layer": "the base class of those that are given a context",
    "FastLinear": "nn.Linear by another kernel; tests/_fast/test_linear.py",
    "FastDropout": "nn.Dropout with fewer random bits; tests/_fast/test_dropout.py",
    "HookPoint": "the identity; its effect is law 9",
    "LossPoint": "the identity; tested with collect_losses",
    "RelativeRows": "the rows that `DisentangledPosition` is given",
    "BucketedRows": "the rows that `DisentangledPosition` is given",
    "Scores": "the base class of what SynthesizedAttention is given",
    "IntegerLinear": "a part of `IntegerBert`, of whole numbers",
    "IntegerNorm": "a part of `IntegerBert`, of whole numbers",
    "IntegerPostNorm": "a part of `IntegerBert`, of whole numbers",
    "IntegerAttention": "a part of `IntegerBert`, of whole numbers",
    "IntegerFeedForward": "a part of `IntegerBert`, of whole numbers",
    "IntegerEmbeddings": "a part of `IntegerBert`, of whole numbers",
    "IntegerBert": "rounded, with no gradient: tests/models/bert/test_parity_ibert.py",
    "Alone": "one part of `IntegerBert` among floats, rounded: the same tests",
    "IntegerWeights": "softmax of whole numbers among floats, rounded: the same tests",
    "FrozenBatchNorm": "a part of `ResNet`",
    "ConvNorm": "a part of `ResNet`",
    "Basic": "a part of `ResNet`",
    "Bottleneck": "a part of `ResNet`: beside transformers in test_parity_detr.py",
    "TapasEmbeddings": "beside transformers in tests/models/bert/test_parity_tabert.py",
    "Adapted": "a model of transformers; tests/explain/classifiers/test_adapt.py",
    "Planted": "the base class of those built by hand, which reads nothing",
    "SignedWords": "built by hand; tests/ch07/test_planted.py",
    "Placed": "built by hand; tests/ch07/test_planted.py",
    "Keyword": "built by hand; tests/ch07/test_planted.py",
    "Conjunction": "built by hand; tests/ch07/test_planted.py",
    "Negation": "built by hand; tests/ch07/test_planted.py",
    "Attending": "built by hand; tests/ch07/test_planted.py",
    "Orders": "built by hand; tests/ch07/test_planted_circuit.py",
    "Wired": "an automaton; tests/explain/surrogates/test_automata.py",
    "UniformAttention": "DotAttention without a query; tests/models/interpretable/"
    "test_attentive.py",
    "AttentiveClassifier": "a text, one answer; tests/models/interpretable/test_attentive.py",
    "EmbeddingEncoder": "rows as they are; tests/models/interpretable/test_attentive.py",
    "PrototypeClassifier": "tests/models/interpretable/test_joint.py",
    "RationaleModel": "tests/models/interpretable/test_joint.py",
    "SelfExplaining": "tests/models/interpretable/test_joint.py",
    "Answerer": "a GPT and a matrix; tests/models/generative/test_gpt_tasks.py",
    "DocumentEncoder": "a part of `Hibert`, over sentence vectors",
    "HibertForMaskedSentences": "a `Hibert` and a decoder: tests/models/efficient/"
    "test_parity_hibert.py",
    "ScaledHead": "T5's TiedHead times a number; tests/models/generative/test_parity_t5.py",
    "TopKRouter": "chooses of `SparseExperts`; tests/layers/test_parity_experts.py",
    "NoisyTopKRouter": "chooses of `SparseExperts`; tests/layers/test_parity_experts.py",
    "SwitchRouter": "chooses of `SparseExperts`; tests/layers/test_parity_experts.py",
    "Experts": "the feed-forward layers of `SparseExperts`, side by side",
    "ExpertLinear": "a matrix for each of `SparseExperts`",
    "Shard": "the base class of layers of which each machine holds a share",
    "ColumnLinear": "a part of `Megatron`: tests/models/generative/test_parity_megatron.py",
    "RowLinear": "a part of `Megatron`: tests/models/generative/test_parity_megatron.py",
    "TensorParallelAttention": "a part of `Megatron`: tests/models/generative/"
    "test_parity_megatron.py",
    "VocabParallelEmbedding": "a part of `Megatron`: tests/models/generative/"
    "test_parity_megatron.py",
    "VocabParallelHead": "a part of `Megatron`: tests/models/generative/test_parity_megatron.py",
}


def inputs(
    case: Case, B: int = 2, T: int = 6, seed: int = 0, dtype: torch.dtype = torch.float64
) -> Tensor:
    x = case.inputs(B, T, seed)
    return x.to(dtype) if x.is_floating_point() else x


def changed(case: Case, x: Tensor, at: int | Tensor) -> Tensor:
    """x with other content at position `at` (an index, or a bool (B, T))."""
    other = inputs(case, *x.shape[:2], seed=99, dtype=x.dtype)
    if case.vocab is not None:  # certain to differ
        other = torch.where(other == x, (x - 4 + 1) % (case.vocab - 4) + 4, other)
    where = torch.arange(x.shape[1]).expand(x.shape[:2]) == at if isinstance(at, int) else at
    return torch.where(where if case.vocab is not None else where.unsqueeze(-1), other, x)


def no_leak(case: Case) -> None:
    module, x = perturbed(case), inputs(case)
    before = case.run(module, x, Causal(), None)
    for j in range(1, x.shape[1]):
        after = case.run(module, changed(case, x, j), Causal(), None)
        close(after[:, :j], before[:, :j])
        assert not torch.allclose(after[:, j:], before[:, j:]), (
            f"token {j} changed, and nothing at or after it did"
        )


def padding(case: Case) -> None:
    module, x = perturbed(case), inputs(case, B=3)
    keys = torch.tensor([[1] * 6, [1, 1, 1, 1, 0, 0], [0, 1, 1, 1, 1, 0]]).bool()
    before = case.run(module, x, Padding(keys), None)
    after = case.run(module, changed(case, x, ~keys), Padding(keys), None)
    close(after[keys], before[keys])
    unmasked = case.run(module, x, None, None)
    assert not torch.allclose(unmasked[keys], before[keys]), "the mask changes nothing: is it read?"


def order(case: Case) -> None:
    module, x = perturbed(case), inputs(case)
    permutation = torch.tensor([3, 0, 5, 1, 4, 2])
    close(
        case.run(module, x[:, permutation], None, None),
        case.run(module, x, None, None)[:, permutation],
    )


def cache(case: Case) -> None:
    assert case.begin is not None, (
        "the case names no begin: give one, or say why the law does not apply"
    )
    module, x = perturbed(case), inputs(case)
    full = case.run(module, x, Causal(), None)
    with torch.no_grad():
        state = case.begin(module)
        pieces = [case.run(module, x[:, a:b], Causal(), state) for a, b in ((0, 2), (2, 3), (3, 4))]
        close(torch.cat(pieces, dim=1), full[:, :4])
        swapped = torch.tensor([1, 0])
        state.reorder(swapped)
        rest = [case.run(module, x[swapped, a:b], Causal(), state) for a, b in ((4, 5), (5, 6))]
        close(torch.cat(rest, dim=1), full[swapped, 4:])


def limit(case: Case) -> None:
    assert case.limits, "the case names no limit: give one, or say why the law does not apply"
    for pair in case.limits.values():
        close(*pair())


def gradient(case: Case) -> None:
    module, x = perturbed(case).train(), inputs(case, B=3, T=8)
    output = case.run(module, x, None, None)
    (
        output
        * torch.randn(output.shape, generator=torch.Generator().manual_seed(2), dtype=output.dtype)
    ).sum().backward()
    assert torch.isfinite(output).all()
    for name, parameter in module.named_parameters():
        silent = [reason for pattern, reason in case.silent.items() if pattern in name]
        size = 0.0 if parameter.grad is None else parameter.grad.abs().max().item()
        if silent:
            assert size < 1e-9, (
                f"{name} is declared silent ({silent[0]}), but has a gradient of {size:.1e}"
            )
        else:
            assert size > 1e-7, f"{name} has a gradient of {size:.1e}"
            assert torch.isfinite(parameter.grad).all(), f"{name} has a gradient that is not finite"


def refusal(case: Case) -> None:
    assert case.refusals, "the case names no refusal: give one, or say why the law does not apply"
    for name, call in case.refusals.items():
        with pytest.raises((ValueError, TypeError, RuntimeError)) as raised:
            call()
        assert len(str(raised.value)) > 30, (
            f"{name}: the message {str(raised.value)!r} names no fix"
        )


def hooks(case: Case) -> None:
    module, x = perturbed(case, dtype=torch.float32), inputs(case, B=3, dtype=torch.float32)
    keys = torch.tensor([[1] * 6, [1, 1, 1, 1, 0, 0], [0, 1, 1, 1, 1, 0]]).bool()
    plain = case.run(module, x, Padding(keys), None)
    with record(module, "*weights") as seen:
        recorded = case.run(module, x, Padding(keys), None)
    close(recorded, plain, 1e-5)
    for name, values in seen.items():
        for weights in values:
            total = weights.sum(-1)
            one = (total - 1).abs() < 1e-5
            assert (one | (total == 0)).all(), (
                f"{name} has rows that sum to {total.min():.3f} .. {total.max():.3f}"
            )
    assert not any(point.listening for point in hook_points(module, "*").values())


def dtype(case: Case) -> None:
    reference = perturbed(case)
    x = inputs(case)
    expected = case.run(reference, x, None, None)
    for kind, tolerance in ((torch.float32, 1e-4), (torch.bfloat16, 0.15)):
        module = copy.deepcopy(reference).to(kind)
        output = case.run(module, x.to(kind) if x.is_floating_point() else x, None, None)
        assert output.dtype == kind, f"{kind} came out as {output.dtype}"
        close(output.double(), expected, tolerance)
    copied = copy.deepcopy(reference)
    with torch.no_grad():
        for parameter in reference.parameters():
            parameter.zero_()
    close(case.run(copied, x, None, None), expected)
    moved = case.make().to("meta")
    stays = [
        name
        for name, t in [*moved.named_parameters(), *moved.named_buffers()]
        if t.device.type != "meta"
    ]
    assert not stays, f"stayed behind when the model moved: {stays}"


def round_trip(case: Case, folder: Path) -> None:
    module, x = perturbed(case, seed=1), inputs(case)
    other = perturbed(case, seed=2)
    save_weights(module, folder / "weights.safetensors")
    adopt(other, read(folder / "weights.safetensors"))
    close(case.run(other, x, None, None), case.run(module, x, None, None), 1e-15)


TRIALS = {law: globals()[law] for law in LAWS if law not in ("parity", "round_trip")}


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("name", sorted(CASES))
def test_law(name: str, law: str, tmp_path: Path) -> None:
    case = placed(CASES[name]())
    verdict = case.laws.get(law)
    if law == "parity":
        assert case.parity, f"{name} names neither an oracle nor why there is none"
        if case.parity.startswith("none: "):
            assert len(case.parity) > 20
            assert name not in PROOFS
        else:
            assert name in PROOFS, f"{name} names {case.parity}, but no test of parity proves it"
        return
    trial = TRIALS.get(law, lambda c: round_trip(c, tmp_path))
    if isinstance(verdict, NotApplicable):
        assert len(verdict.reason) > 10, "say why"
    elif isinstance(verdict, Refuses):
        with pytest.raises((ValueError, TypeError, RuntimeError)):
            trial(case)
    elif isinstance(verdict, Fails):
        with pytest.raises(AssertionError):
            trial(case)
    else:
        trial(case)


def test_every_part_has_a_case() -> None:
    """A public module of the library is a part with a case, or is named above as being inside
    one.
    """
    missing = []
    for name in [m.name for m in pkgutil.walk_packages(deepdive.__path__, "deepdive.")]:
        for thing in vars(importlib.import_module(name)).values():
            is_part = (
                inspect.isclass(thing) and issubclass(thing, nn.Module) and thing.__module__ == name
            )
            if (
                is_part
                and not thing.__name__.startswith("_")
                and thing not in PARTS.values()
                and thing.__name__ not in WITHIN
            ):
                missing.append(thing.__qualname__)
    assert not missing, f"no case of {missing}"


def test_every_proved_system_has_a_case() -> None:
    """A system that can be built and called has a case of its own; another names its proof."""
    kinds = {"model", "mechanism", "position", "objective"}
    for row in (row for row in read_csv(SYSTEMS) if row["id"] in headers(LIBRARY, ROOT)):
        if row["id"] in EXAMPLES:
            assert row["id"] in CASES, f"{row['id']}: no case in tests/laws"
        elif row["kind"] in kinds:
            assert row["test"], f"{row['id']}: neither an example, and so a case, nor a test named"


def test_laws_can_fail() -> None:
    """Break a mask, an order, a gradient: each law sees it."""
    case = placed(CASES["multi_head"]())

    def deaf(module: nn.Module, x: Tensor, mask: Mask | None, state: object) -> Tensor:
        return case.run(module, x, None, None)

    broken = {"run": deaf}
    for law in (no_leak, padding):
        with pytest.raises(AssertionError):
            law(Case(**{**{f: getattr(case, f) for f in case.__dataclass_fields__}, **broken}))
