"""Weights and checkpoints on disk: safetensors and JSON, written atomically."""

import hashlib
import json
import os
import re
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor, nn

from deepdive.locks import hold as held

Tensors = dict[str, Tensor]
KEPT = 2  # checkpoints; the older one is used if the newer one is corrupt
_TORN = (OSError, ValueError, KeyError, TypeError, RecursionError, SafetensorError)
FILES = ("state.safetensors", "state.json")  # of a checkpoint; removed in this order
MARK = b'{"body": '  # how a checkpoint's state.json begins: the keys are sorted
NAME = re.compile(r"checkpoint-\d{6,}")
DRAFT = re.compile(r"\.writing-\d{6,}")
UNFINISHED = re.compile(r"\.tmp\w{6}")  # safetensors' temporary file


def _sync(path: Path) -> None:
    """Flush a file or folder to disk (fsync)."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    except OSError:
        if path.is_file():  # some network file systems cannot sync a folder: their rename is enough
            raise
    finally:
        os.close(handle)


def unshared(tensors: Mapping[str, Tensor]) -> tuple[Tensors, dict[str, str]]:
    """Return each distinct tensor once, to be saved, and alias -> name for the tied ones.

    Two names are tied if memory, shape, strides and dtype are the same. A tensor that only overlaps
    another (a view of part of it) is copied.
    """
    first: dict[tuple[Any, ...], str] = {}
    storages: set[int] = set()
    kept: Tensors = {}
    aliases: dict[str, str] = {}
    for name, tensor in tensors.items():
        key = (tensor.data_ptr(), tuple(tensor.shape), tensor.stride(), tensor.dtype, tensor.device)
        if tensor.numel() and key in first:
            aliases[name] = first[key]
            continue
        first[key] = name
        storage = tensor.untyped_storage().data_ptr()
        whole = tensor.detach().contiguous()
        kept[name] = whole.clone() if storage in storages else whole
        storages.add(storage)
    return kept, aliases


def _read(path: Path) -> Tensors:
    """Return copies of a file's tensors, so the file does not stay memory-mapped."""
    with safe_open(path, framework="pt") as file:
        return {name: file.get_tensor(name).clone() for name in file.keys()}  # noqa: SIM118


def save_weights(model: nn.Module, path: str | Path) -> Path:
    """Write the parameters and buffers of `model` to one safetensors file, atomically.

    A tied tensor is written once, under its first name; its other names are in the file's metadata
    (`aliases`: JSON, alias -> name). At any time `path` is the complete old file or the new one.
    Load it with `deepdive.published.weights`: `adopt(model, read(path))`. Returns the path. Raises
    TypeError for a state that is not a tensor, OSError if the file cannot be written.
    """
    path = Path(path)
    state = model.state_dict()
    odd = [name for name, value in state.items() if not isinstance(value, Tensor)]
    if odd:
        raise TypeError(f"model: {', '.join(odd)} in its state is not a tensor; store it elsewhere")
    tensors, aliases = unshared(state)
    path.parent.mkdir(parents=True, exist_ok=True)
    write_tensors(tensors, path, aliases=json.dumps(aliases))
    return path


def write_tensors(tensors: Mapping[str, Tensor], path: Path, **facts: str) -> None:
    """Write tensors that share no memory, and metadata, to a safetensors file, atomically.

    Raises OSError, naming the file, if it cannot be written; an existing file is left intact.
    """
    draft = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        save_file(dict(tensors), draft, metadata={"format": "pt", **facts})
        _sync(draft)
        os.replace(draft, path)
    except (OSError, SafetensorError) as error:
        raise OSError(
            f"path: {_megabytes(tensors)} of weights cannot be written to {path} ({error}); free "
            "disk space, or give another path; an existing file is intact"
        ) from error
    finally:
        draft.unlink(missing_ok=True)
    _sync(path.parent)


def _megabytes(tensors: Mapping[str, Tensor]) -> str:
    return f"{sum(x.numel() * x.element_size() for x in tensors.values()) / 1e6:,.1f} MB"


def _digest(path: Path) -> str:
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _encode(body: Any) -> str:
    return json.dumps(body, sort_keys=True, allow_nan=False)


def _names(path: Path) -> set[str]:
    return {inside.name for inside in path.iterdir()}


def _marked(path: Path) -> bool:
    """Whether the folder's state.json begins like a checkpoint's."""
    try:
        with open(path / "state.json", "rb") as file:
            return file.read(len(MARK)) == MARK
    except OSError:
        return False


def _remove(folder: Path) -> None:
    """Remove a folder that contains only files of a checkpoint; leave any other alone.

    A killed process may have left a temporary file of safetensors.
    """
    unfinished = [name for name in _names(folder) if UNFINISHED.fullmatch(name)]
    if _names(folder) <= {*FILES, *unfinished}:
        for name in (*unfinished, *FILES):
            (folder / name).unlink(missing_ok=True)
        folder.rmdir()


