"""HuBERT against transformers in float64; its units and their loss against sums written out."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from unittest import mock

import pytest
import torch
import torch.nn.functional as F
from parity_bert import reference, saved_and_loaded
from parity_proofs import alike, rows
from parity_registry import equal, parity, perturb
from parity_sound import BASE, LARGE, REAL, SETTINGS, gaps, waves
from torch import Tensor
from transformers import HubertConfig, HubertForCTC, HubertModel

from deepdive.core.residual import PostNorm, PreNorm
from deepdive.models.speech import hubert
from deepdive.models.speech.embeddings import SoundEmbeddings
from deepdive.models.speech.hubert import HubertForPreTraining
from deepdive.published import family, from_config, load
from deepdive.training.objectives import Units, layer_states, make_units, unit_loss


def encoder_agrees(form: dict[str, Any]) -> None:
    theirs = reference(HubertModel, HubertConfig, **SETTINGS, **form)
    ours: Any = saved_and_loaded(theirs, load)
    sound, hidden, real = waves(), gaps(), ours.real(REAL)
    expected = theirs(sound, attention_mask=REAL.long(), mask_time_indices=hidden)
    output, wanted = ours(sound, REAL, hidden), expected.last_hidden_state
    names = family("hubert").table(config=ours.config)
    alike(ours, theirs, output[real], wanted[real], [names], inputs=[(sound, sound)])
    equal(ours(sound), theirs(sound).last_hidden_state)


def layers_agree() -> None:
    """The states behind each layer, of which the second training's units are made."""
    theirs = reference(HubertModel, HubertConfig, **SETTINGS, **BASE)
    ours: Any = saved_and_loaded(theirs, load)
    sound = waves().detach()
    expected = theirs(sound, output_hidden_states=True).hidden_states
    for layer in (1, 2):
        equal(layer_states(ours, layer, sound), expected[layer])


def scores_agree() -> None:
    """Each score and the loss, written out as sums: of one row and one unit at a time."""
    config = hubert.TINY.but(d_target=6, temperature=0.2)
    model = perturb(HubertForPreTraining(hubert.hubert(config), 5).double().eval())
    sound, hidden = rows(2, 96), torch.tensor([[0, 1, 1, 0, 0, 1], [1, 1, 0, 0, 0, 0]]).bool()
    units = torch.tensor([[0, 4, 2, 1, 1, 3], [2, 2, 0, 4, 3, 1]])
    scores, total = model(sound, hidden), 0.0
    states = model.encoder(sound, None, hidden)
    for b, t in hidden.nonzero().tolist():
        said = model.project.weight @ states[b, t] + model.project.bias
        each = [said @ e / (said.norm() * e.norm()) / 0.2 for e in model.units]
        equal(scores[b, t], torch.stack(each))
        total = total - (each[units[b, t]].exp() / sum(score.exp() for score in each)).log()
    equal(unit_loss(scores, units, hidden), total / 5)


@parity(HubertForPreTraining)
def hubert_agrees() -> None:
    encoder_agrees(BASE)
    encoder_agrees(LARGE)
    layers_agree()
    scores_agree()


def test_the_head_for_letters_agrees() -> None:
    theirs = reference(HubertForCTC, HubertConfig, **SETTINGS, **LARGE)
    ours: Any = saved_and_loaded(theirs, lambda folder: load(folder, "ctc"))
    sound, real = waves(), ours.encoder.real(REAL)
    output, expected = ours(sound, REAL), theirs(sound, attention_mask=REAL.long()).logits
    equal(output[real], expected[real])
    direction = torch.randn(7, dtype=torch.float64)
    (output[real] @ direction).sum().backward()
    (expected[real] @ direction).sum().backward()
    equal(ours.out.weight.grad, theirs.lm_head.weight.grad, 1e-8)
    kernel = ours.encoder.embeddings.places.direction.grad
    place = theirs.hubert.encoder.pos_conv_embed.conv.parametrizations.weight.original1
    equal(kernel, place.grad, 1e-8)


def test_published_sizes() -> None:
    """Hsu et al. 2021, table I: 95, 317 and 964 million."""
    for config, published, millions in (
        (hubert.BASE, {}, 95),
        (hubert.LARGE, {"hidden_size": 1024, "num_attention_heads": 16, "num_hidden_layers": 24,
                        "intermediate_size": 4096, **LARGE, "conv_bias": False}, 317),
        (hubert.X_LARGE, {"hidden_size": 1280, "num_attention_heads": 16, "num_hidden_layers": 48,
                          "intermediate_size": 5120, **LARGE, "conv_bias": False}, 964),
    ):  # fmt: skip
        with torch.device("meta"):
            ours, theirs = hubert.hubert(config), HubertModel(HubertConfig(**published))
            whole = HubertForPreTraining(ours, 500)
        assert sum(p.numel() for p in ours.parameters()) == theirs.num_parameters()
        assert abs(sum(p.numel() for p in whole.parameters()) / 1e6 - millions) < 1


