"""DETR and its ResNet against transformers in float64: from files of both published forms and back,
padded images, and the loss. For timm's form the files of transformers' ResNet are renamed. Their
`auxiliary_loss` is not compared as a model: it hands the normed rows to the next layer,
where the released code hands on the rows themselves; as a loss it is.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest import mock

import pytest
import torch
from parity_bert import double_precision, reference, saved_and_loaded
from parity_proofs import alike, rows
from parity_registry import equal, equal_gradients, parity
from safetensors.torch import load_file, save_file
from torch import Tensor, nn
from transformers import DetrConfig, DetrForObjectDetection, ResNetConfig, ResNetModel
from transformers.loss.loss_for_object_detection import ForObjectDetectionLoss, HungarianMatcher

from deepdive.core import Context
from deepdive.layers.position_aware_attention import QKPositionAttention
from deepdive.layers.residual_conv import FrozenBatchNorm, settle
from deepdive.models.vision import detr, resnet, resnet_config
from deepdive.positions.sinusoidal import grid_sines
from deepdive.published import family, from_config, load, save
from deepdive.published.families import detr as form
from deepdive.training.objectives import set_prediction

SETTINGS: dict[str, Any] = {
    "num_queries": 5, "d_model": 16, "encoder_layers": 2, "decoder_layers": 2, "num_labels": 3,
    "encoder_attention_heads": 4, "decoder_attention_heads": 4, "encoder_ffn_dim": 24,
    "decoder_ffn_dim": 24, "use_timm_backbone": False, "attn_implementation": "eager",
}  # fmt: skip
# In memory the package calls some parts otherwise than in its files.
IN_MEMORY = (
    (r"^model\.backbone\.model\.", "model.backbone.conv_encoder.model."),
    (r"\.o_proj\.", ".out_proj."),
    (r"\.mlp\.(fc\d)\.", r".\1."),
)
IMAGE = (2, 3, 40, 28)
# The decoder's first rows are zeros, so whoever looks at whom gets the same value.
SILENT = {"attn.q.weight": ("q_proj.weight",), "attn.q.bias": ("q_proj.bias",),
          "attn.kv.weight": ("k_proj.weight", "v_proj.weight")}  # fmt: skip
ALIKE: dict[str, Any] = {
    "leave_out": [
        f"model.decoder.layers.0.self_attn.{name}"
        for several in SILENT.values()
        for name in several
    ],
    "silent": [f"decoder.blocks.0.{name}" for name in SILENT],
}


def body(layer: str = "basic", **changes: Any) -> ResNetConfig:
    return ResNetConfig(
        embedding_size=8, hidden_sizes=[8, 16], depths=[2, 1], layer_type=layer,
        out_features=["stage2"], **changes,
    )  # fmt: skip


def theirs(layer: str = "basic") -> Any:
    """Their model with all weights, and the constants of all norms, off their special values; the
    package freezes all of a ResNet of its own, ours trains its convolutions.
    """
    model: Any = reference(DetrForObjectDetection, DetrConfig, backbone_config=body(layer),
                           **SETTINGS)  # fmt: skip
    generator = torch.Generator().manual_seed(5)
    for buffer in model.model.backbone.buffers():
        moved = 0.3 * torch.randn(buffer.shape, generator=generator, dtype=torch.float64)
        buffer.copy_((buffer + moved).abs() + 0.1)
    model.model.unfreeze_backbone()
    return model


def padded(b: int = 2) -> Tensor:
    """The second image is smaller: 24 x 17 of its pixels are real."""
    real = torch.ones(b, *IMAGE[2:], dtype=torch.bool)
    real[1, 24:], real[1, :, 17:] = False, False
    return real


@parity(detr.Detr, QKPositionAttention, resnet.ResNet)
def detr_agrees() -> None:
    for layer in ("basic", "bottleneck"):
        model = theirs(layer)
        ours = saved_and_loaded(model, load)
        image = rows(*IMAGE)
        names = [*IN_MEMORY, family("detr").table()]
        said, expected = ours(image), model(image)
        equal(said.boxes, expected.pred_boxes)
        both = torch.cat([said.logits, said.boxes], -1)
        alike(
            ours, model, both, torch.cat([expected.logits, expected.pred_boxes], -1), names, **ALIKE
        )
        said, expected = ours(image, padded()), model(image, pixel_mask=padded())
        both = torch.cat([said.logits, said.boxes], -1)
        alike(
            ours, model, both, torch.cat([expected.logits, expected.pred_boxes], -1), names, **ALIKE
        )


# From the names of transformers' ResNet to timm's, which count from 1.
TO_TIMM = (
    (r"embedder\.embedder\.convolution", "conv1"),
    (r"embedder\.embedder\.normalization", "bn1"),
    (r"encoder\.stages\.(\d)\.layers\.(\d)\.shortcut\.convolution", "layer{}.*.downsample.0"),
    (r"encoder\.stages\.(\d)\.layers\.(\d)\.shortcut\.normalization", "layer{}.*.downsample.1"),
    (r"encoder\.stages\.(\d)\.layers\.(\d)\.layer\.(\d)\.convolution", "layer{}.*.conv{}"),
    (r"encoder\.stages\.(\d)\.layers\.(\d)\.layer\.(\d)\.normalization", "layer{}.*.bn{}"),
)
SMALL = {
    "resnet18": resnet.ResNetConfig(
        d_stem=8, widths=(8, 16), depths=(2, 1), layer=form.LAYERS["basic"]),
    "resnet50": resnet.ResNetConfig(d_stem=8, widths=(8, 16), depths=(2, 1)),
}  # fmt: skip
OLDEST: dict[str, Any] = {"use_timm_backbone": True, "backbone_config": None, "num_channels": 3}


def timm_name(name: str) -> str:
    for pattern, new in TO_TIMM:
        if found := re.search(pattern, name):
            numbers = [int(number) for number in found.groups()]
            if len(numbers) > 1:
                new = new.replace("*", str(numbers.pop(1)))
            return name.replace(found[0], new.format(*(number + 1 for number in numbers)))
    return name


def as_timm(folder: Path, backbone: str) -> Path:
    """Rename the tensors of a folder as timm names them, with the counters of batches that
    facebook/detr-resnet-50 has for its shortcuts.
    """
    file = folder / "model.safetensors"
    tensors = {timm_name(name): tensor for name, tensor in load_file(file).items()}
    assert any("layer2.0.downsample.1.running_var" in name for name in tensors)
    for name in list(tensors):
        if name.endswith("downsample.1.running_var"):
            counter = name.replace("running_var", "num_batches_tracked")
            tensors[counter] = torch.tensor(0)
    save_file(tensors, file)
    config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    config |= {**OLDEST, "backbone": backbone}
    (folder / "config.json").write_text(json.dumps(config), encoding="utf-8")
    return folder


def timm_form_agrees() -> None:
    for layer, backbone in (("basic", "resnet18"), ("bottleneck", "resnet50")):
        model = theirs(layer)
        with mock.patch.dict(form.TIMM, SMALL):
            ours = saved_and_loaded(model, lambda folder: load(as_timm(folder, backbone)))  # noqa: B023
        image, names = rows(*IMAGE), [*IN_MEMORY, family("detr").table()]
        said, expected = ours(image, padded()), model(image, pixel_mask=padded())
        both = torch.cat([said.logits, said.boxes], -1)
        alike(
            ours, model, both, torch.cat([expected.logits, expected.pred_boxes], -1), names, **ALIKE
        )


def truths(sizes: tuple[int, ...] = (3, 1, 0)) -> list[set_prediction.Truth]:
    generator = torch.Generator().manual_seed(2)
    return [
        set_prediction.Truth(
            torch.randint(0, 3, (n,), generator=generator),
            0.2 + 0.3 * torch.rand(n, 4, generator=generator, dtype=torch.float64),
        )
        for n in sizes
    ]


def loss_agrees() -> None:
    """Three layers of five queries; three scenes, one of them empty."""
    logits = rows(3, 3, 5, 4)
    raw = rows(3, 3, 5, 4, seed=1)
    boxes, again = (0.1 + 0.4 * raw.sigmoid() for _ in range(2))
    config = DetrConfig(**{**SETTINGS, "backbone_config": body()}, auxiliary_loss=True)
    config.decoder_layers = 3
    labels = [{"class_labels": t.classes, "boxes": t.boxes} for t in truths()]
    with double_precision():
        total, terms, _ = ForObjectDetectionLoss(
            logits[-1], labels, "cpu", again[-1], config, outputs_class=logits, outputs_coord=again
        )
    ours = set_prediction.set_loss(logits, boxes, truths())
    one = set_prediction.set_losses(logits[-1], boxes[-1], truths())
    for mine, name in zip(one, ("loss_ce", "loss_bbox", "loss_giou"), strict=True):
        equal(mine, terms[name])
    equal(ours, total)
    equal_gradients(ours, total, {"logits": (logits, logits), "boxes": (raw, raw)})


def matching_agrees() -> None:
    logits, boxes = rows(3, 5, 4).detach(), 0.1 + 0.4 * rows(3, 5, 4, seed=1).sigmoid().detach()
    labels = [{"class_labels": t.classes, "boxes": t.boxes} for t in truths()]
    expected = HungarianMatcher(1, 5, 2)({"logits": logits, "pred_boxes": boxes}, labels)
    for b, truth in enumerate(truths()):
        found = set_prediction.hungarian(set_prediction.costs(logits[b], boxes[b], truth))
        assert [part.tolist() for part in found] == [part.tolist() for part in expected[b]]


def test_published_sizes() -> None:
    """Carion et al. 2020, table 1: 41 million with ResNet-50; its norms' constants not counted."""
    with torch.device("meta"):
        ours = detr.detr()
        model = DetrForObjectDetection(
            DetrConfig(
                backbone_config=ResNetConfig(out_features=["stage4"]), use_timm_backbone=False,
                num_labels=91,
            )
        )  # fmt: skip
    number = sum(p.numel() for p in ours.parameters())
    assert number == sum(p.numel() for p in model.parameters())
    assert 41.0e6 < number < 42.0e6
    with torch.device("meta"):
        eighteen = resnet.resnet(resnet_config.RESNET_18)
    norms = sum(b.numel() for n, b in eighteen.named_buffers() if n.endswith(("weight", "bias")))
    classifier = 512 * 1000 + 1000
    assert sum(p.numel() for p in eighteen.parameters()) + norms + classifier == 11_689_512


