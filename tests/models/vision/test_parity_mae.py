"""MAE against transformers in float64: both stacks from files, what it says, and its loss."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from unittest import mock

import pytest
import torch
from parity_bert import reference, saved_and_loaded
from parity_proofs import alike, rows
from parity_registry import equal, parity
from parity_vision import IN_MEMORY, SETTINGS
from torch import Tensor
from transformers import ViTMAEConfig, ViTMAEForPreTraining
from transformers.models.vit_mae.modeling_vit_mae import build_2d_sinusoidal_position_embedding

from deepdive.layers.patches import patchify
from deepdive.models.vision import mae
from deepdive.models.vision.embeddings import SinCosImageEmbeddings
from deepdive.models.vision.mae import Mae
from deepdive.positions.sinusoidal import plane
from deepdive.published import family, load
from deepdive.training import objectives
from deepdive.training.objectives import hidden_patches, mae_step, pixel_loss

DECODER: dict[str, Any] = {
    "decoder_hidden_size": 8, "decoder_num_attention_heads": 2, "decoder_num_hidden_layers": 1,
    "decoder_intermediate_size": 12,
}  # fmt: skip
NAMES = ((r"^decoder\.decoder_layers\.", "decoder.decoder_encoder.layer."), *IN_MEMORY)


def mae_agrees(normal: bool = True) -> None:
    more = {**DECODER, "mask_ratio": 0.6, "norm_pix_loss": normal}
    theirs = reference(ViTMAEForPreTraining, ViTMAEConfig, **SETTINGS, **more)
    ours: Any = saved_and_loaded(theirs, load)
    assert (ours.config.share, ours.config.normalized) == (0.6, normal)
    image = rows(3, 3, 12, 12)
    noise = torch.rand(3, 9, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    expected = theirs(image, noise=noise)
    hidden = objectives.hidden_patches(noise, 0.6)
    equal(hidden.double(), expected.mask.double())
    said = ours(image, hidden)
    loss = objectives.pixel_loss(said, image, hidden, 4, normal)
    names = family("vit_mae").table(config=ours.config)
    theirs_said = as_ours(expected.logits)
    alike(ours, theirs, said, theirs_said, [*NAMES, names], inputs=[(image, image)])
    again, other = ours(image, hidden), theirs(image, noise=noise)
    alike(ours, theirs, objectives.pixel_loss(again, image, hidden, 4, normal), other.loss,
          [*NAMES, names], inputs=[(image, image)])  # fmt: skip
    equal(loss, expected.loss)


def as_ours(logits: Tensor) -> Tensor:
    """Channels last inside a patch, as theirs have them, to channels first."""
    return logits.unflatten(-1, (4, 4, 3)).movedim(-1, 2).flatten(2)


@parity(Mae, SinCosImageEmbeddings)
def both_losses_agree() -> None:
    mae_agrees(True)
    mae_agrees(False)


def test_the_sines_are_theirs() -> None:
    """Theirs come line first; their comment says that published weights have columns first."""
    lines, columns = build_2d_sinusoidal_position_embedding(2, 3, 16).chunk(2, -1)
    equal(plane(2, 3, 16), torch.cat([columns, lines], -1), 1e-6)  # both in float32
    fresh = mae.mae(mae.TINY)
    equal(fresh.encoder.embeddings.positions[1:], plane(4, 4, 32), 1e-6)
    assert not fresh.encoder.embeddings.positions[0].any()
    with pytest.raises(ValueError, match="d_model=6: expected a multiple of 4, for two axes"):
        plane(2, 2, 6)


def test_published_sizes() -> None:
    """The encoders are ViT's but for their fixed positions; the decoder adds 26 million."""
    for config, millions in ((mae.BASE, 86), (mae.LARGE, 303), (mae.HUGE, 630)):
        with torch.device("meta"):
            model = mae.mae(config)
        encoder = sum(p.numel() for p in model.encoder.parameters())
        assert round(encoder / 1e6) == millions
        assert round((sum(p.numel() for p in model.parameters()) - encoder) / 1e6) == 26


