"""nanoGPT's settings for a card: their size here, a small run, and its losses."""

import pytest
import torch

from deepdive_book.ch06a.runs import gpu_run
from deepdive_book.ch06a.runs.decoder_ablations import cut

TEXT = cut("to be or not to be, that is the question: " * 60)
SMALL = {"d_model": 16, "n_heads": 2, "n_layers": 1, "d_ff": 32}


def test_the_size_that_is_trained_on_a_card() -> None:
    """nanoGPT's 10.65 million without its positions; 98,304 of those, and GPT-2's biases."""
    with torch.device("meta"):
        model = gpu_run.built(65, 0)
    sizes = {name: p.numel() for name, p in model.named_parameters()}
    biases = sum(n for name, n in sizes.items() if name.endswith("bias"))
    assert sum(sizes.values()) == 10_770_816
    assert sum(sizes.values()) - biases - 256 * 384 == 10_646_784


def test_a_run_learns_and_is_the_same_twice() -> None:
    first, again, begun = (
        gpu_run.run(TEXT, 0, steps=steps, length=16, **SMALL) for steps in (40, 40, 2)
    )
    assert first == again
    assert first["chosen"] < begun["chosen"] - 0.2
    assert first["card"] == ""


def test_a_text_is_judged_letter_by_letter() -> None:
    """70 stretches are two batches, of 64 and of 6: all letters count alike."""
    model = gpu_run.built(len(TEXT.letters), 0, **SMALL).eval()
    ids = TEXT.train[: 70 * 16 + 1]
    with torch.no_grad():
        rows = ids.unfold(0, 17, 16)
        logits = model(rows[:, :-1]).log_softmax(-1)
        said = logits.gather(-1, rows[:, 1:, None])
    assert gpu_run.evaluate(model, ids, 16) == pytest.approx(-said.mean().item(), abs=1e-6)
