const box = document.getElementById(given.id), data = JSON.parse(given.data);
const find = what => box.querySelector(what), all = what => [...box.querySelectorAll(what)];
const drawing = find(".ddm-plane svg"), groups = all(".ddm-box"), rows = all("tbody tr");
const buttons = all(".ddm-q"), [least, ordered] = all(".ddm-controls input"), side = data.side;
const things = data.true.length;
let places, at = buttons.findIndex(one => one.getAttribute("aria-pressed") === "true");
const restart = () => { places = data.boxes.map(one => [...one]); };
const set = (element, values) => {
  for (const key in values) element.setAttribute(key, values[key]);
};
const number = x => x.toFixed(2).replace(/^-(0\.00)$/, "$1").replace("-", "\u2212");
const ends = ([x, y, w, h]) => [x - w / 2, y - h / 2, x + w / 2, y + h / 2];
const size = (a, b, c, d) => Math.max(0, c - a) * Math.max(0, d - b);
const giou = (one, other) => {
  const a = ends(one), b = ends(other), both = size(Math.max(a[0], b[0]), Math.max(a[1], b[1]),
    Math.min(a[2], b[2]), Math.min(a[3], b[3]));
  const either = size(...a) + size(...b) - both, hull = size(Math.min(a[0], b[0]),
    Math.min(a[1], b[1]), Math.max(a[2], b[2]), Math.max(a[3], b[3]));
  return both / either - (hull - either) / hull;
};
const terms = (i, j) => [data.shares[i][data.kinds[j]],
  places[i].reduce((sum, part, k) => sum + Math.abs(part - data.true[j][k]), 0),
  giou(places[i], data.true[j])];
const costOf = ([kind, far, shared]) =>
  data.weights[1] * far - data.weights[0] * kind - data.weights[2] * shared;
const best = cost => { // all one-to-one matchings
  let found = null, sum = Infinity;
  const go = (chosen, paid) => {
    if (chosen.length === things) {
      if (paid < sum) { sum = paid; found = chosen; }
      return;
    }
    for (let i = 0; i < places.length; i++)
      if (!chosen.includes(i)) go([...chosen, i], paid + cost[i][chosen.length]);
  };
  go([], 0);
  return found;
};
const letter = j => String.fromCharCode(65 + j);
const show = () => {
  const cost = places.map((_, i) => data.true.map((_, j) => costOf(terms(i, j))));
  const pairs = least.checked ? best(cost) : data.true.map((_, j) => j);
  const total = pairs.reduce((sum, i, j) => sum + cost[i][j], 0);
  rows.forEach((row, i) => [...row.querySelectorAll("td")].forEach((cell, j) => {
    cell.textContent = number(cost[i][j]);
    cell.classList.toggle("ddm-match", pairs[j] === i);
  }));
  groups.forEach((group, i) => {
    const [x, y, w, h] = places[i].map(part => side * part), [frame, word] = group.children;
    set(frame, { x: x - w / 2, y: y - h / 2, width: w, height: h,
      "stroke-dasharray": pairs.includes(i) ? "none" : "4 4" });
    set(word, { x: x - w / 2 + 2, y: y - h / 2 + 15 });
    group.classList.toggle("ddm-at", i === at);
    buttons[i].setAttribute("aria-pressed", i === at);
  });
  const named = pairs.map((i, j) => `${letter(j)} with query ${data.numbers[i]}`).join(", ");
  const shown = pairs.reduce((sum, i, j) => sum + Math.round(100 * cost[i][j]), 0) / 100;
  const mine = pairs.indexOf(at), [kind, far, shared] = mine < 0 ? [] : terms(at, mine);
  const told = mine < 0 ? ` Query ${data.numbers[at]} is unmatched: its target is \u201cno object\u201d.`
    : ` Query ${data.numbers[at]} and ${letter(mine)}: \u2212${kind.toFixed(2)} (class) + ` +
      `5 \u00d7 ${far.toFixed(2)} (L1) \u2212 2 \u00d7 ${number(shared)} (GIoU).`;
  find("[role=status]").textContent =
    `${named}: total cost ${number(shown)}${least.checked ? ", the least of all matchings" : ""}.${told}`;
  find(".ddm-which").textContent = data.numbers[at];
  const dots = find(".ddm-cloud svg"), across = dots.viewBox.baseVal.width;
  dots.querySelectorAll("circle").forEach((dot, s) => {
    const [x, y] = data.far[at][s], knows = data.sure[at][s] >= 0.5;
    set(dot, { cx: across * x, cy: across * y, fill: knows ? data.colours[at] : "#888888",
      "fill-opacity": knows ? 0.6 : 0.25 });
  });
  box.dataset.state = JSON.stringify({ places, cost, pairs, total }); // for those who check
};
const clamp = (x, low, high) => Math.max(low, Math.min(high, x));
const put = (i, [x, y, w, h]) => {
  w = clamp(w, 0.05, 1); h = clamp(h, 0.05, 1);
  places[i] = [clamp(x, 0, 1), clamp(y, 0, 1), w, h];
  at = i;
  show();
};
groups.forEach((group, i) => {
  set(group, { tabindex: 0, role: "button" });
  let from = null;
  const pointed = event => {
    const frame = drawing.getBoundingClientRect();
    return [(event.clientX - frame.left) / frame.width, (event.clientY - frame.top) / frame.height];
  };
  group.addEventListener("pointerdown", event => {
    const [x, y] = pointed(event);
    from = [places[i][0] - x, places[i][1] - y];
    group.setPointerCapture(event.pointerId);
    group.focus({ preventScroll: true });
    event.preventDefault();
    at = i;
    show();
  });
  group.addEventListener("pointermove", event => {
    if (!from) return;
    const [x, y] = pointed(event);
    put(i, [x + from[0], y + from[1], places[i][2], places[i][3]]);
  });
  for (const end of ["pointerup", "pointercancel"])
    group.addEventListener(end, () => { from = null; });
  group.addEventListener("keydown", event => {
    const by = { ArrowRight: [1, 0], ArrowLeft: [-1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
    if (!by[event.key]) return;
    const [dx, dy] = by[event.key].map(one => one / 32), [x, y, w, h] = places[i];
    put(i, event.shiftKey ? [x, y, w + dx, h + dy] : [x + dx, y + dy, w, h]);
    event.preventDefault();
    event.stopPropagation();
  });
  group.addEventListener("focus", () => { at = i; show(); });
});
buttons.forEach((button, i) => { button.onclick = () => { at = i; show(); }; });
for (const way of [least, ordered]) way.onchange = show;
find(".ddm-again").onclick = () => { restart(); show(); };
find(".ddm-controls").hidden = find(".ddm-how").hidden = false;
box.classList.add("ddm-on");
restart();
show();
