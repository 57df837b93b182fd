"""The notebooks in what an LMS gives to download: a folder, a zip, zips inside zips.

Nothing is unpacked to the disk, and no stated size is believed. Each sender has a share of names
and of bytes; who sends more is left out with all that they sent, in one line, and the rest is read.
"""

import lzma
import os
import re
import struct
import zipfile
import zlib
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from io import BytesIO
from pathlib import Path, PurePosixPath
from typing import IO

from deepdive_book.course.assignment.errors import AssignmentError

LARGEST_NOTEBOOK = 20_000_000  # bytes
LARGEST_SHARE = 60_000_000  # bytes that are read of one student's
MOST_NAMES = 20_000  # of one sender, those of what is no notebook included
LARGEST_DOWNLOAD = 500_000_000  # bytes that are kept of all
DEEPEST = 3  # zips in zips

Refusal = tuple[str, str]  # a file, and why it was not taken
Whose = Callable[[PurePosixPath], tuple[str | None, str]]  # a path's student, or None and why

_SKIPPED = re.compile(r"__MACOSX|\.ipynb_checkpoints|\.DS_Store|Thumbs\.db|\._.*")
_UTF8 = 0x800  # the flag of a name that is UTF-8
_ENTRY = b"PK\x01\x02"  # with this each name in a zip's table begins
_UNREADABLE = (
    zipfile.BadZipFile, zlib.error, lzma.LZMAError, struct.error,
    NotImplementedError, EOFError, OSError, ValueError,
)  # fmt: skip


def _plain(path: Path) -> IO[bytes]:
    return path.open("rb")


@dataclass(frozen=True)
class File:
    """A notebook of the download: its path in it, zips included, and what it holds."""

    path: PurePosixPath
    data: bytes


def safe_name(name: object) -> str:
    """What a stranger called something, as any terminal and any file may show it."""
    text = "".join(letter if letter.isprintable() else "?" for letter in str(name))
    return text if len(text) <= 200 else f"{text[:200]}..."


def notebooks(download: Path, whose: Whose) -> tuple[dict[str, list[File]], list[Refusal]]:
    """Return each student's notebooks in a folder or zip, and what was not taken.

    Raises:
        AssignmentError: it is neither, is damaged, or holds too much in all.
    """
    reader = _Reader(whose)
    if download.is_dir():
        reader.folder(download)
    elif download.is_file() and zipfile.is_zipfile(download):
        with download.open("rb") as file:
            try:
                reader.zip(file, PurePosixPath(), 0)
            except _UNREADABLE as error:
                raise AssignmentError(f"{download} is damaged ({error}): get it again") from error
    else:
        raise AssignmentError(f"{download} is neither a folder nor a zip")
    return reader.files, [line for lines in reader.refused.values() for line in _short(lines)]


def _named(info: zipfile.ZipInfo) -> str:
    """A file's name. A Mac writes UTF-8 without the flag that says so; Python then takes cp437."""
    if not info.flag_bits & _UTF8:
        with suppress(UnicodeError):
            return info.filename.encode("cp437").decode("utf-8")
    return info.filename


def _short(lines: list[Refusal]) -> list[Refusal]:
    """More than three files of one sender that are refused for one reason are one line."""
    often = Counter(why for _, why in lines)
    short: dict[Refusal, Refusal] = {}
    for file, why in lines:
        if often[why] > 3:
            short.setdefault(("", why), (f"{file} and {often[why] - 1} more", why))
        else:
            short[file, why] = file, why
    return list(short.values())


