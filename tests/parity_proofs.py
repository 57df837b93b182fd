"""What the proofs of parity share: inputs, and gradients of all parameters under other names."""

from __future__ import annotations

from collections.abc import Iterable

import torch
from parity_registry import differs, equal
from torch import Tensor, nn

from deepdive.published.weights import Rule, translate


def rows(*shape: int, seed: int = 0) -> Tensor:
    """Normal numbers in float64, a leaf that wants a gradient."""
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(*shape, generator=generator, dtype=torch.float64).requires_grad_()


def tokens(*shape: int, vocab: int, seed: int = 0) -> Tensor:
    return torch.randint(4, vocab, shape, generator=torch.Generator().manual_seed(seed))


def real(lengths: list[int], size: int) -> Tensor:
    """A padding mask, True = real."""
    return torch.arange(size) < torch.tensor(lengths)[:, None]


def alike(
    ours: nn.Module,
    theirs: nn.Module,
    output: Tensor,
    expected: Tensor,
    rules: Iterable[Rule] = (),
    leave_out: Iterable[str] = (),
    inputs: Iterable[tuple[Tensor, Tensor]] = (),
    silent: Iterable[str] = (),
) -> None:
    """Outputs agree to 1e-9; so do, to 1e-8, the gradients of one random projection of them with
    respect to `inputs` (ours, theirs) and to every parameter, theirs renamed by the `rules`.

    `silent` names parameters of ours that theirs have as a constant.
    """
    equal(output, expected)
    generator = torch.Generator().manual_seed(3)
    direction = torch.randn(expected.shape, generator=generator, dtype=torch.float64)
    pairs = list(inputs)
    mine = dict(ours.named_parameters())
    other = {n: p for n, p in theirs.named_parameters() if p.requires_grad}
    gradients = torch.autograd.grad(
        (output * direction).sum(), [*mine.values(), *(a for a, _ in pairs)]
    )
    wanted = torch.autograd.grad(
        (expected * direction).sum(), [*other.values(), *(b for _, b in pairs)]
    )
    for a, b in zip(gradients[len(mine) :], wanted[len(other) :], strict=True):
        assert differs(a, b) < 1e-8, f"gradient of an input differs by {differs(a, b):.1e}"
    named = dict(zip(mine, gradients, strict=False))
    found = translate(dict(zip(other, wanted, strict=False)), rules, leave_out)
    assert set(found) == set(named) - set(silent), set(found) ^ set(named)
    for name, source in found.items():
        error = differs(named[name], source.tensor)
        assert error < 1e-8, f"gradient of {name} differs by {error:.1e}"
        assert source.tensor.abs().max() > 1e-12, f"gradient of {name} is zero: it proves nothing"
