"""Train the toy that fills gaps in the pages, and write its weights beside deepdive_book.ch03.toys.

    DEEPDIVE_MIRROR=... python tools/train_gap_words.py      # about ten minutes on one core

A BERT of two layers, 64 wide, learns to fill gaps in English sentences of Tatoeba (CC BY 2.0; the
data set `tatoeba_eng_fra`), of at most 20 words; a word that is not among the 2,000 most frequent
tokens is one unknown token. One sentence in twenty is kept for the test: one word of it is hidden,
drawn, no sign and not unknown. Each weight is kept in one byte. The same machine, torch and thread
count give the same files.
"""

from __future__ import annotations

import json
import random
from typing import Any

import torch
from safetensors.torch import save_file
from torch import Tensor

from deepdive.data import BucketBatches
from deepdive.data.text import pairs, split_by
from deepdive.evaluate.confidence_intervals import bootstrap
from deepdive.models.bert.pretraining import BertForMaskedLM
from deepdive.tokenizers import WordTokenizer
from deepdive.training import fit
from deepdive.training.objectives import cross_entropy, mask_tokens
from deepdive.training.optim import adam, cosine
from deepdive_book.ch03.toys import FOLDER
from deepdive_book.ch03.toys.gap_words import GAP_SPECIALS, GAP_TIED, build_gap_words, cut_words
from deepdive_book.kit.live.export import quantized, restored

STEPS, WORDS, LONGEST = 6000, 2000, 20


def sentences() -> list[list[str]]:
    """Return the sentences to train on and those to test with, as words with blanks between."""
    every = sorted({english for english, _ in pairs("tatoeba_eng_fra")})
    short = [text for text in every if 2 <= len(cut_words(text)) <= LONGEST]
    found = split_by([(text, text) for text in short], fractions=(0.95, 0.025, 0.025))
    return [[" ".join(cut_words(text)) for text, _ in part] for part in found]


def hidden(
    ids: list[list[int]], tokenizer: WordTokenizer, words: set[int]
) -> tuple[list[list[int]], list[int], list[int]]:
    """Return sentences with one word hidden each, where it stood, and which it was."""
    draw, rows, places, answers = random.Random(0), [], [], []
    for row in ids:
        if may := [i for i, token in enumerate(row) if token in words]:
            place = draw.choice(may)
            rows.append([*row[:place], tokenizer.vocab.index("[MASK]"), *row[place + 1 :]])
            places.append(place)
            answers.append(row[place])
    return rows, places, answers


@torch.no_grad()
def ranks(
    model: BertForMaskedLM, rows: list[list[int]], places: list[int], answers: list[int]
) -> Tensor:
    """Return how many candidates stand above the right word, for each sentence."""
    found = []
    for row, place, answer in zip(rows, places, answers, strict=True):
        scores = model(torch.tensor([row]))[0, place]
        found.append(int((scores > scores[answer]).sum()))
    return torch.tensor(found)


def main() -> None:
    train, _, test = sentences()
    tokenizer = WordTokenizer.train(train, WORDS, specials=GAP_SPECIALS)
    model = build_gap_words(len(tokenizer))
    torch.manual_seed(0)
    model.train()

    def ids_of(texts: list[str]) -> list[list[int]]:
        return [[tokenizer.bos, *tokenizer.encode(text), tokenizer.eos] for text in texts]

    def loss(model: Any, batch: tuple[Tensor]) -> Tensor:
        (tokens,) = batch
        inputs, targets, chosen = mask_tokens(tokens, tokenizer, rate=0.2)
        states = model.bert(inputs, tokens != tokenizer.pad)[chosen]
        return cross_entropy(model.masked_logits(states), targets[chosen], pad=None)

    batches = BucketBatches(ids_of(train), max_tokens=3000, seed=1)
    schedule = cosine(4e-3, warmup=min(200, STEPS // 10), total=STEPS)
    fit(model, batches, loss, steps=STEPS, optimizer=adam(model), schedule=schedule)

    codes, scales = quantized({n: t for n, t in model.state_dict().items() if n != GAP_TIED[0]})
    like = {n: t for n, t in model.state_dict().items() if n != GAP_TIED[0]}
    model.load_state_dict(restored(codes, scales, like, tied=GAP_TIED))
    model.eval()
    words = {i for i, w in enumerate(tokenizer.vocab) if w[0].isalnum() and w not in GAP_SPECIALS}
    rows, places, answers = hidden(ids_of(test), tokenizer, words)
    found = ranks(model, rows, places, answers)
    about = {
        "vocabulary": tokenizer.vocab,
        "sentences": len(train),
        "tested": len(rows),
        "right": {
            f"first {n}": [round(x, 4) for x in bootstrap((found < n).double())] for n in (1, 5)
        },
    }
    text = json.dumps(about, ensure_ascii=False, indent=1)
    (FOLDER / "gap_words.json").write_text(text + "\n", encoding="utf-8")
    save_file({"codes": codes, "scales": scales}, FOLDER / "gap_words.safetensors")
    print(f"{len(codes):,} weights; {about['right']}")


if __name__ == "__main__":
    main()
