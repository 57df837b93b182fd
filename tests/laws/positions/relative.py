"""Cases of the positions of `deepdive.positions` that are between two places."""

from functools import partial

import torch
from torch import Tensor, nn

from deepdive.positions.alibi import ALiBi
from deepdive.positions.disentangled import DisentangledPosition, RelativeRows
from deepdive.positions.grid import GridBias, SpecialGridBias
from deepdive.positions.music import MusicPosition
from deepdive.positions.rotary import RotaryPosition, TailRotaryPosition
from deepdive.positions.shaw import ShawPosition
from deepdive.positions.t5 import CausalT5Bias, T5Bias
from deepdive.positions.xl import XLPosition
from laws import Case, case, random_rows, set_weights
from laws.positions.base import queries_and_keys, shifted


@case("ALiBi", ALiBi)
def _() -> Case:
    def pair_by_pair() -> tuple[Tensor, Tensor]:
        q, k, q_at, k_at = queries_and_keys(4, 6, H=2)
        distance = (k_at - q_at[:, None]).abs().double()
        by_hand = torch.stack([-distance / 16, -distance / 256])[None]
        return ALiBi(2).bias(q, k, q_at, k_at), by_hand

    return Case(
        place="position",
        make=lambda: ALiBi(4),
        parity="transformers BloomModel",
        limits={
            "slope times distance, pair by pair": pair_by_pair,
            "shifted: the same": shifted(lambda: ALiBi(3)),
        },
        refusals={"no heads": lambda: ALiBi(0)},
    )


@case("DisentangledPosition", DisentangledPosition)
def _() -> Case:
    rows = queries_and_keys(4, 6)

    def drawn(width: int = 16, H: int = 3, **changes: float) -> DisentangledPosition:
        keys, queries = nn.Linear(width, H * 4, bias=False), nn.Linear(width, H * 4)
        return DisentangledPosition(RelativeRows(width, 3), keys, queries, H, 4, **changes)

    def nothing_learned() -> tuple[Tensor, Tensor]:
        scheme = drawn()
        set_weights(scheme, keys__weight=0.0, queries__weight=0.0, queries__bias=0.0)
        return scheme.bias(*rows), torch.zeros(2, 3, 4, 6).double()

    def without_the_last_term() -> tuple[Tensor, Tensor]:
        """One projection for all heads, and places that ask nothing: Shaw's vectors."""
        scheme, shaw = drawn(4, scale=0.5), ShawPosition(4, 2, 3)
        set_weights(scheme, keys__weight=torch.eye(4).repeat(3, 1))
        set_weights(scheme, queries__weight=0.0, queries__bias=0.0)
        set_weights(shaw, keys=scheme.rows.table.weight.flip(0))  # by s - t, not by t - s
        return scheme.bias(*rows), shaw.bias(*rows)

    return Case(
        place="position",
        make=partial(drawn, H=4),
        parity="transformers DebertaModel; equation 4 in loops",
        limits={
            "no projections: no position": nothing_learned,
            "no place asks: Shaw's vectors": without_the_last_term,
            "shifted: the same": shifted(drawn),
        },
        refusals={
            "no reach": lambda: RelativeRows(8, 0),
            "no heads": lambda: DisentangledPosition(
                RelativeRows(8, 2), nn.Identity(), nn.Identity(), 0, 4
            ),
        },
    )


@case("music_relative", MusicPosition)
def _() -> Case:
    rows = q, _, q_at, k_at = queries_and_keys(5, 7)

    def entry_by_entry() -> tuple[Tensor, Tensor]:
        scheme, by_hand = (
            MusicPosition(3, 4, 3).double(),
            torch.full((2, 3, 5, 7), -torch.inf).double(),
        )
        for t in range(5):
            for s in range(t + 3):
                vector = scheme.rows[:, 3 - min(t + 2 - s, 3)]
                by_hand[:, :, t, s] = (q[:, :, t] * vector).sum(-1) / 2
        return scheme.bias(*rows).exp(), by_hand.exp()  # exp(-inf) = 0

    def gathered() -> tuple[Tensor, Tensor]:
        """The same places with a batch axis are gathered, not skewed."""
        scheme = MusicPosition(3, 4, 3).double()
        picked = scheme.bias(*rows[:2], q_at.expand(2, 5), k_at.expand(2, 7))
        return scheme.bias(*rows).exp(), picked.exp()

    def moved() -> tuple[Tensor, Tensor]:
        before, after = shifted(lambda: MusicPosition(3, 4, 3))()
        return before.exp(), after.exp()

    return Case(
        place="position",
        make=lambda: MusicPosition(4, 4, 3),
        parity="the equation, entry by entry",
        limits={
            "a vector for each pair, by loops": entry_by_entry,
            "skewed: gathered": gathered,
            "shifted: the same": moved,
        },
        refusals={"a reach below 0": lambda: MusicPosition(4, 4, -1)},
    )


