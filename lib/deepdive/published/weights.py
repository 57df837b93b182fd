"""Load published weights from safetensors strictly, with renamed tensors and other layouts.

    tensors = read(from_hub("Helsinki-NLP/opus-mt-en-fr"))      # or read("a/folder")
    adopt(model, tensors, RULES, leave_out=["model.encoder.embed_positions.weight"])

Rules are applied in order, each to all tensors:

    (r"^model\\.", "")                                  renames: `re.sub` on every name
    Join((r"\\.k_proj\\.", r"\\.v_proj\\."), ".kv.")       concatenates tensors by rows
    Split(r"\\bin_proj_(weight|bias)$", (r"q.\\1", ...))  splits one into equal parts by rows
    Change(r"\\.c_fc\\.weight$", torch.t)                changes a tensor's layout

The result must be what the model has: no unknown or missing tensors, every shape equal.
Weights are only copied: no bias or norm is folded into another weight, none is centered.
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
    """A tensor during loading, and its names in the source."""

    tensor: Tensor
    names: str


Sources = dict[str, Source]
LARGEST = 1 << 24  # bytes of a JSON file; the longest published one has a tenth of that


@dataclass(frozen=True)
class Join:
    """Concatenate the tensors that `patterns` match, in their order, under the name `new`.

    Tensors are grouped if replacing the pattern by `new` gives the same name.
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
                    f"{name} needs {len(self.patterns)} tensors to concatenate; got only {names}"
                )
            _add(rest, name, Source(torch.cat([part.tensor for part in found]), names))
        return rest


