"""Cases of `deepdive.attention.low_rank`."""

import torch
from torch import Tensor, nn

from deepdive.attention.low_rank.kernel import LinearAttention
from deepdive.attention.low_rank.linformer import LengthProjection, LinformerAttention
from deepdive.attention.low_rank.nystrom import NystromAttention, pseudo_inverse
from deepdive.attention.low_rank.performer import PerformerAttention
from deepdive.attention.low_rank.value_convolution import ValueConvolution
from deepdive.core.masks import Padding
from deepdive.core.multi_head import MultiHeadAttention
from deepdive.core.softmax import SoftmaxAttention
from laws import (
    Case,
    Fails,
    NotApplicable,
    Refuses,
    case,
    padding_of,
    random_rows,
    set_weights,
)
from laws.attention.softmax import heads, mechanism_case, same

NO_WEIGHTS = Refuses("nothing of size T x S exists: record says that there are no weights")
ZEROS = [torch.zeros(1, 2, 3, 4)] * 3


@case("LinearAttention", LinearAttention)
def _() -> Case:
    def equal_keys() -> tuple[Tensor, Tensor]:
        q, k, v = heads(5)
        same_keys = k[:, :, :1].expand_as(k)
        return LinearAttention()(q, same_keys, v), v.mean(2, keepdim=True).expand_as(v)

    return mechanism_case(
        lambda: LinearAttention(chunk=4),
        parity="each weight from its two features, in float64",
        limits={"keys that are equal: the mean": equal_keys},
        laws={"hooks": NO_WEIGHTS},
    )


@case("performer", PerformerAttention)
def _() -> Case:
    def many() -> tuple[Tensor, Tensor]:
        """At d_head = 1 the expectation is an integral, which a fine grid of directions gives."""
        q, k, v = (random_rows(2, 2, 5, 1, seed=seed) for seed in range(3))
        grid = torch.linspace(-16, 16, 2001, dtype=torch.float64).unsqueeze(-1)
        attention = PerformerAttention(1, 2001).double()
        attention.drawn = grid
        plain = attention.of_queries

        def weighed(rows: Tensor, scale: float) -> Tensor:
            return plain(rows, scale) * (-(grid[:, 0] ** 2) / 2).exp()

        attention.of_queries = weighed  # type: ignore[method-assign,assignment]
        return attention(q, k, v), SoftmaxAttention()(q, k, v)

    return mechanism_case(
        lambda: PerformerAttention(4, 16, chunk=4),
        parity="each weight from its two features, in float64",
        limits={"the expectation, by integration: SoftmaxAttention": many},
        laws={"hooks": NO_WEIGHTS},
        refusals={
            "a negative scale": lambda: PerformerAttention(4, 16)(*ZEROS, scale=-1.0),
            "another width": lambda: PerformerAttention(8, 16)(*ZEROS),
            "no features": lambda: PerformerAttention(4, 0),
            "a negative wait": lambda: PerformerAttention(4, 16, redraw_every=-1),
        },
    )


@case("LengthProjection", LengthProjection)
def _() -> Case:
    x = random_rows(2, 1, 5, 4)

    def shorter() -> tuple[Tensor, Tensor]:
        part = LengthProjection(1, 7, 3).double()
        return part(x), part(torch.cat([x, torch.zeros(2, 1, 2, 4)], dim=2))

    identity = set_weights(LengthProjection(1, 5, 5), weight=torch.eye(5))
    sums = NotApplicable("what comes out has other rows than what went in")
    return Case(
        make=lambda: LengthProjection(1, 8, 8),
        run=lambda part, x, mask=None, state=None: part(x[:, None], padding_of(mask))[:, 0],
        parity="none: one matrix product, compared with the sum in the parity of the mechanism",
        limits={
            "the identity matrix: the rows": lambda: (identity(x), x),
            "shorter: rows of 0": shorter,
        },
        refusals={
            "longer": lambda: LengthProjection(1, 4, 3)(x),
            "other heads": lambda: LengthProjection(3, 5, 3)(random_rows(2, 2, 5, 4)),
            "no rows": lambda: LengthProjection(1, 0, 3),
        },
        laws={
            **dict.fromkeys(("no_leak", "padding", "cache", "order"), sums),
            "hooks": NotApplicable("it has no weights of attention"),
        },
    )


