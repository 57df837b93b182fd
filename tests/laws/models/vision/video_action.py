"""Cases of the Video Action Transformer and its parts."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from deepdive.layers.roi_pooling import PositionedFeatures, RoI, pooled
from deepdive.models.vision import video_action
from deepdive.models.vision.video_action import TINY, ActionUnit, VideoAction
from laws import ORDERED, TWO_SIDED, Case, NotApplicable, case, random_rows

NO_ORACLE = (
    "none: no implementation is published with a package; the paper's equations stand in "
    "tests/models/vision/test_video_action.py"
)
FILM = random_rows(3, 2, 2, 3, 16)
BOXES = torch.tensor([[0.0, 0.0, 0.5, 1.0], [0.2, 0.2, 0.9, 0.7]]).double()
CONFIG = TINY
OF_BOXES = {
    **TWO_SIDED,
    "padding": NotApplicable("a film has no padding, and boxes do not meet"),
}


def boxes(x: Tensor) -> Tensor:
    """Four numbers as a box within 0 to 1."""
    first, size = x[..., :2].sigmoid() / 2, x[..., 2:].sigmoid() / 2
    return torch.cat([first, first + size], -1)


@case("video_action", VideoAction)
def _() -> Case:
    def run(module: Any, x: Tensor, mask: Any = None, state: Any = None) -> Tensor:
        return module(FILM[: len(x)].to(x), boxes(x))

    def no_layers() -> tuple[Tensor, Tensor]:
        """What the box alone says."""
        torch.manual_seed(0)
        model = video_action.video_action(CONFIG, n_layers=0).double()
        frame = model.located(FILM)[:, 1]
        said = model.out(model.region(frame, BOXES.expand(3, -1, -1)))
        return model(FILM, BOXES.expand(3, -1, -1)), said

    return Case(
        make=lambda: video_action.video_action(CONFIG),
        run=run,
        d_model=4,
        parity=NO_ORACLE,
        limits={"no layers: the region alone": no_layers},
        refusals={
            "other features": lambda: video_action.video_action(CONFIG)(
                random_rows(1, 2, 2, 3, 8).float(), BOXES[None].float()
            ),
            "boxes of three numbers": lambda: video_action.video_action(CONFIG)(
                FILM.float(), BOXES[None, :, :3].float()
            ),
        },
        laws=OF_BOXES,
    )


@case("video_action/ActionUnit", ActionUnit)
def _() -> Case:
    rows = random_rows(3, 9, 24)

    def run(module: Any, x: Tensor, mask: Any = None, state: Any = None) -> Tensor:
        return module(x, rows[: len(x)].to(x))

    def one_key() -> tuple[Tensor, Tensor]:
        """One row of a film gets the whole weight: its value, whatever is asked."""
        torch.manual_seed(0)
        unit = ActionUnit(CONFIG, 24).double().eval()
        queries, film = random_rows(3, 5, 16), rows[:, :1]
        value = unit.attn.out(unit.attn.kv(film)[..., 16:])
        first = unit.attn_residual.norm(queries + value)
        return unit(queries, film), unit.ff_residual.norm(first + unit.ff(first))

    return Case(
        make=lambda: ActionUnit(CONFIG, 24),
        run=run,
        parity=NO_ORACLE,
        limits={"one key: the value, projected": one_key},
        refusals={
            "rows of another width": lambda: ActionUnit(CONFIG, 24)(
                random_rows(1, 2, 16).float(), random_rows(1, 3, 16).float()
            )
        },
        laws=OF_BOXES,
    )


@case("video_action/Region", RoI)
def _() -> Case:
    frame = random_rows(3, 4, 4, 24)

    def run(module: Any, x: Tensor, mask: Any = None, state: Any = None) -> Tensor:
        return module(frame[: len(x)].to(x), boxes(x))

    def whole_frame() -> tuple[Tensor, Tensor]:
        """As many parts as cells: the cells themselves."""
        whole = torch.tensor([0.0, 0.0, 1.0, 1.0]).double().expand(3, 1, 4)
        return pooled(frame, whole, 4)[:, 0], frame

    return Case(
        make=lambda: RoI(24, 16, 2),
        run=run,
        d_model=4,
        parity=NO_ORACLE,
        limits={"the whole frame, a part a cell: the frame": whole_frame},
        refusals={"no box": lambda: RoI(24, 16, 2)(frame.float(), frame[:, 0].float())},
        laws={**OF_BOXES, "hooks": NotApplicable("no attention")},
    )


@case("video_action/Located", PositionedFeatures)
def _() -> Case:
    def run(module: Any, x: Tensor, mask: Any = None, state: Any = None) -> Tensor:
        return module(x.unflatten(1, (2, 1, -1))).flatten(1, 3)

    def features() -> tuple[Tensor, Tensor]:
        return PositionedFeatures(4).double()(FILM)[..., :16], FILM

    return Case(
        make=lambda: PositionedFeatures(4),
        run=run,
        parity=NO_ORACLE,
        limits={"what it begins with: the features": features},
        refusals={"no frames": lambda: PositionedFeatures(4)(FILM[:, 0].float())},
        laws={
            "no_leak": NotApplicable("nothing is read but the row itself"),
            "cache": NotApplicable("a film comes whole"),
            "order": ORDERED,
            "padding": NotApplicable("a film has no padding"),
            "hooks": NotApplicable("no attention"),
        },
    )
