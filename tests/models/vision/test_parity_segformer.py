"""SegFormer against transformers in float64: reduced keys, convolved feed-forward layers, masks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from unittest import mock

import pytest
import torch
import torch.nn.functional as F
from parity_bert import reference, saved_and_loaded
from parity_proofs import alike, rows
from parity_registry import equal, parity
from torch import Tensor, nn
from transformers import SegformerConfig, SegformerForSemanticSegmentation

from deepdive.layers.segformer_layers import (
    ConvolvedFeedForward,
    Decoder,
    OverlappingPatches,
    ReducedAttention,
    Stage,
)
from deepdive.models.vision import segformer
from deepdive.published import family, from_config, load

SETTINGS: dict[str, Any] = {
    "num_encoder_blocks": 2, "depths": [2, 1], "hidden_sizes": [8, 16], "sr_ratios": [2, 1],
    "num_attention_heads": [1, 2], "patch_sizes": [7, 3], "strides": [4, 2], "mlp_ratios": [2, 3],
    "decoder_hidden_size": 12, "num_labels": 5, "classifier_dropout_prob": 0.0,
    "drop_path_rate": 0.0,
}  # fmt: skip
# In memory the package calls the parts of a layer otherwise than in its files.
ENCODER, LAYER = r"^segformer\.stages\.(\d+)\.", r"segformer.encoder.block.\1.\2."
IN_MEMORY = (
    (ENCODER + r"patch_embeddings", r"segformer.encoder.patch_embeddings.\1"),
    (ENCODER + r"layer_norm", r"segformer.encoder.layer_norm.\1"),
    (ENCODER + r"blocks\.(\d+)\.", LAYER),
    (r"attention\.q_proj", "attention.self.query"),
    (r"attention\.k_proj", "attention.self.key"),
    (r"attention\.v_proj", "attention.self.value"),
    (r"attention\.o_proj", "attention.output.dense"),
    (r"attention\.sequence_reduction\.sequence_reduction", "attention.self.sr"),
    (r"attention\.sequence_reduction\.layer_norm", "attention.self.layer_norm"),
    (r"layernorm_before", "layer_norm_1"),
    (r"layernorm_after", "layer_norm_2"),
    (r"mlp\.fc1", "mlp.dense1"),
    (r"mlp\.fc2", "mlp.dense2"),
    (r"decode_head\.linear_projections", "decode_head.linear_c"),
)


def pair() -> tuple[Any, nn.Module]:
    theirs = reference(SegformerForSemanticSegmentation, SegformerConfig, **SETTINGS)
    norm = theirs.decode_head.batch_norm
    norm.running_mean.copy_(torch.linspace(-0.5, 0.5, 12))
    norm.running_var.copy_(torch.linspace(0.5, 2, 12))
    return theirs, saved_and_loaded(theirs, load)


@parity("segformer", segformer.Segformer, Stage, Decoder, OverlappingPatches,
        ReducedAttention, ConvolvedFeedForward)  # fmt: skip
def segformer_agrees() -> None:
    theirs, ours = pair()
    names = family("segformer").table(config=ours.config)
    # The last: sides that neither the strides nor the rates divide.
    for image in (rows(2, 3, 16, 16), rows(1, 3, 32, 48, seed=1), rows(1, 3, 38, 27, seed=3)):
        alike(ours, theirs, ours(image), theirs(image).logits, [*IN_MEMORY, names])
    # While it is trained, a batch is normalised by its own mean, and what was seen is kept.
    image = rows(3, 3, 16, 16, seed=2)
    equal(ours.train()(image), theirs.train()(image).logits)
    equal(ours.decoder.norm.running_var, theirs.decode_head.batch_norm.running_var)


def test_published_sizes() -> None:
    """Xie et al. 2021, table 1: millions in encoder and decoder, with the 150 classes of ADE20K."""
    for config, encoder, decoder in (
        (segformer.B0, 3.4, 0.4),
        (segformer.B1, 13.1, 0.6),
        (segformer.B2, 24.2, 3.3),
        (segformer.B3, 44.0, 3.3),
        (segformer.B4, 60.8, 3.3),
        (segformer.B5, 81.4, 3.3),
    ):
        with torch.device("meta"):
            ours = segformer.segformer(config)
            theirs = SegformerForSemanticSegmentation(
                SegformerConfig(
                    depths=config.depths, hidden_sizes=config.widths, num_labels=150,
                    decoder_hidden_size=config.d_decoder,
                )
            )  # fmt: skip
        count = [sum(p.numel() for p in part.parameters()) for part in (ours.stages, ours.decoder)]
        assert sum(count) == theirs.num_parameters()
        assert count[0] / 1e6 == pytest.approx(encoder, abs=0.25)
        assert count[1] / 1e6 == pytest.approx(decoder, abs=0.25)


def test_settings_that_are_not_built_are_refused() -> None:
    good = SegformerConfig(**SETTINGS).to_dict()
    for changes, message in (
        ({"reshape_last_stage": False}, "reshape_last_stage=False"),
        ({"sr_ratios": [2]}, "expected one per stage"),
        ({"num_attention_heads": [3, 2]}, "heads=3 does not divide widths=8"),
    ):
        with pytest.raises(ValueError, match=message):
            from_config({**good, **changes})


def edges_repeated(self: Any, x: Tensor) -> Tensor:
    inner = F.pad(self.inner(x).movedim(-1, 1), (1, 1, 1, 1), mode="replicate")
    wide = self.depthwise
    mixed = F.conv2d(inner, wide.weight, wide.bias, groups=wide.groups).movedim(1, -1)
    return self.out(self.dropout(self.activation(mixed)))


def first_to_last(self: Any, grids: list[Tensor]) -> Tensor:
    size, pairs = grids[0].shape[1:3], zip(self.projections, grids, strict=True)
    flat = [project(grid).movedim(-1, 1) for project, grid in pairs]
    alike = [F.interpolate(x, size, mode="bilinear", align_corners=False) for x in flat]
    return self.classify(self.dropout(F.relu(self.norm(self.fuse(torch.cat(alike, 1))))))


MUTATIONS: dict[str, tuple[Callable[[], None], str, Any]] = {
    "edges repeated, not zeros": (
        segformer_agrees, "deepdive.layers.segformer_layers.ConvolvedFeedForward.forward",
        edges_repeated),
    "grids joined from the first to the last": (
        segformer_agrees, "deepdive.layers.segformer_layers.Decoder.forward", first_to_last),
    "keys without their norm": (
        segformer_agrees, "deepdive.layers.segformer_layers.ReducedAttention.forward",
        lambda self, grid, context: self.attention(
            grid.flatten(1, 2),
            memory=self.patches(grid.movedim(-1, 1)) if self.rate > 1 else None).view_as(grid)),
    "keys of squares that are padded": (
        segformer_agrees, "deepdive.layers.segformer_layers.ReducedAttention._squares",
        lambda self, grid: F.pad(grid.movedim(-1, 1), [
            end for side in grid.shape[2:0:-1] for end in (0, -side % self.rate)])),
    "the wrong epsilon": (
        segformer_agrees, "deepdive.core.LayerNorm.forward",
        lambda self, x: F.layer_norm(x, x.shape[-1:], self.weight, self.bias, 1e-3)),
}  # fmt: skip


def test_the_proof_is_green() -> None:
    segformer_agrees()


@pytest.mark.parametrize("name", MUTATIONS)
def test_a_mutation_is_seen(name: str) -> None:
    proof, target, wrong = MUTATIONS[name]
    with mock.patch(target, wrong), pytest.raises(AssertionError):
        proof()
