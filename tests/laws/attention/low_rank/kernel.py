"""Cases of `deepdive.attention.low_rank.kernel`."""

from __future__ import annotations

from torch import Tensor

from deepdive.attention.low_rank.kernel import LinearAttention
from laws import Case, Refuses, case, random_rows
from laws.attention.softmax import mechanism_case

NO_WEIGHTS = Refuses("nothing of size T x S exists: record says that there are no weights")


@case("LinearAttention", LinearAttention)
def _() -> Case:
    q, k, v = (random_rows(2, 2, 5, 4, seed=seed) for seed in range(3))

    def equal_keys() -> tuple[Tensor, Tensor]:
        same = k[:, :, :1].expand_as(k)
        return LinearAttention()(q, same, v), v.mean(2, keepdim=True).expand_as(v)

    return mechanism_case(
        lambda: LinearAttention(chunk=4),
        parity="each weight from its two features, in float64",
        limits={"keys that are equal: the mean": equal_keys},
        laws={"hooks": NO_WEIGHTS},
    )
