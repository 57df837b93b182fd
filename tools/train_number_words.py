"""Train the toy that runs in the pages, and write its weights beside deepdive_book.ch02.toys.

    python tools/train_number_words.py          # three minutes on one core

French number words to digits, both generated, zéro to 999 999: as many numbers of six digits as of
two, so that short ones are learned too, and whole thousands. Of each a tenth, at most 200, is kept
for the test; what is said in one word (dix, cent, mille) is always learned.
The weights after some steps are kept too, to show how heads form. The same machine, torch and
thread count give the same files.
"""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from typing import Any

import torch
from safetensors.torch import save_file
from torch import Tensor, nn

from deepdive.data import BucketBatches
from deepdive.data.generated import number_words
from deepdive.decoding import greedy
from deepdive.tokenizers import CharTokenizer, WordTokenizer
from deepdive.training import fit
from deepdive.training.optim import adam, cosine
from deepdive.training.translation import encode, loss, translate
from deepdive_book.ch02.toys import FOLDER
from deepdive_book.ch02.toys.number_words import build
from deepdive_book.kit.live.export import quantized, restored

STEPS = 4000
KEPT = (0, 50, 100, 200, 300, 500, 800, 1300, 2200)
BANDS = ((0, 99), (100, 999), (1000, 9999), (10_000, 99_999), (100_000, 999_999))

Pairs = list[tuple[str, str]]


def groups() -> list[Pairs]:
    """Return (words, digits) of numbers of each length, and of whole thousands."""
    bands = [(low, high, min(6000, high - low + 1)) for low, high in BANDS]
    found = [number_words("fr", n, seed=1, low=low, high=high) for low, high, n in bands]
    round_ones = (number_words("fr", 1, low=n, high=n) for n in range(1000, 1_000_000, 1000))
    found.append(random.Random(1).sample([pair for (pair,) in round_ones], 999))
    return [[(words.replace("-", " "), digits) for digits, words in said] for said in found]


def pairs() -> tuple[Pairs, Pairs]:
    """Return (words, digits) to train on, small groups several times, and to test with."""
    train, test = [], []
    for found in groups():
        long = [pair for pair in found if " " in pair[0]]
        test += long[: min(200, len(found) // 10)]
    held = set(test)
    for found in groups():
        train += [pair for pair in found if pair not in held] * max(1, 3000 // len(found))
    return train, sorted(held)


def named(step: int, share: float) -> str:
    """Return what the page calls the weights after so many steps."""
    return f"after {step:,} of {STEPS:,} steps, {share:.0%} of new numbers right"


def main() -> None:
    train, test = pairs()
    source = WordTokenizer.train(words for words, _ in train)
    target = CharTokenizer.train(digits for _, digits in train)
    torch.manual_seed(0)
    model = build(source, target)
    states: list[dict[str, Tensor]] = []
    steps = 0

    def counted(model: nn.Module, batch: Sequence[Tensor]) -> Tensor:
        nonlocal steps
        if steps in KEPT:
            states.append({name: t.clone() for name, t in model.state_dict().items()})
        steps += 1
        return loss(model, batch)

    def right(state: dict[str, Tensor], among: Pairs) -> float:
        """Return the share of new numbers that a model with these weights gets right."""
        judge = build(source, target)
        judge.load_state_dict(state)
        words = [words for words, _ in among]
        said = translate(judge, words, source, target, greedy, progress=False)
        return sum(a == b for a, (_, b) in zip(said, among, strict=True)) / len(among)

    batches = BucketBatches(encode(train, source, target), max_tokens=2000, seed=1)
    schedule = cosine(6e-3, warmup=50, total=STEPS)
    fit(model, batches, counted, steps=STEPS, optimizer=adam(model), schedule=schedule)

    final = {name: t.half().float() for name, t in model.state_dict().items()}
    codes, scales = zip(*map(quantized, states), strict=True)
    seen = [restored(c, s, final) for c, s in zip(codes, scales, strict=True)]
    about: dict[str, Any] = {
        "source": source.vocab,
        "target": target.vocab,
        "snapshots": [
            named(step, right(state, test)) for step, state in zip(KEPT, seen, strict=True)
        ],
        "trained": named(STEPS, right(final, test)),
        "right": {
            f"{low} to {high}": right(final, [p for p in test if low <= int(p[1]) <= high])
            for low, high in BANDS
        },
    }
    text = json.dumps(about, ensure_ascii=False, indent=1)
    (FOLDER / "number_words.json").write_text(text + "\n", encoding="utf-8")
    halves = {name: t.half() for name, t in final.items() if name != "head.embedding.weight"}
    save_file(halves, FOLDER / "number_words.safetensors")
    together = {"codes": torch.stack(codes), "scales": torch.stack(scales)}
    save_file(together, FOLDER / "number_words_steps.safetensors")
    print(f"{sum(t.numel() for t in halves.values()):,} weights; {about['trained']}")


if __name__ == "__main__":
    main()
