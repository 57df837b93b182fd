"""Adopt published weights: from safetensors, under other names, in another layout, strictly.

    tensors = read(from_hub("Helsinki-NLP/opus-mt-en-fr"))      # or read("a/folder")
    adopt(model, tensors, RULES, leave_out=["model.encoder.embed_positions.weight"])

Rules act in their order, each on all tensors:

    (r"^model\\.", "")                                  renames: `re.sub` on every name
    Join((r"\\.k_proj\\.", r"\\.v_proj\\."), ".kv.")       stacks tensors into one, row under row
    Split(r"\\bin_proj_(weight|bias)$", (r"q.\\1", ...))  cuts one into equal parts, by rows
    Change(r"\\.c_fc\\.weight$", torch.t)                gives a tensor another layout

What they leave must be what the model has: nothing unknown, nothing missing, every shape equal.
Nothing is folded into, or centred on, anything.
"""

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from torch import Tensor, nn

from deepdive.core.checks import own_path
from deepdive.training.checkpoint import unshared

FLOATS = (torch.float16, torch.bfloat16, torch.float32, torch.float64)
WRAPPERS = ("_orig_mod.", "module.")  # what torch.compile and DistributedDataParallel add to names
PICKLES = ("*.bin", "*.pt", "*.pth", "*.ckpt", "*.pkl")


@dataclass(frozen=True)
class Source:
    """A tensor on its way, and the names that it had in the source."""

    tensor: Tensor
    names: str


Sources = dict[str, Source]
LARGEST = 1 << 24  # bytes of a JSON file; the longest of those published has a tenth of them


@dataclass(frozen=True)
class Join:
    """Stack the tensors that `patterns` match, in their order, under the name `new`.

    Names belong together when they become the same name with `new` in the pattern's place.
    """

    patterns: Sequence[str]
    new: str

    def __call__(self, sources: Sources) -> Sources:
        groups: dict[str, dict[int, Source]] = {}
        rest = dict(sources)
        for i, pattern in enumerate(self.patterns):
            for name in [name for name in rest if re.search(pattern, name)]:
                groups.setdefault(re.sub(pattern, self.new, name), {})[i] = rest.pop(name)
        for name, parts in groups.items():
            found = [parts[i] for i in sorted(parts)]
            names = ", ".join(part.names for part in found)
            if len(found) < len(self.patterns):
                raise ValueError(
                    f"{name} is joined from {len(self.patterns)} tensors, but there is only {names}"
                )
            _add(rest, name, Source(torch.cat([part.tensor for part in found]), names))
        return rest


@dataclass(frozen=True)
class Split:
    """Cut each tensor that `pattern` matches into equal parts, one for each of the `new` names."""

    pattern: str
    new: Sequence[str]

    def __call__(self, sources: Sources) -> Sources:
        rest = dict(sources)
        for name in [name for name in rest if re.search(self.pattern, name)]:
            source, n = rest.pop(name), len(self.new)
            if len(source.tensor) % n:
                raise ValueError(
                    f"{source.names} has {len(source.tensor)} rows, which {n} parts do not divide"
                )
            for i, (new, part) in enumerate(zip(self.new, source.tensor.chunk(n), strict=True)):
                where = f"{source.names} (part {i + 1} of {n})"
                _add(rest, re.sub(self.pattern, new, name), Source(part, where))
        return rest


@dataclass(frozen=True)
class Change:
    """Replace each tensor that `pattern` matches by `layout(tensor)`, under the same name."""

    pattern: str
    layout: Callable[[Tensor], Tensor]

    def __call__(self, sources: Sources) -> Sources:
        return {
            name: Source(self.layout(source.tensor), source.names)
            if re.search(self.pattern, name)
            else source
            for name, source in sources.items()
        }


Rule = tuple[str, str] | Callable[[Sources], Sources]


