"""The walls around a submission: Linux namespaces, and limits on what it may use.

A locked-in process sees a file system of its own (Python, its packages and this library, read-only,
and one small folder in memory), no network, no other process, and is nobody. This needs user
namespaces; where a system refuses them nothing runs, and `SandboxError` names the fix.

Nothing here needs torch. `zygote` calls `leave_user` in the process that watches and `lock_in` in
the one that runs the submission, the first in the new PID namespace.
"""

import ctypes
import os
import resource
import stat
import struct
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import deepdive
import deepdive_book
from deepdive_book.course.assignment.limited import Limits, cap, limit, mapped
from deepdive_grader import calls

NOBODY = 65534
HOME = "/student"
WITHHELD = "deepdive_book.course.clinic"  # a package that what a student wrote may not read
_NEW_ROOT = "/sys"  # covered in the new mount namespace only; nothing that is bound lies below it

_NEWNS, _NEWUTS, _NEWIPC = 0x00020000, 0x04000000, 0x08000000
_NEWUSER, _NEWPID, _NEWNET = 0x10000000, 0x20000000, 0x40000000
_RDONLY, _NOSUID, _NODEV, _NOEXEC, _REMOUNT = 1, 2, 4, 8, 32
_BIND, _REC, _PRIVATE, _DETACH = 4096, 16384, 1 << 18, 2
_SET_NO_NEW_PRIVS = 38
_CAPABILITY_VERSION = 0x20080522

FIX = (
    "Submissions are graded inside Linux namespaces, and this system refuses them. As root, allow "
    "them (`sysctl -w kernel.unprivileged_userns_clone=1` on Debian, `sysctl -w "
    "kernel.apparmor_restrict_unprivileged_userns=0` on Ubuntu, `sysctl -w "
    "user.max_user_namespaces=10000` elsewhere); in a container, start it with `--privileged` or "
    "`--cap-add SYS_ADMIN --security-opt seccomp=unconfined --security-opt apparmor=unconfined`. "
    "Or grade with `--trust-submissions`: they then run as you, and can do what you can do."
)
ONLY_LINUX = (
    "Only Linux can lock submissions in: grade there, or in a Linux container. macOS grades with "
    "`--trust-submissions`: they then run as you, and can do what you can do."
)

_libc = ctypes.CDLL(None, use_errno=True)


def _call(what: str, result: int) -> None:
    if result != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")


def _mount(source: str, target: str, kind: str, flags: int, data: str = "") -> None:
    paths = (source.encode(), target.encode())
    options = (kind.encode(), ctypes.c_ulong(flags), data.encode())
    _call(f"mount {kind or 'bind'} {source}", _libc.mount(*paths, *options))


def leave_user() -> None:
    """Enter new user, network, IPC and host-name namespaces; children, a new PID namespace."""
    flags = _NEWUSER | _NEWPID | _NEWNET | _NEWIPC | _NEWUTS
    _call("new namespaces", _libc.unshare(flags))


def map_user(pid: int) -> None:
    """From outside, say who a process that called `leave_user` is inside.

    Root keeps a root inside, to mount with, and a nobody to become. Anyone else has only himself to
    map: he is nobody from the start, with the rights of the new namespace until `lock_in` drops
    them.
    """
    folder = Path(f"/proc/{pid}")
    if os.geteuid() == 0:
        with suppress(OSError):  # root of a namespace may have no second user to give
            for name in ("uid_map", "gid_map"):
                (folder / name).write_text(f"0 0 1\n{NOBODY} {NOBODY} 1\n")
            return
    (folder / "setgroups").write_text("deny")
    (folder / "gid_map").write_text(f"{NOBODY} {os.getegid()} 1\n")
    (folder / "uid_map").write_text(f"{NOBODY} {os.geteuid()} 1\n")


def readable() -> list[str]:
    """The folders that a submission may read: Python, its packages, shared libraries, this library.

    Only `site-packages`, never what an editable install or PYTHONPATH adds to the search path: that
    may be the folder with the course.
    """
    packages = [path for path in sys.path if Path(path).name in ("site-packages", "dist-packages")]
    standard = os.path.dirname(os.__file__)
    libraries = [f"{sys.base_prefix}/lib", "/usr/lib", "/usr/lib64", "/lib", "/lib64"]
    files = (deepdive.__file__, deepdive_book.__file__)
    own = [str(Path(file).absolute().parent) for file in files]
    outermost: list[str] = []
    for path in sorted({*packages, standard, *libraries, *own}, key=len):
        inside = any(path == other or path.startswith(f"{other}/") for other in outermost)
        if os.path.isdir(path) and not inside:
            outermost.append(path)
    return outermost


