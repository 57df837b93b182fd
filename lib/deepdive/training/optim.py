"""Adam, learning rate schedules, and the exponential moving average of the weights."""

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import torch
from torch import Tensor, nn

Schedule = Callable[[int], float]


def _decayed(model: nn.Module) -> dict[str, bool]:
    """Return for each parameter (a tied one once, by its first name) whether weight decay applies.

    It applies to matrices; not to vectors (biases, norm gains) and embedding tables.
    """
    tables = {
        id(p)
        for module in model.modules()
        if isinstance(module, nn.Embedding) or "Embedding" in type(module).__name__
        for p in module.parameters(recurse=False)
    }
    return {name: p.ndim > 1 and id(p) not in tables for name, p in model.named_parameters()}


def adam(
    model: nn.Module,
    lr: float = 1e-3,
    betas: tuple[float, float] = (0.9, 0.98),
    eps: float = 1e-9,
    weight_decay: float = 0.0,
) -> torch.optim.AdamW:
    """AdamW over the parameters of `model` that require a gradient, with decoupled weight decay.

        m = beta1 * m + (1 - beta1) * g            v = beta2 * v + (1 - beta2) * g^2
        p = p - lr * (m / (1 - beta1^t) / (sqrt(v / (1 - beta2^t)) + eps) + weight_decay * p)

    The defaults of `betas` and `eps` are those of Vaswani et al. 2017, section 5.3. Two groups:
    matrices, with weight decay, and biases, norms and embeddings, without. Without weight decay
    this is Adam. Uses the fused kernel if all weights are floating point on the CPU or CUDA.

    Raises ValueError if no parameter requires a gradient, or if a number is out of range.
    Source: Kingma and Ba 2015, algorithm 1; Loshchilov and Hutter 2019, algorithm 2.
    """
    if weight_decay < 0:
        raise ValueError(f"weight_decay: got {weight_decay}, expected 0 or more")
    decays = _decayed(model)
    params = {name: p for name, p in model.named_parameters() if p.requires_grad}
    if not params:
        raise ValueError("model: no parameter requires a gradient; set requires_grad on some")
    groups = [
        {"params": [p for n, p in params.items() if decays[n]], "weight_decay": weight_decay},
        {"params": [p for n, p in params.items() if not decays[n]], "weight_decay": 0.0},
    ]
    fused = all(p.is_floating_point() and p.device.type in ("cpu", "cuda") for p in params.values())
    groups = [group for group in groups if group["params"]]
    return torch.optim.AdamW(groups, lr=lr, betas=betas, eps=eps, fused=fused or None)


def _check_step(step: int) -> None:
    if step < 1:
        raise ValueError(f"step: got {step}, expected 1 or more; the first update is step 1")


def _check_warmup(warmup: int, total: int | None = None) -> None:
    if warmup < 0 or (total is not None and total <= warmup):
        raise ValueError(
            f"warmup: got {warmup} with total={total}, expected 0 <= warmup < total (in steps)"
        )


def inverse_sqrt(d_model: int, warmup: int = 4000, factor: float = 1.0) -> Schedule:
    """The Transformer's schedule: linear warmup, then inverse square root decay of the step.

        lr(step) = factor * d_model^-0.5 * min(step^-0.5, step * warmup^-1.5)

    Returns a function of the step, from 1. The peak, at step = warmup, is
    factor / sqrt(d_model * warmup). Raises ValueError when warmup or d_model is below 1.
    Source: Vaswani et al. 2017, "Attention Is All You Need", section 5.3, equation 3.

    >>> round(inverse_sqrt(512)(4000), 6)
    0.000699
    """
    if d_model < 1 or warmup < 1:
        raise ValueError(f"d_model, warmup: got {d_model}, {warmup}, expected 1 or more")

    def lr(step: int) -> float:
        _check_step(step)
        return float(factor * d_model**-0.5 * min(step**-0.5, step * warmup**-1.5))

    return lr


def _warmed(peak: float, warmup: int, after: Schedule) -> Schedule:
    """Rise linearly to `peak` at step `warmup`, then follow `after`, a function of the step."""

    def lr(step: int) -> float:
        _check_step(step)
        return peak * step / warmup if step <= warmup else after(step)

    return lr


