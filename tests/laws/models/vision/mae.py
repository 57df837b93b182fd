"""Cases of MAE, and of what enters it."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from deepdive.models.vision import mae, vit
from deepdive.models.vision.embeddings import SinCosImageEmbeddings
from deepdive.models.vision.mae import Mae
from laws import ORDERED, TWO_SIDED, Case, NotApplicable, case, random_rows

WHOLE = NotApplicable("an image has no padding: all its patches are there")


def images() -> Tensor:
    return random_rows(2, 1, 8, 8)


def joined_row(x: Tensor) -> Tensor:
    """Rows (B, T, 4) as images of one line of T patches."""
    return x.unflatten(2, (1, 2, 2)).movedim(1, 3).flatten(3)


@case("mae/PlacedBySines", SinCosImageEmbeddings)
def _() -> Case:
    def run(
        module: SinCosImageEmbeddings, x: Tensor, mask: Any = None, state: Any = None
    ) -> Tensor:
        return module(joined_row(x))[:, 1:]

    def as_learned() -> tuple[Tensor, Tensor]:
        """ViT's rows, if its table had learned these numbers."""
        module, learned = (
            SinCosImageEmbeddings(mae.TINY).double(),
            vit.ImageEmbeddings(vit.TINY).double(),
        )
        learned.load_state_dict(module.state_dict())
        return module(images()), learned(images())

    return Case(
        make=lambda: SinCosImageEmbeddings(mae.TINY),
        run=run,
        d_model=4,
        parity="transformers ViTMAEForPreTraining",
        limits={"learned positions of these values: ViT's rows": as_learned},
        refusals={"no fours": lambda: SinCosImageEmbeddings(mae.TINY.but(d_model=6))},
        silent={"special": "it stands before the patches, which alone are looked at"},
        laws={
            "no_leak": NotApplicable("nothing is read but the patch itself"),
            "cache": NotApplicable("an image comes whole"),
            "padding": WHOLE,
            "order": ORDERED,
            "hooks": NotApplicable("no attention"),
        },
    )


@case("mae", Mae)
def _() -> Case:
    def make() -> Mae:
        return mae.mae(mae.TINY)

    def run(module: Mae, x: Tensor, mask: Any = None, state: Any = None) -> Tensor:
        """Every second patch is hidden."""
        hidden = torch.arange(x.shape[1]).expand(x.shape[:2]) % 2 == 1
        return module(joined_row(x), hidden)

    def nothing_hidden() -> tuple[Tensor, Tensor]:
        model = make().double().eval()
        none = torch.zeros(2, 16, dtype=torch.bool)
        encoder = vit.vit(vit.TINY).double().eval()
        encoder.load_state_dict(model.encoder.state_dict())
        return model.seen(images(), none), encoder(images())

    def what_is_hidden_says_nothing() -> tuple[Tensor, Tensor]:
        """Other pixels under what is hidden change nothing that is said."""
        model, image, hidden = make().double().eval(), images(), torch.arange(16).expand(2, 16) < 12
        other = image.clone()
        other[:, :, :6] += random_rows(2, 1, 6, 8, seed=1)
        return model(other, hidden), model(image, hidden)

    return Case(
        make=make,
        run=run,
        d_model=4,
        parity="transformers ViTMAEForPreTraining",
        limits={
            "nothing hidden: ViT": nothing_hidden,
            "what is hidden is not read": what_is_hidden_says_nothing,
        },
        refusals={
            "unequal numbers hidden": lambda: make()(
                images().float(), torch.arange(32).reshape(2, 16) < 12
            ),
            "a mask of another size": lambda: make()(
                images().float(), torch.zeros(2, 9, dtype=torch.bool)
            ),
        },
        laws={**TWO_SIDED, "padding": WHOLE, "order": ORDERED},
    )
