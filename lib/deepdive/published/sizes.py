"""What a config.json asks for is held against its weights before anything of that size is made."""

from collections.abc import Iterator, Mapping
from typing import Any

import torch
from torch import Tensor, nn

from deepdive.published.form import Family
from deepdive.published.weights import Sources, translate

REPEATED = ("n_layers", "n_decoder_layers", "layers", "n_blocks", "depths")  # that repeat a layer
SHARED = 100  # layers that may share one set of weights, as ALBERT's do


def plan(kind: Family, config: Any, tensors: Mapping[str, Tensor]) -> nn.Module:
    """Return the model of a record as shapes without memory, where these tensors can fill it.

    Raises ValueError for more layers than the tensors can be of, and for a model that is larger
    than they are: with every tensor that is missing or has another shape.
    """
    most = max(len(tensors), SHARED)
    for field, key in kind.keys(REPEATED):
        value = getattr(config, field)
        parts = [value] if isinstance(value, int) else value  # for each stage, or each layer
        count = sum(one if isinstance(one, int) else 1 for one in parts)
        if count > most:
            raise ValueError(
                f"config has {key} for {count:,} layers; the file's {len(tensors):,} tensors are "
                f"those of {most:,} at most: give the config.json of these weights"
            )
    try:
        with torch.device("meta"):
            model = kind.build(config)
    except RuntimeError as error:  # more bytes than an address can count
        raise ValueError(f"config asks for sizes that no model can have: {error}") from error
    wanted = sum(x.numel() for x in model.parameters())
    there = sum(x.numel() for x in tensors.values())
    if wanted > there:
        lines = _differences(
            model,
            translate(kind.wanted(tensors, None, config), [*kind.older, kind.table(None, config)]),
        )
        raise ValueError(
            f"config asks for {wanted:,} numbers, and its weights have {there:,}:\n  "
            + "\n  ".join(lines)
        )
    return model


def _differences(model: nn.Module, sources: Sources) -> Iterator[str]:
    """Say which tensors of a model are missing or of another shape, tied ones once."""
    tied: dict[int, list[str]] = {}
    state = model.state_dict(keep_vars=True)
    for name, tensor in state.items():
        tied.setdefault(id(tensor), []).append(name)
    for names in tied.values():
        shape = state[names[0]].shape
        found = [sources[name].tensor.shape for name in names if name in sources]
        if shape not in found:
            here = tuple(found[0]) if found else "none"
            yield f"{names[0]}: {tuple(shape)}, in the file {here}"
