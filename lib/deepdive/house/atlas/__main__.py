"""Write atlas.csv at the root, and drop from planned.csv what has been built."""

import csv
import io

from deepdive.house.atlas.headers import headers
from deepdive.house.atlas.rows import LIBRARY, PLANNED, ROOT, read_csv, rows, table


def main() -> None:
    proved = headers(LIBRARY, ROOT)
    plan = read_csv(PLANNED)
    out = io.StringIO()
    writer = csv.DictWriter(out, list(plan[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(each for each in plan if each["id"] not in proved)
    PLANNED.write_text(out.getvalue(), encoding="utf-8")
    atlas = rows()
    (ROOT / "atlas.csv").write_text(table(atlas), encoding="utf-8")
    count = sum(row.built for row in atlas)
    print(f"atlas.csv: {len(atlas)} systems, {count} built, {len(atlas) - count} planned")


if __name__ == "__main__":
    main()