def cosine(peak: float, warmup: int, total: int, floor: float = 0.0) -> Schedule:
    """Linear warmup to `peak`, then cosine decay to `floor` at step `total`, then `floor`.

        t = min(1, (step - warmup) / (total - warmup))
        lr(step) = peak * step / warmup                                       step <= warmup
                 = floor + (peak - floor) * (1 + cos(pi * t)) / 2             afterwards

    Returns a function of the step, from 1. Raises ValueError unless 0 <= warmup < total.
    Source: Loshchilov and Hutter 2017, "SGDR", equation 5, without restarts.

    >>> [round(cosine(1.0, 2, 10)(s), 3) for s in (1, 2, 6, 10)]
    [0.5, 1.0, 0.5, 0.0]
    """
    _check_warmup(warmup, total)

    def after(step: int) -> float:
        t = min(1.0, (step - warmup) / (total - warmup))
        return floor + (peak - floor) * (1.0 + math.cos(math.pi * t)) / 2.0

    return _warmed(peak, warmup, after)


def linear(peak: float, warmup: int, total: int, floor: float = 0.0) -> Schedule:
    """Linear warmup to `peak`, then linear decay to `floor` at step `total`, then `floor`.

        t = min(1, (step - warmup) / (total - warmup))
        lr(step) = peak * step / warmup  up to warmup,  peak + (floor - peak) * t  afterwards

    Returns a function of the step, from 1. Raises ValueError unless 0 <= warmup < total.
    Source: Devlin et al. 2019, "BERT", appendix A.2.

    >>> [linear(1.0, 2, 10)(s) for s in (1, 2, 6, 10)]
    [0.5, 1.0, 0.5, 0.0]
    """
    _check_warmup(warmup, total)

    def after(step: int) -> float:
        return peak + (floor - peak) * min(1.0, (step - warmup) / (total - warmup))

    return _warmed(peak, warmup, after)


def constant(peak: float, warmup: int = 0) -> Schedule:
    """Linear warmup to `peak`, then a constant rate, lr(step) = peak.

    Returns a function of the step, from 1. Raises ValueError when warmup is negative.

    >>> [constant(0.5, 2)(s) for s in (1, 2, 3)]
    [0.25, 0.5, 0.5]
    """
    _check_warmup(warmup)
    return _warmed(peak, warmup, lambda step: peak)


class EMA:
    """The exponential moving average (EMA) of a model's parameters, with bias correction.

    After update t the average is

        a_t = (1 - d) / (1 - d^t) * sum over i = 1..t of d^(t - i) * p_i

    that is, Adam's bias correction applied to weights: even in a short run, the random
    initialization does not enter the average. Buffers (running statistics) are not averaged.

    decay: d, in [0, 1); 0 keeps the last weights. A tied parameter is averaged once.
    Source: Polyak and Juditsky 1992; the correction from Kingma and Ba 2015, section 3.
    """

    def __init__(self, model: nn.Module, decay: float = 0.999) -> None:
        if not 0.0 <= decay < 1.0:
            raise ValueError(f"decay: got {decay}, expected 0 <= decay < 1")
        self.decay = decay
        self.updates = 0
        self._live = {n: p for n, p in model.named_parameters() if p.requires_grad}
        self._average = {n: p.detach().clone() for n, p in self._live.items()}

    @torch.no_grad()
    def update(self) -> None:
        """Update the average with the model's weights: a += (1 - d) / (1 - d^t) * (p - a)."""
        self.updates += 1
        share = (1.0 - self.decay) / (1.0 - self.decay**self.updates)
        live = [p.detach() for p in self._live.values()]
        torch._foreach_lerp_(list(self._average.values()), live, share)

    @contextmanager
    def swap(self) -> Iterator[None]:
        """Swap the average into the model inside the context, and restore the weights after it."""
        self._exchange()
        try:
            yield
        finally:
            self._exchange()

    @torch.no_grad()
    def _exchange(self) -> None:
        for name, p in self._live.items():
            weights = p.detach().clone()
            p.copy_(self._average[name])
            self._average[name].copy_(weights)

    def state_dict(self) -> dict[str, Tensor]:
        """Return the averages by parameter name, and `updates`, the number of updates (int64)."""
        return {**self._average, "updates": torch.tensor(self.updates)}

    @torch.no_grad()
    def load_state_dict(self, state: dict[str, Tensor]) -> None:
        """Load the averages of `state_dict()`. Raises ValueError when names differ."""
        if set(state) != {*self._average, "updates"}:
            odd = sorted(set(state) ^ {*self._average, "updates"})
            raise ValueError(f"state: names differ from the model's: {', '.join(odd)}")
        for name, average in self._average.items():
            average.copy_(state[name])
        self.updates = int(state["updates"])
