"""The atlas: every system of the book, where it changes its parent, and what proves it.

`python -m deepdive.atlas` (`make atlas`) writes atlas.csv from the headers of models, parts and
pages (`headers`), and from planned.csv for what is not built yet (`rows`). Neither imports torch:
the book is built without it. `compare("gnmt")` puts a system beside its parent, and does.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .beside import Beside


def compare(system: str) -> Beside:
    """Return a system beside its parent; see `deepdive.atlas.beside.compare`."""
    from .beside import compare

    return compare(system)
