"""Decoders and T5 against transformers: a training step, and writing with a cache.

Training (forward, cross-entropy at each token, backward, fused AdamW for both): GPT-2 of 4 layers
and T5 of 3 + 3, both 256 wide, 1,000 tokens. Writing, greedily, behind one token: a small decoder
of today's form, and SmolLM2's shape in float32 with drawn weights. Sizes and numbers of weights are
the same. Each round runs both, the first one in turn; the ratio ours / theirs is taken in each
round, and its median, least and greatest are printed and kept. Seconds are those of the processor
on one thread, so that others on the machine count less.

`python benchmarks/bench_text.py t5 smollm2` measures the rows whose names hold one of the words.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable
from typing import Any

import torch
from common import RESULTS, Work, in_pairs
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

VOCAB, D_MODEL, N_HEADS, D_FF, B, T = 1000, 256, 4, 1024, 8, 128
ROUNDS = {"step": 15, "writing": 7}
Pair = tuple[Work, Work]


def stepper(model: nn.Module, logits: Callable[[], Tensor], wanted: Tensor) -> Work:
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-5, fused=True)
    model.train()

    def step() -> None:
        optimizer.zero_grad(set_to_none=True)
        cross_entropy(logits().flatten(0, 1), wanted.flatten()).backward()
        optimizer.step()

    return step


def same_size(ours: nn.Module, theirs: nn.Module) -> None:
    counts = [sum(p.numel() for p in model.parameters()) for model in (ours, theirs)]
    assert counts[0] == counts[1], counts


def gpt2_step() -> Pair:
    from transformers import GPT2Config, GPT2LMHeadModel

    from deepdive.models.generative.gpt2 import BASE, gpt2

    none = dict.fromkeys(("resid_pdrop", "embd_pdrop", "attn_pdrop"), 0.0)
    ours = gpt2(BASE, vocab_size=VOCAB, d_model=D_MODEL, n_heads=N_HEADS, n_layers=4, d_ff=D_FF,
                max_length=T, dropout=0.0)  # fmt: skip
    theirs = GPT2LMHeadModel(
        GPT2Config(
            vocab_size=VOCAB, n_embd=D_MODEL, n_head=N_HEADS, n_layer=4, n_positions=T,
            attn_implementation="sdpa", **none,
        )
    )  # fmt: skip
    same_size(ours, theirs)
    read, wanted = torch.randint(VOCAB, (2, B, T))
    return (
        stepper(ours, lambda: ours(read), wanted),
        stepper(theirs, lambda: theirs(read, use_cache=False).logits, wanted),
    )


def t5_step() -> Pair:
    from transformers import T5Config, T5ForConditionalGeneration

    from deepdive.models.generative.t5 import BASE, t5

    ours = t5(BASE, vocab_size=VOCAB, d_model=D_MODEL, n_heads=N_HEADS, d_head=D_MODEL // N_HEADS,
              n_layers=3, n_decoder_layers=3, d_ff=D_FF, dropout=0.0)  # fmt: skip
    theirs = T5ForConditionalGeneration(
        T5Config(
            vocab_size=VOCAB,
            d_model=D_MODEL,
            d_kv=D_MODEL // N_HEADS,
            d_ff=D_FF,
            num_layers=3,
            num_heads=N_HEADS,
            dropout_rate=0.0,
        )
    )  # fmt: skip
    same_size(ours, theirs)
    read, written, wanted = torch.randint(VOCAB, (3, B, T))
    given = {"input_ids": read, "decoder_input_ids": written, "use_cache": False}
    return (
        stepper(ours, lambda: ours(read, written), wanted),
        stepper(theirs, lambda: theirs(**given).logits, wanted),
    )


def writing(new: int, **sizes: Any) -> Pair:
    """Greedy decoding of Llama's form, ours and theirs."""
    from transformers import LlamaConfig, LlamaForCausalLM

    from deepdive.decoding import greedy
    from deepdive.models.generative.llama import SMOLLM2, llama

    config = SMOLLM2.but(**sizes)
    ours = llama(config).eval()
    theirs = LlamaForCausalLM(
        LlamaConfig(
            vocab_size=config.vocab_size,
            hidden_size=config.d_model,
            intermediate_size=config.d_ff,
            num_hidden_layers=config.n_layers,
            num_attention_heads=config.n_heads,
            num_key_value_heads=config.kv_heads,
            max_position_embeddings=config.max_length,
            tie_word_embeddings=True,
            bos_token_id=1,
            eos_token_id=None,
            pad_token_id=0,
            attn_implementation="sdpa",
        )
    ).eval()  # fmt: skip
    same_size(ours, theirs)
    prompt = torch.ones(1, 1, dtype=torch.int64)
    settings = {"max_new_tokens": new, "do_sample": False, "attention_mask": prompt}
    return (
        lambda: greedy(ours, prompt=prompt, eos=None, max_length=new),
        lambda: theirs.generate(prompt, **settings),
    )


TINY = {"vocab_size": VOCAB, "d_model": 128, "n_heads": 4, "n_kv_heads": 2, "n_layers": 4,
        "d_ff": 344}  # fmt: skip
ROWS: dict[str, tuple[str, Callable[[], Pair]]] = {
    "gpt2 step": ("step", gpt2_step),
    "t5 step": ("step", t5_step),
    "writing, tiny, 256 tokens": ("writing", lambda: writing(256, **TINY)),
    "writing, smollm2's shape, 48 tokens": ("writing", lambda: writing(48)),
}


def main() -> None:
    os.environ.setdefault("HF_HUB_OFFLINE", "1")
    torch.set_num_threads(1)
    torch.manual_seed(0)
    file, words = RESULTS / "text.json", sys.argv[1:]
    kept = json.loads(file.read_text()) if file.exists() else {"rows": {}}
    for name, (kind, pair) in ROWS.items():
        if not words or any(word in name for word in words):
            taken = in_pairs(*pair(), ROUNDS[kind], clock=time.process_time)
            kept["rows"][name] = taken
            print(f"{name}: ours {taken['ours_s'] * 1e3:.0f} ms, transformers "
                  f"{taken['peer_s'] * 1e3:.0f}; ratio {taken['ratio']:.2f} "
                  f"({taken['ratio_least']:.2f} to {taken['ratio_greatest']:.2f})",
                  flush=True)  # fmt: skip
    kept |= {"cores": os.cpu_count(), "threads": 1, "torch": torch.__version__}
    file.write_text(json.dumps(kept, indent=1) + "\n")


if __name__ == "__main__":
    main()
