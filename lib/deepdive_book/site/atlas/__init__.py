"""The atlas: every system of the book, where it changes its parent, and what proves it.

`python -m deepdive_book.site.atlas` (`make atlas`) writes atlas.csv from the table of
systems (systems.csv, `rows`) and the headers of models, parts and pages (`headers`). Neither
imports torch: the book is built without it. `compare("gnmt")` puts a system beside its parent, and
does.

System: taxonomy
Parent: none
What differs:
- a change is sorted by the place where it acts (`Row.place`): in a head, in a layer, between
  layers, around the stack
- what is written in a header is written once (`headers`); what can be found is found (`rows`)
Source: Lin et al. 2022, section 3; Tay et al. 2022.
Book: 1.2.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from deepdive_book.site.atlas.comparison import Beside


def compare(system: str) -> Beside:
    """Return a system beside its parent; see `deepdive_book.site.atlas.comparison.compare`."""
    from deepdive_book.site.atlas.comparison import compare

    return compare(system)
