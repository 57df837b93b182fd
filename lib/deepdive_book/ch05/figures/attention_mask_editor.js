const box = document.getElementById(given.id), data = JSON.parse(given.data);
const { words, scores, values, masks } = data, n = words.length, last = n - 1;
const find = what => box.querySelector(what), all = what => [...box.querySelectorAll(what)];
const copy = name => masks[name].map(row => [...row]);
let mask = copy(data.start);

const softmax = open => scores.map((row, t) => {
  const most = Math.max(...row), powers = row.map((x, s) => open(t, s) ? Math.exp(x - most) : 0);
  const sum = powers.reduce((a, b) => a + b) || 1;
  return powers.map(power => power / sum);
});
const mixed = weights => weights.map(row =>
  values[0].map((_, c) => row.reduce((sum, w, s) => sum + w * values[s][c], 0)));
const full = mixed(softmax(() => true)), lengths = full.map(row => Math.hypot(...row));
const effect = () => {
  const weights = softmax((t, s) => mask[t][s]), ours = mixed(weights);
  const change = ours.map((row, t) => Math.hypot(...row.map((x, c) => x - full[t][c])));
  const before = new Map([[last, -1]]), queue = [last], path = [];
  for (const t of queue)
    words.forEach((_, s) => {
      if (mask[t][s] && !before.has(s)) { before.set(s, t); queue.push(s); }
    });
  for (let at = before.has(0) ? 0 : -1; at >= 0; at = before.get(at)) path.unshift(at);
  return { weights, path, pairs: mask.flat().filter(Boolean).length,
    rows: change.map((x, t) => x / lengths[t]), loss: Math.hypot(...change) / Math.hypot(...lengths) };
};
const percent = x => (100 * x).toFixed(0);
const told = ({ pairs, path, loss }) => {
  const layers = path.length - 1, way = [...path].reverse().map(place => words[place]).join(" → ");
  const after = `after ${layers} layer${layers === 1 ? "" : "s"}: ${way}`;
  const [first, final] = [words[0], words[last]];
  return [`${pairs} of ${n * n} pairs are computed, ${percent(pairs / (n * n))}%.`,
    path.length ? `“${final}” hears of “${first}” ${after}.` : `“${final}” never hears of “${first}”.`,
    `The output changes by ${percent(loss)}% of its length.`];
};

// Each square becomes a button; one of them is in the tab order, the arrow keys move on from it.
const squares = all("tbody tr").map((row, t) => [...row.querySelectorAll(".ddm-sq")].map((still, s) => {
  const button = document.createElement("button");
  Object.assign(button, { type: "button", className: "ddm-sq", tabIndex: t || s ? -1 : 0 });
  still.replaceWith(button);
  return button;
}));
const bars = all(".ddm-lost b"), presets = all(".ddm-presets button"), steps = all(".ddm-step");
const fill = (bar, part) => { bar.style.width = `${100 * Math.min(part, 1)}%`; };
const show = () => {
  const found = effect(), said = told(found), way = new Set();
  found.path.slice(1).forEach((s, k) => way.add(found.path[k] * n + s));
  squares.forEach((row, t) => row.forEach((square, s) => {
    const open = mask[t][s], weight = found.weights[t][s], on = way.has(t * n + s);
    square.className = `ddm-sq${open ? " ddm-open" : ""}${on ? " ddm-way" : ""}`;
    square.style.setProperty("--w", weight);
    square.textContent = open ? percent(weight) : "";
    square.setAttribute("aria-pressed", open);
    square.setAttribute("aria-label", `${words[t]} asks ${words[s]}: ` +
      (open ? `open, ${percent(weight)} percent${on ? ", on the way" : ""}` : "closed"));
  }));
  bars.forEach((bar, t) => fill(bar, found.rows[t]));
  steps.forEach((step, k) => step.classList.toggle("ddm-on", k < found.path.length - 1));
  fill(find(".ddm-cost b"), found.pairs / (n * n));
  fill(find(".ddm-loss b"), found.loss);
  [".ddm-cost span", ".ddm-reach span", ".ddm-loss span"].forEach((what, k) => {
    find(what).textContent = said[k];
  });
  presets.forEach(button => button.setAttribute("aria-pressed",
    JSON.stringify(masks[button.textContent]) === JSON.stringify(mask)));
  box.dataset.state = JSON.stringify({ mask, ...found }); // for those who check
  return said;
};
const change = act => {
  act();
  find("[role=status]").textContent = show().join(" ");
};

presets.forEach(button => {
  button.onclick = () => change(() => { mask = copy(button.textContent); });
});
let brush = null, drawn = false; // what a mouse that is held down does to the squares under it
squares.forEach((row, t) => row.forEach((square, s) => {
  const put = to => change(() => { mask[t][s] = to; });
  square.addEventListener("pointerdown", event => {
    if (event.pointerType !== "mouse" || event.button) return;
    brush = !mask[t][s];
    drawn = true; // the click that follows has nothing left to do
    put(brush);
  });
  square.addEventListener("pointerenter", event => {
    if (brush !== null && event.buttons & 1) put(brush);
  });
  square.addEventListener("click", () => { if (!drawn) put(!mask[t][s]); });
  square.addEventListener("focus", () => {
    for (const other of squares.flat()) other.tabIndex = other === square ? 0 : -1;
  });
  square.addEventListener("keydown", event => {
    const by = { ArrowRight: [0, 1], ArrowLeft: [0, -1], ArrowDown: [1, 0], ArrowUp: [-1, 0] };
    if (!by[event.key]) return;
    const [dt, ds] = by[event.key];
    squares[Math.max(0, Math.min(last, t + dt))][Math.max(0, Math.min(last, s + ds))].focus();
    event.preventDefault();
    event.stopPropagation();
  });
}));
for (const end of ["pointerup", "pointercancel"])
  window.addEventListener(end, () => {
    brush = null;
    setTimeout(() => { drawn = false; });
  });
find(".ddm-presets").hidden = find(".ddm-how").hidden = false;
show();
