"""Attention rollout: its laws, one layer by hand, all paths by brute force; reach on a grid."""

from __future__ import annotations

from itertools import product
from math import prod, sqrt

import pytest
import torch
from torch import Tensor

from deepdive.core.hooks import record
from deepdive.explain import rollout as module
from deepdive.explain.rollout import distance, distances, mixing, rollout
from deepdive.models.bert import albert, bert
from deepdive.models.transformer import transformer
from deepdive.models.vision import vit


def noise(*shape: int, seed: int = 0) -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(*shape, generator=generator, dtype=torch.float64).mul(2).softmax(-1)


def layers(count: int, t: int = 4, heads: int = 3) -> list[Tensor]:
    return [noise(2, heads, t, t, seed=seed) for seed in range(count)]


def by_paths(weights: list[Tensor], t: int, s: int) -> Tensor:
    """The sum over all ways from input s to state t: at each layer stay or be looked at."""
    size = weights[0].shape[-1]

    def step(layer: Tensor, to: int, source: int) -> Tensor:
        looked = torch.stack([head[:, to, source] for head in layer.unbind(1)]).sum(0)
        looked = looked / layer.shape[1]
        return 0.5 * looked + 0.5 * (to == source)

    total = torch.zeros(len(weights[0]), dtype=torch.float64)
    for middle in product(range(size), repeat=len(weights) - 1):
        way = [s, *middle, t]
        steps = [step(layer, way[i + 1], way[i]) for i, layer in enumerate(weights)]
        total += prod(steps)
    return total


def test_no_layers_are_the_identity_and_rows_sum_to_one() -> None:
    rolled = rollout(layers(5))
    assert rolled.shape == (6, 2, 4, 4)
    assert torch.equal(rolled[0], torch.eye(4, dtype=torch.float64).expand(2, 4, 4))
    torch.testing.assert_close(rolled.sum(-1), torch.ones(6, 2, 4, dtype=torch.float64))
    assert (rolled >= 0).all()


def test_one_layer_by_hand() -> None:
    """Two heads of two rows: mean ((1/2, 1/2), (1, 0)), half of which is given to the diagonal."""
    heads = torch.tensor([[[[1.0, 0.0], [1.0, 0.0]], [[0.0, 1.0], [1.0, 0.0]]]])
    assert rollout([heads])[1, 0].tolist() == [[0.75, 0.25], [0.5, 0.5]]
    twice = rollout([heads, heads])[2, 0]
    assert twice.tolist() == [[0.6875, 0.3125], [0.625, 0.375]]


@pytest.mark.parametrize("count", [1, 2, 3, 4])
def test_it_is_the_sum_over_all_paths(count: int) -> None:
    weights = layers(count)
    rolled = rollout(weights)[-1]
    for t, s in product(range(4), repeat=2):
        torch.testing.assert_close(rolled[:, t, s], by_paths(weights, t, s))


def test_the_paths_see_a_wrong_order_and_a_missing_residual(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    weights = layers(3)
    expected = by_paths(weights, 2, 1)
    assert not torch.allclose(rollout(weights[::-1])[-1][:, 2, 1], expected)
    assert not torch.allclose(rollout(weights)[-1].mT[:, 2, 1], expected)
    monkeypatch.setattr(module, "mixing", lambda layer: layer.mean(1))
    assert not torch.allclose(rollout(weights)[-1][:, 2, 1], expected)


def test_layers_that_stay_change_nothing_and_even_ones_forget_by_halves() -> None:
    stay = torch.eye(3, dtype=torch.float64).expand(1, 2, 3, 3)
    assert torch.equal(rollout([stay] * 4)[-1][0], torch.eye(3, dtype=torch.float64))
    even = torch.full((1, 2, 3, 3), 1 / 3, dtype=torch.float64)
    rolled = rollout([even] * 4)
    kept = torch.stack([r[0, 0, 0] - 1 / 3 for r in rolled])
    torch.testing.assert_close(kept, 2 / 3 * 0.5 ** torch.arange(5, dtype=torch.float64))


def test_any_model_that_records_its_weights() -> None:
    image = torch.randn(2, 1, 8, 8)
    model = vit.vit(vit.TINY).eval()
    with record(model, "*.weights") as seen, torch.no_grad():
        model(image)
    rolled = rollout(seen)
    assert rolled.shape == (3, 2, 17, 17)
    torch.testing.assert_close(rolled, rollout([calls[0] for calls in seen.values()]))
    tokens = torch.randint(0, 20, (2, 6))
    shared = albert.albert(albert.TINY, vocab_size=20).eval()
    for reader in (bert.bert(bert.TINY, vocab_size=20).eval(), shared):
        with record(reader, "*.weights") as seen, torch.no_grad():
            reader(tokens)
        depth = sum(map(len, seen.values()))
        assert depth == reader.config.n_layers
        assert rollout(seen).shape == (depth + 1, 2, 6, 6)
    translator = transformer.tiny().eval()
    with record(translator, "encoder.*.weights") as seen, torch.no_grad():
        translator(tokens, tokens)
    assert rollout(seen)[-1].sum(-1).sub(1).abs().max() < 1e-5


def test_distances_on_a_grid() -> None:
    apart = distances((2, 3), patch_size=10)
    assert apart.shape == (6, 6)
    assert apart[0].tolist() == pytest.approx([0, 10, 20, 10, 10 * sqrt(2), 10 * sqrt(5)])
    assert torch.equal(apart, apart.mT)


def test_mean_distance_by_hand_and_by_its_definition() -> None:
    even = torch.full((4, 4), 0.25, dtype=torch.float64)
    assert distance(even, (2, 2), 10).item() == pytest.approx((10 + 10 + 10 * sqrt(2)) / 4)
    assert distance(torch.eye(4), (2, 2)).item() == 0
    weights, grid = noise(2, 3, 14, 14), (3, 4)
    found = distance(weights, grid, 5)
    assert found.shape == (2, 3)
    for b, h in product(range(2), range(3)):
        total = 0.0
        for t in range(12):
            shares = [weights[b, h, t + 2, s + 2].item() for s in range(12)]
            for s, share in enumerate(shares):
                away = sqrt((t // 4 - s // 4) ** 2 + (t % 4 - s % 4) ** 2)
                total += share / sum(shares) * 5 * away
        assert found[b, h].item() == pytest.approx(total / 12)


def test_what_does_not_fit_is_refused() -> None:
    for weights in (noise(3, 4, 4), noise(1, 2, 3, 4)):
        with pytest.raises(ValueError, match=r"expected \(B, H, T, T\)"):
            mixing(weights)
    with pytest.raises(ValueError, match=r"sum differs from 1 by 0\.5"):
        mixing(noise(1, 2, 3, 3) / 2)
    with pytest.raises(ValueError, match="got no layers"):
        rollout([])
    with pytest.raises(ValueError, match="a was called 2 times"):
        rollout({"a": layers(2), "b": layers(1)})
    with pytest.raises(ValueError, match="grid of 3 x 3"):
        distance(noise(8, 8), (3, 3))
    with pytest.raises(ValueError, match="lines"):
        distances((0, 3))