def test_saved_and_read_by_both(tmp_path: Path) -> None:
    torch.manual_seed(0)
    ours = detr.detr(detr.TINY, n_queries=7).eval()
    settle(ours.backbone, torch.rand(4, 3, 16, 16))
    save(ours, tmp_path)
    image = torch.rand(2, 3, 24, 24)
    again, model = load(tmp_path), DetrForObjectDetection.from_pretrained(tmp_path).eval()
    assert again.config == ours.config
    with torch.no_grad():
        assert torch.equal(again(image).boxes, ours(image).boxes)
        assert torch.allclose(model(image).pred_boxes, ours(image).boxes, atol=1e-5)
        assert torch.allclose(model(image).logits, ours(image).logits, atol=1e-4)
    assert model.config.num_labels == 4


def test_timm_form_saved_and_read(tmp_path: Path) -> None:
    """It is written under the names of timm, and read again; transformers reads its config."""
    torch.manual_seed(0)
    with mock.patch.dict(form.TIMM, SMALL):
        backbone = SMALL["resnet50"].but(family="timm_backbone")
        ours = detr.detr(detr.TINY, backbone=backbone).eval()
        settle(ours.backbone, torch.rand(4, 3, 16, 16))
        save(ours, tmp_path / "timm")
        again = load(tmp_path / "timm")
    assert again.config == ours.config
    image = torch.rand(2, 3, 24, 24)
    assert torch.equal(again(image).boxes, ours(image).boxes)
    ours.config = ours.config.but(backbone=SMALL["resnet50"])
    save(ours, tmp_path / "no_timm")
    timm, other = (load_file(tmp_path / name / "model.safetensors") for name in ("timm", "no_timm"))
    assert {timm_name(name): tensor.tolist() for name, tensor in other.items()} == {
        name: tensor.tolist() for name, tensor in timm.items()
    }
    read = DetrConfig.from_pretrained(tmp_path / "timm")
    assert read.backbone_config.model_type == "timm_backbone"
    assert read.backbone_config.backbone == "resnet50"
    with pytest.raises(ValueError, match=r"timm has no ResNet .*family='resnet'"):
        save(again, tmp_path / "unknown")


