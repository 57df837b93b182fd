"""How much work a page does (its profile), and what the first cell of every page sets up.

`DEEPDIVE_PROFILE` names the profile; `DEEPDIVE_OUT` names the folder that a page writes to.
"""

import os
import sys
from pathlib import Path
from typing import TypeVar

# A thread that waits for another soon leaves its core (libgomp, Linux). At the default, two threads
# beside other work on two cores were up to 200 times as slow; alone, no difference was measured.
# It is read when torch is loaded, and the setup cell of a page loads it here.
os.environ.setdefault("GOMP_SPINCOUNT", "2000")

import torch

from deepdive.training.seeds import seed_everything
from deepdive_book.kit.absent import explain_absent_modules

T = TypeVar("T")

PROFILES = ("ci", "laptop", "gpu", "experiment")


def profile() -> str:
    """The current profile: what `DEEPDIVE_PROFILE` names.

    Unset or "auto", it is `gpu` with a CUDA device, else `laptop`. On Colab "auto" is always
    `laptop`: there the `gpu` profile is a deliberate choice.

    Raises:
        ValueError: `DEEPDIVE_PROFILE` names no profile.
    """
    name = os.environ.get("DEEPDIVE_PROFILE") or "auto"
    if name == "auto":
        return "gpu" if torch.cuda.is_available() and not on_colab() else "laptop"
    if name not in PROFILES:
        raise ValueError(
            f"DEEPDIVE_PROFILE is {name!r}; expected one of {', '.join(PROFILES)}, or auto"
        )
    return name


def pick(*, ci: T, laptop: T, gpu: T, experiment: T | None = None) -> T:
    """The value that belongs to the current profile; `experiment` defaults to `laptop`'s."""
    values = {"ci": ci, "laptop": laptop, "gpu": gpu}
    values["experiment"] = laptop if experiment is None else experiment
    return values[profile()]


def on_colab() -> bool:
    """Whether this process is a Colab notebook."""
    return "google.colab" in sys.modules


def checkout() -> Path | None:
    """The checkout around the current folder; None where a notebook is alone, as on Colab."""
    here = Path.cwd()
    folders = (p for p in (here, *here.parents) if (p / "pyproject.toml").is_file())
    return next((p for p in folders if (p / "chapters").is_dir()), None)  # no other's project


def workdir() -> Path:
    """The folder for what a page writes while it runs (checkpoints); made if it is not there.

    `DEEPDIVE_OUT` if set (`make run` and the tests set it, so that no committed file changes),
    else `build/<profile>` below the current folder's checkout, else `deepdive-out` here.
    """
    around = checkout()
    default = around / "build" / profile() if around else Path.cwd() / "deepdive-out"
    folder = Path(os.environ.get("DEEPDIVE_OUT") or default)
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def banner(data: str = "") -> str:
    """One line: profile, data where named (say "(real)" or "(generated)"), torch, device."""
    if torch.cuda.is_available():
        device = torch.cuda.get_device_name()
    else:
        device = f"CPU, {torch.get_num_threads()} threads"
    parts = [f"profile {profile()}", f"data {data}" if data else "", f"torch {torch.__version__}"]
    return ", ".join([part for part in parts if part] + [device])


def setup(name: str = "auto", *, seed: int = 0, drive: bool = False) -> None:
    """What the setup cell of every page does: profile, seeds, threads, figure style, banner.

    From then on the error of a cell that lacks a package says what to install.

    Args:
        name: a profile, or "auto" to leave the choice to `DEEPDIVE_PROFILE` and the machine.
        seed: for python, numpy and torch, with deterministic kernels (`seed_everything`).
        drive: on Colab, write to Google Drive, so that a disconnected run resumes.

    Raises:
        ValueError: `name` is not a profile.
    """
    if name != "auto":
        os.environ["DEEPDIVE_PROFILE"] = name
    profile()
    if drive and on_colab():
        _mount_drive()
    # Sums depend on how they are split: two threads, as on the machine of the committed outputs.
    torch.set_num_threads(int(os.environ.get("OMP_NUM_THREADS") or min(2, os.cpu_count() or 1)))
    seed_everything(seed)
    from deepdive_book.kit.plotting import style

    style()
    explain_absent_modules()
    print(banner())
    if profile() == "ci":
        print("Numbers in the text are from the laptop profile; this run computes less.")


def _mount_drive() -> None:
    from google.colab import drive  # type: ignore[import-not-found, import-untyped, unused-ignore]

    drive.mount("/content/drive")
    os.environ["DEEPDIVE_OUT"] = "/content/drive/MyDrive/deepdive"
