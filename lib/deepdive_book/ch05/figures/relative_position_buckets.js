const spec = JSON.parse(given.values), box = document.getElementById(given.id), n = spec.length;
const choice = box.querySelector("select"), [query, key] = box.querySelectorAll("input");
const cells = [...box.querySelectorAll(".bk-strip i")], marks = box.querySelectorAll(".bk-marks b");
const outputs = box.querySelectorAll("output"), status = box.querySelector("[role=status]");
const numbers = box.querySelector(".bk-numbers"), axis = box.querySelector(".bk-ticks");
const minus = text => text.replace("-", "−");
const place = (line, labels) => line.replaceChildren(...labels.map(([at, words]) => {
  const label = document.createElement("b");
  label.style.left = `${(100 * (at + 0.5) / n).toFixed(2)}%`;
  label.textContent = words;
  return label;
}));
const draw = () => {
  const table = spec.tables[+choice.value], causal = spec.causal[+choice.value];
  const at = +query.value, k = +key.value, of = i => table[i - at + n - 1];
  const keys = cells.map((_, i) => i).filter(i => !causal || i <= at), buckets = new Map();
  cells.forEach((cell, i) => { cell.style.opacity = causal && i > at ? 0 : spec.shades[of(i) % 2]; });
  keys.forEach(i => buckets.set(of(i), [...(buckets.get(of(i)) ?? []), i]));
  place(numbers, [...buckets].filter(([, some]) => some.length >= spec.wide)
    .map(([bucket, some]) => [(some[0] + some.at(-1)) / 2, `${bucket}`]));
  const ticks = [];
  for (let i = -Math.floor(at / spec.tick); at + spec.tick * i < n; i++) ticks.push([at + spec.tick * i, minus(`${spec.tick * i}`)]);
  place(axis, ticks);
  [at, k].forEach((position, m) => {
    outputs[m].textContent = position;
    marks[m].style.left = `${100 * (position + 0.5) / n}%`;
    marks[m].textContent = m ? "▲" : "●";
  });
  let words = `Query at ${at}, key at ${k}: the key is ahead of the query, so it is masked.`;
  if (!causal || k <= at) {
    const same = buckets.get(of(k));
    const shared = same.length > 1 ? `${same.length} keys share it, ${same[0]} to ${same.at(-1)}` : "no other key has it";
    words = `Query at ${at}, key at ${k}: distance ${k - at}, bucket ${of(k)}; ${shared}.`;
  }
  status.textContent = minus(words);
};
choice.onchange = query.oninput = key.oninput = draw;
box.querySelector(".bk-choose").hidden = false;
draw();
