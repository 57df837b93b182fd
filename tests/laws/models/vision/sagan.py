"""Cases of SAGAN: its attention between places of a map, its two networks, and both together."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from deepdive.models.vision.sagan import Discriminator, Generator, MapAttention
from deepdive.training.objectives import Adversaries
from laws import ONE_ROW, TWO_SIDED, Case, NotApplicable, case, random_rows

NO_ATTENTION = NotApplicable("no attention, unless one is put into its middle")
OURS = "none: a small network of torch's own layers, and not SAGAN's"


@case("sagan", MapAttention)
def _() -> Case:
    def run(module: MapAttention, x: Tensor, mask: Any = None, state: Any = None) -> Tensor:
        return module(x.transpose(1, 2)[:, :, None]).flatten(2).transpose(1, 2)

    def at_first() -> tuple[Tensor, Tensor]:
        x = random_rows(2, 16, 3, 4)
        return MapAttention(16).double()(x), x

    def places_moved() -> tuple[Tensor, Tensor]:
        """Nothing tells where a place is: moved places get what they got."""
        module, x = MapAttention(16).double(), random_rows(2, 16, 3, 4)
        module.gamma.data.fill_(0.7)
        order = torch.randperm(12, generator=torch.Generator().manual_seed(0))
        moved = x.flatten(2)[:, :, order].reshape(x.shape)
        return module(moved).flatten(2), module(x).flatten(2)[:, :, order]

    return Case(
        make=lambda: MapAttention(16),
        run=run,
        parity="torch.nn.functional.conv2d, the paper's equations place by place",
        limits={"gamma 0: the map itself": at_first, "a set of places": places_moved},
        refusals={"a rate above the channels": lambda: MapAttention(4)},
        laws={**TWO_SIDED, "padding": NotApplicable("a map has no padding: all places are there")},
    )


@case("sagan/Generator", Generator)
def _() -> Case:
    def run(module: Generator, x: Tensor, mask: Any = None, state: Any = None) -> Tensor:
        return module(x[:, 0]).flatten(1)[:, None, :50]

    def an_identity() -> tuple[Tensor, Tensor]:
        torch.manual_seed(0)
        plain = Generator(16, 8).double().eval()
        torch.manual_seed(0)
        with_attention = Generator(16, 8, MapAttention(8)).double().eval()
        with_attention.load_state_dict({**with_attention.state_dict(), **plain.state_dict()})
        z = random_rows(2, 16)
        return with_attention(z), plain(z)

    return Case(
        make=lambda: Generator(16, 8),
        run=run,
        parity=OURS,
        limits={"attention at its first step: none": an_identity},
        refusals={"no width": lambda: Generator(16, 0)},
        laws={**ONE_ROW, "hooks": NO_ATTENTION},
    )


def scored(module: nn.Module, x: Tensor, mask: Any = None, state: Any = None) -> Tensor:
    images = x.flatten(1).repeat(1, 28 * 28)[:, : 28 * 28].reshape(-1, 1, 28, 28)
    return module(images)[:, None, None]


@case("sagan/Discriminator", Discriminator)
def _() -> Case:
    def an_identity() -> tuple[Tensor, Tensor]:
        plain = Discriminator(8).double()
        with_attention = Discriminator(8, MapAttention(8)).double()
        with_attention.load_state_dict({**with_attention.state_dict(), **plain.state_dict()})
        images = random_rows(2, 1, 28, 28)
        return with_attention(images), plain(images)

    return Case(
        make=lambda: Discriminator(8),
        run=scored,
        parity=OURS,
        limits={"attention at its first step: none": an_identity},
        refusals={"no width": lambda: Discriminator(0)},
        laws={**ONE_ROW, "hooks": NO_ATTENTION},
    )


@case("sagan/Adversaries", Adversaries)
def _() -> Case:
    def make() -> Adversaries:
        return Adversaries(Generator(16, 8), Discriminator(8))

    def run(module: Adversaries, x: Tensor, mask: Any = None, state: Any = None) -> Tensor:
        return (
            scored(module.discriminator, x)
            + module.generator(x[:, 0]).sum((1, 2, 3))[:, None, None]
        )

    def its_generator() -> tuple[Tensor, Tensor]:
        model = make().eval()
        torch.manual_seed(0)
        made = model(3)
        torch.manual_seed(0)
        return made, model.generator(torch.randn(3, 16))

    return Case(
        make=make,
        run=run,
        parity="none: it holds two models, each with its case",
        limits={"what it returns is made by its generator": its_generator},
        refusals={"no generator": lambda: Adversaries(nn.Linear(3, 3), Discriminator(8))},
        laws={**ONE_ROW, "hooks": NO_ATTENTION},
    )
