"""nanoGPT's settings for a graphics card, on the letters of tinyshakespeare.

    row = run(shakespeare(), seed=0, device="cuda")

Six layers, 384 wide, 6 heads, 256 letters of context, dropout 0.2; 5,000 steps of 64 stretches, a
rate of 0.001 that falls to a tenth. Every 250 steps the model is judged by the first half of the
last tenth, and the best is kept; the second half is read once, by that one. Its README reports
1.4697 nats, the least of its own estimates on the whole last tenth. The decoder is GPT-2's
(`deepdive.models.generative.gpt2`), which has biases where nanoGPT's has none.
"""

from typing import Any

import torch
from torch import Tensor, nn

from deepdive.models.generative.gpt import GPT
from deepdive.models.generative.gpt2 import gpt2
from deepdive.training import Validation, fit
from deepdive.training.optim import adam, cosine
from deepdive_book.ch06a.runs import decoder_ablations
from deepdive_book.ch06a.runs.decoder_ablations import RATE, Text
from deepdive_book.tasks.stream import random_windows, sequential_windows

LENGTH, ROWS, STEPS, EVERY = 256, 64, 5000, 250
SIZE: dict[str, Any] = {"d_model": 384, "n_heads": 6, "n_layers": 6, "d_ff": 1536, "dropout": 0.2}


def built(kinds: int, seed: int, **smaller: Any) -> GPT:
    """The decoder, its first weights drawn by `seed`; `smaller` changes its numbers."""
    torch.manual_seed(seed)
    return gpt2(**{"vocab_size": kinds, "max_length": LENGTH, **SIZE, **smaller})


def loss(model: nn.Module, batch: Tensor) -> Tensor:
    """The mean of -log p(next letter), in nats; on a card in bfloat16, as in nanoGPT's run."""
    with torch.autocast(batch.device.type, torch.bfloat16, enabled=batch.is_cuda):
        return decoder_ablations.loss(model, batch)


@torch.no_grad()
def evaluate(model: nn.Module, ids: Tensor, length: int = LENGTH) -> float:
    """Return the mean loss over a text, read once in stretches of `length` letters."""
    device = next(model.parameters()).device
    rows = sequential_windows(ids, length)
    each = [len(part) * loss(model, part.to(device)).item() for part in rows.split(ROWS)]
    return sum(each) / len(rows)


def run(
    text: Text, seed: int, *, steps: int = STEPS, length: int = LENGTH, device: str = "cpu",
    progress: bool = False, **smaller: Any,
) -> dict[str, Any]:  # fmt: skip
    """Train the decoder, and return its losses, in nats a letter, with what it took."""
    model = built(len(text.letters), seed, **smaller).to(device)
    n = max(2, steps)
    history = fit(
        model,
        random_windows(text.train, length, rows=ROWS, steps=n, seed=seed),
        loss,
        steps=n,
        seed=seed,
        optimizer=adam(model, lr=RATE, betas=(0.9, 0.99), eps=1e-8, weight_decay=0.1),
        schedule=cosine(RATE, min(100, n // 2), n, RATE / 10),
        progress=progress,
        validate=Validation(lambda model: evaluate(model, text.chosen, length), every=EVERY),
    )
    return {
        "steps": n,
        "parameters": sum(p.numel() for p in model.parameters()),
        "learned": sum(history.losses[-100:]) / len(history.losses[-100:]),
        "chosen": evaluate(model, text.chosen, length),
        "test": evaluate(model, text.test, length),
        "card": torch.cuda.get_device_name() if device == "cuda" else "",
    }