@case("rope", RotaryPosition)
def _() -> Case:
    rows = random_rows(2, 3, 5, 6)

    def complex_numbers() -> tuple[Tensor, Tensor]:
        at, z = torch.arange(7, 12), torch.view_as_complex(rows.unflatten(-1, (3, 2)))
        z = z * torch.exp(1j * at.double()[:, None] * 10_000.0 ** (-torch.arange(3).double() / 3))
        return RotaryPosition(6).rotate(rows, at), torch.view_as_real(z).flatten(-2)

    return Case(
        place="position",
        make=lambda: RotaryPosition(4),
        parity="transformers RoFormerModel",
        limits={
            "complex numbers times exp(i angle)": complex_numbers,
            "all at place 0: as they were": lambda: (
                RotaryPosition(6).rotate(rows, torch.zeros(5).long()),
                rows,
            ),
            "shifted: the same scores": shifted(lambda: RotaryPosition(4)),
        },
        refusals={"an odd width": lambda: RotaryPosition(5)},
    )


@case("TailRotaryPosition", TailRotaryPosition)
def _() -> Case:
    rows, at = random_rows(2, 3, 5, 6), torch.arange(7, 12)

    def the_tail() -> tuple[Tensor, Tensor]:
        turned = RotaryPosition(2).rotate(rows[..., 4:], at)
        return TailRotaryPosition(2).rotate(rows, at), torch.cat([rows[..., :4], turned], dim=-1)

    return Case(
        place="position",
        make=lambda: TailRotaryPosition(2),
        parity="none: a part of LatentAttention, beside transformers' DeepseekV3Attention",
        limits={
            "as wide as the rows: rotary": lambda: (
                TailRotaryPosition(6).rotate(rows, at),
                RotaryPosition(6).rotate(rows, at),
            ),
            "the entries before it stay": the_tail,
        },
        refusals={"narrower rows": lambda: TailRotaryPosition(8).rotate(rows, at)},
    )


@case("ShawPosition", ShawPosition)
def _() -> Case:
    rows = q, _, q_at, k_at = queries_and_keys(5, 7)

    def entry_by_entry() -> tuple[Tensor, Tensor]:
        shaw, offset = ShawPosition(4, 2, 1).double(), (k_at - q_at[:, None]).clamp(-2, 1) + 2
        return shaw.bias(*rows), torch.einsum("bhtd,tsd->bhts", q, shaw.keys[offset]) / 2

    def another_scale() -> tuple[Tensor, Tensor]:
        plain, doubled = ShawPosition(4, 2).double(), ShawPosition(4, 2, scale=1.0).double()
        doubled.keys = plain.keys
        return 2 * plain.bias(*rows), doubled.bias(*rows)

    return Case(
        place="position",
        make=lambda: ShawPosition(4, 2),
        parity="transformers Wav2Vec2BertSelfAttention, relative_key",
        limits={
            "a vector gathered for each pair": entry_by_entry,
            "its scale": another_scale,
            "shifted: the same": shifted(lambda: ShawPosition(4, 2)),
        },
        refusals={"a reach below 0": lambda: ShawPosition(4, -1)},
    )


def t5_case(make: type[T5Bias]) -> Case:
    """Return the case of one of the two forms of T5's bias."""
    rows = *_, q_at, k_at = queries_and_keys(5, 12)

    def pair_by_pair() -> tuple[Tensor, Tensor]:
        scheme = make(3, 8, 6).double()
        by_hand = scheme.table.weight[scheme.buckets(k_at - q_at[:, None])]
        return scheme.bias(*rows), by_hand.permute(2, 0, 1)[None]

    def all_alike() -> tuple[Tensor, Tensor]:
        scheme = make(3, 8, 6)
        set_weights(scheme, table__weight=0.5)
        return scheme.bias(*rows), torch.full((1, 3, 5, 12), 0.5).double()

    return Case(
        place="position",
        make=lambda: make(4, 8, 6),
        parity="transformers T5Attention",
        limits={
            "a row of the table for each pair": pair_by_pair,
            "a table of one number: no position": all_alike,
            "shifted: the same": shifted(lambda: make(3, 8, 6)),
        },
        refusals={
            "an odd number of buckets": lambda: make(4, 9),
            "a reach within the exact buckets": lambda: make(4, 32, 8),
        },
    )


case("T5Bias", T5Bias)(partial(t5_case, T5Bias))
case("CausalT5Bias", CausalT5Bias)(partial(t5_case, CausalT5Bias))


