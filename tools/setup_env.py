"""Make the virtual environment of this checkout: `python tools/setup_env.py {full,lab,first,read}`.

full   .venv       what `make run` and `make test` need: torch first, versions from constraints.txt
lab    .venv       of that, what all pages and JupyterLab need, without the tools for tests
first  .venv       of that, only what runs the first page; `lab` and `full` add the rest
read   .venv-read  what builds the book from the committed outputs: Sphinx and its kin, no torch;
                   with --hashed only files with the hashes of tools/read.txt, as published

`full` and `read` fetch reveal.js too, for the slides.

Called by make; standard library only. A stamp in the environment names what it was built from, so
a second call returns at once and a changed list of dependencies is picked up. An interrupted
set-up goes on where it stopped: nothing counts as done before the stamp is there.
"""

from __future__ import annotations

import argparse
import fcntl
import hashlib
import os
import platform
import re
import shutil
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

ROOT = Path(__file__).resolve().parent.parent
OLDEST = (3, 11)
CPU_INDEX = "https://download.pytorch.org/whl/cpu"
STAMP = "setup-stamp"
RUNNER = ("ipykernel", "nbclient", "nbformat", "jupytext")  # what runs a page
# What each environment in .venv installs of this project; `deepdive weights` adds the weights.
WHAT = {
    "full": (".[test]", "-e", "tools/grader"),
    "lab": (".[casestudies,notebooks]",),
    "first": (".", *RUNNER),
}
# Each environment, and the larger ones that serve as well.
LARGER = {"first": ("lab", "full"), "lab": ("full",), "full": (), "read": ()}
# What an environment is built from.
SOURCES = (
    "pyproject.toml",
    "constraints.txt",
    "tools/setup_env.py",
    "tools/grader/pyproject.toml",
)
HASHES = "tools/read.txt"
WEIGHTS = "lib/deepdive_book/kit/packaged.py"  # the one list of packages with weights
CUDA_WARNING = (
    "Note: torch's default build is installed, which on Linux brings several GB of CUDA, although "
    "no NVIDIA GPU was found: pip's registry has no CPU build. To exchange it once "
    f"{CPU_INDEX} can be reached: make setup TORCH_INDEX=cpu"
)
KEPT = ("Collecting", "Downloading", "Installing collected", "Building", "ERROR", "error:")


class SetupError(Exception):
    """Set-up cannot go on; the text says why and what to do."""


def say(text: str) -> None:
    print(text, flush=True)


def check_python() -> None:
    """Refuse a Python that the library does not run on, and say how to name another."""
    if sys.version_info < OLDEST:
        raise SetupError(
            f"Python {platform.python_version()} ({sys.executable}) is too old: "
            f"{OLDEST[0]}.{OLDEST[1]} or later is needed. "
            "Name one: make PYTHON=/path/to/python3.11 ..."
        )


