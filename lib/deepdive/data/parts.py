"""Read the source files of a data set: loose files, or members of zip and tar archives.

Nothing is ever unpacked to disk under a name from an archive, as pooch would do; members are
read by name, at most `limit` bytes in total.
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
    """The contents of the parts, by path. `loose` maps a part's path to its downloaded file.

    Members of an archive are read by their path inside it; GitHub's top-level folder
    (`NAME-COMMIT/`) is dropped from the paths of a `.tar.gz`.
    """

    def __init__(self, loose: Mapping[str, Path], limit: int = LIMIT) -> None:
        self._loose = loose
        self._left = limit

    def one(self) -> bytes:
        """Return the content of the only part."""
        ((path, _),) = self._loose.items()
        return self.get(path)

    def get(self, path: str) -> bytes:
        """Return the content of the loose part `path`."""
        source = self._loose[path]
        self._spend(source.stat().st_size, source)
        return source.read_bytes()

    def members(self, wanted: Callable[[str], bool]) -> dict[str, bytes]:
        """Return the archive members (of the only part) whose paths are `wanted`, sorted."""
        ((_, archive),) = self._loose.items()
        read = self._zip if zipfile.is_zipfile(archive) else self._tar
        try:
            return dict(sorted(read(archive, wanted)))
        except DataRefused:
            raise
        except _BROKEN as error:  # truncated, encrypted, or of an unknown compression method
            raise DataRefused(f"{archive.name}: cannot be unpacked ({error})") from error

    def member(self, path: str) -> bytes:
        """Return one member of the only part, an archive."""
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
                        # With a number of bytes, zipfile unpacks no more; without, it unpacks
                        # everything, whatever size the archive declares.
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
