"""Cases of `deepdive.attention.memories`."""

import torch
from torch import Tensor

from deepdive.attention.memories.compressed import MemoryCompressedAttention
from deepdive.attention.memories.luna_attention import NestedAttention, prefix_products
from deepdive.attention.memories.persistent import PersistentMemoryAttention
from deepdive.core.masks import Causal, Padding, Prefix, Window
from deepdive.core.softmax import SoftmaxAttention
from laws import Case, Fails, case, random_rows, set_weights
from laws.attention.softmax import heads, mean, mechanism_case, same


@case("memory_compressed", MemoryCompressedAttention)
def _() -> Case:
    q, k, v = rows = heads(7)
    padding = Padding(torch.tensor([[1, 1, 1, 1, 1, 0, 0], [0, 0, 1, 1, 0, 0, 0]]).bool())

    def at_rate(rate: int) -> MemoryCompressedAttention:
        """The mean of each group."""
        group = torch.eye(4).double().repeat(rate, 1) / rate
        mechanism = MemoryCompressedAttention(2, 4, rate)
        set_weights(mechanism, k_weight=group, v_weight=group)
        return mechanism

    def equal_neighbors() -> tuple[Tensor, Tensor]:
        """Keys that come in threes lose nothing by being melted in threes."""
        threes = [rows.repeat_interleave(3, dim=2) for rows in (k, v)]
        return at_rate(3)(q, *threes), SoftmaxAttention()(*rows)

    return mechanism_case(
        lambda: MemoryCompressedAttention(4, 4, 2),
        parity="torch.nn.Conv1d, then torch.nn.functional.scaled_dot_product_attention",
        limits={
            "rate 1, no weights: SoftmaxAttention": same(
                at_rate(1), rows, None, padding, Causal() & padding
            ),
            "keys that repeat `rate` times: SoftmaxAttention": equal_neighbors,
        },
        refusals={"no rate": lambda: MemoryCompressedAttention(2, 4, 0)},
        laws={"order": Fails("which keys share a group depends on the order")},
    )


@case("all_attention/PersistentMemoryAttention", PersistentMemoryAttention)
def _() -> Case:
    q, k, v = rows = heads(7)
    padding = Padding(torch.tensor([[1, 1, 1, 1, 1, 0, 0], [0, 0, 1, 1, 0, 0, 0]]).bool())
    masks = None, padding, Causal() & padding, Window(1)

    def far_away() -> tuple[Tensor, Tensor]:
        """Persistent keys far below every score change nothing."""
        ones = torch.ones(2, 2, 7, 4).double()
        mechanism = set_weights(PersistentMemoryAttention(2, 3, 4), memory_keys=-1000.0)
        return mechanism(ones, k, v, Causal()), SoftmaxAttention()(ones, k, v, Causal())

    def no_token() -> tuple[Tensor, Tensor]:
        """A query with no token has the persistent vectors alone."""
        mechanism = PersistentMemoryAttention(2, 3, 4).double()
        own = [
            (size**0.5 * rows).detach().expand(2, -1, -1, -1)
            for size, rows in ((4, mechanism.memory_keys), (3, mechanism.memory_values))
        ]
        none = torch.zeros(7, 7).bool()
        return mechanism(q, k, v, none), SoftmaxAttention()(q, *own)

    def as_tokens() -> tuple[Tensor, Tensor]:
        """Persistent vectors are further keys that a prefix mask leaves visible."""
        mechanism = PersistentMemoryAttention(2, 3, 4).double()
        more = [
            torch.cat([(size**0.5 * own).detach().expand(2, -1, -1, -1), given], 2)
            for size, own, given in (
                (4, mechanism.memory_keys, k), (3, mechanism.memory_values, v))
        ]  # fmt: skip
        return mechanism(q, k, v, Causal()), SoftmaxAttention()(q, *more, Causal() | Prefix(3))

    return mechanism_case(
        lambda: PersistentMemoryAttention(4, 3, 4),
        parity="torch.nn.MultiheadAttention with add_bias_kv, and the paper's equations in loops",
        limits={
            "no persistent vector: SoftmaxAttention": same(
                PersistentMemoryAttention(2, 0, 4).double(), rows, *masks
            ),
            "persistent keys far below: SoftmaxAttention": far_away,
            "no allowed token: the persistent vectors": no_token,
            "further keys in front, always visible": as_tokens,
        },
        refusals={
            "a negative number": lambda: PersistentMemoryAttention(2, -1, 4),
            "values of another width": lambda: PersistentMemoryAttention(2, 3, 4)(
                q.float(), k.float(), v[..., :2].float()
            ),
        },
    )


@case("NestedAttention", NestedAttention)
def _() -> Case:
    q, k, v = heads(9)
    silent = set_weights(NestedAttention(2, 3, 4), slots=0.0)

    def one_slot_a_key() -> tuple[Tensor, Tensor]:
        """Slots that each meet one key, far above all others: packing copies the values."""
        keys = torch.eye(4).double().expand(2, 2, 4, 4)
        nested = set_weights(NestedAttention(2, 4, 4), slots=2000 * torch.eye(4))
        return nested(q, keys, v[:, :, :4]), SoftmaxAttention()(q, v[:, :, :4], v[:, :, :4])

    def silent_causally() -> tuple[Tensor, Tensor]:
        """Every strength is log2(2) = 1, so all of a row's shares go to the mean of what it saw."""
        return silent(q, k, v, Causal()), v.cumsum(2) / torch.arange(1, 10)[:, None]

    def a_row_at_a_time() -> tuple[Tensor, Tensor]:
        x, y, z = (random_rows(2, 2, 9, n, seed=n) for n in (4, 4, 3))
        loop = [(x[:, :, t : t + 1] @ y[:, :, : t + 1].mT) @ z[:, :, : t + 1] for t in range(9)]
        return prefix_products(x[:, :, 2:], y, z, chunk=4), torch.cat(loop[2:], dim=2)

    rows, wide = torch.zeros(1, 2, 3, 4), torch.zeros(1, 2, 3, 5)
    return mechanism_case(
        lambda: NestedAttention(4, 3, 4),
        parity="the two attentions, written out as loops over slots, keys and queries",
        limits={
            "slots that meet one key each: attention whose keys are the values": one_slot_a_key,
            "slots of 0: the mean": lambda: (silent(q, k, v), mean(v)),
            "slots of 0, causal: the mean so far": silent_causally,
            "chunks: one row at a time": a_row_at_a_time,
        },
        refusals={
            "values of another width": lambda: NestedAttention(2, 3, 4)(rows, rows, wide),
            "no slots": lambda: NestedAttention(2, 0, 4),
        },
    )