def test_the_loss_by_hand() -> None:
    """Two of four patches are hidden, and only there an error counts: (1 + 1 + 4 + 0) / 4 ..."""
    image = torch.arange(16.0).reshape(1, 1, 4, 4)
    said = patchify(image, 2).clone()
    hidden = torch.tensor([[False, True, True, False]])
    said[0, 0] += 100
    said[0, 1] += torch.tensor([1.0, 1.0, 2.0, 0.0])
    assert pixel_loss(said, image, hidden, 2, normal=False).item() == pytest.approx(6 / 8)


def test_as_many_stay_in_each_image() -> None:
    noise = torch.rand(5, 49, generator=torch.Generator().manual_seed(0))
    for share, stay in ((0.0, 49), (0.25, 36), (0.75, 12), (0.9, 4)):
        assert (~hidden_patches(noise, share)).sum(1).tolist() == [stay] * 5
    hidden = hidden_patches(noise, 0.75)
    assert all(noise[i][hidden[i]].min() > noise[i][~hidden[i]].max() for i in range(5))


def test_what_cannot_be_hidden_is_refused() -> None:
    noise, model = torch.rand(2, 16), mae.mae(mae.TINY)
    image, hidden = torch.zeros(2, 1, 8, 8), hidden_patches(noise, 0.5)
    for call, message in (
        (lambda: hidden_patches(noise, 1.0), "share: got 1.0"),
        (lambda: hidden_patches(noise, 0.99), "of 16 patches: no visible patch"),
        (lambda: model(image, hidden[:, :9]), r"hidden: got \(2, 9\), expected .* \(2, 16\)"),
        (lambda: model(image, noise > noise.min()), "masked patches must be equal"),
        (lambda: pixel_loss(noise, image, hidden & False, 2), "no patch is masked"),
    ):
        with pytest.raises(ValueError, match=message):
            call()


def test_it_learns() -> None:
    torch.manual_seed(0)
    model, draw = mae.mae(mae.TINY), torch.Generator().manual_seed(0)
    lines = torch.arange(8.0)[:, None].add(torch.rand(64, 1, 1, 8)).sin()
    optimizer = torch.optim.Adam(model.parameters(), 3e-3)
    losses = []
    for _ in range(40):
        optimizer.zero_grad()
        losses.append(mae_step(model, lines, draw))
        losses[-1].backward()
        optimizer.step()
    assert losses[-1] < 0.6 * losses[0]


MUTATIONS: dict[str, tuple[str, Any]] = {
    "the encoder sees the hidden ones": (
        "deepdive.models.vision.mae.Mae.seen",
        lambda self, images, hidden: self.encoder(images)[:, : 1 + int((~hidden[0]).sum())]),
    "those with the least noise are hidden": (
        "deepdive.training.objectives.hidden_patches",
        lambda noise, share: hidden_patches(-noise, share)),
    "the loss counts what is seen": (
        "deepdive.training.objectives.pixel_loss",
        lambda said, images, hidden, *rest: pixel_loss(said, images, ~hidden | hidden, *rest)),
    "no positions in the decoder": (
        "deepdive.models.vision.mae.resized", lambda table, old, new: 0 * table),
    "a deviation of all pixels, not of all but one": (
        "deepdive.training.objectives.masked_autoencoding.normalized",
        lambda x: (x - x.mean(-1, keepdim=True))
        / (x.var(-1, keepdim=True, unbiased=False) + 1e-6) ** 0.5),
}  # fmt: skip


def test_the_proof_is_green() -> None:
    both_losses_agree()


@pytest.mark.parametrize("name", MUTATIONS)
def test_a_mutation_is_seen(name: str) -> None:
    target, wrong = MUTATIONS[name]
    proof: Callable[[], None] = mae_agrees
    with mock.patch(target, wrong), pytest.raises(AssertionError):
        proof()
