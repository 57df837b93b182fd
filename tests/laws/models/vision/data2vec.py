"""Cases of Data2Vec's encoder of images, of its rows with gaps, and of keys without a bias."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from deepdive.layers.patches import unpatchify
from deepdive.models.vision import data2vec, vit
from deepdive.models.vision.data2vec import Data2VecVision
from deepdive.models.vision.embeddings import MaskedPatchEmbeddings
from laws import TWO_SIDED, Case, NotApplicable, case, random_rows
from laws.models.vision.mae import WHOLE, images

ORACLE = "transformers Data2VecVisionModel"


def line(x: Tensor) -> Tensor:
    """Six rows (B, 6, 4) as an image of 16 patches: the last is repeated; others are left out."""
    rows = torch.cat([x, x[:, -1:].expand(-1, 16, -1)], 1)[:, :16]
    return unpatchify(rows, 2, 8, 8)


@case("data2vec", Data2VecVision)
def _() -> Case:
    def make(**changes: Any) -> Any:
        return data2vec.data2vec(data2vec.TINY, **changes).double().eval()

    def nothing_of_its_own() -> tuple[Tensor, Tensor]:
        """No position, gains of one: the layers of a ViT without positions."""
        model = make(gain=1.0)
        for number in model.stack.blocks[0].attn.position.parameters():
            number.data.zero_()
        plain = vit.vit(vit.TINY).double().eval()
        for block, other in zip(model.stack.blocks, plain.stack.blocks, strict=True):
            d, state = 32, {n: x for n, x in block.state_dict().items() if "position" not in n}
            bias = torch.cat([torch.zeros(d, dtype=torch.float64), state.pop("attn.v_bias")])
            state = {n: x for n, x in state.items() if not n.endswith("gain")}
            other.load_state_dict({**state, "attn.kv.bias": bias})
        rows = model.embeddings(images())
        expected = rows
        for other in plain.stack.blocks:
            expected = other(expected)
        return model.stack(rows), expected

    def no_gap() -> tuple[Tensor, Tensor]:
        model, none = make(), torch.zeros(2, 16, dtype=torch.bool)
        return model(images(), none), model(images())

    def run(module: Any, x: Tensor, mask: Any = None, state: Any = None) -> Tensor:
        """With gaps in every third place; six of the states."""
        hidden = (torch.arange(16) % 3 == 2).expand(len(x), -1)
        return module(line(x), hidden)[:, 1 : 1 + x.shape[1]]

    return Case(
        make=lambda: data2vec.data2vec(data2vec.TINY),
        run=run,
        d_model=4,
        parity=ORACLE,
        limits={"no bias, gains of one: ViT's layers": nothing_of_its_own, "no gap": no_gap},
        refusals={
            "a mask of another size": lambda: make()(images(), torch.zeros(2, 9, dtype=torch.bool)),
            "an image of another size": lambda: make()(random_rows(2, 1, 4, 8)),
        },
        laws={
            **TWO_SIDED,
            "padding": WHOLE,
            "order": NotApplicable("six rows do not fill the square that offsets are counted for"),
        },
    )


@case("data2vec/Gaps", MaskedPatchEmbeddings)
def _() -> Case:
    def run(module: Any, x: Tensor, mask: Any = None, state: Any = None) -> Tensor:
        hidden = (torch.arange(16) % 3 == 2).expand(len(x), -1)
        return module(line(x), hidden)[:, 1 : 1 + x.shape[1]]

    def all_gaps() -> tuple[Tensor, Tensor]:
        module = MaskedPatchEmbeddings(data2vec.TINY).double()
        hidden = torch.ones(2, 16, dtype=torch.bool)
        return module(images(), hidden)[:, 1:], module.mask.expand(2, 16, -1)

    return Case(
        make=lambda: MaskedPatchEmbeddings(data2vec.TINY),
        run=run,
        d_model=4,
        parity=ORACLE,
        limits={"nothing but gaps: the mask's row": all_gaps},
        refusals={
            "no mask embedding": lambda: MaskedPatchEmbeddings(data2vec.TINY.but(masked=False))(
                images().float(), torch.ones(2, 16, dtype=torch.bool)
            ),
        },
        silent={"special": "it stands before the patches, which alone are looked at"},
        laws={
            "no_leak": NotApplicable("nothing is read but the patch itself"),
            "cache": NotApplicable("an image comes whole"),
            "padding": WHOLE,
            "order": NotApplicable("gaps stand in fixed places here"),
            "hooks": NotApplicable("no attention"),
        },
    )
