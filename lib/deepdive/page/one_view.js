const spec = JSON.parse(given.values), box = document.getElementById(given.id);
const { words, methods, names, half } = spec, S = words.length, M = methods.length, C = names.length;
const buffer = Uint8Array.from(atob(spec.bytes), c => c.charCodeAt(0)).buffer;
const place = new Map();
const grow = (set, from, left) => {
  if (!left) place.set(set.join(), place.size);
  for (let i = from; left && i < S; i++) grow([...set, i], i + 1, left - 1);
};
for (let k = 0; k <= spec.most; k++) grow([], 0, k);
const N = place.size;
const said = new Float32Array(buffer, 0, N * C), most = new Float32Array(buffer, 4 * N * C, N * M);
const places = new Uint8Array(buffer, 4 * N * (C + M), N * M), none = 255;
const shares = new Int8Array(buffer, 4 * N * (C + M) + N * M, N * M * S);
const told = box.querySelector("[role=status]"), back = box.querySelector(".ov-back");
const buttons = [...box.querySelectorAll(".ov-words button")];
const choices = [...box.querySelectorAll(".ov-which button")];
const bars = [...box.querySelectorAll(".ov-bar")], rows = [...box.querySelectorAll(".ex-row")];
const cells = rows.map(row => [...row.querySelectorAll(".ex-word")]);
let gone = [];
const signed = v => (v < 0 ? "-" : "+") + Math.abs(v).toFixed(2);
const largestOf = (i, value) => i === none ? "nothing"
  : `${words[i]} ${Math.abs(value) < 0.01 ? "below 0.01" : signed(value)}`;
const draw = more => {
  const at = place.get(gone.join()), counts = new Map();
  const now = [...said.subarray(at * C, at * C + C)];
  bars.forEach((bar, c) => {
    bar.querySelector(".ov-way span").style.width = `${(100 * now[c]).toFixed(1)}%`;
    bar.querySelector("b").textContent = `${(100 * now[c]).toFixed(0)} %`;
  });
  rows.forEach((row, m) => {
    const here = at * M + m, values = shares.subarray(here * S, here * S + S), first = places[here];
    row.hidden = choices[m].getAttribute("aria-pressed") === "false";
    row.querySelector("small").textContent = largestOf(first, most[here]);
    if (!row.hidden && first !== none) counts.set(first, (counts.get(first) || 0) + 1);
    cells[m].forEach((cell, i) => {
      const share = values[i] / 127, colour = share > 0 ? spec.for : spec.against;
      const bar = cell.querySelector(".ex-bar span"), high = half * Math.abs(share);
      const part = 100 * Math.round(120 * Math.abs(share)) / 255;
      cell.classList.toggle("ov-gone", gone.includes(i));
      cell.title = gone.includes(i) ? "taken away" : signed(share);
      cell.style.background = `color-mix(in srgb,${colour} ${part.toFixed(1)}%,transparent)`;
      bar.style.background = colour;
      bar.style.height = `${high.toFixed(1)}px`;
      bar.style.top = `${(share > 0 ? half - high : half).toFixed(1)}px`;
    });
  });
  buttons.forEach((button, i) => button.setAttribute("aria-pressed", gone.includes(i)));
  back.setAttribute("aria-disabled", !gone.length);
  const there = rows.filter(row => !row.hidden).length;
  const order = [...counts].sort((a, b) => b[1] - a[1] || a[0] - b[0]);
  const what = gone.length ? `Without ${gone.map(i => words[i]).join(", ")}` : "Whole text";
  told.textContent = `${what}: ${names.map((n, c) => `${n} ${(100 * now[c]).toFixed(0)} %`).join(", ")}. `
    + `Strongest word, by how many of ${there}: `
    + `${order.map(([i, n]) => `“${words[i]}” ${n}`).join("; ") || "none"}.${more || ""}`;
};
const toggle = i => {
  if (gone.includes(i)) gone = gone.filter(j => j !== i);
  else if (gone.length < spec.most) gone = [...gone, i].sort((a, b) => a - b);
  else {
    const limit = spec.most > 1 ? `${spec.most} words are` : "One word is";
    return draw(` ${limit} gone, which is the most here: first bring one back.`);
  }
  draw();
};
buttons.forEach((button, i) => {
  button.onclick = () => toggle(i);
  button.onkeydown = event => {
    const by = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (by) { buttons[(i + by + S) % S].focus(); event.preventDefault(); }
  };
});
cells.forEach(row => row.forEach((cell, i) => { cell.onclick = () => toggle(i); }));
choices.forEach(button => {
  button.onclick = () => {
    button.setAttribute("aria-pressed", button.getAttribute("aria-pressed") === "false");
    draw();
  };
});
back.onclick = () => { gone = []; draw(); };
box.classList.add("ov-live");
box.querySelectorAll(".ov-choose").forEach(part => { part.hidden = false; });
