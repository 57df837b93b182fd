"""Writing tokens with a cache, against transformers' `generate`, at the same sizes.

Greedy: a GPT of 4 layers, d_model 256, 4 heads, d_ff 1024 and 1,000 tokens writes 256 new tokens.
Both read all weights, 14 MB, for each token; where the processor's cache is shared with others that
reading hides the rest, so d_model 128 (4 MB) is measured too.
Beam search: an encoder-decoder of 3 + 3 layers, d_model 256, translates 16 rows into 40 tokens.
Ours is measured with `deepdive.optimize`. No row ends early, so that both do the same work. One
round runs both once, in turn, so that a drift of the machine meets both; medians and their ratio
are printed and kept.
"""

from __future__ import annotations

import json
import os
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

from deepdive import optimize

ROUNDS, WARM_UP = 9, 2
VOCAB, D_MODEL, N_HEADS, D_FF = 1000, 256, 4, 1024
RESULTS = Path(__file__).resolve().parent / "results" / "decoding.json"
Work = Callable[[], Any]


def language_models(B: int, new: int, d_model: int = D_MODEL) -> tuple[Work, Work]:
    """Greedy decoding of a GPT-shaped model, ours and theirs."""
    from transformers import GPT2Config, GPT2LMHeadModel

    from deepdive.decoding import greedy
    from deepdive.models.transformer.decoder_only import decoder_only

    sizes = {"d_model": d_model, "n_layers": 4, "d_ff": 4 * d_model}
    ours = optimize(decoder_only(VOCAB, n_heads=N_HEADS, max_length=512, **sizes))
    config = GPT2Config(
        vocab_size=VOCAB, n_embd=d_model, n_layer=4, n_head=N_HEADS, n_inner=4 * d_model,
        n_positions=512, bos_token_id=1, eos_token_id=None, pad_token_id=0,
    )  # fmt: skip
    theirs = GPT2LMHeadModel(config).eval()
    prompt = torch.ones(B, 1, dtype=torch.int64)
    settings = {"max_new_tokens": new, "do_sample": False, "attention_mask": prompt}
    return (
        lambda: greedy(ours, prompt=prompt, eos=None, max_length=new),
        lambda: theirs.generate(prompt, **settings),
    )


def translators(B: int, new: int, width: int) -> tuple[Work, Work]:
    """Beam search of an encoder-decoder, ours and theirs."""
    from transformers import MarianConfig, MarianMTModel

    from deepdive.decoding import beam
    from deepdive.models.transformer.transformer import transformer

    ours = optimize(transformer(VOCAB, d_model=D_MODEL, n_heads=N_HEADS, n_layers=3, d_ff=D_FF))
    side = {"layers": 3, "attention_heads": N_HEADS, "ffn_dim": D_FF}
    sides = {
        f"{name}_{key}": value for name in ("encoder", "decoder") for key, value in side.items()
    }
    config = MarianConfig(
        vocab_size=VOCAB, d_model=D_MODEL, pad_token_id=0, decoder_start_token_id=1, eos_token_id=2,
        forced_eos_token_id=None, activation_function="relu", max_position_embeddings=64, **sides,
    )  # fmt: skip
    theirs = MarianMTModel(config).eval()
    theirs.generation_config.eos_token_id = None
    src = torch.randint(4, VOCAB, (B, 20))
    mask = torch.ones_like(src)
    settings = {"max_new_tokens": new, "num_beams": width, "do_sample": False}
    return (
        lambda: beam(ours, src, mask.bool(), width=width, eos=None, max_length=new),
        lambda: theirs.generate(src, attention_mask=mask, **settings),
    )


def timed(works: tuple[Work, Work]) -> list[float]:
    """The median seconds of each, measured in turn."""
    taken: tuple[list[float], list[float]] = ([], [])
    for round_ in range(WARM_UP + ROUNDS):
        for work, values in zip(works, taken, strict=True):
            start = time.perf_counter()
            work()
            if round_ >= WARM_UP:
                values.append(time.perf_counter() - start)
    return [statistics.median(values) for values in taken]


def main() -> None:
    os.environ.setdefault("HF_HUB_OFFLINE", "1")
    torch.manual_seed(0)
    cases = {
        "greedy, batch 1, 256 tokens": (language_models(1, 256), "GPT2LMHeadModel.generate"),
        "greedy, batch 1, d_model 128": (language_models(1, 256, 128), "GPT2LMHeadModel.generate"),
        "greedy, batch 16, 256 tokens": (language_models(16, 256), "GPT2LMHeadModel.generate"),
        "beam of 4, batch 16, 40 tokens": (translators(16, 40, 4), "MarianMTModel.generate"),
    }
    rows = []
    for setting, (works, peer) in cases.items():
        mine, other = timed(works)
        rows.append(
            {
                "name": "decoding",
                "setting": setting,
                "ours_s": mine,
                "peer": peer,
                "peer_s": other,
                "ratio": other / mine,
            }
        )
        print(
            f"{setting:32} ours {mine * 1e3:7.0f} ms, {peer} {other * 1e3:7.0f} ms: "
            f"{other / mine:.2f} times as fast (the first: at least 1.8, aim 2.5)",
            flush=True,
        )
    RESULTS.parent.mkdir(exist_ok=True)
    kept = {
        "cores": os.cpu_count(),
        "threads": torch.get_num_threads(),
        "torch": torch.__version__,
        "rows": rows,
    }
    RESULTS.write_text(json.dumps(kept, indent=1) + "\n")


if __name__ == "__main__":
    main()
