"""Train the toys that take a shortcut, and write their weights beside deepdive_book.ch07.toys.

    python tools/train_shortcut_words.py      # half a minute on one core

The network of `review_words` learns the class of 4,000 generated reviews a kind, in which something
that decides nothing goes with the class in 95 % (`deepdive_book.data.shortcuts`). 500 others, in
which it always does, are the test. The same machine, torch and thread count give the same files.
"""

from __future__ import annotations

import json
from typing import Any

from safetensors.torch import save_file

from deepdive_book.ch07.toys import FOLDER
from deepdive_book.ch07.toys.shortcut_words import LESSONS, SHARE, accuracy, train, words
from deepdive_book.data.shortcuts import KINDS, with_shortcut

TESTED = 500


def main() -> None:
    about: dict[str, Any] = {"vocabulary": words().vocab, "learned": LESSONS}
    about |= {"tested": TESTED, "right": {}}
    for kind in KINDS:
        made = with_shortcut(kind, LESSONS, share=SHARE, seed=1)
        toy = train(made.texts, made.labels)
        for share in (1.0, 0.5, 0.0):
            new = with_shortcut(kind, TESTED, share=share, seed=99)
            print(kind, share, accuracy(toy, new.texts, new.labels))
            about["right"].setdefault(kind, accuracy(toy, new.texts, new.labels))
        save_file(toy.model.state_dict(), FOLDER / f"shortcut_words_{kind}.safetensors")
    text = json.dumps(about, ensure_ascii=False, indent=1)
    (FOLDER / "shortcut_words.json").write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
