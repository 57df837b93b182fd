"""Train the toy that judges generated reviews, and write its weights to `ch07.toys`.

    python tools/train_review_words.py      # half a minute on one core

A BERT of two layers, 32 wide, learns the class of 16,000 generated reviews (`generated_verdicts`);
2,000 others are the test. One class in twenty that it learns from is wrong, as in real reviews: it
cannot be surer than that. It is trained twice from the same first weights: on the reviews as they
are ("plain"), and with a share of their words hidden, drawn anew for each batch, so that a text
with blanks is nothing new to it ("blanks"). The same machine, torch and thread count give the same
files.
"""

from __future__ import annotations

import json
from typing import Any

import torch
from safetensors.torch import save_file
from torch import Tensor

from deepdive.data import BucketBatches
from deepdive.layers.heads import Classifier
from deepdive.tokenizers import WordTokenizer
from deepdive.training import fit
from deepdive.training.optim import adam, cosine
from deepdive_book.ch07.toys import FOLDER
from deepdive_book.ch07.toys.review_words import SPECIALS, build_review_words
from deepdive_book.data.labeled_cause_reviews import generated_verdicts
from deepdive_book.tasks.classification import encode, loss, mask_words, predict

STEPS, LEARNED, TESTED, WRONG = 1500, 16_000, 2_000, 0.05


def train(kind: str, tokenizer: WordTokenizer, ids: list[list[int]], labels: Any) -> Classifier:
    """Return the model trained on texts as they are, or with blanks."""
    model = build_review_words(len(tokenizer))
    model.train()
    draw = torch.Generator().manual_seed(0)
    hidden = tokenizer.vocab.index("[MASK]")

    def with_blanks(model: Any, batch: tuple[Tensor, Tensor]) -> Tensor:
        answers, tokens = batch
        share = torch.rand(len(tokens), 1, generator=draw) * 0.6
        return loss(model, (answers, mask_words(tokens, share, len(SPECIALS), hidden, draw)))

    batches = BucketBatches(([[y] for y in labels], ids), max_tokens=1000, seed=1)
    schedule = cosine(3e-3, warmup=100, total=STEPS)
    of = with_blanks if kind == "blanks" else loss
    fit(model, batches, of, steps=STEPS, optimizer=adam(model), schedule=schedule)
    return model.eval()


def main() -> None:
    made = generated_verdicts(LEARNED + TESTED)
    learned, tested = made.take(range(LEARNED)), made.take(range(LEARNED, len(made)))
    tokenizer = WordTokenizer.train(learned.texts, 100, specials=SPECIALS)
    about: dict[str, Any] = {
        "vocabulary": tokenizer.vocab, "learned": LEARNED, "tested": TESTED, "right": {},
    }  # fmt: skip
    for kind in ("plain", "blanks"):
        wrong = torch.rand(LEARNED, generator=torch.Generator().manual_seed(1)) < WRONG
        labels = (torch.tensor(learned.labels) ^ wrong).tolist()
        model = train(kind, tokenizer, encode(learned.texts, tokenizer), labels)
        said = predict(model, encode(tested.texts, tokenizer)).argmax(1)
        about["right"][kind] = int((said == torch.tensor(tested.labels)).sum())
        save_file(model.state_dict(), FOLDER / f"review_words_{kind}.safetensors")
        print(kind, about["right"][kind])
    text = json.dumps(about, ensure_ascii=False, indent=1)
    (FOLDER / "review_words.json").write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
