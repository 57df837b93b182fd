"""Cases of `deepdive.attention.heads`."""

import torch
from torch import Tensor

from deepdive.attention.heads.channel import ChannelAttention
from deepdive.attention.heads.collaborative import CollaborativeAttention, collaborative
from deepdive.attention.heads.disagreement import DisagreeingAttention
from deepdive.attention.heads.multi_scale import MultiScaleAttention
from deepdive.attention.heads.projections import KeysWithoutBias, QKNormAttention
from deepdive.attention.heads.talking_heads import TalkingHeadsAttention
from deepdive.core import RMSNorm
from deepdive.core.hooks import collect_losses
from deepdive.core.masks import Causal, Mask, Padding, Window
from deepdive.core.multi_head import MultiHeadAttention
from deepdive.core.softmax import SoftmaxAttention
from laws import Case, case, random_rows, set_weights
from laws.attention.softmax import NEAR, gap, heads, mechanism_case, same


@case("collaborative_heads", CollaborativeAttention)
def _() -> Case:
    x = random_rows(2, 5, 16)

    def plain() -> MultiHeadAttention:
        layer = MultiHeadAttention(16, 4).double()
        with torch.no_grad():
            for i, parameter in enumerate(layer.parameters()):
                parameter.add_(random_rows(*parameter.shape, seed=i), alpha=0.3)
        return layer

    def all_columns() -> tuple[Tensor, Tensor]:
        layer = plain()
        return collaborative(layer, 16)[0](x), layer(x)

    def copied_heads() -> tuple[Tensor, Tensor]:
        """Heads that ask one question at other strengths need the columns of the strongest."""
        layer = plain()
        with torch.no_grad():
            q, k = layer.q.weight[:4], layer.kv.weight[:4]
            layer.q.weight.copy_(torch.cat([q, 50 * q, -q, 0.5 * q]) / 10)
            layer.kv.weight[:16] = k.repeat(4, 1)
        return collaborative(layer, 4)[0](x), layer(x)

    return Case(
        place="layer",
        make=lambda: CollaborativeAttention(16, 4, 6),
        parity="the equations of Cordonnier et al. 2020, entry by entry",
        limits={
            "as many columns as all heads: MultiHeadAttention": all_columns,
            "heads with one question: the columns of one head": copied_heads,
        },
        refusals={
            "no column": lambda: CollaborativeAttention(16, 4, 0),
            "grouped heads": lambda: collaborative(MultiHeadAttention(16, 4, n_kv_heads=2), 8),
            "wide heads": lambda: collaborative(MultiHeadAttention(16, 4, d_head=8), 8),
        },
    )


@case("disagreement", DisagreeingAttention)
def _() -> Case:
    q, k, v = heads(H=4)
    all_three = DisagreeingAttention(subspace=1.0, position=2.0, output=3.0)

    def collected(one: DisagreeingAttention, *rows: Tensor, mask: Mask | None = None) -> Tensor:
        with collect_losses(one) as losses:
            one(*rows, mask=mask)
        return torch.as_tensor(losses.total())

    def alike() -> tuple[Tensor, Tensor]:
        """Heads that are copies agree wholly: the loss is 1 for subspaces, and for outputs."""
        copies = [rows[:, :1].expand_as(rows) for rows in (q, k, v)]
        both = [DisagreeingAttention(subspace=1.0), DisagreeingAttention(output=1.0)]
        return torch.stack([collected(one, *copies) for one in both]), torch.ones(2).double()

    def at_odds() -> tuple[Tensor, Tensor]:
        """Orthogonal heads agree with themselves alone: 1 / H."""
        values = torch.eye(4, dtype=torch.float64)[None, :, None].expand(2, 4, 5, 4)
        loss = collected(DisagreeingAttention(subspace=1.0), q, k, values)
        return loss, torch.tensor(1 / 4).double()

    def padded() -> tuple[Tensor, Tensor]:
        """Rows beyond the padding do not change the loss."""
        real = Padding(torch.tensor([[1, 1, 1, 0, 0]] * 2).bool())
        short = [rows[:, :, :3] for rows in (q, k, v)]
        return collected(all_three, q, k, v, mask=real), collected(all_three, *short)

    return mechanism_case(
        lambda: DisagreeingAttention(subspace=1.0, position=1.0, output=1.0),
        parity="the equations of Li et al. 2018, pair by pair",
        limits={
            "copied heads: 1": alike,
            "orthogonal heads: 1 / H": at_odds,
            "padding: the short rows": padded,
            "the output: SoftmaxAttention": same(all_three, [q, k, v]),
        },
        refusals={"a negative weight": lambda: DisagreeingAttention(position=-1.0)},
    )


@case("multi_scale", MultiScaleAttention)
def _() -> Case:
    rows, reaches = heads(23, H=4), (1, None, 4, 1)
    wide = [Window(23 if reach is None else reach, reach or 23) for reach in reaches]
    own = torch.cat([window.dense(23) for window in wide], dim=1)  # (1, H, 23, 23)
    masks = gap(23, 5, 11), Causal()  # a gap that is longer than a window: some rows have no key
    return mechanism_case(
        lambda: MultiScaleAttention((1, None, 2, 1)),
        parity="the equations of Guo et al. 2020, row by row",
        limits={
            "a mask for each head": same(MultiScaleAttention(reaches), rows, *masks, pattern=own),
            "no window: SoftmaxAttention": same(MultiScaleAttention([None] * 4), rows),
        },
        refusals={"a negative reach": lambda: MultiScaleAttention((1, -2))},
        laws=NEAR,
    )


