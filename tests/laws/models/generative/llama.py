"""Cases of `deepdive.models.generative`."""

from __future__ import annotations

import torch
from torch import Tensor

from deepdive.models.generative import llama
from deepdive.models.generative.llama import Llama
from laws import Case, case, random_rows
from laws.models.transformer.transformer import ORDER, ROW, step_or_all


@case("modern_decoder", Llama)
def _() -> Case:
    def tiny(**changes: object) -> Llama:
        torch.manual_seed(0)
        return llama.llama(llama.TINY, **changes).double().eval()

    def repeated() -> tuple[Tensor, Tensor]:
        """Keys and values of a group, written out for each of its queries."""
        grouped, alone = tiny(), tiny(n_kv_heads=4)
        state = grouped.state_dict()
        for name in [name for name in state if ".kv." in name]:
            rows = state[name].unflatten(0, (2, 2, 8))  # keys and values, heads, d_head
            state[name] = rows.repeat_interleave(2, dim=1).flatten(0, 2)
        alone.load_state_dict(state)
        return grouped(ROW), alone(ROW)

    def shifted() -> tuple[Tensor, Tensor]:
        """Only distances count: the same rows, all places moved on by 1,000."""
        decoder, rows = tiny().decoder, random_rows(2, 5, 32)
        return decoder.stack(rows), decoder.stack(rows, positions=torch.arange(1000, 1005))

    def by_hand() -> tuple[Tensor, Tensor]:
        """One layer, one token: it attends to itself alone, so its own value passes."""
        model, token = tiny(n_layers=1, n_kv_heads=1), ROW[:, :1]
        block = model.decoder.stack.blocks[0]
        x = model.decoder.embedding.weight[token]

        def norm(x: Tensor, weight: Tensor) -> Tensor:
            return weight * x / (x.square().mean(-1, keepdim=True) + 1e-6).sqrt()

        value = norm(x, block.attn_residual.norm.weight) @ block.attn.kv.weight[8:].T
        x = x + value.repeat(1, 1, 4) @ block.attn.out.weight.T
        rows = norm(x, block.ff_residual.norm.weight)
        gate = rows @ block.ff.gate.weight.T
        gated = gate / (1 + (-gate).exp()) * (rows @ block.ff.inner.weight.T)
        x = x + gated @ block.ff.out.weight.T
        return model(token), norm(x, model.decoder.stack.norm.weight) @ model.head.weight.T

    return Case(
        make=lambda: llama.llama(llama.TINY),
        run=step_or_all,
        begin=lambda model: model.begin(),
        vocab=32,
        parity="transformers LlamaForCausalLM",
        limits={
            "one key head for each query's, repeated: the same": repeated,
            "all places moved on: the same": shifted,
            "one layer and one token, by hand": by_hand,
        },
        refusals={
            "heads that do not divide the width": lambda: llama.llama(llama.TINY, n_heads=5),
            "key heads that do not divide the heads": lambda: llama.llama(llama.TINY, n_kv_heads=3),
            "a head of odd width": lambda: llama.llama(llama.TINY, d_head=5),
            "a float mask": lambda: llama.llama(llama.TINY)(ROW, torch.ones(1, 3)),
            "a config of another kind": lambda: llama.llama(32),  # type: ignore[arg-type]
        },
        laws=ORDER,
    )
