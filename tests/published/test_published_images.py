"""Readers of images with what sorts them, in their published form: transformers' classes saved,
read as ours with the same logits and gradients, saved by us and read by theirs.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from unittest import mock

import pytest
import torch
import torch.nn.functional as F
import transformers
from parity_bert import double_precision, reference
from parity_proofs import alike, rows
from parity_vision import IN_MEMORY, SETTINGS
from torch import Tensor

from deepdive.layers.heads import ImageClassifier
from deepdive.models.vision import deit, vit
from deepdive.models.vision.deit import Distilled
from deepdive.published import family
from deepdive.published import load as load_encoder
from deepdive.published.classifier import begin, form_of, load, published, save

NAMES = ("cat", "dog", "newt", "owl", "pike")
ARCHITECTURES = (
    "ViTForImageClassification",
    "DeiTForImageClassification",
    "DeiTForImageClassificationWithTeacher",
)


def theirs_of(architecture: str) -> transformers.PreTrainedModel:
    build = getattr(transformers, architecture)
    return reference(build, build.config_class, num_labels=5, **SETTINGS)


def agree(architecture: str, folder: Path) -> None:
    """The same logits and gradients, from theirs as it is published."""
    theirs = theirs_of(architecture)
    with double_precision():
        theirs.save_pretrained(folder)
        ours = load(folder)
    config, image = ours.encoder.config, rows(3, 3, 12, 12)
    kind = family(config.family)
    names = kind.table(config=config).within(kind.prefix, "encoder.")
    form = form_of({"model_type": config.family, "architectures": [architecture]})
    assert type(ours) is form.kind
    alike(ours, theirs, ours(image), theirs(image).logits, [*IN_MEMORY, names | form.head])


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_what_transformers_saves_is_read(architecture: str, tmp_path: Path) -> None:
    agree(architecture, tmp_path)


def last_state(self: ImageClassifier, images: Tensor) -> Tensor:
    return self.out(self.encoder(images)[:, -1])


def label_alone(self: Distilled, images: Tensor) -> Tensor:
    return self.both(images)[0]


MUTATIONS: dict[str, tuple[str, str, Any]] = {
    "the last state is read": (ARCHITECTURES[0], "ImageClassifier.forward", last_state),
    "the last state is read, of two": (ARCHITECTURES[1], "ImageClassifier.forward", last_state),
    "one head alone": (ARCHITECTURES[2], "Distilled.forward", label_alone),
}


@pytest.mark.parametrize("name", MUTATIONS)
def test_a_mutation_is_seen(name: str, tmp_path: Path) -> None:
    architecture, part, wrong = MUTATIONS[name]
    place = "deepdive.models.vision.deit" if "Distilled" in part else "deepdive.layers.heads.tasks"
    with mock.patch(f"{place}.{part}", wrong), pytest.raises(AssertionError):
        agree(architecture, tmp_path)


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_begun_on_an_encoder_trained_and_served(architecture: str, tmp_path: Path) -> None:
    """An encoder alone as published; our classifier on it; saved; read by theirs and by us."""
    kind = "ViTModel" if architecture.startswith("ViT") else "DeiTModel"
    encoder = reference(getattr(transformers, kind), getattr(transformers, kind).config_class,
                        **SETTINGS).float()  # fmt: skip
    encoder.save_pretrained(tmp_path / "encoder")
    (tmp_path / "encoder/preprocessor_config.json").write_text('{"size": 12}')
    torch.manual_seed(0)
    ours = begin(tmp_path / "encoder", 5, architecture=architecture)
    assert ours.training
    image, labels = torch.randn(8, 3, 12, 12), torch.arange(8) % 5
    states = load_encoder(tmp_path / "encoder")(image)
    torch.testing.assert_close(ours.encoder.eval()(image), states)
    optimizer = torch.optim.SGD(ours.parameters(), lr=0.1)
    for _ in range(3):
        F.cross_entropy(ours(image), labels).backward()
        optimizer.step()
    place = save(ours, tmp_path / "tuned", like=tmp_path / "encoder", names=NAMES)
    assert json.loads((place / "preprocessor_config.json").read_text()) == {"size": 12}
    theirs = getattr(transformers, architecture).from_pretrained(place).eval()
    assert theirs.config.architectures == [architecture]
    assert [*theirs.config.id2label.values()] == list(NAMES)
    expected = ours.eval()(image)
    torch.testing.assert_close(theirs(image).logits, expected, atol=1e-5, rtol=1e-5)
    assert torch.equal(load(place)(image), expected)
    again = begin(place, 3)
    assert type(again) is type(ours), "a tuned folder says which form it has"


def test_what_does_not_fit_is_refused(tmp_path: Path) -> None:
    encoder = vit.vit(vit.TINY)
    with pytest.raises(ValueError, match="got Distilled; vit publishes ImageClassifier"):
        published(Distilled(deit.deit(deit.TINY), 3), "vit")
    with pytest.raises(ValueError, match="got Vit; deit publishes Distilled or ImageC"):
        published(encoder, "deit")
    from deepdive.published import save as save_encoder

    save_encoder(encoder, tmp_path / "small")
    wide = ImageClassifier(vit.vit(vit.TINY, d_ff=96), 32, 3)
    with pytest.raises(ValueError, match=r"like: .* has vit\.encoder\.layer\.0\.intermediate"):
        save(wide, tmp_path / "x", like=tmp_path / "small", names=NAMES[:3])
    with pytest.raises(ValueError, match=r"names: got \['cat'\] for 3 classes"):
        save(wide, tmp_path / "x", like=tmp_path / "small", names=NAMES[:1])
    assert not (tmp_path / "x").exists()
