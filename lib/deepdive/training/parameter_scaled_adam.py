"""Adam with Adafactor's parameter scaling: T5's way to use one learning rate for all tensors."""

from collections.abc import Iterable
from typing import Any

import torch
from torch import Tensor, nn


class ScaledAdam(torch.optim.Optimizer):
    """Adam with each tensor's learning rate multiplied by its root mean square.

        p = p - lr * max(floor, rms(p)) * m / (1 - beta1^t) / (sqrt(v / (1 - beta2^t)) + eps)

    with m and v the running means of g and g^2. Adam changes each weight by about `lr`, whether its
    initialization has standard deviation 1 (embeddings) or 0.03 (matrices); here the change is
    relative to the tensor's scale. With `floor`, a tensor of zeros can change.
    Raises ValueError if no parameter requires a gradient, or a number is out of range.

    Source: the rate's scaling is Adafactor's, Shazeer and Stern 2018, section 8; put into Adam by
    Nawrot 2023 (nanoT5), section 3.
    """

    def __init__(
        self,
        parameters: Iterable[nn.Parameter],
        lr: float = 0.02,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-6,
        floor: float = 1e-3,
    ) -> None:
        if lr < 0 or eps <= 0 or floor < 0 or not all(0 <= beta < 1 for beta in betas):
            raise ValueError(
                f"lr, betas, eps, floor: got {lr}, {betas}, {eps}, {floor}; expected lr and "
                "floor from 0, betas from 0 to below 1, eps above 0"
            )
        trainable = [p for p in parameters if p.requires_grad]
        if not trainable:
            raise ValueError("parameters: none requires a gradient; set requires_grad on some")
        super().__init__(trainable, {"lr": lr, "betas": betas, "eps": eps, "floor": floor})

    @torch.no_grad()
    def step(self, closure: Any = None) -> Any:
        """Update every tensor that has a gradient."""
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        for group in self.param_groups:
            for p in group["params"]:
                if p.grad is not None:
                    self._move(p, p.grad, group)
        return loss

    def _move(self, p: Tensor, g: Tensor, group: dict[str, Any]) -> None:
        state, (beta1, beta2) = self.state[p], group["betas"]
        if not state:
            state["step"] = torch.tensor(0.0)
            state["mean"], state["square"] = torch.zeros_like(p), torch.zeros_like(p)
        state["step"] += 1
        t = int(state["step"])
        mean = state["mean"].lerp_(g, 1 - beta1)
        square = state["square"].mul_(beta2).addcmul_(g, g, value=1 - beta2)
        size = p.square().mean().sqrt().clamp(min=group["floor"])
        root = (square / (1 - beta2**t)).sqrt_().add_(group["eps"])
        p.sub_(mean / root * (size * group["lr"] / (1 - beta1**t)))
