"""Write atlas.csv at the root."""

from deepdive_book.site.atlas.rows import ROOT, rows, table


def main() -> None:
    found = rows()
    (ROOT / "atlas.csv").write_text(table(found), encoding="utf-8")
    count = sum(row.built for row in found)
    print(f"atlas.csv: {len(found)} systems, {count} built, {len(found) - count} planned")


if __name__ == "__main__":
    main()
