"""Ask SmolLM2 what page 6a.7 shows alive, and write its answers beside the pictures.

    python tools/keep_smollm2.py          # three minutes on one core

The attention of two prompts, as bytes (deepdive_book.kit.explorer.cached_attention), and the
answers to each prompt that a reader can build (deepdive_book.ch06a.figures.few_shot_prompt).
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


def keep_attention(who: PromptedLM) -> None:
    found = {}
    for name, text in PROMPTS.items():
        tokens = who.tokenizer.encode(text)
        shown = [who.tokenizer.decode([token]) for token in tokens]
        found[name] = shown, induction.weights(who.model, tokens)
        print(f"{name}: {len(tokens)} tokens")
    cached_attention.cache(cached_attention.SMOLLM2, found)


def main() -> None:
    who = in_context.speaker()
    keep_attention(who)
    built = {
        "demonstrations": in_context.BUILT, "asked": in_context.ASKED,
        "words": in_context.REVIEW.words, "ask": in_context.REVIEW.ask,
        "shares": in_context.built(who),
    }  # fmt: skip
    few_shot_prompt.KEPT.write_text(
        json.dumps(built, separators=(",", ":")) + "\n", encoding="utf-8"
    )


if __name__ == "__main__":
    main()
