"""What transformers says of SmolLM2's GGUF file, kept in smollm2_reference.json.

    pip install accelerate                               # transformers asks for it, and for gguf
    python tests/kit/smollm2_reference.py          # 1.2 GB of memory, some minutes

Of each place of one question: the five largest logits and their tokens, and the logarithm of the
sum of the exponentials of all 49,152; `single` in float32, as transformers computes by itself,
`double` in float64, its norms and its rotary angles too, which it computes in float32 otherwise.
Beside them what it writes greedily, and how its tokeniser cuts some texts and lays out the
question.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from transformers import AutoModelForCausalLM, AutoTokenizer

sys.path[:0] = [str(Path(__file__).parents[1])]
from parity_text import in_double  # noqa: E402

from deepdive_book.kit.smollm2 import smollm2  # noqa: E402

KEPT = Path(__file__).with_suffix(".json")
QUESTION = "What is the capital of France?"
TEXTS = (
    "Hello world 123 don't 4x4  two   spaces\n\nnew",
    "naïve café 😀 東京 3.14%",
    "  lead and trail  ",
    "tab\there 2024-01-01\r\n",
    "",
)


def numbers(logits: Tensor) -> dict[str, Any]:
    """The five largest logits of each place, their tokens, and the log of the sum of all."""
    best = logits.double().topk(5)
    return {
        "values": [[float(f"{x:.12g}") for x in row] for row in best.values.tolist()],
        "tokens": best.indices.tolist(),
        "total": [float(f"{x:.12g}") for x in logits.double().logsumexp(-1).tolist()],
    }


def main() -> None:
    file = smollm2()
    where = {"pretrained_model_name_or_path": file.parent, "gguf_file": file.name}
    tokenizer = AutoTokenizer.from_pretrained(**where)
    asked = [{"role": "user", "content": QUESTION}]
    text = tokenizer.apply_chat_template(asked, tokenize=False, add_generation_prompt=True)
    ids = tokenizer(text, add_special_tokens=False)["input_ids"]
    model = AutoModelForCausalLM.from_pretrained(**where, dtype=torch.float32).eval()
    tokens = torch.tensor([ids])
    with torch.no_grad():
        single = model(tokens).logits[0]
        written = model.generate(tokens, max_new_tokens=24, do_sample=False)[0, len(ids) :]
        model.double()
        with in_double(100_000.0):
            double = model(tokens).logits[0]
    told = {
        "prompt": ids,
        "written": written.tolist(),
        "single": numbers(single),
        "double": numbers(double),
        "texts": {t: tokenizer(t, add_special_tokens=False)["input_ids"] for t in TEXTS},
    }
    KEPT.write_text(json.dumps(told) + "\n", "utf-8")


if __name__ == "__main__":
    main()
