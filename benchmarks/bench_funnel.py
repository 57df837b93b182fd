"""Funnel-Transformer's training step, with a decoder and without, against transformers'.

Forward, backward, and AdamW at equal sizes, dropout off on both sides, in processor seconds.
"""

from __future__ import annotations

import json
import os
import time

import torch
from common import RESULTS, ROUNDS, States, in_pairs, stepper
from torch import nn

from deepdive.models.efficient.funnel import SMALL, funnel

SIZES = SMALL.but(
    vocab_size=1000, d_model=256, n_heads=4, d_head=64, d_ff=1024, block_sizes=(2, 2, 2),
    n_decoder_layers=2, dropout=0.0, attention_dropout=0.0,
)  # fmt: skip


def theirs(decoder: bool) -> nn.Module:
    from transformers import FunnelBaseModel, FunnelConfig, FunnelModel

    config = FunnelConfig(
        vocab_size=SIZES.vocab_size, d_model=SIZES.d_model, n_head=SIZES.n_heads,
        d_head=SIZES.d_head, d_inner=SIZES.d_ff, block_sizes=list(SIZES.block_sizes),
        num_decoder_layers=2, hidden_dropout=0.0, attention_dropout=0.0,
    )  # fmt: skip
    return States(FunnelModel(config) if decoder else FunnelBaseModel(config))


def main() -> None:
    torch.manual_seed(0)
    tokens, kept = torch.randint(1000, (8, 128)), {}
    for name, layers in (("with a decoder", 2), ("without", None)):
        models = funnel(SIZES, n_decoder_layers=layers), theirs(layers is not None)
        counts = [sum(p.numel() for p in model.parameters()) for model in models]
        assert counts[0] == counts[1], f"{name}: {counts}"
        works = [stepper(model, tokens) for model in models]
        taken = kept[name] = in_pairs(*works, ROUNDS, time.process_time)
        print(f"training step {name}, 8 texts of 128: ours {taken['ours_s'] * 1e3:.0f} ms, "
              f"transformers {taken['peer_s'] * 1e3:.0f}; ratio {taken['ratio']:.2f} "
              f"({taken['ratio_least']:.2f} to {taken['ratio_greatest']:.2f}; aim 1)",
              flush=True)  # fmt: skip
    found = {"cores": os.cpu_count(), "threads": torch.get_num_threads(),
             "torch": torch.__version__, "rows": kept}  # fmt: skip
    (RESULTS / "funnel.json").write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