def _build_root(shown: list[str], limits: Limits) -> None:
    """Move into a file system that holds only the folders in `shown`, and one to write in."""
    _call("new mount namespace", _libc.unshare(_NEWNS))
    _mount("none", "/", "", _REC | _PRIVATE)
    owner = f"uid={os.getuid()},gid={os.getgid()}"
    _mount("tmpfs", _NEW_ROOT, "tmpfs", _NOSUID | _NODEV, f"size=1m,mode=755,{owner}")
    for path in shown:
        _bind(os.path.realpath(path), path)
    for place in _withheld(shown):
        _mount("tmpfs", place, "tmpfs", _RDONLY | _NOSUID | _NODEV | _NOEXEC, "size=4k,mode=555")
    for name in ("null", "full", "random", "urandom"):  # a mapping of zero is memory without owner
        _bind(f"/dev/{name}", f"/dev/{name}")
    os.mkdir(f"{_NEW_ROOT}{HOME}")
    mine = f"size={limits.files},nr_inodes=4096,mode=700,uid={NOBODY},gid={NOBODY}"
    _mount("tmpfs", f"{_NEW_ROOT}{HOME}", "tmpfs", _NOSUID | _NODEV, mine)
    for name in ("dev/shm", "tmp"):
        with suppress(FileExistsError):  # where packages lie in /tmp it is shown, and not written
            os.symlink(HOME, f"{_NEW_ROOT}/{name}")
    os.mkdir(f"{_NEW_ROOT}/proc")
    with suppress(OSError):  # a container may forbid it; then there is none to read
        _mount("proc", f"{_NEW_ROOT}/proc", "proc", _NOSUID | _NODEV | _NOEXEC)
    with suppress(OSError):  # no namespace inside this one
        Path("/proc/sys/user/max_user_namespaces").write_text("0")
    os.chdir(_NEW_ROOT)
    _call("pivot_root", _libc.pivot_root(b".", b"."))
    _call("leaving the old root", _libc.umount2(b".", _DETACH))
    os.chdir(HOME)
    _mount("none", "/", "", _REMOUNT | _BIND | _RDONLY | _NOSUID | _NODEV)


def _withheld(shown: list[str]) -> list[str]:
    """Where the new root would show the folder of `WITHHELD`, by whatever path."""
    inside = WITHHELD.replace(".", "/")
    copies = [os.path.realpath(f"{path}/{inside}") for path in [*sys.path, *shown] if path]
    places = []
    for copy in sorted({copy for copy in copies if os.path.isdir(copy)}):
        for path in shown:
            real = os.path.realpath(path)
            if copy.startswith(f"{real}/"):
                places.append(f"{_NEW_ROOT}{path}{copy.removeprefix(real)}")
    return places


def _bind(source: str, target: str) -> None:
    """Show a file or folder at `target` of the new root, what is mounted in it too, read-only."""
    place = _NEW_ROOT + target
    if stat.S_ISDIR(os.stat(source).st_mode):
        os.makedirs(place, exist_ok=True)
    else:
        os.makedirs(os.path.dirname(place), exist_ok=True)
        Path(place).touch()
    _mount(source, place, "", _BIND | _REC)
    device = 0 if source.startswith("/dev/") else _NODEV
    for point in _mounted(place):
        locked = os.statvfs(point).f_flag & (_NOSUID | _NODEV | _NOEXEC)  # these may not be dropped
        _mount("none", point, "", _REMOUNT | _BIND | _RDONLY | _NOSUID | device | locked)


def _mounted(place: str) -> Iterator[str]:
    """The mount points at or below a place."""
    for line in Path("/proc/self/mountinfo").read_text().splitlines():
        point = line.split()[4].encode().decode("unicode_escape")
        if point == place or point.startswith(f"{place}/"):
            yield point


def lock_in(shown: list[str], limits: Limits) -> None:
    """Shut this process in for good: its file system, its user, its rights, its limits.

    Raises OSError, with the step in its text, where the system refuses one.
    """
    base = mapped()  # and the line below: who became nobody may find this closed
    with suppress(OSError):  # where memory ends the machine ends this first
        Path("/proc/self/oom_score_adj").write_text("1000")
    _build_root(shown, limits)
    if os.getuid() != NOBODY:
        os.setgroups([])
        os.setresgid(NOBODY, NOBODY, NOBODY)
        os.setresuid(NOBODY, NOBODY, NOBODY)
    # Root lost them with his number; anyone else kept his number, and has them still.
    header = struct.pack("=Ii", _CAPABILITY_VERSION, 0)
    _call("dropping capabilities", _libc.capset(header, bytes(24)))
    _call("no new rights", _libc.prctl(_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
    calls.refuse()
    limit(limits, base)
    limit_processes(limits.processes)


def limit_processes(most: int) -> None:
    """Set how many processes this user may have. Raises OSError where that cannot be bounded."""
    with _refused_forks():
        pid = _try_fork()
    if pid:
        os.waitpid(pid, 0)
        raise OSError(1, "the number of processes cannot be limited for this user")
    cap(resource.RLIMIT_NPROC, most)


@contextmanager
def _refused_forks() -> Iterator[None]:
    before = resource.getrlimit(resource.RLIMIT_NPROC)
    resource.setrlimit(resource.RLIMIT_NPROC, (0, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NPROC, before)


def _try_fork() -> int:
    """Fork; the child ends at once. Return its pid, or 0 where forking is refused."""
    try:
        pid = os.fork()
    except BlockingIOError:
        return 0
    if pid == 0:
        os._exit(0)
    return pid
