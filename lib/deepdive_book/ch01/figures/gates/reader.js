const spec = JSON.parse(given.spec), svgNS = "http://www.w3.org/2000/svg";
const find = what => box.querySelector(what), all = what => [...box.querySelectorAll(what)];
let tokens = [...spec.tokens], forced = tokens.map(() => ({})), shown = "cell", k = 0, run;
const n = tokens.length, d = spec.U[0].length, last = 3 * n - 1, size = 24, left = 22;
const fixed = v => v.toFixed(2).replace("-", "−"), word = t => spec.vocab[tokens[t]];
const [place, unit] = [find("input[type=range]"), find("input[type=number]")];
place.max = n - 1; unit.max = d - 1;
const map = find(".dd-map"), step = find(".dd-step");
map.setAttribute("viewBox", `0 0 ${left + size * n + 2} ${size * 0.72 * d + 4}`);
const make = (into, kind, given, text) => {
  const made = document.createElementNS(svgNS, kind);
  for (const name in given) made.setAttribute(name, given[name]);
  if (text !== undefined) made.textContent = text;
  into.append(made);
  return made;
};
const chips = tokens.map((_, t) => {
  const chip = document.createElement("button");
  chip.type = "button";
  chip.onclick = () => go(3 * t);
  find(".dd-words").append(chip);
  return chip;
});
find(".dd-words").style.setProperty("--n", n);
const draw = () => {
  const t = Math.floor(at / 3), high = size * 0.72;
  map.replaceChildren();
  for (let row = 0; row < d; row++) {
    if (row % 2 === 0) make(map, "text", { x: left - 5, y: high * (row + 0.5) + 6, class: "dd-tick" }, row);
    for (let col = 0; col < n; col++) {
      const value = run.steps[col][shown][row], scale = shown === "cell" ? 2 : 1;
      const side = Math.sqrt(Math.min(1, Math.abs(value) / scale)) * (high - 3);
      make(map, "rect", {
        x: left + size * (col + 0.5) - side / 2, y: high * (row + 0.5) + 2 - side / 2, width: side,
        height: side, class: value < 0 ? "dd-minus" : "dd-plus",
      });
      const cover = make(map, "rect", {
        x: left + size * col, y: high * row + 2, width: size, height: high, class: "dd-cover",
      });
      make(cover, "title", {}, `cell ${row} at “${word(col)}”: ${fixed(value)}`);
      cover.onclick = () => { k = row; go(3 * col); };
    }
  }
  make(map, "rect", {
    x: left + size * t, y: 2, width: size, height: high * d, class: "dd-cursor",
  });
  make(map, "rect", { x: left, y: high * k + 2, width: size * n, height: high, class: "dd-cursor" });
  map.setAttribute("aria-label", `${n} words across, ${d} cells down. ` +
    `Cell ${k} after “${word(t)}” holds ${fixed(run.steps[t].cell[k])}.`);
};
const belt = (s, stage) => {
  step.replaceChildren();
  const on = index => stage === index ? "dd-now" : "", y = 34;
  make(step, "line", { x1: 4, x2: 336, y1: y, y2: y, class: "dd-carrier" });
  const disc = (x, sign, index) => {
    make(step, "line", { x1: x, x2: x, y1: y, y2: 84, class: `dd-wire ${on(index)}` });
    make(step, "circle", { cx: x, cy: y, r: 12, class: `dd-disc ${on(index)}` });
    make(step, "text", { x, y: y + 5, class: "dd-sign dd-on" }, sign);
  };
  const valve = (x, name, value, index) => {
    make(step, "rect", { x: x - 33, y: 84, width: 66, height: 20, class: `dd-frame ${on(index)}` });
    make(step, "rect", { x: x - 33, y: 84, width: 66 * value, height: 20, class: "dd-open" });
    make(step, "text", { x, y: 99, class: "dd-number" }, fixed(value));
    make(step, "text", { x, y: 120, class: "dd-name" }, name);
  };
  disc(92, "×", 0); disc(176, "+", 1); disc(274, "→", 2);
  valve(92, "keep", s.keep[k], 0); valve(176, "write", s.write[k], 1); valve(274, "show", s.show[k], 2);
  const number = (x, text) => {
    make(step, "rect", { x: x - 23, y: y - 12, width: 46, height: 24, rx: 5, class: "dd-plate" });
    make(step, "text", { x, y: y + 5, class: "dd-on" }, text);
  };
  number(34, fixed(s.old[k]));
  if (stage > 0) number(225, fixed(s.cell[k])); else number(134, fixed(s.keep[k] * s.old[k]));
  if (stage > 0) make(step, "text", { x: 176, y: 140, class: "dd-name" }, `new: ${fixed(s.fresh[k])}`);
  if (stage > 1) make(step, "text", { x: 274, y: 140, class: "dd-name" }, `state: ${fixed(s.state[k])}`);
};
const show = () => {
  run = lstm(spec, tokens, forced);
  const t = Math.floor(at / 3), stage = at % 3, s = run.steps[t];
  place.value = t; unit.value = k;
  place.setAttribute("aria-valuetext", word(t));
  chips.forEach((chip, i) => {
    const held = Object.keys(forced[i]).length > 0;
    chip.textContent = word(i) + (held ? "*" : "");
    chip.setAttribute("aria-pressed", i === t);
  });
  draw(); belt(s, stage);
  const lines = [
    `Keep: ${fixed(s.keep[k])} × ${fixed(s.old[k])} = ${fixed(s.keep[k] * s.old[k])}.`,
    `Write: ${fixed(s.write[k])} × ${fixed(s.fresh[k])} = ${fixed(s.write[k] * s.fresh[k])}; ` +
      `cell ${k} now holds ${fixed(s.cell[k])}.`,
    `Show: ${fixed(s.show[k])} × tanh(${fixed(s.cell[k])}) = ${fixed(s.state[k])}.`,
  ];
  find(".dd-said").replaceChildren(...lines.map((line, i) => {
    const item = document.createElement("li");
    item.textContent = i <= stage ? line : "…";
    if (i === stage) item.className = "dd-now";
    return item;
  }));
  const best = run.answer.indexOf(Math.max(...run.answer));
  find(".dd-answers").replaceChildren(...run.answer.map((part, j) => {
    const bar = document.createElement("span");
    bar.textContent = `${j === best ? "▸ " : ""}${spec.answers[j]} ${Math.round(100 * part)}%`;
    bar.style.setProperty("--part", `${100 * part}%`);
    if (j === best) bar.className = "dd-now";
    return bar;
  }));
  find(".dd-forced b").textContent = `“${word(t)}”`;
  all("[data-gate]").forEach(button => {
    const name = button.dataset.gate, held = forced[t][name];
    const title = name[0].toUpperCase() + name.slice(1);
    button.textContent = `${title}: ${held === undefined ? "as learned" : held ? "open" : "shut"}`;
    button.setAttribute("aria-pressed", held !== undefined);
  });
  all("[data-show]").forEach(b => b.setAttribute("aria-pressed", b.dataset.show === shown));
};
all("[data-gate]").forEach(button => button.onclick = () => {
  const by = forced[Math.floor(at / 3)], name = button.dataset.gate;
  if (by[name] === undefined) by[name] = 0;
  else if (by[name] === 0) by[name] = 1;
  else delete by[name];
  show();
});
all("[data-show]").forEach(b => b.onclick = () => { shown = b.dataset.show; show(); });
const swaps = all(".dd-swaps button"), reset = swaps.pop();
swaps.forEach((swap, token) => swap.onclick = () => { tokens[Math.floor(at / 3)] = token; show(); });
reset.onclick = () => { tokens = [...spec.tokens]; forced = tokens.map(() => ({})); show(); };
place.oninput = () => go(3 * place.value);
unit.oninput = () => { k = Math.max(0, Math.min(d - 1, Math.round(unit.value) || 0)); show(); };
for (const field of [place, unit]) field.onkeydown = event => event.stopPropagation();
find(".dd-still").hidden = true;
box.classList.add("dd-live");
run = lstm(spec, tokens, forced);
const ends = run.steps[n - 1].cell.map(Math.abs);
k = ends.indexOf(Math.max(...ends));
go(0);
