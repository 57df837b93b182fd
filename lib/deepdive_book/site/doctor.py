"""Checks of this machine, one line each, with a fix for every problem.

`deepdive doctor` prints `checks()`. It needs no network, and a check that fails to run is reported,
never raised.
"""

import os
import platform
import shutil
import subprocess
import sys
import threading
import urllib.error
import urllib.request
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

OLDEST_PYTHON = (3, 11)
MEMORY_GB = 8  # what a case study may use in the laptop profile
DISK_GB = 5
ADDRESS = "https://raw.githubusercontent.com"
SECONDS = 2.0
# The names and places that tools/chromium.py looks for too; a test compares them.
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
MAC_BROWSERS = tuple(
    f"/Applications/{name}.app/Contents/MacOS/{name}" for name in ("Chromium", "Google Chrome")
)
MOST_NAMES = 3  # of missing data sets to print; `deepdive data list` has all
WITHOUT_NETWORK = "go online, set DEEPDIVE_MIRROR to a local copy, or use the ci profile"


@dataclass(frozen=True)
class Check:
    """One check: `message` describes the state, `fix` what to do if `ok` is false."""

    name: str
    ok: bool
    message: str
    fix: str = ""


def check_python() -> Check:
    message = f"{platform.python_version()} at {sys.executable}"
    old = sys.version_info[:2] < OLDEST_PYTHON
    wanted = ".".join(map(str, OLDEST_PYTHON))
    return Check("Python", not old, message, f"install Python {wanted} or later" if old else "")


def check_torch() -> Check:
    """Version, build and source of torch; `make setup` records the source in the environment."""
    try:
        import torch
    except (ImportError, OSError) as error:
        return Check("torch", False, f"cannot be imported: {error}", "make setup")
    cuda = torch.version.cuda
    record = Path(sys.prefix) / "torch-source"
    source = record.read_text(encoding="utf-8").strip() if record.is_file() else "not recorded"
    message = f"{torch.__version__}, {f'CUDA {cuda}' if cuda else 'CPU'} build, source: {source}"
    if cuda is None and nvidia_gpus():
        return Check(
            "torch", False, message, "an NVIDIA GPU is available: make TORCH_INDEX=registry setup"
        )
    return Check("torch", True, message)