class Checkpoints:
    """The checkpoints of one run: numbered folders of `state.safetensors` and `state.json`.

    A checkpoint is written under a temporary name, synced, and renamed, so a process killed at any
    moment leaves only complete checkpoints. The last two are kept. The JSON has the sha256 of the
    tensors and of its own body; mismatching checkpoints are reported and skipped. Files of other
    tools in the same folder are neither read nor removed, and their numbers are not reused.
    """

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)

    @contextmanager
    def held(self) -> Iterator[None]:
        """Create and lock the folder. Raises `Held` if another process has locked it."""
        with held(self.folder / ".lock", f"folder: {self.folder}"):
            yield

    def _folders(self, name: re.Pattern[str]) -> list[Path]:
        if not self.folder.is_dir():
            return []
        return [p for p in self.folder.iterdir() if name.fullmatch(p.name) and p.is_dir()]

    def paths(self) -> list[Path]:
        """Return the checkpoint folders, newest first, including corrupt ones."""
        found = [
            path
            for path in self._folders(NAME)
            if _marked(path) or set() < _names(path) <= set(FILES)
        ]
        return sorted(found, key=lambda p: int(p.name.split("-")[1]), reverse=True)

    def _next(self) -> int:
        """Return a number above all those used in this folder."""
        names = [re.fullmatch(r"(?:checkpoint|\.writing)-(\d+)", n) for n in _names(self.folder)]
        return max((int(name[1]) for name in names if name), default=0) + 1

    def write(self, tensors: Mapping[str, Tensor], body: Mapping[str, Any]) -> Path:
        """Write one checkpoint: tensors that share no memory, and a body of JSON values.

        Raises OSError if it cannot be written; earlier checkpoints are left intact.
        """
        self.folder.mkdir(parents=True, exist_ok=True)
        number = self._next()
        draft = self.folder / f".writing-{number:06d}"
        final = self.folder / f"checkpoint-{number:06d}"
        try:
            draft.mkdir()
            self._fill(draft, tensors, body)
            draft.rename(final)
            _sync(self.folder)
        except BaseException as error:
            if draft.is_dir():
                _remove(draft)
            if isinstance(error, (OSError, SafetensorError)):
                raise OSError(
                    f"folder: a checkpoint of {_megabytes(tensors)} cannot be written in "
                    f"{self.folder} ({error}); free disk space, then call fit again with the same "
                    "arguments; earlier checkpoints are intact"
                ) from error
            raise
        self.prune()
        return final

    @staticmethod
    def _fill(draft: Path, tensors: Mapping[str, Tensor], body: Mapping[str, Any]) -> None:
        save_file(dict(tensors), draft / "state.safetensors")
        sealed = {
            "tensors_sha256": _digest(draft / "state.safetensors"),
            "body_sha256": hashlib.sha256(_encode(body).encode()).hexdigest(),
            "body": body,
        }
        (draft / "state.json").write_text(_encode(sealed))
        for part in (draft / "state.safetensors", draft / "state.json", draft):
            _sync(part)

    def prune(self) -> None:
        """Remove all but the newest two checkpoints, and incomplete ones of killed processes."""
        for old in self.paths()[KEPT:]:
            if _marked(old) and _names(old) <= set(FILES):
                draft = old.with_name(old.name.replace("checkpoint", ".writing"))
                _remove(old.rename(draft))
        for left in self._folders(DRAFT):
            _remove(left)

    def newest(self) -> tuple[Tensors, dict[str, Any]] | None:
        """Return tensors and body of the newest valid checkpoint, None if there is none at all.

        Warns about a corrupt one, with name and reason. Raises ValueError if all are corrupt.
        """
        reasons = []
        for path in self.paths():
            try:
                return self._open(path)
            except _TORN as error:
                reasons.append(f"{path} cannot be used: {error}")
                warnings.warn(f"{reasons[-1]}; trying the previous one", stacklevel=2)
        if reasons:
            raise ValueError(
                "folder: no valid checkpoint is left:\n  " + "\n  ".join(reasons) + "\n"
                "Remove these to start from scratch."
            )
        return None

    @staticmethod
    def _open(path: Path) -> tuple[Tensors, dict[str, Any]]:
        sealed = json.loads((path / "state.json").read_text())
        body: dict[str, Any] = sealed["body"]
        if not isinstance(body, dict):
            raise ValueError(
                f"state.json: got a {type(body).__name__} as its body, expected a dict"
            )
        if hashlib.sha256(_encode(body).encode()).hexdigest() != sealed["body_sha256"]:
            raise ValueError("state.json does not match its own sha256")
        if _digest(path / "state.safetensors") != sealed["tensors_sha256"]:
            raise ValueError("state.safetensors does not match the sha256 in state.json")
        return _read(path / "state.safetensors"), body