@case("GridBias", GridBias)
def _() -> Case:
    rows = *_, q_at, k_at = queries_and_keys(5, 9)

    def pair_by_pair() -> tuple[Tensor, Tensor]:
        """Five offsets each way in lines and in columns, of which the table has 25 rows."""
        scheme, by_hand = GridBias(3, 3).double(), torch.zeros(3, 5, 9).double()
        numbers = scheme.table.weight.unflatten(0, (5, 5))
        for t, asking in enumerate(q_at.tolist()):
            for s, there in enumerate(k_at.tolist()):
                (i, j), (m, n) = divmod(asking, 3), divmod(there, 3)
                by_hand[:, t, s] = numbers[i - m + 2, j - n + 2]
        return scheme.bias(*rows), by_hand[None]

    def all_alike() -> tuple[Tensor, Tensor]:
        scheme = GridBias(3, 3)
        set_weights(scheme, table__weight=0.5)
        return scheme.bias(*rows), torch.full((1, 3, 5, 9), 0.5).double()

    def one_batch_each() -> tuple[Tensor, Tensor]:
        scheme, (q, k, q_at, k_at) = GridBias(3, 3).double(), rows
        both = scheme.bias(q, k, q_at.expand(2, -1), k_at.expand(2, -1))
        return both, scheme.bias(*rows).expand_as(both)

    return Case(
        place="position",
        make=lambda: GridBias(4, 3),
        parity="transformers SwinModel",
        limits={
            "a row of the table for each pair": pair_by_pair,
            "a table of one number: no position": all_alike,
            "positions for each of a batch": one_batch_each,
        },
        refusals={
            "a position below the grid": lambda: GridBias(3, 2).bias(*rows),
            "other heads": lambda: GridBias(2, 3).bias(*rows),
        },
    )


@case("XLPosition", XLPosition)
def _() -> Case:
    rows = _, k, q_at, k_at = queries_and_keys(4, 6)

    def drawn() -> XLPosition:
        scheme = XLPosition(8, 3, 4)
        set_weights(scheme, u=random_rows(3, 4, seed=7), v=random_rows(3, 4, seed=8))
        return scheme

    def term_by_term() -> tuple[Tensor, Tensor]:
        scheme = drawn()
        r = torch.stack([scheme.W(scheme.waves.table(t - k_at)) for t in q_at])
        r = r.unflatten(-1, (3, 4))  # (T, S, H, d)
        b_d = torch.einsum("bhtd,tshd->bhts", rows[0], r)
        b_d = b_d + torch.einsum("hd,tshd->hts", scheme.v, r)
        a_c = torch.einsum("hd,bhsd->bhs", scheme.u, k)[:, :, None]
        return scheme.bias(*rows), (b_d + a_c) / 2

    def nothing_learned() -> tuple[Tensor, Tensor]:
        scheme = XLPosition(8, 3, 4)
        set_weights(scheme, W__weight=0.0)
        return scheme.bias(*rows), torch.zeros(2, 3, 4, 6).double()

    return Case(
        place="position",
        make=lambda: XLPosition(16, 4),
        parity="transformers Wav2Vec2BertSelfAttention, relative",
        limits={
            "its three terms, pair by pair": term_by_term,
            "W = u = 0: no position": nothing_learned,
            "shifted: the same": shifted(drawn),
        },
        refusals={"heads that do not divide": lambda: XLPosition(10, 4)},
    )


@case("SpecialGridBias", SpecialGridBias)
def _() -> Case:
    q, k, q_at, k_at = queries_and_keys(5, 9)

    def behind_the_special_row() -> tuple[Tensor, Tensor]:
        """One position later, where the grid begins: `GridBias`."""
        scheme, plain = SpecialGridBias(3, 3).double(), GridBias(3, 3).double()
        plain.table.weight = nn.Parameter(scheme.table.weight[:25])
        return scheme.bias(q, k, q_at + 1, k_at + 1), plain.bias(q, k, q_at, k_at)

    def three_numbers() -> tuple[Tensor, Tensor]:
        scheme, at = SpecialGridBias(3, 3).double(), torch.tensor([0, 4])
        found = scheme.bias(q[:, :, :2], k[:, :, :2], at, at)[0]
        middle, asks, asked, itself = scheme.table.weight[[12, 25, 26, 27]]
        return found, torch.stack([itself, asks, asked, middle], 1).unflatten(1, (2, 2))

    return Case(
        place="position",
        make=lambda: SpecialGridBias(4, 3),
        parity="transformers Data2VecVisionModel",
        limits={
            "behind the special row: GridBias": behind_the_special_row,
            "three numbers more, and an offset of none": three_numbers,
        },
        refusals={
            "a position below the grid": lambda: SpecialGridBias(3, 2).bias(q, k, q_at, k_at),
            "other heads": lambda: SpecialGridBias(2, 3).bias(q, k, q_at, k_at),
        },
    )
