"""Score what page 6a.7 shows interactively with SmolLM2, and write the scores next to the figures.

    python tools/keep_smollm2.py          # three minutes on one core

The attention of two prompts, as bytes (deepdive_book.kit.explorer.cached_attention), and the label
probabilities of each prompt of the figure (deepdive_book.ch06a.figures.few_shot_prompt).
"""

from __future__ import annotations

import json

from deepdive_book.ch06a.figures import few_shot_prompt
from deepdive_book.ch06a.runs import in_context, induction
from deepdive_book.ch06a.runs.in_context import PromptedLM
from deepdive_book.kit.explorer import cached_attention

PROMPTS = {
    "reviews": "Review: great fun\nSentiment: positive\n\nReview: so dull\nSentiment: negative\n\n"
    "Review: great fun\nSentiment:",
    "words": " tree lamp seven blue river cup tree lamp seven blue river cup",
}


def keep_attention(lm: PromptedLM) -> None:
    found = {}
    for name, text in PROMPTS.items():
        tokens = lm.tokenizer.encode(text)
        strings = [lm.tokenizer.decode([token]) for token in tokens]
        found[name] = strings, induction.weights(lm.model, tokens)
        print(f"{name}: {len(tokens)} tokens")
    cached_attention.cache(cached_attention.SMOLLM2, found)


def main() -> None:
    lm = in_context.load_smollm2()
    keep_attention(lm)
    prompts = {
        "demonstrations": in_context.DEMONSTRATIONS, "queries": in_context.QUERIES,
        "words": in_context.REVIEW.words, "template": in_context.REVIEW.query,
        "per_mille": in_context.all_prompts(lm),
    }  # fmt: skip
    few_shot_prompt.SAVED.write_text(
        json.dumps(prompts, separators=(",", ":")) + "\n", encoding="utf-8"
    )


if __name__ == "__main__":
    main()