def has_nvidia_gpu() -> bool:
    """Ask the driver's own tool; a machine without it has no usable NVIDIA GPU."""
    tool = shutil.which("nvidia-smi")
    if tool is None:
        return False
    try:
        listed = subprocess.run(
            [tool, "-L"], capture_output=True, text=True, timeout=20, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return False
    return listed.returncode == 0 and "GPU" in listed.stdout


def reachable(url: str, seconds: float = 3.0) -> bool:
    try:
        with urllib.request.urlopen(url, timeout=seconds) as answer:
            return 200 <= answer.status < 400
    except (OSError, ValueError):
        return False


def choose_torch(asked: str, gpu: bool) -> tuple[str | None, str]:
    """Return (index address or None for pip's configured registry, the reason in words)."""
    if asked == "registry":
        return None, "asked for by TORCH_INDEX=registry"
    if asked == "cpu":
        return CPU_INDEX, "asked for by TORCH_INDEX=cpu"
    if asked != "auto":
        return asked, "asked for by TORCH_INDEX"
    if gpu:
        return None, "an NVIDIA GPU is here"
    if platform.system() != "Linux":
        return None, f"{platform.system()} has one build"
    if reachable(f"{CPU_INDEX}/torch/"):
        return CPU_INDEX, "no NVIDIA GPU is here"
    return None, f"no NVIDIA GPU is here, and {CPU_INDEX} does not answer"


def check_choice(asked: str) -> None:
    """Refuse a TORCH_INDEX that is nothing, before anything is touched."""
    address = asked.startswith(("https://", "http://", "file://"))
    if asked not in {"auto", "cpu", "registry"} and not address:
        raise SetupError(
            f"TORCH_INDEX={asked!r} is none of auto, cpu, registry or the address of an index, "
            "such as https://download.pytorch.org/whl/cu126"
        )


def pinned(name: str) -> str:
    """Return the version that constraints.txt gives a package."""
    for line in (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines():
        key, _, version = line.partition("==")
        if key.strip() == name:
            return version.strip()
    raise SetupError(f"constraints.txt does not pin {name}: run make constraints")


def public(address: str) -> str:
    """Return an address without the name and password that it may carry."""
    parts = urlsplit(address)
    return urlunsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2]))


