"""Archives for tests: what a server has of a folder."""

from __future__ import annotations

import io
import tarfile
from collections.abc import Mapping


def tarball(files: Mapping[str, bytes]) -> bytes:
    """A .tar.gz of these paths and contents."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as archive:
        for name, content in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    return packed.getvalue()
