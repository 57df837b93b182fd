"""Train the toy that writes letter by letter, and write its weights to `ch06a.toys`.

    DEEPDIVE_MIRROR=... python tools/train_next_letters.py      # about ten minutes on one core

A GPT-2 of three layers, 48 wide, learns to say the next letter of tinyshakespeare (the first nine
tenths of it). Its weights are kept at three moments of training, each in one byte. The same
machine, torch and thread count give the same files.
"""

from __future__ import annotations

import json

import torch
from safetensors.torch import save_file

from deepdive.evaluate.confidence_intervals import bootstrap
from deepdive.training import fit
from deepdive.training.optim import adam, cosine
from deepdive_book.ch06a.runs.decoder_ablations import evaluate, loss, shakespeare
from deepdive_book.ch06a.toys import FOLDER
from deepdive_book.ch06a.toys.next_letters import LENGTH, build_next_letters
from deepdive_book.kit.live.export import HEAD, quantized, restored
from deepdive_book.tasks.stream import random_windows

STEPS, ROWS, RATE = 8000, 32, 3e-3
MOMENTS = {"after 30 steps": 30, "after 400 steps": 400, "after training": STEPS}


def main() -> None:
    text = shakespeare()
    model = build_next_letters(len(text.letters))
    batches = random_windows(text.train, LENGTH, rows=ROWS, steps=STEPS, seed=0)
    optimizer = adam(model, lr=RATE, betas=(0.9, 0.99), weight_decay=0.1)
    schedule = cosine(RATE, warmup=100, total=STEPS, floor=RATE / 20)
    kept, losses, done = [], {}, 0
    for name, step in MOMENTS.items():
        at = done
        fit(
            model, batches[at:step], loss, steps=step - at, optimizer=optimizer,
            schedule=lambda i, at=at: schedule(at + i),
        )  # fmt: skip
        done = step
        state = {n: t for n, t in model.state_dict().items() if n != HEAD}
        kept.append(quantized(state))
        model_of = build_next_letters(len(text.letters)).eval()
        model_of.load_state_dict(restored(*kept[-1], state))
        rows = torch.tensor(evaluate(model_of, torch.cat([text.chosen, text.test])))
        losses[name] = list(bootstrap(rows.numpy()))
        print(name, losses[name])
        model.train()
    for file, some in (("next_letters_steps", kept[:-1]), ("next_letters", kept[-1:])):
        codes, scales = (torch.stack(list(each)) for each in zip(*some, strict=True))
        save_file({"codes": codes, "scales": scales}, FOLDER / f"{file}.safetensors")
    about = {"letters": text.letters, "losses": losses, "learned": len(text.train)}
    (FOLDER / "next_letters.json").write_text(json.dumps(about, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
