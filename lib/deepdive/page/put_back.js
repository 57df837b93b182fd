const spec = JSON.parse(given.values), box = document.getElementById(given.id);
const [text, way] = box.querySelectorAll("select");
const heads = [...box.querySelectorAll(".pb-heads .pb-cell")];
const rows = [...box.querySelectorAll("td .pb-cell")];
const titles = rows.map(cell => cell.closest("tr").querySelector("th").textContent);
const columns = [...box.querySelectorAll("thead th")].slice(1);
const runs = [...box.querySelectorAll(".pb-run")], told = box.querySelector(".pb-told");
const dot = box.querySelector(".pb-dot"), ends = [...box.querySelectorAll(".pb-ends span")];
const [clear, fill] = box.querySelectorAll("button:not(.pb-cell)");
let chosen = new Set(), row = -1;
const one = () => spec.cases[+text.value];
const start = () => one().numbers[way.value === "0" ? 1 : 0];
const end = () => one().numbers[way.value === "0" ? 0 : 1];
const percent = value => Math.round(100 * (value - start()) / (end() - start())) + 0;
const headValue = set => one().heads[+way.value][[...set].reduce((sum, h) => sum + (1 << h), 0)];
const rowValue = i => one().rows[+way.value][i];
const show = (cell, value, called) => {
  const part = value === null ? null : percent(value);
  cell.style.setProperty("--share", part === null ? 0 : Math.max(0, Math.min(100, part)));
  const share = cell.querySelector(".pb-share");
  if (share) share.textContent = part === null ? "" : `${part} %`;
  else {
    cell.textContent = part === null ? "?" : part;
    cell.setAttribute("aria-label", `${cell.textContent} ${called}`);
  }
};
const named = i => `${titles[i]} ${columns[i % columns.length].textContent}`;
const showHead = (h, known) => show(heads[h], known ? headValue([h]) : null, "");
const showRow = (i, known) => show(rows[i], known ? rowValue(i) : null, named(i));
const write = (element, words, beside) => {
  element.replaceChildren(...words.flatMap((word, i) => {
    const same = word === beside[i], node = document.createElement(same ? "span" : "mark");
    node.textContent = word;
    return i ? [" ", node] : [node];
  }));
};
const draw = () => {
  heads.forEach((cell, h) => cell.setAttribute("aria-pressed", chosen.has(h)));
  rows.forEach((cell, i) => cell.setAttribute("aria-pressed", i === row));
  const value = row >= 0 ? rowValue(row) : headValue(chosen);
  const low = Math.min(start(), end()), high = Math.max(start(), end());
  dot.style.left = `${100 * (value - low) / (high - low)}%`;
  const at = number => `${number.toFixed(0)} (${one().said[one().numbers.indexOf(number)]})`;
  ends[0].textContent = at(low);
  ends[1].textContent = at(high);
  const parts = row >= 0 ? [named(row)]
    : [...chosen].sort().map(h => heads[h].querySelector(".pb-name").textContent);
  told.textContent = parts.length
    ? `Put in: ${parts.join(", ")}. The answer goes from ${start().toFixed(0)} to `
      + `${value.toFixed(0)}: ${percent(value)} % of the way to ${end().toFixed(0)}.`
    : "Nothing is put in. Choose a head, or a row of the stream.";
};
const begin = () => {
  const words = [one().other, one().clean], said = [1, 0];
  if (way.value === "1") { words.reverse(); said.reverse(); }
  runs.forEach((run, r) => {
    const [line, answer] = run.querySelectorAll("span:not(span span)");
    write(line, words[r], words[1 - r]);
    answer.textContent = `answer: ${one().said[said[r]]} (${one().numbers[said[r]].toFixed(0)})`;
  });
  columns.forEach((column, i) => { column.textContent = words[0][i]; });
  chosen = new Set();
  row = -1;
  heads.forEach((_, h) => showHead(h, false));
  rows.forEach((_, i) => showRow(i, false));
  draw();
};
heads.forEach((cell, h) => {
  cell.disabled = false;
  cell.onclick = () => {
    row = -1;
    if (!chosen.delete(h)) chosen.add(h);
    if (chosen.size === 1 && chosen.has(h)) showHead(h, true);
    draw();
  };
});
rows.forEach((cell, i) => {
  cell.disabled = false;
  cell.onclick = () => {
    chosen = new Set();
    row = row === i ? -1 : i;
    showRow(i, true);
    draw();
  };
});
clear.onclick = begin;
fill.onclick = () => {
  heads.forEach((_, h) => showHead(h, true));
  rows.forEach((_, i) => showRow(i, true));
};
text.onchange = way.onchange = begin;
box.querySelectorAll("[hidden]").forEach(element => { element.hidden = false; });
begin();
