"""What the benchmark of BERT compares is the same computation. Nothing is timed here."""

from __future__ import annotations

import importlib.util
from types import ModuleType

import pytest
import torch
from checkout import ROOT

FILE = ROOT / "benchmarks" / "bench_bert.py"
TEXTS = [
    "a lion .", "", "naïve café — 東京 3.14%", "a lion .", "yes",
    "the cat sat on the mat , and nobody asked it to leave until the evening .", "word " * 300,
]  # fmt: skip


@pytest.fixture(scope="module")
def bench() -> ModuleType:
    spec = importlib.util.spec_from_file_location("bench_bert", FILE)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_vectors_of_mixed_texts_are_those_of_encode(bench: ModuleType) -> None:
    assert bench.gap(TEXTS) < 1e-5
    assert bench.lengths_of(TEXTS)[-1] == bench.MAX_LENGTH


def test_both_models_give_the_same_states_and_have_dropout_in_as_many_places(
    bench: ModuleType,
) -> None:
    tokens, mask = bench.batch(3, 9, 4)
    pair = list(zip(bench.models(), bench.forwards(tokens, mask), strict=True))
    with torch.no_grad():
        ours, theirs = (run(model.eval())[mask] for model, run in pair)
    assert (ours - theirs).abs().max() < 1e-5
    assert [bench.set_dropout(model, 0.0) for model, _ in pair] == [1 + 3 * 6, 1 + 3 * 6]
    ours, theirs = (run(model.train())[mask] for model, run in pair)
    assert (ours - theirs).abs().max() < 1e-5


def test_the_share_of_padding_is_counted_in_the_peers_batches(bench: ModuleType) -> None:
    texts, lengths = ["aaaa", "bb", "ccc", "d", "eeeee"], [4, 6, 3, 1, 5]
    # sorted by characters: e a | c b | d, padded to 5, 6, 1: 10 + 12 + 1 for 19 tokens
    assert bench.padding_share(texts, lengths, 2) == pytest.approx(1 - 19 / 23)


def test_the_bound_runs_every_linear_layer_on_every_real_token(bench: ModuleType) -> None:
    from deepdive_book.kit.flops import count_flops

    model, lengths = bench.models()[0], [9, 30, 4]
    weights = sum(p.numel() for name, p in model.stack.named_parameters()
                  if p.ndim == 2)  # fmt: skip
    assert count_flops(bench.products(model, lengths)) == 2 * sum(lengths) * weights
