"""A family of systems: who has whom as parent, what each changed, and what proves it here."""

from dataclasses import dataclass

from deepdive_book.site.atlas.rows import ROOT, Row, rows


@dataclass(frozen=True)
class Kin:
    """One member.

    row     its line of the atlas: name, parent, year, place, bullets, page
    depth   how many of its ancestors are shown
    proof   one sentence: what was compared with what, or that it is planned
    """

    row: Row
    depth: int
    proof: str


def kin(*systems: str) -> list[Kin]:
    """Return the systems as a tree read from the top: a parent before its children, these by year.

    A parent that is not among `systems` makes its child a root.

    Raises:
        ValueError: a system is not in the atlas, or stands among `systems` twice.
    """
    known = {row.id: row for row in rows(ROOT)}
    if unknown := [name for name in systems if name not in known]:
        raise ValueError(
            f"systems: {unknown[0]!r} is not in the atlas; `deepdive list systems` has all"
        )
    if len(set(systems)) != len(systems):
        raise ValueError(f"systems: each once; got {', '.join(systems)}")

    def below(parent: str, depth: int) -> list[Kin]:
        children = [
            known[name]
            for name in systems
            if known[name].parent == parent or (not parent and known[name].parent not in systems)
        ]
        ordered = sorted(children, key=lambda row: (row.year or "9999", systems.index(row.id)))
        return [
            one
            for row in ordered
            for one in (Kin(row, depth, proof(row)), *below(row.id, depth + 1))
        ]

    return below("", 0)


def proof(row: Row) -> str:
    """What holds a system, in a sentence: its reference implementation, or why there is none. Empty
    for one that is planned.
    """
    if not row.built:
        return ""
    if row.oracle.startswith("none"):
        return "There is no reference implementation; tests of its laws hold it."
    return f"Its numbers equal those of {row.oracle.split(';')[0]}."
