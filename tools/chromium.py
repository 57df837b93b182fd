"""Install Chromium for the tests and the printed book where apt is there: `make browser`.

Returns at once where a browser is there already; where apt is not, says what to do. Standard
library only.
"""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
import sys
from pathlib import Path

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
MAC = [f"/Applications/{name}.app/Contents/MacOS/{name}" for name in ("Chromium", "Google Chrome")]
# Without fonts Chromium shows no letter, and Debian's chromium only recommends some.
PACKAGES = ("chromium", "fonts-liberation", "fonts-dejavu-core")
OTHERWISE = {
    "dnf": "sudo dnf install chromium",
    "pacman": "sudo pacman -S chromium",
    "zypper": "sudo zypper install chromium",
    "apk": "sudo apk add chromium font-liberation",
    "brew": "brew install --cask google-chrome",
}


def program() -> str | None:
    """Return the path of Chromium or Chrome, or None."""
    found = [path for name in NAMES if (path := shutil.which(name))]
    found += [path for path in MAC if Path(path).exists()]
    return found[0] if found else None


def advice() -> str:
    """Return what a person types to get a browser where apt is not there."""
    for tool, command in OTHERWISE.items():
        if shutil.which(tool):
            return command
    if platform.system() == "Darwin":
        return "install Google Chrome from https://www.google.com/chrome"
    return "install Chromium or Google Chrome, so that one of these is found: " + ", ".join(NAMES)


def apt(*arguments: str) -> int:
    """Run apt-get, as root or through sudo; return its status."""
    root = [] if os.geteuid() == 0 else ["sudo"]
    quiet = ["env", "DEBIAN_FRONTEND=noninteractive", "apt-get", "-q", "-y"]
    return subprocess.run([*root, *quiet, *arguments], check=False).returncode


def main() -> int:
    if program():
        return 0
    why = "apt-get is not here"
    if shutil.which("apt-get"):
        if os.geteuid() != 0 and not shutil.which("sudo"):
            why = "apt-get needs root, and sudo is not here"
        else:
            install = ("install", "--no-install-recommends", *PACKAGES)
            apt("update")  # an old list names a browser that is old, or no longer there
            if apt(*install) == 0:
                if program():
                    return 0
                why = "apt-get installed no Chromium"
            else:
                why = "apt-get failed, its words are above"
    print(f"browser: {why}. By hand: {advice()}", file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main())