def adopt(
    module: nn.Module,
    tensors: Mapping[str, Tensor],
    rules: Iterable[Rule] = (),
    *,
    leave_out: Iterable[str] = (),
) -> None:
    """Copy `tensors` into the parameters and buffers of `module`, in its dtypes, after the rules.

    `leave_out` lists, one by one, the source's names that are not wanted; they may be absent. A
    tensor that the module ties may come under any of its names, and under several if they agree.
    Raises ValueError, with every name that is unknown or missing, every shape that differs, every
    tensor of another kind of number and every one that is not finite; then nothing was changed.
    """
    sources = translate(tensors, rules, leave_out)
    state = module.state_dict()
    aliases = unshared(state)[1]
    found: Sources = {}
    problems = []
    for name, source in sources.items():
        if name not in state:
            problems.append(f"unknown to the model: {name}, from {source.names}")
            continue
        if source.tensor.shape != state[name].shape:
            shape, wanted = tuple(source.tensor.shape), tuple(state[name].shape)
            problems.append(f"shape of {name}: expected {wanted}, got {shape} from {source.names}")
            continue
        first = found.setdefault(aliases.get(name, name), source)
        if wrong := _unfit(name, source, state[name].dtype):
            problems.append(wrong)
        elif not torch.equal(first.tensor, source.tensor):
            problems.append(f"the model ties what differs here: {first.names}, {source.names}")
    there = {aliases.get(name, name) for name in sources}
    missing = [name for name in state if aliases.get(name, name) not in there]
    problems += [f"missing in the source: {name}" for name in missing]
    if problems:
        raise ValueError(
            f"the tensors do not fit {type(module).__name__}:\n  " + "\n  ".join(problems)
        )
    with torch.no_grad():
        for name, source in found.items():
            state[name].copy_(source.tensor)


def _unfit(name: str, source: Source, dtype: torch.dtype) -> str:
    """Say why the numbers of a source cannot be those of a tensor of the model, "" where they can.

    A float is copied into a float of another width; nothing else is the same number in another
    kind: int8 and 8-bit floats are quantised, and say nothing without their scales.
    """
    came = source.tensor.dtype
    if came != dtype and not (came in FLOATS and dtype in FLOATS):
        wanted = "a float of 16 bits or more" if dtype in FLOATS else str(dtype)
        return (
            f"kind of {name}: expected {wanted}, got {came} from {source.names}; convert the "
            "weights where they were made (those that are quantised: dequantise them)"
        )
    finite = source.tensor.to(dtype).isfinite()
    if not finite.all():
        return (
            f"numbers of {name}: {int((~finite).sum()):,} of {finite.numel():,} from "
            f"{source.names} are not finite as {dtype}; the training that made them diverged, or "
            "the file is damaged: get another"
        )
    return ""


def translate(
    tensors: Mapping[str, Tensor], rules: Iterable[Rule] = (), leave_out: Iterable[str] = ()
) -> Sources:
    """Return the tensors under their new names and in their new layout, copying into no module."""
    left_out = set(leave_out)
    sources = {n: Source(t, n) for n, t in tensors.items() if n not in left_out}
    for rule in rules:
        sources = _renamed(sources, *rule) if isinstance(rule, tuple) else rule(sources)
    return sources


def read(path: str | Path) -> dict[str, Tensor]:
    """Return the tensors of a safetensors file, or of a folder with one, whole or in shards.

    A prefix that torch.compile or DistributedDataParallel put before every name is taken off.

    Raises FileNotFoundError where there is none, ValueError for a pickle, which is never opened,
    and for a file that is damaged.
    """
    path = own_path(path)
    index = path / "model.safetensors.index.json"
    if path.is_file():
        files = [path]
    elif (path / "model.safetensors").is_file():
        files = [path / "model.safetensors"]
    elif index.is_file():
        files = _shards(index)
    else:
        pickles = [p.name for kind in PICKLES for p in path.glob(kind)]
        if pickles:
            raise ValueError(_refusal(path, pickles[0]))
        raise FileNotFoundError(f"path: no safetensors file at {path}, nor model.safetensors in it")
    tensors: dict[str, Tensor] = {}
    for file in files:
        if not file.is_file():
            raise FileNotFoundError(f"path: {file} is missing, which {index} names: fetch it again")
        if any(file.match(kind) for kind in PICKLES):
            raise ValueError(_refusal(file.parent, file.name))
        try:
            with safe_open(file, framework="pt") as opened:
                tensors.update({name: opened.get_tensor(name) for name in opened.keys()})  # noqa: SIM118
        except SafetensorError as error:
            raise ValueError(
                f"path: {file} is not a whole safetensors file ({error}): fetch it again"
            ) from error
    for prefix in WRAPPERS:
        if tensors and all(name.startswith(prefix) for name in tensors):
            tensors = {name.removeprefix(prefix): value for name, value in tensors.items()}
    return tensors