class _Reader:
    """Goes through a download, and keeps account of each sender: a student, or whoever else."""

    def __init__(self, whose: Whose) -> None:
        self.whose = whose
        self.files: dict[str, list[File]] = {}
        self.refused: dict[str, list[Refusal]] = {}
        self.names: Counter[str] = Counter()
        self.bytes: Counter[str] = Counter()
        self.kept = 0
        self.blocked: set[str] = set()

    def folder(self, root: Path) -> None:
        """Go through a folder."""

        def below(path: Path) -> PurePosixPath:
            return PurePosixPath(path.relative_to(root).as_posix())

        def unread(error: OSError) -> None:
            self.refuse(below(Path(error.filename)), f"cannot be read: {error.strerror}")

        for folder, names, files in os.walk(root, onerror=unread):
            names.sort()
            for path in (Path(folder, name) for name in sorted(files)):
                if path.is_symlink():
                    self.refuse(below(path), "a link, not followed")
                elif not path.is_file():  # to open a pipe would wait for ever
                    self.refuse(below(path), "no plain file")
                else:
                    self.file(below(path), partial(_plain, path), 0)

    def zip(self, file: IO[bytes], above: PurePosixPath, depth: int) -> None:
        """Go through a zip that lies at `above`."""
        with zipfile.ZipFile(file) as archive:
            for info in archive.infolist():
                name = _named(info).replace("\\", "/")
                path = above / name.lstrip("/")
                if name.startswith("/") or ".." in path.parts:
                    self.refuse(path, "its path leads out of the zip")
                elif (info.external_attr >> 16) & 0o170000 == 0o120000:
                    self.refuse(path, "a link, not followed")
                elif info.flag_bits & 1:
                    self.refuse(path, "encrypted")
                elif not info.is_dir():
                    self.file(path, partial(archive.open, info), depth)

    def file(self, path: PurePosixPath, opened: Callable[[], IO[bytes]], depth: int) -> None:
        """Take a notebook, open a zip, refuse the rest. One that is damaged stops no other."""
        if any(_SKIPPED.fullmatch(part) for part in path.parts):
            return
        kind = path.suffix.casefold()
        student, why = self.whose(path)
        try:
            if kind == ".zip" and depth < DEEPEST:
                self.inner(path, opened, depth)
            elif kind != ".ipynb":
                self.refuse(path, "no notebook")
            elif student is None:
                self.refuse(path, why)
            elif (data := self.read(path, opened, LARGEST_NOTEBOOK)) is not None:
                self.files.setdefault(student, []).append(File(path, data))
                self.keep(len(data))
        except _UNREADABLE as error:
            self.refuse(path, f"cannot be read: {error}")

    def inner(self, path: PurePosixPath, opened: Callable[[], IO[bytes]], depth: int) -> None:
        """Go through a zip in a zip, or in a folder."""
        data = self.read(path, opened, LARGEST_DOWNLOAD)
        if data is None:
            return
        if data.count(_ENTRY) > MOST_NAMES:  # before its table is read
            self.block(self.sender(path))
        else:
            self.zip(BytesIO(data), path.with_suffix(""), depth + 1)

    def read(self, path: PurePosixPath, opened: Callable[[], IO[bytes]], most: int) -> bytes | None:
        """What a file holds, unless that is more than `most` or than what its sender may send."""
        who = self.sender(path)
        if not self.counted(who):
            return None
        # Whoever is no student may have sent zips of a whole class.
        share = LARGEST_DOWNLOAD if self.whose(path)[0] is None else LARGEST_SHARE
        with opened() as file:
            data = file.read(min(most, share - self.bytes[who]) + 1)
        self.bytes[who] += len(data)
        if self.bytes[who] > share:
            self.block(who)
            return None
        if len(data) > most:
            self.refuse(path, f"above {most // 10**6} MB")
            return None
        return data

    def keep(self, size: int) -> None:
        """Note how much is kept.

        Raises:
            AssignmentError: it is more than may be.
        """
        self.kept += size
        if self.kept > LARGEST_DOWNLOAD:
            raise AssignmentError(
                f"the download holds more than {LARGEST_DOWNLOAD // 10**6} MB of notebooks: "
                "nothing was taken; give its parts one by one"
            )

    def sender(self, path: PurePosixPath) -> str:
        """The student, or of a path that names none its first part."""
        return self.whose(path)[0] or path.parts[0]

    def refuse(self, path: PurePosixPath, why: str) -> None:
        """Leave a file out."""
        who = self.sender(path)
        if self.counted(who):
            self.refused.setdefault(who, []).append((safe_name(path), safe_name(why)))

    def counted(self, who: str) -> bool:
        """Count one name more of a sender; whether they may send it."""
        self.names[who] += 1
        if self.names[who] > MOST_NAMES and who not in self.blocked:
            self.block(who)
        return who not in self.blocked

    def block(self, who: str) -> None:
        """Leave out all that a sender sent."""
        self.blocked.add(who)
        self.kept -= sum(len(file.data) for file in self.files.pop(who, []))
        why = f"more than {MOST_NAMES:,} names or {LARGEST_SHARE // 10**6} MB: ask for one notebook"
        self.refused[who] = [(f"all that {safe_name(who)} sent", why)]
