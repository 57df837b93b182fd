"""Megatron on two processes against transformers' GPT-2 and ours on one; what is told; mutations.

The processes are really run (`deepdive_book.ch05.processes`); what each does stands in
`split_work`.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
import split_work
import torch
from parity_bert import double_precision, reference
from parity_registry import differs, equal, parity
from torch import Tensor
from transformers import GPT2Config, GPT2LMHeadModel

from deepdive.layers.collectives import DeviceGroup, share, together
from deepdive.models.generative import gpt2, megatron
from deepdive.models.generative.gpt import GPT
from deepdive.published import family, load, save
from deepdive.published.weights import translate
from deepdive_book.ch05.processes import run_processes

SIZES: dict[str, Any] = {
    "vocab_size": 28, "n_embd": 16, "n_layer": 2, "n_head": 4, "n_positions": 12,
    "layer_norm_epsilon": 1e-3, "bos_token_id": 1, "eos_token_id": 2,
}  # fmt: skip


def theirs() -> Any:
    return reference(GPT2LMHeadModel, GPT2Config, **SIZES)


@cache
def run() -> tuple[dict[str, Tensor], list[dict[str, Tensor]]]:
    """What one process tells of a published GPT-2, and each of two of its halves."""
    model = theirs()
    with TemporaryDirectory() as folder, double_precision():
        model.save_pretrained(folder)
        halves = run_processes(split_work.worked, 2, folder=folder)
        return split_work.told(load(Path(folder)).double()), halves  # type: ignore[arg-type]


def agree(fault: str = "") -> None:
    """Each of two equals one: logits, losses of two steps, gradients, all after them."""
    one, halves = run()
    for half in halves:
        for name, expected in one.items():
            ours = half[f"{fault}/{name}"]
            if name == "written":
                assert torch.equal(ours, expected)
            else:
                error = differs(ours, expected)
                assert error < 1e-9, f"{name} differs by {error:.1e}"


@parity("megatron")
def megatron_agrees() -> None:
    """With transformers, values and gradients, on each of two processes."""
    agree()
    model, (_, halves) = theirs(), run()
    logits = model(split_work.TEXTS).logits
    split_work.weighed(logits).backward()
    gradients = {n: p.grad for n, p in model.named_parameters()}
    found = translate(gradients, [family("gpt2").table()], ())
    assert len(found) > 20
    for half in halves:
        equal(half["/logits"], logits.detach())
        for name, source in found.items():
            error = differs(half[f"/first.{name}"], source.tensor)
            assert error < 1e-8, f"gradient of {name} differs by {error:.1e}"


def test_it_agrees() -> None:
    megatron_agrees()


@pytest.mark.parametrize("fault", [name for name in split_work.FAULTS if name])
def test_a_fault_is_seen(fault: str) -> None:
    with pytest.raises(AssertionError):
        agree(fault)


def test_what_a_step_tells() -> None:
    """Two sums a layer, forwards and backwards; one for the embedding, one for the output layer on
    the way back; three numbers a token for the loss. No message has the size of the logits.
    """
    tokens = split_work.TEXTS[:, 1:].numel()
    stream = tokens * 32
    one = sum(p.numel() for p in gpt2.gpt2(megatron.TINY).parameters())
    alike = 2 * 3 * 2 * 32 - 2 * 32 + 64 * 32 + 4 * 32  # norms, places, biases behind the sums
    for half in run()[1]:
        assert half["counted/forwards"].tolist() == [stream] * 5 + [tokens] * 3
        assert half["counted/backwards"].tolist() == [stream] * 5
        assert bool(half["counted/same"])
        assert int(half["counted/held"]) == (one - alike) // 2 + alike


def test_a_process_that_fails_is_told_and_ends_the_others() -> None:
    with pytest.raises(RuntimeError, match=r"process 0 of 2 ended with 1:(.|\n)*on purpose"):
        run_processes(split_work.failing, 2)


def test_what_is_cut_is_whole_again() -> None:
    pieces, matrix = [], torch.arange(48).view(12, 4)
    for rank in range(3):
        machines = DeviceGroup()
        machines.ways, machines.rank = 3, rank
        pieces.append(share(matrix, machines, 0, 2))
    assert pieces[1][:, 0].tolist() == [8, 12, 32, 36]  # a piece of each of the two
    assert torch.equal(together(pieces, 0, 2), matrix)
    with pytest.raises(ValueError, match="ways=3 does not divide 4"):
        share(matrix, machines, 1)


def test_published_names_out_and_back(tmp_path: Path) -> None:
    """Split and whole again, it is a published GPT-2."""
    torch.manual_seed(0)
    model = megatron.megatron(megatron.TINY).eval()
    again = gpt2.gpt2(megatron.TINY)
    again.load_state_dict(megatron.whole(model))
    other = GPT2LMHeadModel.from_pretrained(save(again, tmp_path)).eval()
    assert torch.allclose(other(split_work.TEXTS).logits, model(split_work.TEXTS), atol=1e-5)
    back: GPT = load(tmp_path)  # type: ignore[assignment]
    assert torch.equal(
        megatron.split(back, DeviceGroup())(split_work.TEXTS), model(split_work.TEXTS)
    )


def test_published_sizes() -> None:
    """Table 1: 8.3 thousand million with 72 layers, 1.2 with 40."""
    counts = {
        megatron.BASE: 8_317_040_640,
        megatron.BASE.but(d_model=1536, n_heads=16, n_layers=40, d_ff=6144): 1_213_479_936,
    }
    with torch.device("meta"):
        for config, count in counts.items():
            assert sum(p.numel() for p in gpt2.gpt2(config).parameters()) == count
