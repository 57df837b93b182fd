"""What a submission finds of its own process, and a grading by somebody who is not root.

Run as a script, `inside.py UID FOLDER`, it grades what lies in the folder as that user.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import deepdive
from deepdive_book.course.assignment.limited import Limits
from deepdive_grader.sandbox import NOBODY

NAMESPACES = ("user", "pid", "net", "ipc", "uts", "mnt")
# Run in the worker. Its facts fit into a message of 2000 characters.
INSIDE = f"""
import ctypes, os, resource, deepdive
def status(name):
    lines = open("/proc/self/status").read().splitlines()
    return next(line.split()[1:] for line in lines if line.startswith(name + ":"))
loose, devices, tied = [], [], []
for line in open("/proc/self/mountinfo").read().splitlines():
    point, flags = line.split()[4], line.split()[5].split(",")
    if "nosuid" not in flags or ("ro" not in flags and point not in ("/student", "/proc")):
        loose.append(point)
    if "nodev" not in flags:
        devices.append(point)
    tied += line.split(" - ")[0].split()[6:]
disk = os.statvfs("/student")
facts = {{
    "spaces": [os.readlink(f"/proc/self/ns/{{name}}") for name in {NAMESPACES!r}],
    "uid": {{*status("Uid"), *status("Gid")}},
    "groups": status("Groups"),
    "caps": [status("Cap" + name)[0].strip("0") for name in ("Inh", "Prm", "Eff", "Amb")],
    "new rights": status("NoNewPrivs")[0],
    "filter": status("Seccomp")[0],
    "loose": loose,
    "devices": devices,
    "tied": tied,
    "root": os.listdir("/"),
    "disk": (disk.f_blocks * disk.f_frsize, disk.f_files),
    "fds": [os.readlink(f"/proc/self/fd/{{fd}}").split(":")[0] for fd in range(5)],
    "more": [fd for fd in range(5, 128) if os.path.exists(f"/proc/self/fd/{{fd}}")],
    "env": sorted(os.environ),
    "first": open("/proc/self/oom_score_adj").read().strip(),
    "session": os.getsid(0),
    "further": ctypes.CDLL(None).unshare(0x10000000),
    "library": os.path.dirname(deepdive.__file__),
    "limits": {{
        name: resource.getrlimit(getattr(resource, "RLIMIT_" + name))
        for name in ("CORE", "FSIZE", "NOFILE", "CPU", "AS", "NPROC")
    }},
}}
"""


def check_inside(facts: dict[str, Any], limits: Limits) -> None:
    """Check what `INSIDE` found."""
    ours = {os.readlink(f"/proc/self/ns/{name}") for name in NAMESPACES}
    assert not ours & set(facts["spaces"])
    assert facts["uid"] == {str(NOBODY)}
    assert facts["caps"] == ["", "", "", ""]
    assert facts["new rights"] == "1"
    assert facts["filter"] == "2"
    assert facts["loose"] == [], facts["loose"]
    assert all(point.startswith("/dev/") for point in facts["devices"])
    assert "root" not in facts["root"] or sys.base_prefix.startswith("/root")
    assert facts["tied"] == []  # what is mounted outside later must not come in
    size, nodes = facts["disk"]
    assert (size, nodes) == (limits.files, 4096)
    assert facts["fds"] == ["/dev/null"] * 3 + ["pipe"] * 2
    assert facts["more"] == []
    ours = {"HOME", "TMPDIR", "USER", "LOGNAME", "LANG"}
    assert set(facts["env"]) <= ours | {"MPLBACKEND", "OMP_NUM_THREADS", "DEEPDIVE_PROFILE"}
    assert facts["first"] == "1000"
    assert facts["session"] == 1
    assert facts["further"] == -1
    assert facts["library"] == os.path.dirname(deepdive.__file__)
    space = facts["limits"].pop("AS")
    assert limits.memory < space[0] == space[1] < limits.memory + (4 << 30)
    wanted = {
        "CORE": 0,
        "FSIZE": limits.files,
        "NOFILE": 128,
        "CPU": int(limits.total_seconds) + 5,
        "NPROC": limits.processes,
    }
    assert facts["limits"] == {name: (value, value) for name, value in wanted.items()}


def as_user(uid: int, folder: Path, source: Any, submission: Any, limits: Limits) -> dict[str, Any]:
    """Grade as a user of this number; as the present one where that is not root."""
    import nbformat

    mine = folder / "home"
    mine.mkdir()
    (mine / "source.ipynb").write_text(nbformat.writes(source))
    (mine / "submission.ipynb").write_text(nbformat.writes(submission))
    (mine / "limits.json").write_text(json.dumps(vars(limits)))
    own = ["unshare", "--mount", "--propagation", "shared"] if os.geteuid() == 0 else []
    told = subprocess.run(
        [*own, sys.executable, __file__, str(uid), str(mine)],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "HOME": str(mine)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert told.returncode == 0, told.stderr
    answer: dict[str, Any] = json.loads(told.stdout)
    return answer


def _reach(needed: list[str]) -> None:
    """Let everybody reach these folders, in this mount namespace alone.

    What root installed below a closed folder, such as its home, is shown in an empty one instead.
    """
    closed: dict[Path, list[Path]] = {}
    for path in map(Path, needed):
        shut = [a for a in reversed(path.parents) if not a.stat().st_mode & 0o001]
        if shut:
            closed.setdefault(shut[0], []).append(path)
    for above, paths in closed.items():
        paths = [path for path in set(paths) if not set(path.parents) & set(paths)]
        kept = [(os.open(path, os.O_PATH), path) for path in paths]
        mount("-t", "tmpfs", "-o", "mode=755", "tmpfs", str(above))
        for fd, path in kept:
            path.mkdir(parents=True, exist_ok=True)
            # Its name now leads into the empty one: `-c` keeps mount from following it.
            mount("-c", "--bind", f"/proc/{os.getpid()}/fd/{fd}", str(path))


def mount(*told: str) -> None:
    subprocess.run(["mount", *told], check=True)


def main(uid: int, home: str) -> None:
    import nbformat

    from deepdive_book.course.assignment.grader import SandboxError
    from deepdive_book.course.assignment.grading import grade

    source, submission = (
        nbformat.read(f"{home}/{name}.ipynb", as_version=4) for name in ("source", "submission")
    )
    limits = Limits(**json.loads(Path(home, "limits.json").read_text()))
    if os.geteuid() == 0:
        prefixes = {os.path.realpath(p) for p in (sys.base_prefix, sys.prefix, *sys.path)}
        _reach([*filter(os.path.isdir, prefixes), home])
        os.chown(home, uid, uid)
        os.setgroups([])
        os.setresgid(uid, uid, uid)
        os.setresuid(uid, uid, uid)
    os.chdir(home)
    try:
        given = grade(source, submission, limits=limits)
    except SandboxError as error:
        print(json.dumps({"refused": str(error)}))
        return
    points = {cell.grade_id: cell.points for cell in given.cells if not cell.manual}
    print(json.dumps({"points": points, "message": given.cells[0].message}))


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2])
