"""ViT against transformers in float64, at its own size and at others."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any
from unittest import mock

import pytest
import torch
import torch.nn.functional as F
from parity_bert import reference, saved_and_loaded
from parity_proofs import alike, rows
from parity_registry import equal, parity
from parity_vision import IN_MEMORY, SETTINGS
from torch import Tensor
from transformers import ViTConfig, ViTForImageClassification, ViTModel

from deepdive.layers import patches
from deepdive.layers.heads import ImageClassifier
from deepdive.models.vision import vit
from deepdive.models.vision.embeddings import ImageEmbeddings
from deepdive.published import family, from_config, load
from deepdive.published.names import Names

WITHOUT_POOLER: Any = partial(ViTModel, add_pooling_layer=False)


@parity(vit.Vit, patches.Patches, ImageEmbeddings)
def vit_agrees() -> None:
    theirs = reference(WITHOUT_POOLER, ViTConfig, **SETTINGS)
    ours = saved_and_loaded(theirs, load)
    image, wide = rows(2, 3, 12, 12), rows(2, 3, 8, 20, seed=1)
    names = family("vit").table(config=ours.config)
    output = ours(image)
    alike(ours, theirs, output, theirs(image).last_hidden_state, [*IN_MEMORY, names])
    equal(ours(wide), theirs(wide, interpolate_pos_encoding=True).last_hidden_state)


@parity(ImageClassifier)
def classifier_agrees() -> None:
    theirs = reference(ViTForImageClassification, ViTConfig, num_labels=5, **SETTINGS)
    encoder: Any = saved_and_loaded(theirs, load)
    ours = ImageClassifier(encoder, 16, 5).double().eval()
    ours.out.load_state_dict(theirs.classifier.state_dict())
    image = rows(2, 3, 12, 12)
    names = family("vit").table(config=encoder.config).within("vit.", "encoder.")
    table = [*IN_MEMORY, names | Names({"classifier": "out"})]
    alike(ours, theirs, ours(image), theirs(image).logits, table)


def test_published_sizes() -> None:
    """Dosovitskiy et al. 2021, table 1: 86, 307 and 632 million, with the head for 21,843 kinds
    of image left out.
    """
    for config, d_model, heads, layers, patch, millions in (
        (vit.BASE, 768, 12, 12, 16, 86),
        (vit.LARGE, 1024, 16, 24, 16, 303),
        (vit.HUGE, 1280, 16, 32, 14, 631),
    ):
        with torch.device("meta"):
            theirs = ViTModel(
                ViTConfig(
                    hidden_size=d_model, num_attention_heads=heads, num_hidden_layers=layers,
                    intermediate_size=4 * d_model, patch_size=patch,
                ),
                add_pooling_layer=False,
            )  # fmt: skip
            ours = vit.vit(config)
        number = sum(p.numel() for p in ours.parameters())
        assert number == theirs.num_parameters()
        assert round(number / 1e6) == millions


def test_settings_that_are_not_built_are_refused() -> None:
    good = ViTConfig(**SETTINGS).to_dict()
    for changes, message in (
        ({"qkv_bias": False}, "qkv_bias=False"),
        ({"hidden_act": "swoosh"}, "swoosh"),
        ({"image_size": [12, 12]}, "image_size"),
    ):
        with pytest.raises(ValueError, match=message):
            from_config({**good, **changes})


def by_columns(images: Tensor, size: int) -> Tensor:
    return KEPT(images.transpose(2, 3), size)


KEPT = patches.patchify
MUTATIONS: dict[str, tuple[Callable[[], None], str, Any]] = {
    "patches counted down the columns": (
        vit_agrees, "deepdive.layers.patches.patchify", by_columns),
    "positions of another size in a straight line": (
        vit_agrees, "deepdive.models.vision.embeddings.resized",
        lambda table, old, new: table if old == new else F.interpolate(
            table.t()[None], new[0] * new[1], mode="linear")[0].t()),
    "a norm behind the sum": (
        vit_agrees, "deepdive.core.residual.PreNorm.forward",
        lambda self, x, sublayer: self.norm(x + sublayer(x))),
    "the wrong epsilon": (
        vit_agrees, "deepdive.core.LayerNorm.forward",
        lambda self, x: F.layer_norm(x, x.shape[-1:], self.weight, self.bias, 1e-6)),
    "a kind from the mean of the patches": (
        classifier_agrees, "deepdive.layers.heads.ImageClassifier.forward",
        lambda self, images: self.out(self.encoder(images).mean(1))),
}  # fmt: skip


def test_the_proof_is_green() -> None:
    vit_agrees()
    classifier_agrees()


@pytest.mark.parametrize("name", MUTATIONS)
def test_a_mutation_is_seen(name: str) -> None:
    proof, target, wrong = MUTATIONS[name]
    with mock.patch(target, wrong), pytest.raises(AssertionError):
        proof()
