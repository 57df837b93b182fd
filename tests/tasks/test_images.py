"""Images as batches: each once, the same draws again, shifts and mirrors as said."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor, nn

from deepdive.data.images import generated_shapes
from deepdive.layers.heads import ImageClassifier
from deepdive.models.vision import vit
from deepdive.training import fit
from deepdive.training.optim import adam
from deepdive_book.tasks.images import (
    ImageBatches,
    accuracy,
    loss,
    mirrored,
    predict,
    shifted,
    tensors,
)


def numbered(n: int = 10, side: int = 4) -> tuple[Tensor, Tensor]:
    x = torch.arange(n * 3 * side * side).float().reshape(n, 3, side, side)
    return x, torch.arange(n)


def draw(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def test_pixels_are_centred() -> None:
    images = generated_shapes(5)
    x, labels = tensors(images)
    assert x.dtype == torch.float32
    assert x.shape == (5, 1, 16, 16)
    torch.testing.assert_close(x, torch.from_numpy(images.pixels) / 127.5 - 1)
    assert labels.tolist() == images.labels.tolist()


def test_an_epoch_has_each_image_once_and_others_are_left_out_in_the_next() -> None:
    x, labels = numbered(10)
    batches = ImageBatches(x, labels, 4, seed=3)
    epochs = [torch.cat([some for _, some in batches]) for _ in range(6)]
    assert len(batches) == 2
    assert all(len(set(epoch.tolist())) == 8 for epoch in epochs)
    assert len({frozenset(epoch.tolist()) for epoch in epochs}) > 1
    for images, some in batches:
        assert torch.equal(images, x[some])


def test_a_saved_place_goes_on_with_the_same_draws() -> None:
    make = lambda: ImageBatches(*numbered(), 2, shift=1, mirror=True, seed=1)  # noqa: E731
    whole, part = make(), make()
    expected = list(whole) + list(whole)
    begun = iter(part)
    found = [next(begun) for _ in range(3)]
    other = make()
    other.load_state_dict(part.state_dict())
    found += list(other) + list(other)
    assert all(
        torch.equal(a, b)
        for one, two in zip(expected, found, strict=True)
        for a, b in zip(one, two, strict=True)
    )
    with pytest.raises(ValueError, match="shift: saved as 1, here 0"):
        ImageBatches(*numbered(), 2, mirror=True, seed=1).load_state_dict(part.state_dict())


def test_batches_of_other_data_are_known() -> None:
    x, labels = numbered()
    same = ImageBatches(x, labels).fingerprint()
    assert ImageBatches(x + 1, labels).fingerprint() != same
    assert ImageBatches(x, labels.flip(0)).fingerprint() != same
    assert ImageBatches(x, labels).fingerprint() == same


def test_a_shift_moves_the_whole_image_and_repeats_its_edge() -> None:
    x, _ = numbered(200, 6)
    moved = shifted(x, 2, draw())
    seen = set()
    padded = nn.functional.pad(x, (2, 2, 2, 2), mode="replicate")
    for i, image in enumerate(moved):
        fits = [(a, b) for a in range(5) for b in range(5)
                if torch.equal(padded[i, :, a : a + 6, b : b + 6], image)]  # fmt: skip
        assert len(fits) == 1
        seen.update(fits)
    assert len(seen) == 25, "each of the shifts comes"
    assert shifted(x, 0, draw()) is x


def test_half_of_the_images_are_mirrored() -> None:
    x, _ = numbered(400)
    turned = (mirrored(x, draw()) == x.flip(3)).flatten(1).all(1)
    kept = (mirrored(x, draw()) == x).flatten(1).all(1)
    assert (turned ^ kept).all()
    assert 150 < int(turned.sum()) < 250


def test_a_vit_learns_shapes_and_is_measured_in_order() -> None:
    torch.manual_seed(0)
    x, labels = tensors(generated_shapes(256, size=16))
    config = vit.TINY.but(image_size=16, patch_size=4)
    model = ImageClassifier(vit.vit(config), config.d_model, 4)
    before = accuracy(model, x, labels, progress=False)
    fit(model, ImageBatches(x, labels, 64), loss, steps=240,
        optimizer=adam(model, lr=3e-3), progress=False)  # fmt: skip
    after = accuracy(model, x, labels, size=100, progress=False)
    assert after > 0.7 > before
    logits = predict(model.train(), x, size=50, progress=False)
    assert model.training
    with torch.no_grad():
        torch.testing.assert_close(logits[-1:], model.eval()(x[-1:]), atol=1e-4, rtol=1e-4)


def test_what_does_not_fit_is_refused() -> None:
    x, labels = numbered()
    with pytest.raises(ValueError, match="expected \\(N, C, H, W\\)"):
        ImageBatches(x, labels[:-1])
    with pytest.raises(ValueError, match="shift"):
        ImageBatches(x, labels, shift=-1)
