"""Folders in the published form, read and written: config.json and safetensors.

model = load("a/folder")                       # config.json says which family it is
model = load("a/folder", head="masked_lm")     # with the head that fills gaps
save(model, "another/folder")                  # transformers reads it; so does `load`
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
    """Return the family of a config.json's model_type. Raises ValueError for one unknown here."""
    if not isinstance(model_type, str) or model_type not in FAMILIES:
        built = model_type if isinstance(model_type, str) else ""
        why = f", which is not built here: {NOT_BUILT[built]}" if built in NOT_BUILT else ""
        raise ValueError(
            f"config is of a model of type {model_type!r}{why}; known here: {', '.join(FAMILIES)}"
        )
    return FAMILIES[model_type]


def from_config(config: Mapping[str, Any], head: str | None = None, **changes: Any) -> Any:
    """Build the model of a config.json, with random weights; `head`: one of its family's, such as
    "masked_lm"; `changes`: fields of our record to have otherwise. Raises ValueError for a setting
    that is not built here.
    """
    kind = family(config.get("model_type"))
    model = kind.build(kind.config(config).but(**changes))
    return model if head is None else kind.head(head).build(model)


def load(folder: str | Path, head: str | None = None, **changes: Any) -> Any:
    """Return the model of a folder that holds config.json and safetensors, in evaluation mode.

    Without `head` what stands on an encoder stays in the file. `changes` are fields of our record
    to have otherwise, such as `dropout=0.0`. Raises ValueError for tensors that are unknown or
    missing, by name, for sizes that the tensors have not, for trained tensors that are computed
    here, and for a family or a setting that is not built here.
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
    """Build a model that the tensors can fill, with memory that nothing was written to where
    nothing is computed that no file holds: to draw weights that are replaced at once takes longer
    than to read them.
    """
    model = plan(kind, config, tensors)
    if next(model.buffers(), None) is not None:
        return kind.build(config)
    return model.to_empty(device="cpu")


def save(model: nn.Module, folder: str | Path) -> Path:
    """Write a model as its family publishes it: config.json and model.safetensors, which
    transformers reads, and `load`. Returns the folder. Raises ValueError for a model that keeps no
    record of how it was built.
    """
    body = _body(model)
    if not hasattr(body, "config"):
        raise ValueError(
            f"model: this {type(body).__name__} keeps no record of how it was built; build it by "
            f"its family's builder or by `from_config` ({', '.join(FAMILIES)})"
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
    """Return the encoder of a model that stands on one and keeps no record itself; else all."""
    for part in ("bert", "encoder"):
        body = getattr(model, part, None)
        if hasattr(body, "config") and not hasattr(model, "config"):
            return body
    return model


def _head_of(kind: Family, model: nn.Module) -> str:
    """Return the head whose names are those of the model."""
    learned = {name.split(".")[0] for name, _ in model.named_parameters()}
    for name, head in kind.heads.items():
        parts = {ours.split(".")[0] for ours in head.names.pairs.values()}
        if parts | {head.part} == learned | {head.part}:
            return name
    parts = learned - {"bert", "encoder"}
    raise ValueError(f"model: {kind.model_type} publishes no head of {', '.join(sorted(parts))}")
