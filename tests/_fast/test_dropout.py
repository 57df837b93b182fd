"""The tuned dropout: what it keeps, and where it does nothing."""

from __future__ import annotations

import pytest
import torch

from deepdive._fast.optimize import FastDropout


@pytest.mark.parametrize("p", [0.1, 0.5])
def test_dropout_keeps_the_mean_and_passes_gradients_where_it_kept(p: float) -> None:
    dropout, x = FastDropout(p), torch.ones(400, 501, requires_grad=True)
    y = dropout(x)
    dropped = (y == 0).float().mean().item()
    assert dropped == pytest.approx(p, abs=5 * (p * (1 - p) / x.numel()) ** 0.5)
    assert torch.equal(y[y > 0].unique(), torch.tensor([1 / (1 - p)]))
    y.sum().backward()
    assert torch.equal(x.grad, y)
    rows = (y == 0).float()
    neighbors = torch.corrcoef(torch.stack([rows[:, :-1].flatten(), rows[:, 1:].flatten()]))
    assert abs(neighbors[0, 1]) < 0.01
    assert dropout.eval()(x) is x
    torch.manual_seed(3)
    first = dropout.train()(x)
    torch.manual_seed(3)
    assert torch.equal(dropout(x), first)


@pytest.mark.parametrize("p", [0.5, 0.999, 1 - 2e-5, 1 - 2e-6, 1 - 1e-9, 1.0])
def test_dropout_near_one_keeps_few(p: float) -> None:
    torch.manual_seed(0)
    kept = (FastDropout(p)(torch.ones(100_000)) != 0).float().mean().item()
    assert abs(kept - (1 - p)) < 5e-3