@case("talking_heads", TalkingHeadsAttention)
def _() -> Case:
    q, k, v = rows = heads(H=3)
    mask = Causal() & Padding(torch.tensor([[0, 1, 1, 1, 1], [1, 1, 1, 1, 0]]).bool())
    bias, order = random_rows(3, 5, 5), torch.eye(3)[[2, 0, 1]]

    def identity() -> tuple[Tensor, Tensor]:
        talking = TalkingHeadsAttention(3).double()
        return talking(*rows, mask, bias), SoftmaxAttention()(*rows, mask, bias)

    def one_question() -> tuple[Tensor, Tensor]:
        """Mixed scores are the scores of one long head: heads side by side, no new product."""
        gains = torch.tensor([0.5, -1.0, 2.0])
        talking = set_weights(TalkingHeadsAttention(3, 1), before=gains[:, None], after=1.0)
        long = [q * gains.view(3, 1, 1), k, v]
        one = [rows.transpose(1, 2).flatten(2).unsqueeze(1) for rows in long]
        found = SoftmaxAttention()(*one, mask, scale=0.5)
        return talking(*rows, mask), found.unflatten(-1, (3, 4)).squeeze(1).transpose(1, 2)

    # Two permutations that undo each other: the softmax does not care for the order.
    renamed = set_weights(TalkingHeadsAttention(3), before=order, after=order.T)
    zeros = [torch.zeros(1, 2, 3, 4)] * 3
    return mechanism_case(
        lambda: TalkingHeadsAttention(4, 3),
        parity="the equations of Shazeer et al. 2020, entry by entry",
        limits={
            "identity mixing: SoftmaxAttention": identity,
            "heads renamed and named back: SoftmaxAttention": same(renamed, rows, mask),
            "all heads into one map: one long head": one_question,
        },
        refusals={
            "a bias for other maps": lambda: TalkingHeadsAttention(2, 4)(
                *zeros, bias=torch.zeros(2, 3, 3)
            ),
            "no map": lambda: TalkingHeadsAttention(2, 0),
        },
    )


@case("ChannelAttention", ChannelAttention)
def _() -> Case:
    def one_width() -> tuple[Tensor, Tensor]:
        wide, plain = ChannelAttention(16, 4, 16, 16), MultiHeadAttention(16, 4)
        plain.load_state_dict(wide.state_dict())
        x = random_rows(2, 5, 16)
        return wide.double()(x), plain.double()(x)

    return Case(
        place="layer",
        make=lambda: ChannelAttention(16, 4, 8, 24),
        parity="transformers PerceiverModel",
        limits={"one width: MultiHeadAttention": one_width},
        refusals={"heads that do not divide": lambda: ChannelAttention(16, 4, 16, 18)},
    )


@case("KeysWithoutBias", KeysWithoutBias)
def _() -> Case:
    def a_bias_of_zero() -> tuple[Tensor, Tensor]:
        attention = KeysWithoutBias(16, 4).double()
        plain = MultiHeadAttention(16, 4).double()
        set_weights(attention, v_bias=random_rows(16))
        state = attention.state_dict()
        bias = torch.cat([torch.zeros(16), state.pop("v_bias")])
        plain.load_state_dict(state | {"kv.bias": bias})
        rows = random_rows(2, 5, 16)
        return attention(rows), plain(rows)

    return Case(
        place="layer",
        make=lambda: KeysWithoutBias(16, 4),
        parity="transformers DebertaModel",
        limits={"a bias of keys that is 0": a_bias_of_zero},
        refusals={"heads that do not divide": lambda: KeysWithoutBias(10, 4)},
    )


@case("QKNormAttention", QKNormAttention)
def _() -> Case:
    def make() -> QKNormAttention:
        return QKNormAttention(16, 4, norm=RMSNorm, n_kv_heads=2)

    def no_norm() -> tuple[Tensor, Tensor]:
        attention = QKNormAttention(16, 4, norm=lambda _width: torch.nn.Identity()).double()
        plain = MultiHeadAttention(16, 4).double()
        plain.load_state_dict(attention.state_dict())
        rows = random_rows(2, 5, 16)
        return attention(rows), plain(rows)

    def longer_queries() -> tuple[Tensor, Tensor]:
        """How long queries and keys are does not matter (eps = 0)."""
        attention = QKNormAttention(16, 4, norm=lambda width: RMSNorm(width, 0.0)).double()
        rows = random_rows(2, 5, 16)
        before = attention(rows)
        with torch.no_grad():
            attention.q.weight *= 5.0
            attention.kv.weight[:16] *= 0.2
        return attention(rows), before

    return Case(
        place="layer",
        make=make,
        parity="transformers Qwen3ForCausalLM",
        limits={"no norm: MultiHeadAttention": no_norm, "longer queries": longer_queries},
        refusals={"heads that do not divide": lambda: QKNormAttention(10, 4, norm=RMSNorm)},
    )
