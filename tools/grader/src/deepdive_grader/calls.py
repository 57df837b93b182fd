"""System calls that a submission may not make: a filter (seccomp) in front of the kernel.

Five kinds are refused. Memory that the watch does not see: memory files, IPC, the buffers of
sockets, and shared mappings that no file backs, whose pages outlive their place in any process.
Sessions of its own: the scheduler gives each the share of a whole submission. Keys: the session's
keyring comes from the grader. To ignore the end of a child: the kernel then forgets the time that
the child took, and the meter misses it. And what opens much of the kernel to whoever asks. A
refused call fails with EPERM.

Machines that are not in the table have no filter; all other walls stand there too.
"""

import ctypes
import os
import platform
import struct

# Name of the machine -> its mark in the kernel, and the numbers of `mmap`, of `rt_sigaction` and of
# the calls.
_NAMES = (
    "memfd_create", "memfd_secret", "shmget", "semget", "msgget", "mq_open", "io_uring_setup",
    "socket", "socketpair", "setsid",
    "add_key", "request_key", "keyctl",
    "ptrace", "bpf", "perf_event_open", "userfaultfd",
)  # fmt: skip
_MACHINES = {
    "x86_64": (
        0xC000003E,
        9,
        13,
        (319, 447, 29, 64, 68, 240, 425, 41, 53, 112, 248, 249, 250, 101, 321, 298, 323),
    ),
    "aarch64": (
        0xC00000B7,
        222,
        134,
        (279, 447, 194, 190, 186, 180, 425, 198, 199, 157, 217, 218, 219, 117, 280, 241, 282),
    ),
}
_SET_SECCOMP, _FILTER = 22, 2
_LOAD, _EQUAL, _LARGER, _AND, _RETURN = 0x20, 0x15, 0x35, 0x54, 0x06
_SIGNAL, _ACTION = 16, 16 + 8  # where the first and second argument of `rt_sigaction` stand
_CHILD = 17  # SIGCHLD
_FLAGS = 16 + 3 * 8  # where the flags of `mmap` stand, its fourth argument
_SHARED, _ANONYMOUS = 1, 0x20
_ALLOW, _REFUSE, _KILL = 0x7FFF0000, 0x00050001, 0x80000000  # 1 is EPERM
_X32 = 0x40000000  # the same calls again, by other numbers


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("steps", ctypes.c_char_p))


def numbers() -> dict[str, int]:
    """The refused calls and their numbers on this machine; none where it is not known."""
    machine = _MACHINES.get(platform.machine())
    return dict(zip(_NAMES, machine[3], strict=True)) if machine else {}


def refuse() -> None:
    """Refuse the calls to this process and its children, for good. Needs no-new-privileges.

    Raises:
        OSError: the kernel takes no filter.
    """
    refused = sorted(numbers().values())
    if not refused:
        return
    mark, mmap, action, _ = _MACHINES[platform.machine()]
    program = [
        _step(_LOAD, 4),
        _step(_EQUAL, mark, 1, 0),
        _step(_RETURN, _KILL),  # another machine's calls: 32 bit
        _step(_LOAD, 0),
        _step(_LARGER, _X32, len(refused) + 12, 0),
        *(_step(_EQUAL, n, len(refused) + 11 - i, 0) for i, n in enumerate(refused)),
        _step(_EQUAL, action, 0, 6),
        _step(_LOAD, _SIGNAL),
        _step(_EQUAL, _CHILD, 0, 8),
        _step(_LOAD, _ACTION),
        _step(_EQUAL, 0, 0, 7),  # without an action it only asks
        _step(_LOAD, _ACTION + 4),
        _step(_EQUAL, 0, 4, 5),
        _step(_EQUAL, mmap, 0, 3),
        _step(_LOAD, _FLAGS),
        _step(_AND, _SHARED | _ANONYMOUS),
        _step(_EQUAL, _SHARED | _ANONYMOUS, 1, 0),
        _step(_RETURN, _ALLOW),
        _step(_RETURN, _REFUSE),
    ]
    given = _Program(len(program), b"".join(program))
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(_SET_SECCOMP, _FILTER, ctypes.byref(given), 0, 0) != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"filter of system calls: {os.strerror(number)}")


def _step(code: int, value: int, then: int = 0, other: int = 0) -> bytes:
    """One instruction of the filter; a comparison skips `then` or `other` of those that follow."""
    return struct.pack("=HBBI", code, then, other, value)
