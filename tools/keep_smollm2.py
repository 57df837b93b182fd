"""Ask SmolLM2 what page 6a.7 shows alive, and write its answers beside the pictures.

    python tools/keep_smollm2.py          # three minutes on one core

The attention of two prompts, as bytes (deepdive.page.explorer.kept), and the answers to each prompt
that a reader can build (deepdive.page.build_prompt).
"""

from __future__ import annotations

import json

from deepdive.page import build_prompt
from deepdive.page.explorer import kept
from deepdive.page.runs import in_context, induction
from deepdive.page.runs.in_context import Speaker

PROMPTS = {
    "reviews": "Review: great fun\nSentiment: positive\n\nReview: so dull\nSentiment: negative\n\n"
    "Review: great fun\nSentiment:",
    "words": " tree lamp seven blue river cup tree lamp seven blue river cup",
}


def keep_attention(who: Speaker) -> None:
    found = {}
    for name, text in PROMPTS.items():
        tokens = who.tokenizer.encode(text)
        shown = [who.tokenizer.decode([token]) for token in tokens]
        found[name] = shown, induction.weights(who.model, tokens)
        print(f"{name}: {len(tokens)} tokens")
    kept.keep(kept.SMOLLM2, found)


def main() -> None:
    who = in_context.speaker()
    keep_attention(who)
    built = {
        "demonstrations": in_context.BUILT, "asked": in_context.ASKED,
        "words": in_context.REVIEW.words, "ask": in_context.REVIEW.ask,
        "shares": in_context.built(who),
    }  # fmt: skip
    build_prompt.KEPT.write_text(json.dumps(built, separators=(",", ":")) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
