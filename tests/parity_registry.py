"""The reference implementations: `@parity(Part)`, or `@parity("system")`, marks what proves it."""

from __future__ import annotations

import sys
from collections.abc import Callable
from importlib.util import module_from_spec
from pathlib import Path

import torch
from checkout import ROOT, TESTS
from laws import PARTS, import_cases
from torch import Tensor, nn

ORACLES: dict[str | type[nn.Module], Callable[[], None]] = {}


def parity(*parts: str | type[nn.Module]) -> Callable[[Callable[[], None]], Callable[[], None]]:
    """Register a function without arguments that raises AssertionError unless the parts equal
    their oracle.
    """

    def register(proof: Callable[[], None]) -> Callable[[], None]:
        for part in parts:
            ORACLES[part] = proof
        return proof

    return register


def proofs() -> dict[str, Callable[[], None]]:
    """Return the proof of each part that has a case, from the cases and every test_parity_*.py."""
    import_cases()
    for path in sorted(TESTS.rglob("test_parity_*.py")):
        load(path)
    return {
        name: ORACLES[name if name in ORACLES else part]
        for name, part in PARTS.items()
        if name in ORACLES or part in ORACLES
    }


def load(path: Path) -> None:
    """Import a test file under the name that pytest gives it, so that neither reads it twice; by
    the finders, among which is pytest's, which explains an assertion that fails.
    """
    name = ".".join(path.relative_to(ROOT).with_suffix("").parts)
    if name in sys.modules:
        return
    spec = next(filter(None, (f.find_spec(name, [str(path.parent)]) for f in sys.meta_path)))
    module = sys.modules[name] = module_from_spec(spec)
    assert spec.loader is not None
    spec.loader.exec_module(module)


def perturb(module: nn.Module, seed: int = 0, size: float = 0.2) -> nn.Module:
    """Move every weight of `module` off its special values, in place."""
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for p in module.parameters():
            p.add_(
                size * torch.randn(p.shape, generator=generator, dtype=torch.float64).to(p.dtype)
            )
    return module


def differs(ours: Tensor, theirs: Tensor) -> float:
    """max|a - b| / max(1, max|b|)."""
    assert ours.shape == theirs.shape, f"{tuple(ours.shape)} against {tuple(theirs.shape)}"
    return ((ours - theirs).abs().max() / theirs.abs().max().clamp(min=1)).item()


def equal(ours: Tensor, theirs: Tensor, tolerance: float = 1e-9) -> None:
    """Outputs in float64 agree to 1e-9 of their size (float32: pass 1e-5 and say why)."""
    error = differs(ours, theirs)
    assert error < tolerance, f"outputs differ by {error:.1e}, allowed {tolerance:.0e}"


def equal_gradients(
    ours: Tensor,
    theirs: Tensor,
    pairs: dict[str, tuple[Tensor, Tensor]],
    tolerance: float = 1e-8,
) -> None:
    """Gradients of one fixed random projection of both outputs agree. `pairs`: name -> (our leaf,
    their leaf).
    """
    generator = torch.Generator().manual_seed(3)
    direction = torch.randn(theirs.shape, generator=generator, dtype=torch.float64).to(theirs.dtype)
    mine = torch.autograd.grad((ours * direction).sum(), [a for a, _ in pairs.values()])
    other = torch.autograd.grad((theirs * direction).sum(), [b for _, b in pairs.values()])
    for name, a, b in zip(pairs, mine, other, strict=True):
        error = differs(a, b)
        assert error < tolerance, (
            f"gradient of {name} differs by {error:.1e}, allowed {tolerance:.0e}"
        )