def test_the_backbone_that_a_config_means() -> None:
    """A missing or empty backbone_config means timm's ResNet-50, as in transformers."""
    good = json.loads(DetrConfig(backbone_config=body(), **SETTINGS).to_json_string())
    plain = {k: v for k, v in good.items() if k not in ("backbone_config", "use_timm_backbone")}
    timm = {"family": "timm_backbone"}
    newer = {"model_type": "timm_backbone", "backbone": "resnet101.a1_in1k",
             "out_indices": [1, 2, 3, 4], "num_channels": 1}  # fmt: skip
    for changes, expected in (
        ({}, resnet_config.RESNET_50.but(**timm)),
        (OLDEST, resnet_config.RESNET_50.but(**timm)),
        ({**OLDEST, "backbone": "resnet34"}, resnet_config.RESNET_34.but(**timm)),
        (
            {"backbone": "resnet18", "backbone_kwargs": {"in_chans": 1, "out_indices": [1, 4]}},
            resnet_config.RESNET_18.but(channels=1, **timm),
        ),
        ({"backbone_config": newer}, resnet_config.RESNET_101.but(channels=1, **timm)),
        ({"use_timm_backbone": False}, resnet_config.RESNET_50),
    ):
        read = family("detr").config({**plain, **changes})
        assert read.backbone == expected, changes
        assert family("detr").config(family("detr").published(read)) == read


