// Long tables of results: a button in each column's head sorts the rows; empty cells stay last.
const collator = new Intl.Collator("en", { numeric: true });

// What a cell is sorted by: its number, where it stands for one, else its text.
const key = cell => cell.dataset.value === undefined
  ? cell.textContent.trim() : Number(cell.dataset.value);

function compare(a, b) {
  if (typeof a === typeof b) return typeof a === "number" ? a - b : collator.compare(a, b);
  return typeof a === "number" ? -1 : 1;
}

function sort(table, head) {
  const falls = head.getAttribute("aria-sort") === "ascending";
  const rows = [...table.tBodies[0].rows].map(row => ({ row, at: key(row.cells[head.cellIndex]) }));
  const full = rows.filter(({ at }) => at !== "");
  full.sort((a, b) => falls ? compare(b.at, a.at) : compare(a.at, b.at));
  table.tBodies[0].append(...full.map(({ row }) => row));
  table.tBodies[0].append(...rows.filter(({ at }) => at === "").map(({ row }) => row));
  for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
  head.setAttribute("aria-sort", falls ? "descending" : "ascending");
}

for (const table of document.querySelectorAll("table.dd-table.sortable")) {
  for (const head of table.tHead.rows[0].cells) {
    if (!head.textContent.trim()) continue;  // a button needs a name
    const button = document.createElement("button");
    button.type = "button";
    button.append(...head.childNodes);
    button.addEventListener("click", () => sort(table, head));
    head.append(button);
  }
}