class Environment:
    """One virtual environment of the checkout, and the pip inside it."""

    def __init__(self, name: str, key: str) -> None:
        self.path = ROOT / name
        self.python = self.path / "bin" / "python"
        self.stamp = self.path / STAMP
        content = [key, platform.python_version(), sys.executable]
        content += [
            (ROOT / file).read_text(encoding="utf-8")
            for file in (
                *SOURCES,
                *([WEIGHTS] if key.startswith(("full", "lab")) else []),
                *([HASHES] if key == "read hashed" else []),
            )
        ]
        self.key = hashlib.sha256("\0".join(content).encode()).hexdigest()

    def ready(self) -> bool:
        return (
            self.stamp.is_file()
            and self.python.exists()
            and self.stamp.read_text(encoding="utf-8").split()[:1] == [self.key]
        )

    def begin(self) -> None:
        """Create the environment, or take up one that a stopped set-up left."""
        if self.stamp.exists():
            self.stamp.write_text("", encoding="utf-8")
        if not self._usable():
            self._clear()
            say(f"  creating {self.path.name} with Python {platform.python_version()}")
            command = [sys.executable, "-m", "venv", str(self.path)]
            made = subprocess.run(command, capture_output=True, text=True, check=False)
            if made.returncode != 0:
                raise SetupError(
                    f"`{' '.join(command)}` failed:\n{made.stdout}{made.stderr}\n"
                    "On Debian and Ubuntu: sudo apt-get install python3-venv"
                )
        self._drop_half_installed()

    def _clear(self) -> None:
        """Empty the folder but for an empty stamp, there from the first moment: it says that the
        folder is ours. Another's is left alone, here and by `make clean`.
        """
        inside = list(self.path.iterdir()) if self.path.is_dir() else []
        if inside and not self.stamp.exists():
            raise SetupError(
                f"{self.path} is not of this set-up and runs no Python {platform.python_version()} "
                "with pip: move it away, or name its Python: make PYTHON=/path/to/python3.11"
            )
        for path in inside:
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path)
            elif path != self.stamp:
                path.unlink()
        self.path.mkdir(exist_ok=True)
        self.stamp.write_text("", encoding="utf-8")

    def _usable(self) -> bool:
        """True when the environment runs this very Python version and has pip."""
        if not self.python.exists():
            return False
        probe = "import pip, sys; print('%d.%d.%d' % sys.version_info[:3])"
        told = subprocess.run(
            [str(self.python), "-I", "-c", probe], capture_output=True, text=True, check=False
        )
        return told.returncode == 0 and told.stdout.strip() == platform.python_version()

    def _drop_half_installed(self) -> None:
        """Forget a package whose installation was cut: pip writes RECORD last."""
        for info in self.path.glob("lib/python*/site-packages/*.dist-info"):
            if not (info / "RECORD").is_file():
                say(f"  {info.name} was cut off: it is installed again")
                shutil.rmtree(info)

    def pip(self, *arguments: str) -> int:
        """Run pip; on a terminal with its own progress bars, else with one line a package."""
        command = [str(self.python), "-I", "-m", "pip", "--disable-pip-version-check", *arguments]
        environment = {k: v for k, v in os.environ.items() if k not in ("PIP_USER", "PIP_TARGET")}
        if sys.stdout.isatty():
            return subprocess.run(command, env=environment, check=False, cwd=ROOT).returncode
        lines: list[str] = []
        with subprocess.Popen(
            command,
            env=environment,
            cwd=ROOT,
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        ) as process:
            assert process.stdout is not None
            for line in process.stdout:
                lines.append(line.rstrip())
                if line.strip().startswith(KEPT):
                    say("  " + line.strip().split(" (from ")[0][:100])
        if process.returncode != 0:
            say("\n".join(["  pip's last lines:", *lines[-20:]]))
        return process.returncode

    def offers(self, requirement: str) -> bool:
        """Ask pip, without installing, whether a requirement can be had."""
        command = [str(self.python), "-I", "-m", "pip", "install", "--dry-run", "--no-deps"]
        command += ["--ignore-installed", "--quiet", requirement]
        return subprocess.run(command, capture_output=True, check=False).returncode == 0

    def install(self, *arguments: str) -> None:
        if self.pip("install", "-c", "constraints.txt", *arguments) != 0:
            raise SetupError(
                f"pip could not install {' '.join(a for a in arguments if not a.startswith('-'))} "
                "(its own words are above). A second call goes on from here."
            )

    def install_hashed(self) -> None:
        """Install the files of tools/read.txt, and no other: one that was exchanged is refused."""
        only = ("--require-hashes", "--only-binary", ":all:", "-r", HASHES)
        if self.pip("install", *only) != 0:
            raise SetupError(
                f"pip could not install {HASHES} (its own words are above), which is for Linux "
                "and Python 3.11. Elsewhere: make read, without HASHED"
            )

    def weights(self) -> None:
        """Install the published weights that some pages use."""
        say("  the weights of published models")
        command = [str(self.python), "-I", "-m", "deepdive_book", "weights", "install"]
        if subprocess.run(command, cwd=ROOT, check=False).returncode != 0:
            raise SetupError(
                "the published weights could not be installed (see above). A second call goes on "
                "from here."
            )

    def installed(self, name: str) -> str | None:
        probe = f"import importlib.metadata as m; print(m.version({name!r}))"
        told = subprocess.run(
            [str(self.python), "-I", "-c", probe], capture_output=True, text=True, check=False
        )
        return told.stdout.strip() if told.returncode == 0 else None

    def finish(self) -> None:
        fresh = self.stamp.with_suffix(".new")
        fresh.write_text(f"{self.key}\n", encoding="utf-8")
        fresh.replace(self.stamp)


