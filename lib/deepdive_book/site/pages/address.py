"""Where a checkout is published: found out, checked, and written into the one setting."""

import os
import re
import subprocess
from pathlib import Path

from deepdive_book.site.pages import PageError

SETTING = "lib/deepdive_book/site/pages/setup_cell.py"
# How git names a repository on GitHub, where Colab and Binder open notebooks from.
REMOTE = re.compile(
    r"(?:https://(?:[^@/]+@)?|git@|ssh://git@)github\.com[:/]([\w.-]+/[\w.-]+?)(?:\.git)?/?"
)


def published(root: Path) -> str:
    """The address of the repository that GitHub is publishing, else of the remote `origin`.

    Raises:
        PageError: neither is a repository on GitHub.
    """
    if name := os.environ.get("GITHUB_REPOSITORY"):
        return checked(f"https://github.com/{name}")
    command = ["git", "-C", str(root), "remote", "get-url", "origin"]
    try:
        told = subprocess.run(command, capture_output=True, text=True, check=False)
    except OSError as error:
        raise PageError(f"git: {error.strerror}: name the place with --address") from error
    return checked(told.stdout.strip() or "no remote origin")


def checked(address: str) -> str:
    """The address as https://github.com/OWNER/NAME."""
    named = REMOTE.fullmatch(address)
    if named is None:
        raise PageError(
            f"address: got {address!r}, expected a repository on github.com: "
            "give it as --address https://github.com/OWNER/NAME"
        )
    return f"https://github.com/{named[1]}"


def write(root: Path, address: str, branch: str) -> None:
    """Write both settings into the checkout's library."""
    path = root / SETTING
    text = path.read_text("utf-8")
    for name, value in (("ADDRESS", address), ("BRANCH", branch)):
        text = re.sub(rf'^{name} = ".*"$', f'{name} = "{value}"', text, flags=re.M)
    path.write_text(text, encoding="utf-8")
