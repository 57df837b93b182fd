"""Load and save checkpoint folders in the published format: config.json and safetensors.

model = load("a/folder")                       # config.json names the model family
model = load("a/folder", head="masked_lm")     # with the masked language modeling head
save(model, "another/folder")                  # transformers loads it; so does `load`
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from torch import nn

from deepdive.published.families import FAMILIES
from deepdive.published.families.decoders import NOT_BUILT
from deepdive.published.form import Family
from deepdive.published.sizes import plan
from deepdive.published.weights import adopt, read, read_config
from deepdive.training.checkpoint import unshared, write_tensors


def family(model_type: Any) -> Family:
    """Return the family of a config.json's model_type. Raises ValueError for an unknown one."""
    if not isinstance(model_type, str) or model_type not in FAMILIES:
        built = model_type if isinstance(model_type, str) else ""
        why = f", which is not supported: {NOT_BUILT[built]}" if built in NOT_BUILT else ""
        raise ValueError(
            f"config has model_type={model_type!r}{why}; supported: {', '.join(FAMILIES)}"
        )
    return FAMILIES[model_type]


def from_config(config: Mapping[str, Any], head: str | None = None, **changes: Any) -> Any:
    """Build the model of a config.json, with random weights; `head`: one of its family's, such as
    "masked_lm"; `changes`: fields of our config to override. Raises ValueError for a setting that
    is not supported.
    """
    kind = family(config.get("model_type"))
    model = kind.build(kind.config(config).but(**changes))
    return model if head is None else kind.head(head).build(model)


def load(folder: str | Path, head: str | None = None, **changes: Any) -> Any:
    """Return the model of a folder with config.json and safetensors, in evaluation mode.

    Without `head`, the weights of heads on an encoder are not loaded. `changes` override fields of
    our config, such as `dropout=0.0`. Raises ValueError, with the names, for unknown or missing
    tensors, and for sizes that differ from the tensors', trained tensors that are computed here,
    and a family or a setting that is not supported.
    """
    theirs = read_config(folder)
    kind = family(theirs.get("model_type"))
    tensors = read(folder)
    config = kind.fit(kind.config(theirs), tensors).but(**changes)
    model = _empty(kind, config, tensors)
    kind.check(model, tensors)
    model = model if head is None else kind.head(head).build(model)
    adopt(model, kind.wanted(tensors, head, config), [*kind.older, kind.table(head, config)])
    return model.eval()


def _empty(kind: Family, config: Any, tensors: Mapping[str, torch.Tensor]) -> nn.Module:
    """Build a model for these tensors, with uninitialized memory unless it has buffers, which files
    do not hold: random weights that are replaced at once take longer to sample than to load.
    """
    model = plan(kind, config, tensors)
    if next(model.buffers(), None) is not None:
        return kind.build(config)
    return model.to_empty(device="cpu")


def save(model: nn.Module, folder: str | Path) -> Path:
    """Write a model as its family publishes it: config.json and model.safetensors, which
    transformers and `load` can load. Returns the folder. Raises ValueError for a model without a
    `config`.
    """
    body = _body(model)
    if not hasattr(body, "config"):
        raise ValueError(
            f"model: this {type(body).__name__} has no config; build it with its family's builder "
            f"or `from_config` ({', '.join(FAMILIES)})"
        )
    kind = family(body.config.family)
    head = None if body is model else _head_of(kind, model)
    settings = kind.published(body.config, head)
    tensors = kind.table(head, body.config).theirs(unshared(model.state_dict())[0])
    target = Path(folder)
    target.mkdir(parents=True, exist_ok=True)
    write_tensors(tensors, target / "model.safetensors")
    (target / "config.json").write_text(json.dumps(settings, indent=2) + "\n", encoding="utf-8")
    return target


def _body(model: nn.Module) -> Any:
    """Return the encoder, with a config, of a model that has no config itself; else the model."""
    for part in ("bert", "encoder"):
        body = getattr(model, part, None)
        if hasattr(body, "config") and not hasattr(model, "config"):
            return body
    return model


def _head_of(kind: Family, model: nn.Module) -> str:
    """Return the name of the head whose parameter names are the model's."""
    learned = {name.split(".")[0] for name, _ in model.named_parameters()}
    for name, head in kind.heads.items():
        parts = {ours.split(".")[0] for ours in head.names.pairs.values()}
        if parts | {head.part} == learned | {head.part}:
            return name
    parts = learned - {"bert", "encoder"}
    raise ValueError(f"model: {kind.model_type} publishes no head of {', '.join(sorted(parts))}")
