"""CTC by hand against torch's, and how long 100 utterances take to decode.

The loss, forward and backward, in float32: B rows of 100 to 150 frames, 28 symbols, texts of up to
30 letters, as AN4's are when every second frame is kept. In each round both run, the first one in
turn; the ratio is taken in each round (by hand within 20 times torch's).

The decoding: `prefix_beam` of width 16 over 100 generated rows of 80 to 150 frames, whose letters
stand out of the noise clearly, or less so, with an n-gram model of words and without; in seconds
of processor time, and in % of the 2.7 s that an utterance of AN4 lasts (at most 10 %).
"""

from __future__ import annotations

import json
import os
import time

import torch
import torch.nn.functional as F
from common import RESULTS, ROUNDS, Work, in_pairs
from torch import Tensor

from deepdive.decoding.ctc import WordScores, prefix_beam
from deepdive.decoding.ngram import UNKNOWN, NGram
from deepdive.training.objectives import ctc_loss

SECONDS, LETTERS = 2.7, "- abcdefghijklmnopqrstuvwxyz"


def losses(B: int) -> tuple[Work, Work]:
    """Ours and torch's, to the gradient of the logits."""
    logits = torch.randn(B, 150, len(LETTERS), requires_grad=True)
    targets = torch.randint(1, len(LETTERS), (B, 30))
    lengths, sizes = torch.randint(100, 151, (B,)), torch.randint(5, 31, (B,))

    def ours() -> Tensor:
        loss = ctc_loss(logits, lengths, targets, sizes).mean()
        return torch.autograd.grad(loss, logits)[0]

    def theirs() -> Tensor:
        log_p = F.log_softmax(logits, -1).transpose(0, 1)
        loss = F.ctc_loss(log_p, targets, lengths, sizes, reduction="none").mean()
        return torch.autograd.grad(loss, logits)[0]

    return ours, theirs


def rows(n: int, clear: float) -> tuple[list[Tensor], list[list[str]]]:
    """log p (T, V) of n rows, and the sentences that they say: blanks, and now and then a letter
    that stands out of the noise."""
    g = torch.Generator().manual_seed(0)

    def whole(low: int, high: int) -> int:
        return int(torch.randint(low, high, (), generator=g))

    words = ["".join(LETTERS[whole(2, 28)] for _ in range(whole(1, 9))) for _ in range(120)]
    sentences = [[words[whole(0, 120)] for _ in range(5)] for _ in range(n)]
    found = []
    for sentence in sentences:
        text = " ".join(sentence)
        scores = torch.randn(max(80, min(150, 4 * len(text))), 28, generator=g)
        scores[:, 0] += clear
        for k, letter in enumerate(text):
            scores[int((k + 0.5) * len(scores) / len(text)), LETTERS.index(letter)] += 2 * clear
        found.append(scores.log_softmax(-1))
    return found, sentences


def main() -> None:
    torch.manual_seed(0)
    kept: dict[str, object] = {}
    for B in (1, 16, 32):
        row = kept[f"loss, batch {B}"] = in_pairs(*losses(B), ROUNDS)
        print(f"loss and gradient, batch {B:2}: by hand {row['ours_s'] * 1e3:.1f} ms, torch "
              f"{row['peer_s'] * 1e3:.1f}; ratio {row['ratio']:.1f} ({row['ratio_least']:.1f} to "
              f"{row['ratio_greatest']:.1f}; at most 20)", flush=True)  # fmt: skip
    for name, clear in (("clear", 8.0), ("unsure", 5.0)):
        scores, sentences = rows(100, clear)
        words = {word for sentence in sentences for word in sentence}
        models = {
            "no language model": None,
            "closed": WordScores(NGram(sentences, 3), LETTERS),
            "open": WordScores(NGram(sentences, 3, words | {UNKNOWN}), LETTERS),
        }
        for kind, model in models.items():
            start = time.process_time()
            for one in scores:
                prefix_beam(one, language_model=model)
            took = time.process_time() - start
            kept[f"decoding, {name}, {kind}"] = {"cpu_s": took, "share": took / 100 / SECONDS}
            print(f"100 utterances, {name}, {kind}: {took:.1f} s, {took / SECONDS:.1f} % of their "
                  "sound (at most 10)", flush=True)  # fmt: skip
    settings = {"cores": os.cpu_count(), "threads": torch.get_num_threads()}
    result = {**settings, "torch": torch.__version__, "rows": kept}
    (RESULTS / "ctc.json").write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
