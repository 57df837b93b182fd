"""Read the files that a data set is made from: loose files, or members of zip and tar archives.

Nothing is ever unpacked to disk under a name that an archive gives, as pooch would; members are
read by name, and no more than `limit` bytes in all.
"""

import lzma
import struct
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from deepdive.data.errors import DataRefused

LIMIT = 512 << 20
_BROKEN = (
    tarfile.TarError, zipfile.BadZipFile, zlib.error, lzma.LZMAError, EOFError, OSError,
    RuntimeError, ValueError, struct.error,
)  # fmt: skip


class Parts:
    """The bytes of the parts, by path. `loose` maps a part's path to where it was downloaded.

    The members of an archive are read by their path inside it; the folder that GitHub puts around
    a repository (`NAME-COMMIT/`) is left out of the paths of a `.tar.gz`.
    """

    def __init__(self, loose: Mapping[str, Path], limit: int = LIMIT) -> None:
        self._loose = loose
        self._left = limit

    def one(self) -> bytes:
        """The bytes of the only part."""
        ((path, _),) = self._loose.items()
        return self.get(path)

    def get(self, path: str) -> bytes:
        """The bytes of the loose part `path`."""
        source = self._loose[path]
        self._spend(source.stat().st_size, source)
        return source.read_bytes()

    def members(self, wanted: Callable[[str], bool]) -> dict[str, bytes]:
        """Members of the only part, an archive, whose paths are `wanted`, in sorted order."""
        ((_, archive),) = self._loose.items()
        read = self._zip if zipfile.is_zipfile(archive) else self._tar
        try:
            return dict(sorted(read(archive, wanted)))
        except DataRefused:
            raise
        except _BROKEN as error:  # cut, with a password, or packed by an unknown method
            raise DataRefused(f"{archive.name}: cannot be unpacked ({error})") from error

    def member(self, path: str) -> bytes:
        """One member of the only part, an archive."""
        found = self.members(lambda name: name == path)
        if path not in found:
            raise DataRefused(f"the archive has no member {path!r}: it is another version")
        return found[path]

    def _zip(self, archive: Path, wanted: Callable[[str], bool]) -> Iterator[tuple[str, bytes]]:
        with zipfile.ZipFile(archive) as file:
            for info in file.infolist():
                if not info.is_dir() and wanted(info.filename):
                    self._spend(info.file_size, archive)
                    with file.open(info) as member:
                        # Asked for a number of bytes, zipfile unpacks no more; asked for all, it
                        # does, whatever the size is said to be.
                        yield info.filename, member.read(info.file_size + 1)

    def _tar(self, archive: Path, wanted: Callable[[str], bool]) -> Iterator[tuple[str, bytes]]:
        with tarfile.open(archive, "r:gz") as file:
            for info in file:
                path = info.name.partition("/")[2]
                if info.isfile() and wanted(path):
                    self._spend(info.size, archive)
                    member = file.extractfile(info)
                    yield path, member.read() if member is not None else b""

    def _spend(self, size: int, source: Path) -> None:
        self._left -= size
        if self._left < 0:
            raise DataRefused(f"{source.name}: holds more than the {LIMIT:,} bytes allowed")
