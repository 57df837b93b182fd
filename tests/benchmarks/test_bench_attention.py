"""What the benchmark of attention compares and fits. Nothing is timed here."""

from __future__ import annotations

import importlib.util
import json
import math
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import torch
from checkout import ROOT

FOLDER = ROOT / "benchmarks"


@pytest.fixture(scope="module")
def bench() -> Any:
    sys.path.insert(0, str(FOLDER))
    spec = importlib.util.spec_from_file_location("bench_attention", FOLDER / "bench_attention.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    yield module
    sys.path.remove(str(FOLDER))


def test_every_mechanism_can_be_built_and_run_both_ways(bench: ModuleType) -> None:
    for name in (bench.FULL, *bench.available(bench.MECHANISMS)):
        bench.forward_and_backward("mechanisms", name, 130, "ours")()
        assert math.isfinite(bench.error(name, 130)), name
        assert bench.CLAIMS[name]


def test_what_is_exact_has_no_error(bench: ModuleType) -> None:
    assert bench.error(bench.FULL, 70) == 0
    assert bench.error("tiles", 300) < 1e-5
    assert bench.error("window", 100) < 1e-5  # all keys are within 128 of each other
    assert bench.error("window", 1024) > 0.1


def test_both_encoders_have_the_same_sizes(bench: ModuleType) -> None:
    """As many weights in the blocks as the peer has, but for what a note in the entry allows."""
    for name, pair in bench.available(bench.ENCODERS).items():
        sizes = [
            sum(p.numel() for key, p in model.named_parameters() if "embed" not in key)
            for model in (pair.ours(512), pair.peer(512))
        ]
        assert abs(sizes[0] - sizes[1]) < 0.1 * sizes[1], (name, sizes)


def test_the_bound_holds_for_both_encoders(bench: ModuleType) -> None:
    """Both run linear layers of the same size on every token."""
    for name, pair in bench.available(bench.ENCODERS).items():
        ours, theirs = (bench.linear_weights(model) for model in (pair.ours(512), pair.peer(512)))
        assert sum(w.numel() for w in ours) == sum(w.numel() for w in theirs) > 10**6, name


def test_rounds_turn_and_the_first_does_not_count(bench: ModuleType) -> None:
    seen: list[str] = []
    works = {name: lambda name=name: seen.append(name) for name in "abc"}
    taken = bench.in_turns(works, budget=0.0)
    assert [len(times) for times in taken.values()] == [bench.LEAST] * 3
    assert "".join(seen) == "abcbcacababc"


def test_a_power_is_found_and_noise_widens_its_interval(bench: ModuleType) -> None:
    lengths = [2048, 4096, 8192, 16384]
    exact = bench.exponent(lengths, [3e-9 * n**1.3 for n in lengths])
    assert exact["exponent"] == pytest.approx(1.3)
    assert exact["interval"] == pytest.approx([1.3, 1.3])
    assert max(map(abs, exact["residuals"])) < 1e-9
    noisy = bench.exponent(lengths, [n * (1.1 if i % 2 else 1.0) for i, n in enumerate(lengths)])
    low, high = noisy["interval"]
    assert low < 1 < high
    assert sum(noisy["residuals"]) == pytest.approx(0)
    assert noisy["exponent"] == pytest.approx(
        torch.linalg.lstsq(
            torch.tensor([[math.log(n), 1.0] for n in lengths], dtype=torch.float64),
            torch.tensor(noisy["residuals"], dtype=torch.float64)[:, None]
            + noisy["exponent"] * torch.tensor([[math.log(n)] for n in lengths]).double(),
        ).solution[0].item()
    )  # fmt: skip
    with pytest.raises(ValueError, match="three at least"):
        bench.exponent(lengths[:2], [1.0, 2.0])


def test_memory_is_the_peak_above_what_was_there(bench: ModuleType) -> None:
    """Scores of 4 heads at 1,024 tokens take 16 MB; the fused kernel makes none of them."""
    if not Path("/proc/self/clear_refs").exists():
        pytest.skip("only Linux says what the peak was")
    assert bench.fresh_peak_mb("mechanisms", "tiles", 4096, "ours") < 100


def test_it_goes_on_where_it_was_stopped(
    bench: ModuleType, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    done: list[str] = []

    def measured(part: str) -> Any:
        def measure() -> list[dict[str, Any]]:
            if done == ["mechanisms 2048", "mechanisms 4096"] and part.endswith("8192"):
                done.append("stopped")
                raise KeyboardInterrupt
            done.append(part)
            n = int(part.split()[1])
            names = [bench.FULL, *bench.available(bench.MECHANISMS)]
            return [{"name": name, "n": n, "ours_s": n * 1e-6} for name in names]

        return measure

    parts = {f"mechanisms {n}": measured(f"mechanisms {n}") for n in (2048, 4096, 8192)}
    monkeypatch.setattr(bench, "PARTS", parts)
    monkeypatch.setattr(bench, "RESULTS", tmp_path / "attention.json")
    with pytest.raises(KeyboardInterrupt):
        bench.main([])
    bench.main([])
    bench.main([])
    assert done == ["mechanisms 2048", "mechanisms 4096", "stopped", "mechanisms 8192"]
    kept = json.loads((tmp_path / "attention.json").read_text())
    assert kept["exponents"]["window"]["exponent"] == pytest.approx(1.0)
    assert kept["exponents"]["window"]["claim"] == "n"
    assert not list(tmp_path.glob("*.part"))
    bench.main(["mechanisms 2048", "--again"])
    assert done[-1] == "mechanisms 2048"
