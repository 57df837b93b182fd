"""A control group for each submission, where the system gives one: an equal share of the processor.

Among groups the processor is divided evenly, however many processes are in one. This needs a folder
below /sys/fs/cgroup that may be written, as root has it, or who was given one (`Delegate=yes` of
systemd). Where there is none, the nice level, the refused sessions and the summed time hold alone.
"""

import os
from contextlib import suppress
from pathlib import Path

ROOT = Path("/sys/fs/cgroup")
NAME = "deepdive-submission-"


def base(told: str, root: Path = ROOT) -> Path | None:
    """Return the folder below which a group with a share of the processor may be made.

    `told` is what /proc/self/cgroup says: version 1 has a tree for the controller `cpu`, version 2
    one tree, in which `cpu` must have been given on.
    """
    for line in told.splitlines():
        _, controllers, path = line.split(":", 2)
        if "cpu" in controllers.split(","):
            found = [root / controllers / path.lstrip("/")]
        elif not controllers:
            trees = [root / path.lstrip("/"), root / "unified" / path.lstrip("/")]
            found = [tree for tree in trees if "cpu" in _given_on(tree)]
        else:
            continue
        for folder in found:
            if os.access(folder / "cgroup.procs", os.W_OK):
                return folder
    return None


def enter() -> Path | None:
    """Move this process into a new group, with all that it will start; return it, None for none."""
    with suppress(OSError, ValueError):
        above = base(Path("/proc/self/cgroup").read_text())
        if above is not None:
            folder = above / f"{NAME}{os.getpid()}"
            folder.mkdir()
            (folder / "cgroup.procs").write_text("0")
            return folder
    return None


def leave(folder: Path | None) -> None:
    """Go back to the group above, and remove this one, in which nothing else is left."""
    with suppress(OSError):
        if folder is not None:
            (folder.parent / "cgroup.procs").write_text("0")
            folder.rmdir()


def sweep() -> None:
    """Remove the groups that killed processes left, which are empty; the system keeps others."""
    with suppress(OSError, ValueError):
        above = base(Path("/proc/self/cgroup").read_text())
        for folder in above.glob(f"{NAME}*") if above is not None else []:
            if not Path(f"/proc/{folder.name.removeprefix(NAME)}").exists():
                with suppress(OSError):
                    folder.rmdir()


def _given_on(folder: Path) -> list[str]:
    try:
        return (folder / "cgroup.subtree_control").read_text().split()
    except OSError:
        return []