@dataclass(frozen=True)
class Split:
    """Split each tensor that `pattern` matches into equal parts, one per `new` name."""

    pattern: str
    new: Sequence[str]

    def __call__(self, sources: Sources) -> Sources:
        rest = dict(sources)
        for name in [name for name in rest if re.search(self.pattern, name)]:
            source, n = rest.pop(name), len(self.new)
            if len(source.tensor) % n:
                raise ValueError(
                    f"{source.names} has {len(source.tensor)} rows, not divisible into {n} parts"
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
    """Apply the rules, then copy `tensors` into the parameters and buffers of `module`.

    `leave_out` lists the source's names to ignore; they may be absent. A tied tensor of the module
    may have any of its names, and several if their values agree. The module keeps its dtypes.
    Raises ValueError, listing every unknown or missing name, every shape that differs, and every
    tensor whose dtype does not fit or whose values are not finite; then nothing is changed.
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
        if problem := _unfit(name, source, state[name].dtype):
            problems.append(problem)
        elif not torch.equal(first.tensor, source.tensor):
            problems.append(f"tied in the model, but different: {first.names}, {source.names}")
    present = {aliases.get(name, name) for name in sources}
    missing = [name for name in state if aliases.get(name, name) not in present]
    problems += [f"missing in the source: {name}" for name in missing]
    if problems:
        raise ValueError(
            f"the tensors do not fit {type(module).__name__}:\n  " + "\n  ".join(problems)
        )
    with torch.no_grad():
        for name, source in found.items():
            state[name].copy_(source.tensor)


def _unfit(name: str, source: Source, dtype: torch.dtype) -> str:
    """Return why a source's values cannot be copied into a tensor of the model, "" if they can.

    A float is copied into a float of another precision; other conversions are refused: int8 and
    8-bit floats are quantized, and meaningless without their scales.
    """
    found = source.tensor.dtype
    if found != dtype and not (found in FLOATS and dtype in FLOATS):
        wanted = "a float of 16 bits or more" if dtype in FLOATS else str(dtype)
        return (
            f"dtype of {name}: expected {wanted}, got {found} from {source.names}; convert the "
            "weights at their source (dequantize quantized ones)"
        )
    finite = source.tensor.to(dtype).isfinite()
    if not finite.all():
        return (
            f"values of {name}: {int((~finite).sum()):,} of {finite.numel():,} from "
            f"{source.names} are not finite as {dtype}; their training diverged, or the file is "
            "damaged: use another checkpoint"
        )
    return ""


def translate(
    tensors: Mapping[str, Tensor], rules: Iterable[Rule] = (), leave_out: Iterable[str] = ()
) -> Sources:
    """Return the tensors with their new names and layouts, after the rules."""
    left_out = set(leave_out)
    sources = {n: Source(t, n) for n, t in tensors.items() if n not in left_out}
    for rule in rules:
        sources = _renamed(sources, *rule) if isinstance(rule, tuple) else rule(sources)
    return sources


def read(path: str | Path) -> dict[str, Tensor]:
    """Return the tensors of a safetensors file, or of a folder with one file or several shards.

    A prefix that torch.compile or DistributedDataParallel added to every name is removed.

    Raises FileNotFoundError if there is none, ValueError for a pickle, which is never opened, and
    for a damaged file.
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
        raise FileNotFoundError(f"path: no safetensors file at {path}, no model.safetensors in it")
    tensors: dict[str, Tensor] = {}
    for file in files:
        if not file.is_file():
            raise FileNotFoundError(f"path: {file}, listed in {index}, is missing: download it")
        if any(file.match(kind) for kind in PICKLES):
            raise ValueError(_refusal(file.parent, file.name))
        try:
            with safe_open(file, framework="pt") as opened:
                tensors.update({name: opened.get_tensor(name) for name in opened.keys()})  # noqa: SIM118
        except SafetensorError as error:
            raise ValueError(
                f"path: {file} is not a complete safetensors file ({error}): download it again"
            ) from error
    for prefix in WRAPPERS:
        if tensors and all(name.startswith(prefix) for name in tensors):
            tensors = {name.removeprefix(prefix): value for name, value in tensors.items()}
    return tensors


def read_config(folder: str | Path, name: str = "config.json") -> dict[str, Any]:
    """Return the JSON file `name` of a checkpoint folder. Raises FileNotFoundError if it is
    missing, ValueError if it is truncated, too large, or not an object.
    """
    path = own_path(folder) / name
    if not path.is_file():
        raise FileNotFoundError(f"folder: {folder} has no {name}: {_instead(path.parent)}")
    config = read_json(path)
    if not isinstance(config, dict):
        raise ValueError(f"{path}: got a {type(config).__name__}, expected a JSON object")
    return config


def _instead(folder: Path) -> str:
    """Return what a folder without a config is, and what to open instead."""
    if (folder / "adapter_config.json").is_file():
        base = read_json(folder / "adapter_config.json").get("base_model_name_or_path", "its base")
        return (
            f"it contains a LoRA adapter; merge it into {base} with peft's merge_and_unload(), "
            "save the result, and load the new folder"
        )
    steps = sorted(
        (each for each in folder.glob("checkpoint-*") if (each / "config.json").is_file()),
        key=lambda each: int(re.sub(r"\D", "", each.name) or 0),
    )
    if steps:
        return f"it is a training run; load one of its checkpoints, such as {steps[-1]}"
    return "is it a checkpoint folder?"


def read_json(path: Path) -> Any:
    """Return the content of a checkpoint's JSON file. Raises ValueError, naming the file, if it is
    truncated, too large, or not JSON.
    """
    size = path.stat().st_size
    if size > LARGEST:
        raise ValueError(f"{path} has {size:,} bytes, expected at most {LARGEST:,}: check the file")
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{path} is truncated or not JSON ({error}): download it again") from error


def _shards(index: Path) -> list[Path]:
    """Return the shards that an index lists, always in the index's own folder."""
    shards = read_config(index.parent, index.name).get("weight_map")
    if not isinstance(shards, dict) or not all(isinstance(name, str) for name in shards.values()):
        raise ValueError(f"{index} has no weight_map from tensors to files: download it again")
    return [index.parent / Path(name).name for name in sorted(set(shards.values()))]


def from_hub(name: str, revision: str | None = None) -> Path:
    """Download the JSON and safetensors files of a model, and its vocab.txt, from the Hugging Face
    hub; return the local folder.

    Cached files are used, so a second call needs no network. HF_ENDPOINT sets another hub. Raises
    ImportError without huggingface_hub (`pip install huggingface_hub`).
    """
    try:
        from huggingface_hub import snapshot_download
    except ImportError as error:
        raise ImportError(
            "from_hub needs huggingface_hub: pip install huggingface_hub, or download the model's "
            "folder yourself and load that"
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
            f"two tensors map to {name}: {other.names} and {source.names}; leave one of them out"
        )


def _refusal(folder: Path, name: str) -> str:
    return (
        f"path: {folder} has its weights only in {name}, a pickle, which can run any code when "
        "loaded, so it is refused. If you trust its author, convert it once, in an isolated "
        "environment:\n"
        "  from transformers import AutoModel\n"
        f'  AutoModel.from_pretrained("{folder}").save_pretrained("converted")\n'
        "(AutoModelForSeq2SeqLM for translation, AutoModelForCTC for speech recognition), and load "
        "the folder converted"
    )