def read_config(folder: str | Path, name: str = "config.json") -> dict[str, Any]:
    """Return the JSON file `name` of a checkpoint's folder. Raises FileNotFoundError for none,
    ValueError for one that is cut, too large, or holds no settings.
    """
    path = own_path(folder) / name
    if not path.is_file():
        raise FileNotFoundError(f"folder: {folder} has no {name}: {_instead(path.parent)}")
    config = read_json(path)
    if not isinstance(config, dict):
        raise ValueError(f"{path} holds a {type(config).__name__}, expected settings by name")
    return config


def _instead(folder: Path) -> str:
    """Say what a folder without a config is, and what to open in its place."""
    if (folder / "adapter_config.json").is_file():
        base = read_json(folder / "adapter_config.json").get("base_model_name_or_path", "its base")
        return (
            f"it holds a LoRA adapter; merge it into {base} with peft's merge_and_unload(), save "
            "that, and open the new folder"
        )
    steps = sorted(
        (each for each in folder.glob("checkpoint-*") if (each / "config.json").is_file()),
        key=lambda each: int(re.sub(r"\D", "", each.name) or 0),
    )
    if steps:
        return f"it is a training run; open one of its checkpoints, such as {steps[-1]}"
    return "is it a checkpoint's folder?"


def read_json(path: Path) -> Any:
    """Return what a JSON file of a checkpoint says. Raises ValueError, naming the file, where it is
    cut, too large for what it is, or no JSON.
    """
    size = path.stat().st_size
    if size > LARGEST:
        raise ValueError(f"{path} has {size:,} bytes, expected {LARGEST:,} at most: fetch it again")
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{path} is cut or no JSON ({error}): fetch it again") from error


def _shards(index: Path) -> list[Path]:
    """Return the files that an index names, in its own folder whatever it says."""
    shards = read_config(index.parent, index.name).get("weight_map")
    if not isinstance(shards, dict) or not all(isinstance(name, str) for name in shards.values()):
        raise ValueError(f"{index} has no weight_map, from tensors to files: fetch it again")
    return [index.parent / Path(name).name for name in sorted(set(shards.values()))]


def from_hub(name: str, revision: str | None = None) -> Path:
    """Fetch the JSON and safetensors files of a model, and its vocab.txt, from its hub; return the
    local folder.

    What is in the local cache is used, so a second call needs no network. HF_ENDPOINT names another
    hub. Raises ImportError without huggingface_hub (`pip install huggingface_hub`).
    """
    try:
        from huggingface_hub import snapshot_download
    except ImportError as error:
        raise ImportError(
            "from_hub needs huggingface_hub: pip install huggingface_hub, or fetch the model's "
            "folder yourself and read that"
        ) from error
    wanted = ["*.json", "*.safetensors", "vocab.txt"]
    return Path(snapshot_download(name, revision=revision, allow_patterns=wanted))


def _renamed(sources: Sources, pattern: str, new: str) -> Sources:
    kept: Sources = {}
    for name, source in sources.items():
        _add(kept, re.sub(pattern, new, name), source)
    return kept


def _add(sources: Sources, name: str, source: Source) -> None:
    other = sources.setdefault(name, source)
    if other is not source:
        raise ValueError(
            f"two tensors become {name}: {other.names} and {source.names}; leave one of them out"
        )


def _refusal(folder: Path, name: str) -> str:
    return (
        f"path: {folder} has its weights in {name} only, a pickle, which can run any code when it "
        "is opened, so it is not. If you trust its maker, convert it once, where that does no "
        "harm:\n"
        "  from transformers import AutoModel\n"
        f'  AutoModel.from_pretrained("{folder}").save_pretrained("converted")\n'
        "(AutoModelForSeq2SeqLM for a translator, AutoModelForCTC for a recogniser), and read the "
        "folder converted"
    )
