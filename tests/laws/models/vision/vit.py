"""Cases of ViT, of what enters it, and of DeiT."""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from deepdive.layers.heads import ImageClassifier
from deepdive.layers.patches import Patches, patchify, resized, unpatchify
from deepdive.models.vision import deit, vit
from deepdive.models.vision.deit import Distilled
from deepdive.models.vision.embeddings import ImageEmbeddings
from deepdive.models.vision.vit import Vit
from laws import ONE_ROW, ORDERED, TWO_SIDED, Case, NotApplicable, Pair, case, random_rows

ORACLE = "transformers ViTModel"
WHOLE = NotApplicable("an image has no padding: all its patches are there")


def images(b: int = 2, size: int = 8, channels: int = 1) -> Tensor:
    return random_rows(b, channels, size, size)


@case("vit", Vit)
def _() -> Case:
    def make(**changes: Any) -> Vit:
        return vit.vit(vit.TINY, **changes).double().eval()

    def without_positions() -> tuple[Tensor, Tensor]:
        """Positions tell the patches apart: without them, another order is no other image."""
        model, image = make(), images()
        model.embeddings.positions.data.zero_()
        order = torch.randperm(16, generator=torch.Generator().manual_seed(1))
        moved = unpatchify(patchify(image, 2)[:, order], 2, 8, 8)
        return model(moved)[:, 1:], model(image)[:, 1:][:, order]

    def no_layers() -> tuple[Tensor, Tensor]:
        model = make(n_layers=0)
        return model(images()), model.stack.norm(model.embeddings(images()))

    limits: dict[str, Pair] = {
        "no layers: the embeddings, normalised": no_layers,
        "no positions: a set of patches": without_positions,
    }

    def run(module: Vit, x: Tensor, mask: Any = None, state: Any = None) -> Tensor:
        return module(unpatchify(x, 2, 2, 2 * x.shape[1]))[:, 1:]

    return Case(
        make=lambda: vit.vit(vit.TINY),
        run=run,
        d_model=4,
        parity=ORACLE,
        limits=limits,
        refusals={
            "a side without whole patches": lambda: make()(images(size=9)),
            "other channels": lambda: make()(images(channels=3)),
            "no batch axis": lambda: make()(images()[0]),
        },
        laws={**TWO_SIDED, "padding": WHOLE, "order": ORDERED},
    )


@case("vit/ImageEmbeddings", ImageEmbeddings)
def _() -> Case:
    def make(**changes: Any) -> ImageEmbeddings:
        return ImageEmbeddings(vit.TINY.but(**changes))

    def run(module: ImageEmbeddings, x: Tensor, mask: Any = None, state: Any = None) -> Tensor:
        return module(unpatchify(x, 2, 2, 2 * x.shape[1]))[:, 1:]

    def no_special() -> tuple[Tensor, Tensor]:
        module = make(n_special=0).double()
        return module(images()), module.patches(images()) + module.positions

    return Case(
        make=make,
        run=run,
        d_model=4,
        parity=ORACLE,
        limits={"no special tokens: patches and positions": no_special},
        refusals={"other channels": lambda: make()(images(channels=3).float())},
        silent={"special": "it stands before the patches, which alone are looked at"},
        laws={
            "no_leak": NotApplicable("nothing is read but the patch itself"),
            "cache": NotApplicable("an image comes whole"),
            "padding": WHOLE,
            "order": ORDERED,
            "hooks": NotApplicable("no attention"),
        },
    )


@case("vit/Patches", Patches)
def _() -> Case:
    def make() -> Patches:
        return Patches(2, 1, 16)

    def run(module: Patches, x: Tensor, mask: Any = None, state: Any = None) -> Tensor:
        return module(unpatchify(x, 2, 2, 2 * x.shape[1]))

    def a_convolution() -> tuple[Tensor, Tensor]:
        module, image = Patches(2, 3, 16).double(), images(channels=3)
        kernel = module.project.weight.unflatten(1, (3, 2, 2))
        rows = F.conv2d(image, kernel, module.project.bias, stride=2)
        return module(image), rows.flatten(2).transpose(1, 2)

    def there_and_back() -> tuple[Tensor, Tensor]:
        image = random_rows(2, 3, 4, 6)
        return unpatchify(patchify(image, 2), 2, 4, 6), image

    def the_same_size() -> tuple[Tensor, Tensor]:
        table = random_rows(16, 5)
        return resized(table, (4, 4), (4, 4)), table

    return Case(
        make=make,
        run=run,
        d_model=4,
        parity="torch.nn.functional.conv2d",
        limits={
            "a convolution by its own size": a_convolution,
            "cut and joined: the image": there_and_back,
            "positions of the same size: themselves": the_same_size,
        },
        refusals={
            "a side without whole patches": lambda: make()(images(size=7).float()),
            "other channels": lambda: make()(images(channels=3).float()),
            "no batch axis": lambda: patchify(images()[0], 2),
            "rows of another image": lambda: unpatchify(random_rows(1, 5, 4), 2, 4, 4),
        },
        laws={
            "no_leak": NotApplicable("nothing is read but the patch itself"),
            "cache": NotApplicable("an image comes whole"),
            "padding": WHOLE,
            "hooks": NotApplicable("no attention"),
        },
    )


@case("deit", Distilled)
def _() -> Case:
    def make() -> Distilled:
        return Distilled(deit.deit(deit.TINY), 5)

    def run(module: Distilled, x: Tensor, mask: Any = None, state: Any = None) -> Tensor:
        return module(unpatchify(x, 2, 2, 2 * x.shape[1]))[:, None]

    def heads_alike() -> tuple[Tensor, Tensor]:
        """One head twice over one token twice: what ViT says, but that its token stands twice."""
        model = make().double().eval()
        model.taught.load_state_dict(model.label.state_dict())
        for table in (model.encoder.embeddings.special, model.encoder.embeddings.positions):
            table.data[1] = table.data[0]
        return model(images()), model.label(model.encoder(images())[:, 0])

    return Case(
        make=make,
        run=run,
        d_model=4,
        parity="transformers DeiTForImageClassificationWithTeacher",
        limits={"both tokens and heads alike: one": heads_alike},
        refusals={"one special token": lambda: Distilled(vit.vit(vit.TINY), 3)},
        laws=ONE_ROW,
    )


@case("vit/ImageClassifier", ImageClassifier)
def _() -> Case:
    def make() -> ImageClassifier:
        return ImageClassifier(vit.vit(vit.TINY), vit.TINY.d_model, 5)

    def run(module: ImageClassifier, x: Tensor, mask: Any = None, state: Any = None) -> Tensor:
        return module(unpatchify(x, 2, 2, 2 * x.shape[1]))[:, None]

    def one_for_all() -> tuple[Tensor, Tensor]:
        """A weight of zeros: the bias alone, whatever the image."""
        model = make().double()
        model.out.weight.data.zero_()
        model.out.bias.data = random_rows(5)
        return model(images()), model.out.bias.expand(2, 5)

    return Case(
        make=make,
        run=run,
        d_model=4,
        parity="transformers ViTForImageClassification",
        limits={"no weight: the bias": one_for_all},
        refusals={"no kinds": lambda: ImageClassifier(vit.vit(vit.TINY), 32, 0)},
        laws=ONE_ROW,
    )
