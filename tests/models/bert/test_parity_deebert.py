"""DeeBERT against transformers' BERT and its equations, example by example, in float64."""

from __future__ import annotations

from unittest import mock

import pytest
import torch
import torch.nn.functional as F
from parity_bert import MASK, SEGMENTS, SIZES, SRC, reference, saved_and_loaded
from parity_registry import equal, equal_gradients, parity, perturb
from torch import Tensor
from transformers import BertConfig, BertModel

from deepdive.models.bert.deebert import DeeBert, entropy, tiny
from deepdive.published import load
from deepdive.training.objectives.early_exit import stage_loss

LABELS = torch.tensor([0, 2, 1])


def both_models() -> tuple[DeeBert, BertModel]:
    """A DeeBERT of three layers, and the model of transformers that has its encoder's weights."""
    theirs = reference(BertModel, BertConfig, **SIZES | {"num_hidden_layers": 3})
    model = DeeBert(saved_and_loaded(theirs, load), 3, dropout=0.0).double().eval()  # type: ignore[arg-type]
    perturb(model.ramps, size=1.0)
    return model, theirs  # type: ignore[return-value]


def by_hand(model: DeeBert, theirs: BertModel) -> Tensor:
    """Logits (3 layers, 3 examples, 3 classes): W tanh(P x + q) + b of each first state x."""
    hidden = theirs(SRC, MASK.long(), SEGMENTS, output_hidden_states=True).hidden_states[1:]
    every = []
    for (pooler, _, out), states in zip(model.ramps, hidden, strict=True):
        for state in states:
            rows = zip(pooler.dense.weight, pooler.dense.bias, strict=True)
            pooled = torch.stack([torch.tanh(state[0] @ w + b) for w, b in rows])
            every.append([pooled @ w + b for w, b in zip(out.weight, out.bias, strict=True)])
    return torch.stack([torch.stack(row) for row in every]).view(3, 3, 3)


@parity(DeeBert)
def deebert_agrees() -> None:
    model, theirs = both_models()
    expected = by_hand(model, theirs)
    equal(model.all_exits(SRC, MASK, SEGMENTS), expected)
    equal(model(SRC, MASK, SEGMENTS), expected[-1])
    words = model.bert.embeddings.tokens.weight, theirs.embeddings.word_embeddings.weight
    for stage, layers in ((1, (2,)), (2, (0, 1))):
        expected = by_hand(model, theirs)
        wanted = torch.stack([-expected[i, b].log_softmax(-1)[LABELS[b]] / 3
                              for i in layers for b in range(3)]).sum()  # fmt: skip
        loss = stage_loss(model.all_exits(SRC, MASK, SEGMENTS), LABELS, stage)
        equal(loss, wanted)
        ramps = {n: (p, p) for n, p in model.ramps.named_parameters() if int(n[0]) in layers}
        equal_gradients(loss, wanted, {"words": words, **ramps})
    every = [[float(-(one.softmax(-1) * one.log_softmax(-1)).sum().detach()) for one in layer]
             for layer in expected]  # fmt: skip
    seen = set()
    for threshold in (0.0, *(h + 1e-9 for layer in every for h in layer)):
        exits = model.early_exit(SRC, threshold, MASK, SEGMENTS)
        for b in range(3):
            first = next((i for i in range(2) if every[i][b] < threshold), 2)
            assert exits.layers[b] == first + 1
            equal(exits.logits[b], expected[first, b])
        seen.add(tuple(exits.layers.tolist()))
    assert len(seen) > 3, seen


def test_stage_two_leaves_the_encoder_and_the_last_off_ramp_as_they_are() -> None:
    torch.manual_seed(0)
    model, tokens = tiny(), torch.randint(4, 32, (3, 5))
    for stage in (1, 2):
        before = {n: p.detach().clone() for n, p in model.named_parameters()}
        optimizer = torch.optim.SGD(list(model.trainable(stage)), lr=0.1)
        stage_loss(model.all_exits(tokens), LABELS, stage).backward()
        optimizer.step()
        model.zero_grad()
        moved = {n for n, p in model.named_parameters() if not torch.equal(p, before[n])}
        early = {n for n, _ in model.named_parameters() if n.startswith("ramps.0")}
        assert moved & early == (early if stage == 2 else set())
        assert (moved <= early) == (stage == 2)


def test_padding_changes_no_exit() -> None:
    model, _ = both_models()
    for b in range(3):
        n = int(MASK[b].sum())
        alone = model.all_exits(SRC[b : b + 1, :n], None, SEGMENTS[b : b + 1, :n])
        equal(model.all_exits(SRC, MASK, SEGMENTS)[:, b : b + 1], alone)


def test_layers_run_only_for_the_examples_still_inside() -> None:
    model, _ = both_models()
    sizes: list[int] = []
    for block in model.bert.stack.blocks:
        block.register_forward_pre_hook(lambda _module, args: sizes.append(len(args[0])))
    entropies = entropy(model.all_exits(SRC, MASK, SEGMENTS)[0]).detach()
    sizes.clear()
    exits = model.early_exit(SRC, float(entropies.median()) + 1e-9, MASK, SEGMENTS)
    inside = [int((exits.layers >= layer).sum()) for layer in (1, 2, 3)]
    assert sizes == [n for n in inside if n]
    assert inside != [3, 3, 3]


MUTATIONS: dict[str, tuple[str, object]] = {
    "confidence instead of entropy": (
        "deepdive.models.bert.deebert.entropy",
        lambda logits: 1 - logits.softmax(-1).max(-1).values,
    ),
    "a mean over off-ramps": (
        "test_parity_deebert_stage_loss",
        lambda exits, labels, stage: F.cross_entropy(
            exits[-1:].flatten(0, 1) if stage == 1 else exits[:-1].flatten(0, 1),
            labels.repeat(1 if stage == 1 else 2),
        ),
    ),
}


@pytest.mark.parametrize("name", MUTATIONS)
def test_a_mutation_is_seen(name: str) -> None:
    target, wrong = MUTATIONS[name]
    if target.startswith("test_"):
        target = f"{__name__}.stage_loss"
    with mock.patch(target, wrong), pytest.raises(AssertionError):
        deebert_agrees()