def nvidia_gpus() -> list[str]:
    """Return the NVIDIA GPUs that the driver's own tool lists; empty without a driver."""
    tool = shutil.which("nvidia-smi")
    if tool is None:
        return []
    command = [tool, "--query-gpu=name", "--format=csv,noheader"]
    try:
        completed = subprocess.run(command, capture_output=True, text=True, timeout=20, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return []
    return completed.stdout.split("\n")[:-1] if completed.returncode == 0 else []


def check_gpu() -> Check:
    """Name, memory and compute capability of each GPU, and whether this torch has code for it."""
    import torch

    if not torch.cuda.is_available():
        listed = nvidia_gpus()
        if not listed:
            return Check("GPU", True, "none; the default profile is laptop")
        fix = "update the NVIDIA driver, or choose a build for it: make TORCH_INDEX=... setup"
        return Check("GPU", False, f"{', '.join(listed)}, which this torch cannot use", fix)
    words: list[str] = []
    served = True
    for index in range(torch.cuda.device_count()):
        card = torch.cuda.get_device_properties(index)
        words.append(
            f"{card.name}, {card.total_memory / 2**30:.1f} GB, capability {card.major}.{card.minor}"
        )
        served = served and has_code_for(card.major, card.minor, torch.cuda.get_arch_list())
    fix = "" if served else "this torch build doesn't support the GPU: choose another TORCH_INDEX"
    return Check("GPU", served, "; ".join(words), fix)


def has_code_for(major: int, minor: int, architectures: list[str]) -> bool:
    """True when a build holds binary code (`sm_75`) of the card's generation, or older PTX."""
    for name in architectures:
        kind, _, digits = name.partition("_")
        digits = digits.rstrip("af")
        theirs = (int(digits[:-1]), int(digits[-1]))
        if kind == "sm" and theirs[0] == major and theirs[1] <= minor:
            return True
        if kind == "compute" and theirs <= (major, minor):
            return True
    return False


def check_cores() -> Check:
    import torch

    affinity = getattr(os, "sched_getaffinity", None)
    cores = len(affinity(0)) if affinity else os.cpu_count()
    gb = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    message = f"{cores} core(s), {torch.get_num_threads()} torch thread(s), {gb:.1f} GB of memory"
    if gb < MEMORY_GB - 0.5:  # what the system keeps for itself does not count against a machine
        return Check("cores", False, message, f"with less than {MEMORY_GB} GB, use the ci profile")
    return Check("cores", True, message)


def reachable(address: str, seconds: float) -> bool:
    """Whether an address answers in time; name resolution counts, so it runs in a thread."""
    answered: list[bool] = []

    def ask() -> None:
        try:
            request = urllib.request.Request(address, method="HEAD")
            with urllib.request.urlopen(request, timeout=seconds):
                answered.append(True)
        except urllib.error.HTTPError:
            answered.append(True)
        except (OSError, ValueError):
            pass

    thread = threading.Thread(target=ask, daemon=True)
    thread.start()
    thread.join(seconds)
    return bool(answered)


def check_network() -> Check:
    if reachable(ADDRESS, SECONDS):
        return Check("network", True, f"{ADDRESS} answers")
    message = f"{ADDRESS} does not answer in {SECONDS:.0f} s"
    return Check("network", False, message, WITHOUT_NETWORK)


def check_data() -> Check:
    """The mirror, the cache, and how many of the data sets are in one of them, verified."""
    from deepdive.data import cache, mirror, registry, where

    place = mirror()
    names = list(registry())
    missing = [name for name in names if where(name) is None]
    lacking = ", ".join(missing[:MOST_NAMES]) + (", ..." if len(missing) > MOST_NAMES else "")
    message = (
        f"{len(names) - len(missing)} of {len(names)} data sets available; "
        f"{f'missing: {lacking}; ' if missing else ''}mirror {place or 'none'}, cache {cache()}"
    )
    if not missing or isinstance(place, str):
        return Check("data", True, message)
    if reachable(ADDRESS, SECONDS):
        return Check("data", True, f"{message}; pages download what they need")
    return Check("data", False, message, WITHOUT_NETWORK)


def check_weights() -> Check:
    """Whether the published weights that some pages use are installed."""
    from deepdive_book.kit.packaged import WEIGHTS

    absent = [one for one in WEIGHTS.values() if not one.here]
    if not absent:
        return Check("weights", True, f"{', '.join(WEIGHTS)} are installed")
    named = "; ".join(f"{one.name} is not installed (pages {one.pages})" for one in absent)
    return Check("weights", False, named, "deepdive weights install")


def check_browser() -> Check:
    """Whether Chromium, which prints the book and runs browser tests, is installed."""
    found = next(filter(None, map(shutil.which, BROWSERS)), None)
    found = found or next((path for path in MAC_BROWSERS if Path(path).exists()), None)
    if found:
        return Check("browser", True, found)
    message = "no Chromium: only `make pdf` and the browser tests need it"
    return Check("browser", False, message, "make browser")


def check_grading() -> Check:
    """Whether a course can be graded here: nbgrader, the grader, and namespaces for its sandbox."""
    from importlib.util import find_spec

    lacking = {}
    if find_spec("nbgrader") is None:
        lacking["nbgrader is not installed"] = "make setup"
    if find_spec("deepdive_grader") is None:
        lacking["the grading sandbox is not installed"] = "pip install ./tools/grader"
    if not namespaces():
        fix = "on Linux, allow user namespaces: `deepdive assignment grade` names the command"
        lacking["the sandbox cannot start (no user namespaces)"] = fix
    if not lacking:
        return Check("grading", True, "nbgrader and the sandbox work")
    message = f"{'; '.join(lacking)}; only instructors need this"
    return Check("grading", False, message, "; ".join(lacking.values()))


def namespaces() -> bool:
    """Whether this user may create the namespaces that the sandbox is built from."""
    unshare = shutil.which("unshare")
    if unshare is None:
        return False
    command = [unshare, "-r", "--mount", "--net", "--ipc", "--uts", "--pid", "--fork", "true"]
    try:
        return subprocess.run(command, capture_output=True, timeout=20, check=False).returncode == 0
    except (OSError, subprocess.TimeoutExpired):
        return False


def check_disk() -> Check:
    gb = shutil.disk_usage(Path.cwd()).free / 2**30
    message = f"{gb:.1f} GB free at {Path.cwd()}"
    return Check("disk", gb >= DISK_GB, message, "" if gb >= DISK_GB else f"free {DISK_GB} GB")


def check_kernel() -> Check:
    """Whether notebooks that ask for `python3` run in this environment."""
    try:
        from jupyter_client.kernelspec import KernelSpecManager, NoSuchKernel
    except ImportError:
        return Check("notebook kernel", False, "jupyter_client is not installed", "make setup")
    try:
        spec = KernelSpecManager().get_kernel_spec("python3")
    except NoSuchKernel:
        return Check("notebook kernel", False, "no kernel python3", "pip install ipykernel")
    program = shutil.which(spec.argv[0]) or spec.argv[0]
    here = spec.argv[0] in {"python", "python3", sys.executable}
    message = f"python3 runs {sys.executable if here else program}"
    fix = "" if here else f"{sys.executable} -m ipykernel install --sys-prefix"
    return Check("notebook kernel", here, message, fix)


POINTS: dict[str, Callable[[], Check]] = {
    "Python": check_python,
    "torch": check_torch,
    "GPU": check_gpu,
    "cores": check_cores,
    "network": check_network,
    "data": check_data,
    "weights": check_weights,
    "browser": check_browser,
    "grading": check_grading,
    "disk": check_disk,
    "notebook kernel": check_kernel,
}


def checks() -> list[Check]:
    """Run every check, in order. A check that raises is reported as a line."""
    lines: list[Check] = []
    for name, look in POINTS.items():
        try:
            lines.append(look())
        except Exception as error:
            text = f"check failed: {type(error).__name__}: {error}"
            lines.append(Check(name, False, text, "see the other lines; make setup"))
    return lines
