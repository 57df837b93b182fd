"""`@fault(...)` marks what proves how a fault ends: its row in the book's table of faults.

    @fault(
        "The connection drops",
        made="the server closes it after a third of the bytes",
        happens="the download goes on where it broke",
        kept="what had come",
    )
    def test_a_dropped_download_goes_on_where_it_broke() -> None: ...

`tools/faults_table.py` reads the calls from the sources and writes `book/faults.md`; it runs no
test, so every argument is a plain string. A test may have several.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

Test = TypeVar("Test", bound=Callable[..., object])


def fault(fault: str, *, made: str, happens: str, kept: str) -> Callable[[Test], Test]:
    """The row: what goes wrong, how the test makes it, what happens then, and what is kept."""
    return lambda test: test