def test_units_are_k_means() -> None:
    """Of three clouds, whatever their scales: the clouds. A centre is its group's mean, and each
    row's is the nearest.
    """
    draw = torch.Generator().manual_seed(0)
    cloud = torch.tensor([[0.0, 0], [9, 0], [0, 900]]).repeat_interleave(20, 0)
    seen = cloud + torch.randn(60, 2, generator=draw) * torch.tensor([1.0, 100.0]) / 2
    units = make_units(seen, 3, draw=draw)
    group = units(seen)
    assert len({tuple(group[i : i + 20].tolist()) for i in (0, 20, 40)}) == 3
    assert all(len(set(group[i : i + 20].tolist())) == 1 for i in (0, 20, 40))
    scaled = (seen - seen.mean(0)) / seen.std(0, unbiased=False)
    for u in range(3):
        assert torch.allclose(units.centers[u], scaled[group == u].mean(0), atol=1e-5)
    assert torch.equal(group, torch.cdist(scaled, units.centers).argmin(1))
    assert torch.equal(units(seen.view(3, 20, 2)), group.view(3, 20))
    with pytest.raises(ValueError, match="with n >= k=61"):
        make_units(seen, 61)


def test_no_group_is_left_empty() -> None:
    """Of 4 different rows, many times over: 4 units take one each, and the sum of squares is 0."""
    for seed in range(5):
        draw = torch.Generator().manual_seed(seed)
        seen = torch.eye(4).repeat(7, 1)
        units = make_units(seen, 4, draw=draw)
        assert sorted(units(seen[:4]).tolist()) == [0, 1, 2, 3]


def test_the_unit_loss_by_hand() -> None:
    """Hidden rows alone, or by a share alpha; padded ones never."""
    scores = torch.tensor([[[0.0, 0.0], [1.0, 0.0], [0.0, 2.0], [7.0, 0.0]]])
    units, hidden = torch.tensor([[0, 0, 0, 1]]), torch.tensor([[True, True, False, False]])
    real = torch.tensor([[True, True, True, False]])
    each = F.cross_entropy(scores[0], units[0], reduction="none")
    assert torch.allclose(unit_loss(scores, units, hidden, real), each[:2].mean())
    mixed = 0.75 * each[:2].mean() + 0.25 * each[2]
    assert torch.allclose(unit_loss(scores, units, hidden, real, 0.75), mixed)
    with pytest.raises(ValueError, match="no frame is masked"):
        unit_loss(scores, units, hidden & False)


def test_what_cannot_be_is_refused() -> None:
    model = hubert.hubert(hubert.TINY)
    for call, message in (
        (lambda: layer_states(model, 3, torch.zeros(1, 64)), "layer=3: the encoder has 2"),
        (lambda: HubertForPreTraining(model, 0), "n_units"),
        (lambda: from_config(HubertConfig(**SETTINGS, conv_pos_batch_norm=True).to_dict()),
         "conv_pos_batch_norm=True"),
    ):  # fmt: skip
        with pytest.raises(ValueError, match=message):
            call()


def plain_scores(
    self: HubertForPreTraining, sound: Tensor, hidden: Any = None, mask: Any = None
) -> Tensor:
    return self.project(self.encoder(sound, mask, hidden)) @ self.units.T / self.temperature


MUTATIONS: dict[str, tuple[Callable[..., None], tuple[Any, ...], str, Any]] = {
    "a product in the place of the cosine": (
        scores_agree, (), "deepdive.models.speech.hubert.HubertForPreTraining.forward",
        plain_scores),
    "no hidden row": (
        scores_agree, (), "deepdive.models.speech.hubert.HubertForPreTraining.forward",
        lambda self, sound, hidden=None, mask=None, KEPT=HubertForPreTraining.forward: (
            KEPT(self, sound))),
    "the stream before the layer": (
        layers_agree, (), "deepdive.core.block.Block.forward",
        lambda self, x, *rest: self.stream(x) + 0 * self.ff(x)),
    "norms inside the branches of the base form": (
        encoder_agrees, (BASE,), "deepdive.core.residual.PostNorm.forward", PreNorm.forward),
    "norms behind the sums of the large form": (
        encoder_agrees, (LARGE,), "deepdive.core.residual.PreNorm.forward", PostNorm.forward),
    "padded rows are not emptied": (
        encoder_agrees, (BASE,), "deepdive.models.speech.embeddings.SoundEmbeddings.forward",
        lambda self, heard, real=None, hidden=None, KEPT=SoundEmbeddings.forward:
            KEPT(self, heard, None, hidden)),
}  # fmt: skip


def test_the_proof_is_green() -> None:
    hubert_agrees()


@pytest.mark.parametrize("name", MUTATIONS)
def test_a_mutation_is_seen(name: str) -> None:
    proof, given, target, wrong = MUTATIONS[name]
    with mock.patch(target, wrong), pytest.raises(AssertionError):
        proof(*given)


def test_units_say_what_they_are() -> None:
    assert isinstance(make_units(torch.randn(9, 2), 2), Units)