def test_parameters_of_the_named_depths() -> None:
    """Every size that timm names has as many parameters as transformers' ResNet of that depth."""
    for name, config in form.TIMM.items():
        theirs = ResNetConfig(
            hidden_sizes=list(config.widths), depths=list(config.depths),
            layer_type="basic" if name in ("resnet18", "resnet34") else "bottleneck",
        )  # fmt: skip
        layers = 2 + (2 if theirs.layer_type == "basic" else 3) * sum(theirs.depths)
        assert name == f"resnet{layers}"  # the stem and a classifier are counted
        with torch.device("meta"):
            ours, model = resnet.resnet(config), ResNetModel(theirs)
        assert sum(x.numel() for x in [*ours.parameters(), *ours.buffers()]) == sum(
            x.numel() for n, x in model.state_dict().items() if "num_batches" not in n
        )


def test_settings_that_are_not_built_are_refused() -> None:
    good = json.loads(DetrConfig(backbone_config=body(), **SETTINGS).to_json_string())
    from_config(good)
    timm = {"model_type": "timm_backbone", "backbone": "resnet50"}
    ours = good["backbone_config"]
    for changes, message in (
        ({"decoder_layers": 3}, "encoder_layers=2, decoder_layers=3"),
        ({"position_embedding_type": "learned"}, "position_embedding_type=learned"),
        ({"dilation": True}, "dilation=True"),
        ({"backbone_config": {"model_type": "swin"}}, "of type 'swin'"),
        ({"backbone_config": {**timm, "backbone": "resnet50d"}}, "timm backbone 'resnet50d'"),
        ({"backbone_config": {**timm, "output_stride": 16}}, r"output_stride=16.*DC5"),
        ({"backbone_config": {**timm, "out_indices": [2, 3]}}, r"out_indices=\[2, 3\]"),
        ({"backbone_config": {**ours, "out_features": ["stage1"], "out_indices": None}},
         r"out_features=\['stage1'\]"),
        ({"backbone_config": {**ours, "downsample_in_first_stage": True}}, "downsample_in_"),
        ({"backbone_config": {**ours, "hidden_act": "silu"}}, "hidden_act='silu'"),
        ({"backbone_config": {**ours, "layer_type": "wide"}}, "layer_type='wide'"),
        ({"backbone_config": None, "use_timm_backbone": False, "backbone": "resnet34"},
         "give its backbone_config"),
        ({"activation_function": "swoosh"}, "swoosh"),
    ):  # fmt: skip
        with pytest.raises(ValueError, match=message):
            from_config({**good, **changes})


