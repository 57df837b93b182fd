"""Cases of `deepdive.layers.fourier`."""

from __future__ import annotations

import torch
from torch import Tensor

from deepdive.attention.cache import Slot
from deepdive.layers.fourier import FourierMixing
from deepdive.masks import Causal, Padding, Window
from laws import Case, Fails, NotApplicable, Refuses, case, random_rows


@case("FourierMixing", FourierMixing)
def _() -> Case:
    def written_out() -> tuple[Tensor, Tensor]:
        x = random_rows(2, 7, 6)
        t, c = torch.arange(7, dtype=torch.float64) / 7, torch.arange(6, dtype=torch.float64) / 6
        turns = t[:, None, None, None] * torch.arange(7)[:, None]
        turns = turns + c[:, None, None] * torch.arange(6)  # (t, c, s, e)
        cosine = torch.cos(2 * torch.pi * turns)
        return FourierMixing(6)(x), torch.einsum("tcse,bse->btc", cosine, x)

    def twice() -> tuple[Tensor, Tensor]:
        """Re F applied twice: T d / 2 times the rows plus their mirror image."""
        x = random_rows(2, 5, 4)
        mirror = x.roll(-1, (1,)).flip(1).roll(-1, (2,)).flip(2)
        return FourierMixing(4)(FourierMixing(4)(x)), 5 * 4 / 2 * (x + mirror)

    def alone() -> tuple[Tensor, Tensor]:
        x = random_rows(1, 9, 4)
        real = torch.tensor([[0, 1, 1, 0, 1, 1, 1, 0, 0]]).bool()
        return FourierMixing(4)(x, mask=Padding(real))[real], FourierMixing(4)(x[real][None])[0]

    x = torch.zeros(1, 3, 16)
    every = "each output holds every row"
    return Case(
        place="layer",
        make=lambda: FourierMixing(16),
        parity="transformers FNetModel",
        limits={
            "the sum of cosines": written_out,
            "twice: a mirror": twice,
            "padded: alone": alone,
        },
        refusals={
            "a causal mask": lambda: FourierMixing(16)(x, mask=Causal()),
            "another mask": lambda: FourierMixing(16)(x, mask=Window(1)),
            "a mask of floats": lambda: FourierMixing(16)(x, mask=torch.zeros(3, 3)),
            "a context": lambda: FourierMixing(16)(x, x),
            "a bias": lambda: FourierMixing(16)(x, bias=torch.zeros(3, 3)),
            "a cache": lambda: FourierMixing(16)(x, cache=Slot()),
            "a wrong width": lambda: FourierMixing(16)(torch.zeros(1, 3, 8)),
            "no width": lambda: FourierMixing(0),
        },
        laws={
            "no_leak": Refuses(every),
            "cache": Refuses(every),
            "order": Fails("a row's place decides the frequency that it meets"),
            "gradient": NotApplicable("nothing is trained"),
            "hooks": Refuses("no attention: record says that there are no weights"),
        },
    )