def install_torch(environment: Environment, asked: str) -> str:
    """Install torch alone and first, so that nothing else chooses its build.

    Return a warning to be said at the end where a CUDA build was installed without a GPU, or "".
    Where it came from is recorded in .venv/torch-source, which `deepdive doctor` reads.
    """
    version = pinned("torch")
    record = environment.path / "torch-source"
    gpu = has_nvidia_gpu()
    index, reason = choose_torch(asked, gpu)
    source = public(index) if index else "the configured registry"
    line = f"{source} ({reason})"
    before = record.read_text(encoding="utf-8").strip() if record.is_file() else ""
    have = environment.installed("torch")
    if have and re.split(r"\+", have)[0] == version and before == line:
        say(f"  torch {have} is there, from {line}")
        return ""
    say(f"  torch {version} from {line}")
    pip = ["install", "--no-deps", *(["--force-reinstall"] if have else [])]
    wanted, warning = f"torch=={version}", ""
    if index:
        pip += ["--index-url", index]
    elif not gpu and platform.system() == "Linux":
        # A registry may hold the CPU build beside the default one, which carries GBs of CUDA.
        if environment.offers(f"{wanted}+cpu"):
            wanted += "+cpu"
        else:
            say("  the registry has no CPU build; the default build may bring several GB of CUDA")
            warning = CUDA_WARNING
    status = environment.pip(*pip, wanted)
    if status != 0:
        raise SetupError(
            f"pip could not install torch {version} from {source}. Choose another source: "
            "make TORCH_INDEX=cpu, TORCH_INDEX=registry or TORCH_INDEX=<address of an index>"
        )
    record.write_text(line + "\n", encoding="utf-8")
    return warning


def read_packages() -> list[str]:
    """Return the requirements of the `book` extra, from the one list."""
    import tomllib

    with (ROOT / "pyproject.toml").open("rb") as file:
        return list(tomllib.load(file)["project"]["optional-dependencies"]["book"])


def fetch_reveal() -> None:
    """Fetch reveal.js, which shows the book's slides."""
    from vendor import VendorError, vendored

    say("  reveal.js, from npm")
    try:
        vendored("reveal.js")
    except VendorError as error:
        raise SetupError(str(error)) from error


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("which", choices=list(LARGER))
    parser.add_argument(
        "--torch-index",
        default="",
        metavar="auto|cpu|registry|ADDRESS",
        help="empty: what was last named for this checkout, else auto",
    )
    parser.add_argument(
        "--hashed",
        action="store_true",
        help="read: install nothing but the files of tools/read.txt (Linux, Python 3.11)",
    )
    options = parser.parse_args()
    if options.hashed and options.which != "read":
        parser.error("--hashed goes with read: the other environments have no list of hashes")
    try:
        check_python()
        return set_up(options.which, options.torch_index, hashed=options.hashed)
    except SetupError as error:
        print(f"set-up: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("\nset-up: interrupted; the next call goes on from here", file=sys.stderr)
        return 130


@contextmanager
def alone() -> Iterator[None]:
    """Hold the checkout's lock: of two makes at once the second waits, and finds the work done."""
    lock = os.open(ROOT, os.O_RDONLY)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
    finally:
        os.close(lock)


def set_up(which: str, torch_index: str, hashed: bool = False) -> int:
    choice = ROOT / ".venv" / "torch-index"
    if which == "read":
        environment = Environment(".venv-read", "read hashed" if hashed else "read")
    else:
        torch_index = torch_index or (choice.read_text().strip() if choice.is_file() else "auto")
        check_choice(torch_index)
        environment = Environment(".venv", f"{which} {torch_index}")
    serving = [environment]
    serving += [Environment(".venv", f"{name} {torch_index}") for name in LARGER[which]]
    if any(each.ready() for each in serving):
        return 0
    warning = ""
    with alone():
        if any(each.ready() for each in serving):
            return 0
        start = time.monotonic()
        say(f"Setting up {environment.path.name} (once; afterwards this step takes no time)")
        environment.begin()
        if hashed:
            environment.install_hashed()
        elif which == "read":
            environment.install(*read_packages())
        else:
            warning = install_torch(environment, torch_index)
            choice.write_text(torch_index + "\n", encoding="utf-8")
            say("  everything else, at the versions of constraints.txt")
            environment.install("setuptools")
            environment.install("--no-build-isolation", "-e", *WHAT[which])
        if which in ("full", "lab"):
            environment.weights()
        if which in ("full", "read"):
            fetch_reveal()
        environment.finish()
    say(f"Set-up of {environment.path.name} took {time.monotonic() - start:.0f} s")
    if warning:
        say(warning)
    return 0


if __name__ == "__main__":
    sys.exit(main())
