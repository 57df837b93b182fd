"""Cases of `deepdive.models.efficient.conditional_computation`."""

import torch
from torch import Tensor, nn

from deepdive.core import LayerNorm, PreNorm
from deepdive.core.masks import Causal
from deepdive.core.stack import Stack
from deepdive.layers.gated_residual import GatedPreNorm, budget_loss
from deepdive.models.efficient.conditional_computation import conditional_computation, tiny
from laws import Case, case, random_rows

X = random_rows(2, 5, 16)


def _with_gates(bias: float) -> Stack:
    """A stack in evaluation mode whose gates are all 1 (a large bias) or all 0."""
    stack = tiny().double().eval()
    for part in stack.modules():
        if isinstance(part, GatedPreNorm):
            last = part.control[2]
            assert isinstance(last, nn.Linear)
            nn.init.constant_(last.bias, bias)
    return stack


@case("cct", GatedPreNorm)
def _() -> Case:
    def open_gates() -> tuple[Tensor, Tensor]:
        """Gate 1 for every token: the same stack with plain pre-norm connections."""
        gated, plain = _with_gates(100.0), tiny().double()
        for block in plain.blocks:
            for name in ("attn_residual", "ff_residual"):
                setattr(block, name, PreNorm(16).double())
        plain.load_state_dict(gated.state_dict(), strict=False)
        return gated(X, mask=Causal()), plain(X, mask=Causal())

    def closed_gates() -> tuple[Tensor, Tensor]:
        """Gate 0 for every token: the identity, and the stack's final norm."""
        norm = LayerNorm(16).double()
        return _with_gates(-100.0)(X, mask=Causal()), norm(X)

    def half() -> tuple[Tensor, Tensor]:
        """In training, without noise, a control network of zeros gives gates of 1/2."""
        joint = GatedPreNorm(16).double().train()
        for parameter in joint.control.parameters():
            nn.init.zeros_(parameter)
        return joint(X, lambda h: 2 * h), X + joint.norm(X)

    return Case(
        place="stack",
        parity="the equations, written out as loops over tokens",
        limits={
            "gate 1: plain pre-norm layers": open_gates,
            "gate 0: the identity": closed_gates,
            "gate 1/2": half,
        },
        refusals={
            "negative noise": lambda: GatedPreNorm(16, noise=-1.0),
            "a budget above 1": lambda: budget_loss([torch.zeros(1, 2, 1)], 1.5),
            "no control": lambda: conditional_computation(16, n_heads=4, d_control=0),
        },
    )
