"""Fetch what the book and its tests use from npm: `python tools/vendor.py [NAME ...]`.

Each package has one exact version and the sha512 that npm publishes for it; what arrives is held
to that sum before anything of it is written. The files wanted go to build/vendor/NAME-VERSION and
stay there. The registry is npm_config_registry where that is set, else the one that npm is
configured for, else npm's public one. Standard library only: make calls it before .venv is there.
"""

from __future__ import annotations

import argparse
import base64
import fcntl
import hashlib
import io
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
VENDOR = ROOT / "build" / "vendor"
PUBLIC = "https://registry.npmjs.org/"
LIST = ".files"  # beside the files, what was asked for: after a change all is fetched anew


@dataclass(frozen=True)
class Package:
    """One version, its sum as `npm view NAME@VERSION dist.integrity` says it, the files wanted.

    In a pattern `*` stands for any characters, slashes among them.
    """

    version: str
    integrity: str
    files: tuple[str, ...]


PACKAGES = {
    "axe-core": Package(
        "4.14.1",
        "sha512-FHfa+lmNjQZfJz1q8wKqIDwC6DExcHt/pkjNQb09a3NPjCKg2rhu5qb2S4r76ASyFNNtuFooJpZe37Ogu"
        "dVGtQ==",
        ("axe.min.js", "LICENSE"),
    ),
    "minisearch": Package(
        "7.2.0",
        "sha512-dqT2XBYUOZOiC5t2HRnwADjhNS2cecp9u+TJRiJ1Qp/f5qjkeT5APcGPjHw+bz89Ms8Jp+cG4AlE+QZ/Q"
        "nDglg==",
        ("dist/umd/index.js", "LICENSE.txt"),
    ),
    "reveal.js": Package(
        "6.0.2",
        "sha512-JYIg5D9aoxoaLeb84O+OvAwsKWdIavVgEDScxtYEXFCT6t6TQrhNtSgogcjdCpdLsWglhJn3zyE3fUOwi"
        "H5KEg==",
        ("dist/reveal.js", "dist/reveal.css", "dist/plugin/notes.js", "LICENSE"),
    ),
}


class VendorError(Exception):
    """A package cannot be had; the text says why and what to do."""


def registry() -> tuple[str, str]:
    """Return the registry's address and who named it. Only the latter is fit to be shown."""
    for name in ("npm_config_registry", "NPM_CONFIG_REGISTRY"):
        if os.environ.get(name):
            return os.environ[name], name
    if npm := shutil.which("npm"):
        asked = [npm, "config", "get", "registry"]
        told = subprocess.run(asked, capture_output=True, text=True, check=False).stdout.strip()
        if told.startswith(("https://", "http://")) and told.rstrip("/") != PUBLIC.rstrip("/"):
            return told, "npm's configuration"
    return PUBLIC, PUBLIC


def check(name: str, data: bytes) -> None:
    """Raise VendorError unless the tarball of a package has the sum that the table gives it."""
    kind, _, wanted = PACKAGES[name].integrity.partition("-")
    found = base64.b64encode(hashlib.new(kind, data).digest()).decode()
    if found != wanted:
        raise VendorError(
            f"{name} {PACKAGES[name].version} has the sum {kind}-{found}, not the one in "
            "tools/vendor.py: the registry has sent something else. Name another: "
            f"npm_config_registry={PUBLIC}"
        )


def download(name: str) -> bytes:
    """Return the tarball of a package. Raises VendorError where no registry gives it."""
    address, source = registry()
    version = PACKAGES[name].version
    url = f"{address.rstrip('/')}/{name}/-/{name.rpartition('/')[2]}-{version}.tgz"
    try:
        with urllib.request.urlopen(url, timeout=60) as answer:
            return bytes(answer.read())
    except (OSError, ValueError) as error:
        why = str(error).replace(url, "no address")
        raise VendorError(
            f"{name} {version} could not be fetched from the npm registry of {source}: {why}. "
            f"Go online, or name a registry that has it: npm_config_registry={PUBLIC}"
        ) from error


def vendored(name: str) -> Path:
    """Return the folder with the files of a package, fetching them where they are not there yet."""
    package = PACKAGES[name]
    folder = VENDOR / f"{name.replace('/', '-')}-{package.version}"
    wanted = "\n".join(package.files)

    def current() -> bool:
        return (folder / LIST).is_file() and (folder / LIST).read_text("utf-8") == wanted

    if current():
        return folder
    VENDOR.mkdir(parents=True, exist_ok=True)
    with lock(VENDOR), tempfile.TemporaryDirectory(dir=VENDOR) as work:
        if current():  # another process had the lock before, and has fetched it
            return folder
        data = download(name)
        check(name, data)
        fresh = Path(work) / "fresh"
        unpack(data, package.files, fresh)
        (fresh / LIST).write_text(wanted, "utf-8")
        shutil.rmtree(folder, ignore_errors=True)
        fresh.rename(folder)
    return folder


@contextmanager
def lock(folder: Path) -> Iterator[None]:
    """Let one process at a time work on a folder."""
    held = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(held, fcntl.LOCK_EX)
        yield
    finally:
        os.close(held)


def unpack(data: bytes, patterns: tuple[str, ...], folder: Path) -> None:
    """Write the files of a tarball that match, without npm's leading folder."""
    missing = set(patterns)
    with tarfile.open(fileobj=io.BytesIO(data)) as archive:
        for member in archive:
            name = member.name.partition("/")[2]
            matched = {pattern for pattern in patterns if fnmatch(name, pattern)}
            content = archive.extractfile(member)
            if not matched or content is None or ".." in Path(name).parts:
                continue
            missing -= matched
            target = folder / name
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(content.read())
    if missing:
        raise VendorError(f"the package has no {', '.join(sorted(missing))}: fix tools/vendor.py")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help="empty: all of the table")
    names = parser.parse_args().names or list(PACKAGES)
    if unknown := set(names) - set(PACKAGES):
        parser.error(f"{', '.join(sorted(unknown))}: the table has {', '.join(PACKAGES)}")
    try:
        for name in names:
            print(f"{name} {PACKAGES[name].version} is in {vendored(name)}")
    except VendorError as error:
        print(f"vendor: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
