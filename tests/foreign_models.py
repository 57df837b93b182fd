"""Tiny random models of transformers, for what reads any model."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor


def ids(count: int, vocab: int = 32) -> Tensor:
    return torch.randint(4, vocab, (1, count))


def hugging(name: str, eager: bool = True) -> Any:
    """A tiny random model, from a configuration alone."""
    import transformers as hub

    one = {"vocab_size": 40, "num_hidden_layers": 2, "num_attention_heads": 2}
    two = {"vocab_size": 40, "pad_token_id": 0, "decoder_start_token_id": 0, "d_model": 16}
    sides = {f"{s}_{k}": v for s in ("encoder", "decoder")
             for k, v in {"layers": 2, "attention_heads": 2, "ffn_dim": 16}.items()}  # fmt: skip
    gpt = {"vocab_size": 40, "n_embd": 16, "n_layer": 2, "n_head": 2, "n_positions": 32}
    made = {
        "bert": lambda: hub.BertModel(hub.BertConfig(**one, hidden_size=16, intermediate_size=16)),
        "gpt2": lambda: hub.GPT2LMHeadModel(hub.GPT2Config(**gpt, bos_token_id=1, eos_token_id=2)),
        "t5": lambda: hub.T5ForConditionalGeneration(
            hub.T5Config(**two, num_layers=2, num_heads=2, d_kv=8, d_ff=16)
        ),
        "bart": lambda: hub.BartModel(hub.BartConfig(**two, **sides)),
    }
    torch.manual_seed(0)
    model = made[name]()
    model.set_attn_implementation("eager" if eager else "sdpa")
    return model
