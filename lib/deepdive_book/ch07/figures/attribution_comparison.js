const { words, names, half } = spec, S = words.length, M = spec.methods.length, C = names.length;
const buffer = Uint8Array.from(atob(spec.bytes), c => c.charCodeAt(0)).buffer;
const place = new Map();
const grow = (subset, from, left) => {
  if (!left) place.set(subset.join(), place.size);
  for (let i = from; left && i < S; i++) grow([...subset, i], i + 1, left - 1);
};
for (let k = 0; k <= spec.most; k++) grow([], 0, k);
const N = place.size, none = 255;
const predictions = new Float32Array(buffer, 0, N * C), strongest = new Float32Array(buffer, 4 * N * C, N * M);
const places = new Uint8Array(buffer, 4 * N * (C + M), N * M);
const shares = new Int8Array(buffer, 4 * N * (C + M) + N * M, N * M * S);
const signed = v => (v < 0 ? "-" : "+") + Math.abs(v).toFixed(2);
const percent = share => `${(100 * share).toFixed(0)} %`;
const rows = all(".ex-row"), cells = rows.map(row => [...row.querySelectorAll(".ex-word")]);
const drawCell = (cell, share, removed) => {
  const color = share > 0 ? spec.for : spec.against, high = half * Math.abs(share);
  const part = 100 * Math.round(120 * Math.abs(share)) / 255;
  cell.classList.toggle("view-removed", removed);
  cell.title = removed ? "taken away" : signed(share);
  cell.style.background = `color-mix(in srgb,${color} ${part.toFixed(1)}%,transparent)`;
  Object.assign(cell.querySelector(".ex-bar span").style, { background: color,
    height: `${high.toFixed(1)}px`, top: `${(share > 0 ? half - high : half).toFixed(1)}px` });
};
const draw = () => {
  const { removed, shown } = state, at = place.get(removed.join()), counts = new Map();
  const now = [...predictions.subarray(at * C, at * C + C)];
  all(".view-scale span").forEach((bar, c) => { bar.style.width = `${(100 * now[c]).toFixed(1)}%`; });
  write(".view-bar b", now.map(percent));
  rows.forEach((row, m) => {
    const here = at * M + m, first = places[here];
    row.hidden = !shown[m];
    row.querySelector("small").textContent = first === none ? "nothing"
      : `${words[first]} ${Math.abs(strongest[here]) < 0.01 ? "below 0.01" : signed(strongest[here])}`;
    if (shown[m] && first !== none) counts.set(first, (counts.get(first) || 0) + 1);
    cells[m].forEach((cell, i) => drawCell(cell, shares[here * S + i] / 127, removed.includes(i)));
  });
  all(".view-words button").forEach((button, i) => button.setAttribute("aria-pressed", removed.includes(i)));
  all(".view-methods button").forEach((button, m) => button.setAttribute("aria-pressed", shown[m]));
  const order = [...counts].sort((a, b) => b[1] - a[1] || a[0] - b[0]).map(([i, n]) => `“${words[i]}” ${n}`);
  const text = removed.length ? `Without ${removed.map(i => words[i]).join(", ")}` : "Whole text";
  return `${text}: ${names.map((name, c) => `${name} ${percent(now[c])}`).join(", ")}. Strongest word, `
    + `by how many of ${shown.filter(Boolean).length}: ${order.join("; ") || "none"}.`;
};
const toggle = i => {
  const { removed } = state, full = removed.length === spec.most && !removed.includes(i);
  if (removed.includes(i)) state.removed = removed.filter(j => j !== i);
  else if (!full) state.removed = [...removed, i].sort((a, b) => a - b);
  update();
  const limit = spec.most > 1 ? `${spec.most} words are` : "One word is";
  if (full) announce(`${draw()} ${limit} gone, which is the most here: first bring one back.`);
};
all(".view-words button").forEach((button, i) => { button.onclick = () => toggle(i); });
cells.forEach(row => row.forEach((cell, i) => { cell.onclick = () => toggle(i); }));
all(".view-methods button").forEach((button, m) => {
  button.onclick = () => { state.shown[m] = !state.shown[m]; update(); };
});
onArrows(find(".view-words"), right => {
  const buttons = all(".view-words button"), at = buttons.indexOf(document.activeElement);
  buttons[(at + Math.sign(right) + S) % S].focus();
});
on("back", () => { state.removed = []; });
