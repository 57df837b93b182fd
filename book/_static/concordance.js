// The concordance: a printed page, a section's number or words, and the rows that answer.
const field = document.querySelector(".concordance-ask input");
const told = document.querySelector(".concordance-ask [role=status]");
const tables = [...document.querySelectorAll("table.concordance")];
const lines = tables.flatMap(table => [...table.tBodies[0].rows]);
const printed = lines.filter(row => /^\d+$/.test(row.dataset.page ?? ""));

// For a printed page: what starts there, and what started earlier and may continue.
function onPage(page) {
  const begins = printed.filter(row => +row.dataset.page === page);
  const before = printed.filter(row => +row.dataset.page < page).at(-1);
  return { begins, rows: before ? [before, ...begins] : begins, before };
}

const name = row => row.dataset.section || row.cells[1].textContent;
const inSection = (row, number) => row.closest("table").dataset.source === "book" &&
  `${row.dataset.section}.`.startsWith(`${number}.`);

function sentence(page, { begins, before }) {
  const parts = begins.length ? [`${begins.map(name).join(", ")} starts on page ${page}`] : [];
  if (before) parts.push(`${name(before)}, from page ${before.dataset.page}, may continue here`);
  return `${parts.join("; ")}.`;
}

function answer(question) {
  const words = question.trim().toLowerCase();
  if (!words) return { rows: lines, words: "" };
  if (/^(p\.?|page)?\s*\d+$/.test(words)) {
    const page = +words.match(/\d+/)[0];
    const found = onPage(page);
    const chapter = words.length === 1 ? lines.filter(row => inSection(row, words)) : [];
    return { rows: [...found.rows, ...chapter], words: sentence(page, found) };
  }
  const rows = /^\d+(\.\d+)+\.?$/.test(words)
    ? lines.filter(row => inSection(row, words.replace(/\.$/, "")))
    : lines.filter(row => words.split(/\s+/).every(word =>
        row.dataset.page === word || row.textContent.toLowerCase().includes(word)));
  return { rows, words: `${rows.length} ${rows.length === 1 ? "row" : "rows"}.` };
}

function show() {
  const { rows, words } = answer(field.value);
  const kept = new Set(rows);
  for (const row of lines) row.hidden = !kept.has(row);
  for (const table of tables)
    table.closest("section").hidden = !lines.some(row => table.contains(row) && !row.hidden);
  told.textContent = words;
}

if (field) {
  field.closest("form").hidden = false;
  field.closest("form").addEventListener("submit", event => event.preventDefault());
  field.value = new URLSearchParams(location.search).get("q") ?? "";
  field.addEventListener("input", show);
  show();
}
