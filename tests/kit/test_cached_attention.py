"""Kept attention is what was weighed, to a byte; and what is looked ahead at is refused."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from deepdive_book.kit.explorer.cached_attention import SMOLLM2, cache, kept_explorer, load_cached

TOKENS = ["a", " b", "\n", "é", " b"]


def causal(seed: int = 0) -> torch.Tensor:
    scores = 3 * torch.randn(2, 3, 5, 5, generator=torch.Generator().manual_seed(seed))
    later = torch.ones(5, 5, dtype=torch.bool).triu(1)
    return scores.masked_fill(later, -torch.inf).softmax(-1)


def test_weights_come_back_to_a_byte(tmp_path: Path) -> None:
    path = tmp_path / "kept.safetensors"
    cache(path, {"one": (TOKENS, causal()), "two": (TOKENS, causal(1))})
    tokens, maps = load_cached("two", path)
    assert tokens == TOKENS
    assert (maps.weights.sqrt() - causal(1).sqrt()).abs().max() <= 0.5 / 254 + 1e-6
    assert maps.causal
    html = kept_explorer("one", path, start=(2, 1)).html
    assert "data-explorer" in html
    with pytest.raises(KeyError, match="there is one, two"):
        load_cached("three", path)


def test_what_looks_ahead_or_has_other_tokens_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="looks ahead"):
        cache(tmp_path / "x", {"one": (TOKENS, torch.full((1, 1, 5, 5), 0.2))})
    with pytest.raises(ValueError, match="4 tokens, but weights"):
        cache(tmp_path / "x", {"one": (TOKENS[:4], causal())})


def test_what_is_kept_of_smollm2_is_small_and_whole() -> None:
    assert SMOLLM2.stat().st_size < 300_000
    for name in ("reviews", "words"):
        tokens, maps = load_cached(name)
        assert maps.weights.shape == (30, 9, len(tokens), len(tokens))
        assert (maps.weights.sum(-1) - 1).abs().max() < 0.06
