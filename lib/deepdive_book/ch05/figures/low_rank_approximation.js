const { words, tables, forms, k, off } = JSON.parse(given.values);
const box = document.getElementById(given.id), find = what => box.querySelector(what);
const size = words.length, cells = size * size;
const bytes = Uint8Array.from(atob(given.maps), c => c.charCodeAt(0));
const read = new DataView(bytes.buffer);
const map = (block, table) => Array.from({ length: cells }, (_, i) =>
  read.getFloat32(4 * ((block * tables.length + table) * cells + i), true));
let block = 1; // the exact tables are the first block
for (const form of forms) for (const one of form.steps) one.block = block++;

const at = { table: 0, form: 0, step: forms[0].steps.findIndex(one => one.k === k), cell: -1 };
const make = (tag, name, text = "") => {
  const made = document.createElement(tag);
  if (name) made.className = name;
  made.textContent = text;
  return made;
};
const grouped = n => n.toLocaleString("en-US");
const fixed = x => x.toFixed(2).replace(/^-(0\.00)$/, "$1").replace("-", "\u2212");

const controls = find(".rk-controls");
const choice = (what, title, names) => {
  if (names.length < 2) return;
  const set = make("fieldset");
  set.append(make("legend", "", title));
  names.forEach((name, i) => {
    const label = make("label"), field = make("input");
    Object.assign(field, { type: "radio", name: `${given.id}-${what}`, checked: i === 0 });
    field.onchange = () => {
      const before = forms[at.form].steps[at.step].k;
      at[what] = i;
      if (what === "form") at.step = nearest(before);
      show();
    };
    label.append(field, name);
    set.append(label);
  });
  controls.append(set);
};
const nearest = to => {
  const far = forms[at.form].steps.map(one => Math.abs(one.k - to));
  return far.indexOf(Math.min(...far));
};
choice("table", "table", tables);
choice("form", "made by", forms.map(form => form.name));
const line = make("label", "rk-slide"), name = make("span"), slider = make("input");
Object.assign(slider, { type: "range", min: 0 });
slider.oninput = () => { at.step = +slider.value; show(); };
line.append(name, slider);
controls.append(line);
controls.hidden = false;
find(".rk-how").hidden = false;

const SVG = "http://www.w3.org/2000/svg";
const sides = [".rk-exact", ".rk-form"].map(which => {
  const drawn = find(which), rects = [...drawn.querySelectorAll(".rk-cell")];
  const signs = rects.map(rect => {
    const sign = document.createElementNS(SVG, "text");
    sign.setAttribute("class", "rk-minus");
    sign.setAttribute("x", +rect.getAttribute("x") + 6.5);
    sign.setAttribute("y", +rect.getAttribute("y") + 7);
    sign.setAttribute("text-anchor", "middle");
    sign.setAttribute("dominant-baseline", "middle");
    drawn.append(sign);
    return sign;
  });
  rects.forEach((rect, i) => { rect.onpointerenter = () => { at.cell = i; show(); }; });
  drawn.onpointerleave = () => { at.cell = -1; show(); };
  drawn.setAttribute("tabindex", 0);
  drawn.onkeydown = event => {
    const by = { ArrowRight: [0, 1], ArrowLeft: [0, -1], ArrowDown: [1, 0], ArrowUp: [-1, 0] };
    if (!by[event.key]) return;
    const from = at.cell < 0 ? 0 : at.cell, [down, right] = at.cell < 0 ? [0, 0] : by[event.key];
    const row = Math.max(0, Math.min(size - 1, Math.floor(from / size) + down));
    const column = Math.max(0, Math.min(size - 1, from % size + right));
    at.cell = row * size + column;
    event.preventDefault();
    show();
  };
  return { rects, signs };
});

const draw = ({ rects, signs }, values, top) => rects.forEach((rect, i) => {
  const weight = values[i];
  rect.setAttribute("fill", weight >= 0 ? "@weight" : "@key");
  rect.setAttribute("fill-opacity", Math.min(Math.abs(weight) / top, 1).toFixed(3));
  rect.classList.toggle("rk-at", i === at.cell);
  signs[i].textContent = weight <= -0.005 ? "\u2212" : "";
});
const wide = share => `${Math.min(50 * share, 100).toFixed(1)}%`;
const show = () => {
  const form = forms[at.form], now = form.steps[at.step], exact = map(0, at.table);
  const made = map(now.block, at.table), top = Math.max(...exact);
  const unit = now.k === 1 ? form.unit.replace(/s$/, "") : form.unit;
  const named = `${grouped(now.k)} ${unit}`, numbers = 2 * size * now.k + (form.square ? now.k ** 2 : 0);
  slider.max = form.steps.length - 1;
  slider.value = at.step;
  slider.setAttribute("aria-valuetext", named);
  name.textContent = named;
  draw(sides[0], exact, top);
  draw(sides[1], made, top);
  find(".rk-exact + .rk-cap").textContent = tables[at.table];
  find(".rk-name").textContent = named;
  const across = Math.min(now.k, 3 * size) * 48 / size, flat = Math.min(now.k, size) * 48 / size;
  const between = form.square ? flat + 6 : 0, last = find(".rk-f"), small = find(".rk-s");
  find(".rk-t").setAttribute("width", across);
  small.toggleAttribute("hidden", !form.square);
  small.setAttribute("x", across + 8);
  small.setAttribute("width", flat);
  small.setAttribute("height", flat);
  last.setAttribute("x", across + 8 + between);
  last.setAttribute("height", flat);
  find(".rk-thin").setAttribute("viewBox", `0 0 ${Math.max(150, across + between + 60)} 52`);
  const by = grouped(now.k), middle = form.square ? ` times ${by} \u00d7 ${by}` : "";
  find(".rk-sizes").textContent =
    `${size} \u00d7 ${by}${middle} times ${by} \u00d7 ${size}`;
  find(".rk-cost i").style.width = wide(numbers / cells);
  find(".rk-count").textContent = `${grouped(numbers)} of ${cells}`;
  const wrong = now.off[at.table], percent = `${Math.round(100 * wrong)}%`;
  find(".rk-off i").style.width = wide(wrong);
  find(".rk-percent").textContent = percent;
  const row = words[Math.floor(at.cell / size)], column = words[at.cell % size];
  find(".rk-said").textContent = at.cell < 0
    ? `${tables[at.table]}, ${form.name}, ${named}: ${off} ${percent}, ` +
      `${grouped(numbers)} numbers in place of ${cells}.`
    : `${row} takes of ${column}: ${fixed(exact[at.cell])} in the table, ` +
      `${fixed(made[at.cell])} with ${named}.`;
};
show();
