"""Cases of the positions of `deepdive.positions` that are added to rows, or read from a tree."""

from typing import Any

import torch
from torch import Tensor

from deepdive.core import Slot
from deepdive.positions.axial import AxialPosition
from deepdive.positions.learned import LearnedPosition
from deepdive.positions.sinusoidal import BlockedSinusoidalPosition, SinusoidalPosition
from deepdive.positions.structural import StructuralPosition, depths, tree_offsets
from laws import OF_PLACES, Case, NotApplicable, Refuses, case, random_rows, set_weights
from laws.positions.base import queries_and_keys


@case("learned_position", LearnedPosition)
def _() -> Case:
    def a_table_of_waves() -> tuple[Tensor, Tensor]:
        x, positions, waves = random_rows(2, 5, 16), torch.arange(5), SinusoidalPosition(16)
        learned = LearnedPosition(8, 16)
        set_weights(learned, table__weight=waves.table(torch.arange(8)))
        return learned.embed(x, positions), waves.embed(x, positions)

    x, places = torch.zeros(1, 9, 16), torch.arange(9)
    return Case(
        place="position",
        parity="transformers GPT2LMHeadModel, its wpe",
        limits={"a table of waves: SinusoidalPosition": a_table_of_waves},
        refusals={"beyond the table": lambda: LearnedPosition(8, 16).embed(x, places)},
    )


@case("AxialPosition", AxialPosition)
def _() -> Case:
    def make() -> AxialPosition:
        return AxialPosition((2, 4), (6, 10))

    def written_out() -> tuple[Tensor, Tensor]:
        x, places, learned = random_rows(2, 6, 16), torch.arange(6), LearnedPosition(8, 16)
        axial = make().double()
        rows, columns = axial.tables[0][:, 0], axial.tables[1][0]
        table = [torch.cat([row, column]) for row in rows for column in columns]
        set_weights(learned, table__weight=torch.stack(table).detach())
        return axial.embed(x, places), learned.embed(x, places)

    x, places = torch.zeros(1, 9, 16), torch.arange(9)
    return Case(
        place="position",
        make=make,
        parity="transformers ReformerModel, its embeddings",
        limits={"written out: LearnedPosition": written_out},
        refusals={"beyond the table": lambda: make().embed(x, places)},
    )


@case("sinusoidal", SinusoidalPosition)
def _() -> Case:
    def relative_offset() -> tuple[Tensor, Tensor]:
        """PE[pos + 3] is PE[pos] turned by 3 * frequency in every (sin, cos) plane."""
        waves = SinusoidalPosition(16)
        sines, cosines = waves.table(torch.arange(20)).unflatten(-1, (8, 2)).unbind(-1)
        angle = 3 * 10_000.0 ** (-torch.arange(0, 16, 2, dtype=torch.float64) / 16)
        turned = (
            sines * angle.cos() + cosines * angle.sin(),
            cosines * angle.cos() - sines * angle.sin(),
        )
        return torch.stack(turned, -1).flatten(-2), waves.table(torch.arange(3, 23))

    return Case(
        place="position",
        parity="the closed form",
        limits={"a shift is a rotation": relative_offset},
        laws={"refusal": NotApplicable("it has a value for every position")},
    )


@case("BlockedSinusoidalPosition", BlockedSinusoidalPosition)
def _() -> Case:
    def another_order() -> tuple[Tensor, Tensor]:
        plain = SinusoidalPosition(16).table(torch.arange(3, 23))
        blocked = BlockedSinusoidalPosition(16, offset=3).table(torch.arange(20))
        return blocked, torch.cat((plain[:, 0::2], plain[:, 1::2]), dim=-1)

    return Case(
        place="position",
        make=lambda: BlockedSinusoidalPosition(16, steps=7, offset=2),
        parity="transformers MarianMTModel and FSMTForConditionalGeneration",
        limits={"SinusoidalPosition in another order": another_order},
        refusals={"an odd width": lambda: BlockedSinusoidalPosition(15)},
    )


@case("structural_position", StructuralPosition)
def _() -> Case:
    chain = torch.tensor([0, 0, 1, 2, 3, 4, 5, 6])

    def a_chain() -> tuple[Tensor, Tensor]:
        """In a chain each word hangs on the one before: a place in the tree is one in the row."""
        scheme, (q, k, at, _) = StructuralPosition(16, 4, 3).double(), queries_and_keys(8, 8)
        assert torch.equal(depths(chain), at)
        return scheme.bias(q, k, chain, chain), scheme.offsets.bias(q, k, at, at)

    def a_slide() -> tuple[Tensor, Tensor]:
        """Bush held a talk with Sharon, seen from "talk" (KAIST deck 3)."""
        heads = torch.tensor([1, 1, 3, 1, 5, 1])
        printed = torch.tensor([[1, 0, 2, 1, 2, 1], [-2, -1, -1, 0, 3, 2]])
        return torch.stack([depths(heads), tree_offsets(heads)[3]]).double(), printed.double()

    def run(attention: Any, x: Tensor, mask: object = None, state: object = None) -> Tensor:
        heads = chain[: x.shape[1]].to(x.device)
        rows = attention.position.embed(x, heads)
        return attention(rows, mask=mask, positions=heads, cache=state)

    def fewer_queries() -> Tensor | None:
        q, k, q_at, k_at = (rows.float() for rows in queries_and_keys(1, 2, H=4))
        return StructuralPosition(16, 4, 3).bias(q, k, q_at, k_at)

    return Case(
        run=run,
        begin=lambda attention: Slot(),
        parity="the rules, token by token",
        limits={"a chain: Shaw's offsets": a_chain, "the row of the slide": a_slide},
        refusals={
            "heads in a circle": lambda: depths(torch.tensor([1, 2, 0])),
            "a head outside": lambda: depths(torch.tensor([0, 3])),
            "heads that are floats": lambda: depths(torch.zeros(3)),
            "fewer queries than keys": fewer_queries,
        },
        laws={
            **OF_PLACES["position"],
            "cache": Refuses("a tree is known when its sentence has ended"),
        },
    )
