"""Attention of a causal model that was looked at beforehand, kept as bytes, in the explorer.

    cache(path, {"a prompt": (tokens, maps)})   # once, where the model is
    kept_explorer(path, "a prompt", start=("decoder", 20, 6))

A cell has the explorer's own byte (254 times the root of the weight), and what a query may not see
is not kept, so T tokens take T (T + 1) / 2 bytes a head.
"""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

import torch
from safetensors import safe_open
from safetensors.torch import save_file
from torch import Tensor

from deepdive_book.kit.explorer.maps import Maps
from deepdive_book.kit.explorer.pack import to_bytes
from deepdive_book.kit.explorer.page import Explorer, Marked, page

SMOLLM2 = Path(__file__).with_name("smollm2.safetensors")  # tools/keep_smollm2.py writes it


def cache(path: Path, prompts: Mapping[str, tuple[Sequence[str], Tensor]]) -> None:
    """Write the weights (L, H, T, T) of each prompt, with its T tokens, into one file."""
    tensors = {}
    for name, (tokens, weights) in prompts.items():
        T = len(tokens)
        if weights.shape[2:] != (T, T):
            raise ValueError(f"{name!r}: {T} tokens, but weights of shape {tuple(weights.shape)}")
        later = torch.ones(T, T, dtype=torch.bool).triu(1)
        if weights[..., later].any():
            raise ValueError(f"{name!r}: a query looks ahead; only causal attention is kept")
        tensors[name] = to_bytes(weights, later)[..., ~later].contiguous()
    said = {name: json.dumps(list(tokens)) for name, (tokens, _) in prompts.items()}
    save_file(tensors, path, metadata=said)
    path.chmod(0o644)


def load_cached(name: str, path: Path = SMOLLM2) -> tuple[list[str], Maps]:
    """Return tokens and maps of a prompt. Raises KeyError, with the names that there are."""
    with safe_open(path, framework="pt") as file:
        known = file.metadata()
        if name not in known:
            raise KeyError(f"{name!r} was not kept; there is {', '.join(sorted(known))}")
        tokens, levels = json.loads(known[name]), file.get_tensor(name)
    T = len(tokens)
    later = torch.ones(T, T, dtype=torch.bool).triu(1)
    weights = torch.zeros(*levels.shape[:2], T, T)
    weights[..., ~later] = (levels.float() / 254).square()
    return tokens, Maps("decoder", weights, later.expand(weights.shape).clone())


def kept_explorer(
    name: str,
    path: Path = SMOLLM2,
    *,
    start: tuple[int, int] = (1, 0),
    links: bool = False,
    marked: Marked | None = None,
) -> Explorer:
    """Return the explorer of a kept prompt; `start` is a layer, from 1, and a head, from 0.

    `links` and `marked` as in `attention_explorer`.
    """
    tokens, maps = load_cached(name, path)
    layer, head = start
    return page([maps], [(tokens, tokens)], (0, layer - 1, head), links=links, marked=marked)
