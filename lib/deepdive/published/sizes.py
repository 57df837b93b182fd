"""Check a config.json's sizes against its weights before memory of that size is allocated."""

from collections.abc import Iterator, Mapping
from typing import Any

import torch
from torch import Tensor, nn

from deepdive.published.form import Family
from deepdive.published.weights import Sources, translate

# numbers of layers
REPEATED = ("n_layers", "n_decoder_layers", "layers", "n_blocks", "depths", "block_sizes")
SHARED = 100  # layers that may share one set of weights, as in ALBERT


def plan(kind: Family, config: Any, tensors: Mapping[str, Tensor]) -> nn.Module:
    """Return a config's model on the meta device (shapes without memory), if the tensors fit it.

    Raises ValueError for more layers than the tensors allow, and for a model with more parameters
    than they have, listing every tensor that is missing or has another shape.
    """
    most = max(len(tensors), SHARED)
    for field, key in kind.keys(REPEATED):
        value = getattr(config, field)
        parts = [value] if isinstance(value, int) else value or ()  # one per stage, or per layer
        count = sum(one if isinstance(one, int) else 1 for one in parts)
        if count > most:
            raise ValueError(
                f"config has {count:,} layers in {key}; the file's {len(tensors):,} tensors allow "
                f"at most {most:,}: give the config.json of these weights"
            )
    try:
        with torch.device("meta"):
            model = kind.build(config)
    except RuntimeError as error:  # more bytes than an address can count
        raise ValueError(f"config has sizes that are too large for any model: {error}") from error
    needed = sum(x.numel() for x in model.parameters())
    available = sum(x.numel() for x in tensors.values())
    if needed > available:
        lines = _differences(
            model,
            translate(kind.wanted(tensors, None, config), [*kind.older, kind.table(None, config)]),
        )
        raise ValueError(
            f"config needs {needed:,} parameters, but its weights have {available:,}:\n  "
            + "\n  ".join(lines)
        )
    return model


def _differences(model: nn.Module, sources: Sources) -> Iterator[str]:
    """List the tensors of a model that are missing or have another shape, tied ones once."""
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