@case("linformer", LinformerAttention)
def _() -> Case:
    rows = heads()

    def make(n_heads: int = 4, max_length: int = 8) -> LinformerAttention:
        return LinformerAttention(*(LengthProjection(n_heads, max_length, 3) for _ in range(2)))

    def copied() -> tuple[Tensor, Tensor]:
        """One matrix for all heads, keys and values = copies of it."""
        E, each = LengthProjection(1, 5, 3).double(), make(2, 5)
        set_weights(each, E__weight=E.weight, F__weight=E.weight)
        return LinformerAttention(E)(*rows), each(*rows)

    def layers() -> tuple[Tensor, Tensor]:
        """One object in two layers is one set of weights."""
        one = LinformerAttention(LengthProjection(1, 5, 3))
        both = [MultiHeadAttention(8, 2, mechanism=one) for _ in "12"]
        apart = [MultiHeadAttention(8, 2, mechanism=make(1, 5)) for _ in "12"]
        more = [sum(p.numel() for p in nn.ModuleList(two).parameters()) for two in (apart, both)]
        return torch.tensor(more[0] - more[1]), torch.tensor(3 * one.E.weight.numel())

    identity = set_weights(LengthProjection(1, 5, 5), weight=torch.eye(5))
    mixed = Refuses("a sum of all keys holds what comes later")
    return mechanism_case(
        make,
        parity="the sums over positions written out, in float64",
        limits={
            "the identity matrix: SoftmaxAttention": same(LinformerAttention(identity), rows),
            "copies": copied,
            "2": layers,
        },
        laws={
            "no_leak": mixed,
            "cache": mixed,
            "order": Fails("a row's place decides what it weighs in a sum"),
        },
        refusals={"longer than it was made for": lambda: make(2, 2)(*ZEROS)},
    )


@case("NystromAttention", NystromAttention)
def _() -> Case:
    rows = heads(6)

    def every_token() -> tuple[Tensor, Tensor]:
        """Each token its own landmark, and the inverse found: the product is the softmax."""
        padded = [torch.cat([one, one[:, :, :3]], dim=2) for one in rows]
        real = (torch.arange(9) < 6).expand(2, 9)
        output = NystromAttention(6, iterations=40)(*padded, Padding(real))
        return output[:, :, :6], SoftmaxAttention()(*rows)

    def alone() -> tuple[Tensor, Tensor]:
        """A text between padding is what it is alone."""
        texts = [random_rows(1, 2, 23, 4, seed=seed) for seed in range(3)]
        inside = [one[:, :, 2:21] for one in texts]
        real = torch.zeros(1, 23).bool()
        real[:, 2:21] = True
        attention = NystromAttention(4, convolution=ValueConvolution(2, 5)).double()
        return attention(*texts, Padding(real))[:, :, 2:21], attention(*inside)

    def inverse() -> tuple[Tensor, Tensor]:
        A = random_rows(2, 3, 5, 5).softmax(-1)
        return pseudo_inverse(A, 20), torch.linalg.inv(A)

    mixed = Refuses("a landmark is a mean that holds what comes later")
    return mechanism_case(
        lambda: NystromAttention(3, convolution=ValueConvolution(4, 3)),
        parity="transformers NystromformerModel",
        limits={
            "a landmark for each token: SoftmaxAttention": every_token,
            "at most n_landmarks tokens: SoftmaxAttention": same(NystromAttention(6), rows),
            "padded: alone": alone,
            "the iteration: the inverse": inverse,
        },
        laws={
            "no_leak": mixed,
            "cache": mixed,
            "order": Fails("segments are cut by place"),
            "hooks": Refuses("nothing of size T x S exists: record says there are no weights"),
        },
        refusals={"no landmarks": lambda: NystromAttention(0)},
    )


@case("ValueConvolution", ValueConvolution)
def _() -> Case:
    v = random_rows(2, 4, 9, 5)

    def run(part: nn.Module, x: Tensor, mask: object, state: object) -> Tensor:
        rows = x.unflatten(-1, (4, 4)).transpose(1, 2)
        return part(rows, padding_of(mask)).transpose(1, 2).flatten(2)

    only_itself = set_weights(ValueConvolution(4, 3), weight=torch.tensor([0.0, 1.0, 0.0]))
    two_sided = NotApplicable("it reads both sides, on purpose")
    return Case(
        make=lambda: ValueConvolution(4, 5),
        run=run,
        parity="torch.nn.functional.conv2d with one group a head",
        limits={"the weight 1 in the middle: v": lambda: (only_itself(v), v)},
        refusals={
            "an even kernel": lambda: ValueConvolution(4, 4),
            "other heads": lambda: ValueConvolution(3, 3)(v),
        },
        laws={
            "no_leak": two_sided,
            "cache": two_sided,
            "order": Fails("a row's place decides which number it meets"),
            "hooks": NotApplicable("it has no weights of attention"),
        },
    )