def test_norms_settle_on_what_reaches_them() -> None:
    network = resnet.resnet(resnet.TINY).double()
    images = 3 + 2 * rows(6, 3, 20, 20).detach()
    settle(network, images)
    seen: list[Tensor] = []
    norms = [module for module in network.modules() if isinstance(module, FrozenBatchNorm)]
    for norm in norms:
        norm.register_forward_hook(lambda module, inputs, output: seen.append(output))
    network(images)
    assert len(seen) == len(norms) == 6
    for output in seen:
        assert output.mean((0, 2, 3)).abs().max() < 1e-9
        assert (output.std((0, 2, 3), correction=0) - 1).abs().max() < 1e-3
    before = [buffer.clone() for buffer in network.buffers()]
    network.train()(images + 1)
    assert all(map(torch.equal, before, network.buffers()))


def without_values_apart(self: Any, x: Tensor, context: Context) -> Tensor:
    """Positions added to the values too, as at a Transformer's beginning."""
    rows = x if context.positions is None else x + context.positions
    memory = context.memory
    if memory is not None and context.memory_positions is not None:
        memory = memory + context.memory_positions
    plain = replace(context, memory=memory, positions=None, memory_positions=None)
    return super(QKPositionAttention, self).forward(rows, plain)


KEPT = grid_sines
GIOU, LOSSES = set_prediction.generalized_iou, set_prediction.set_losses
CHANGED_OVER = {
    "timm_backbone": {
        their: re.sub(r"(bias|mean)$", lambda end: {"bias": "mean", "mean": "bias"}[end[0]], our)
        for their, our in form.OF_BACKBONE["timm_backbone"].items()
    },
    "resnet": form.OF_BACKBONE["resnet"],
}
MUTATIONS: dict[str, tuple[Callable[[], None], str, Any]] = {
    "values know their places": (
        detr_agrees, "deepdive.layers.position_aware_attention.QKPositionAttention.forward",
        without_values_apart),
    "lines and columns changed over": (
        detr_agrees, "deepdive.models.vision.detr.grid_sines",
        lambda real, d: KEPT(real, d).roll(d // 2, -1)),
    "padding counted as places": (
        detr_agrees, "deepdive.models.vision.detr.grid_sines",
        lambda real, d: KEPT(torch.ones_like(real), d)),
    "no shortcut": (
        detr_agrees, "deepdive.layers.residual_conv.Basic.forward",
        lambda self, x: nn.Sequential(*self.convs)(x).relu()),
    "another epsilon in the frozen norms": (
        detr_agrees, "deepdive.layers.residual_conv.EPS", 1e-3),
    "timm's means and biases changed over": (
        timm_form_agrees, "deepdive.published.families.detr.OF_BACKBONE", CHANGED_OVER),
    "nothing weighs as much as things": (
        loss_agrees, "deepdive.training.objectives.set_prediction.set_losses",
        lambda logits, boxes, truths, *_: LOSSES(logits, boxes, truths, nothing=1.0)),
    "things overlap by plain IoU": (
        loss_agrees, "deepdive.training.objectives.set_prediction.generalized_iou",
        lambda a, b: GIOU(a, b).clamp(min=0)),
    "matched in order": (
        matching_agrees, "deepdive.training.objectives.set_prediction.hungarian",
        set_prediction.by_order),
}  # fmt: skip


@pytest.mark.parametrize("proof", [detr_agrees, timm_form_agrees, loss_agrees, matching_agrees])
def test_the_proof_is_green(proof: Callable[[], None]) -> None:
    proof()


@pytest.mark.parametrize("name", MUTATIONS)
def test_a_mutation_is_seen(name: str) -> None:
    proof, target, wrong = MUTATIONS[name]
    with mock.patch(target, wrong), pytest.raises(AssertionError):
        proof()
