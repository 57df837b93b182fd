// One explorer: finds its box, unpacks the maps, draws, and listens. `given` holds name, head, bytes.
const boxes = document.querySelectorAll(`[data-explorer="${given.name}"]`);
const box = [...boxes].find(one => !one.classList.contains("on"));
const { parts, tokens, start, links: linked = false, marked = {}, word } = JSON.parse(given.head);
const bytes = Uint8Array.from(atob(given.bytes), letter => letter.charCodeAt(0));
const MASKED = 255, weight = level => (level / 254) ** 2;

const make = (tag, attributes = {}, ...inside) => {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  node.append(...inside);
  return node;
};
const visible = token => token.trim() ? token : token.replace(/\n/g, "⏎").replace(/\s/g, "␣") || "∅";
const share = level => weight(level) < 0.005 ? "under 0.01" : weight(level).toFixed(2);

// --- maps

// The map of one head, T x S levels; in long texts made from the links that were kept.
const plane = (part, n) => {
  const { T, S, k } = part, cells = T * S;
  if ("all" in part) return bytes.subarray(part.all + n * cells, part.all + (n + 1) * cells);
  if (part.n === n) return bytes.subarray(part.one, part.one + cells);
  const map = new Uint8Array(cells);
  if ("mask" in part)
    for (let i = 0; i < cells; i++) if (bytes[part.mask + (i >> 3)] >> (i & 7) & 1) map[i] = MASKED;
  for (let i = 0, at = part.links + n * T * k * 3; i < T * k; i++, at += 3)
    if (bytes[at + 2]) map[Math.floor(i / k) * S + bytes[at] + 256 * bytes[at + 1]] = bytes[at + 2];
  return map;
};
const thumbnail = (part, n) => {
  if (!("thumbs" in part)) return [plane(part, n), part.T, part.S];
  const { t, s } = part, at = part.thumbs + n * t * s;
  return [bytes.subarray(at, at + t * s), t, s];
};

// --- colours: by the text's own colour, which every theme sets

const RAMPS = {
  light: [[255, 255, 255], [158, 202, 225], [33, 113, 181], [8, 48, 107]],
  dark: [[24, 27, 32], [28, 72, 122], [80, 165, 230], [232, 246, 255]],
};
let pixels, fills, inks, dark = null;
const theme = () => {
  const [r, g, b] = getComputedStyle(box).color.match(/[\d.]+/g).map(Number);
  const now = 0.3 * r + 0.6 * g + 0.1 * b > 128;
  if (now === dark) return false;
  box.classList.toggle("dark", dark = now);
  const ramp = RAMPS[dark ? "dark" : "light"];
  pixels = new Uint32Array(256); fills = []; inks = []; // masked stays clear: the hatch shows
  for (let level = 0; level < MASKED; level++) {
    const x = level / 254 * 3, i = Math.min(2, Math.floor(x));
    const [red, green, blue] = ramp[i].map((low, c) => Math.round(low + (x - i) * (ramp[i + 1][c] - low)));
    pixels[level] = (255 << 24 | blue << 16 | green << 8 | red) >>> 0;
    fills[level] = `rgb(${red},${green},${blue})`;
    const [r, g, b] = [red, green, blue].map(v => v < 11 ? v / 3295 : ((v / 255 + 0.055) / 1.055) ** 2.4);
    inks[level] = 0.2126 * r + 0.7152 * g + 0.0722 * b > 0.179 ? "#000" : "#fff"; // 4.5 to 1 either way
  }
  return true;
};
const paint = (canvas, map, T, S) => {
  canvas.width = S; canvas.height = T;
  const image = new ImageData(S, T), cells = new Uint32Array(image.data.buffer);
  for (let i = 0; i < cells.length; i++) cells[i] = pixels[map[i]];
  canvas.getContext("2d").putImageData(image, 0, 0);
};

// --- the frame

const select = make("select");
parts.forEach((part, i) => select.append(make("option", { value: i }, part.label)));
const heads = make("div"), title = make("p"), strips = make("div");
const goal = make("p", { class: "goal", role: "status" });
const between = make("div", { "aria-hidden": "true" }); // the columns: a line for each weight
between.innerHTML = '<svg preserveAspectRatio="none"></svg>'; // made by the parser: no address of a name space
const lines = between.firstChild;
const said = make("div", { class: "said", role: "status", "aria-live": "polite" });
const canvas = make("canvas", { role: "img" });
const across = make("div", { class: "across" }), down = make("div", { class: "down" });
const left = make("div", { class: "names left", "aria-hidden": "true" });
const upper = make("div", { class: "names top", "aria-hidden": "true" });
const swatch = (kind, text) => make("span", {}, make("span", { class: `swatch ${kind}` }), ` ${text}`);
const ramp = make("span", { class: "swatch ramp" });
const bar = swatch("bar", "");
const kept = make("p");
const table = make("tbody"), titles = make("tr");
const details = make("details", {}, make("summary", {}, "As a table"),
  make("table", {}, make("thead", {}, titles), table));
box.append(
  ...parts.length > 1 ? [make("p", {}, make("label", {}, "Attention: ", select))] : [],
  heads, ...Object.keys(marked).length ? [goal] : [], title,
  make("div", { class: linked ? "detail linked" : "detail" },
    make("div", { class: "map" }, upper, left, make("div", { class: "frame" }, canvas, across, down)),
    make("div", { class: "text" }, strips, said)),
  make("div", { class: "key" }, make("span", {}, "weight 0 ", ramp, " 1, by its square root"),
    swatch("masked", "masked"), bar),
  kept, details);
box.classList.add("on");

// --- what is shown

let part, layer, head, map; // the chosen head
let pinned, shown; // the chosen token, and the one under the mouse: [strip, index]
let later; // the table's renewal
let lists; // the buttons of each strip: queries and keys, or the same ones
let faces; // what each of them shows, so that only those that change are touched
const number = () => layer * part.H + head;
const place = (l, h) => `layer ${l + 1}, head ${h}`; // as pages count them
const capital = words => words[0].toUpperCase() + words.slice(1);
const self = () => part.self;
const names = strip => tokens[strip ? part.cols : part.rows];
const called = (strip, i) => `“${visible(names(strip)[i])}” (${i})`;
const row = i => map.subarray(i * part.S, (i + 1) * part.S);
const column = j => {
  const levels = new Uint8Array(part.T);
  for (let i = 0; i < part.T; i++) levels[i] = map[i * part.S + j];
  return levels;
};

const top = (levels, strip, count = 4) => {
  const best = []; // the largest so far, in order
  for (let i = 0; i < levels.length; i++) {
    if (!levels[i] || levels[i] === MASKED) continue;
    if (best.length === count && levels[i] <= levels[best[count - 1]]) continue;
    let at = best.length;
    while (at && levels[best[at - 1]] < levels[i]) at--;
    best.splice(at, 0, i);
    best.length = Math.min(best.length, count);
  }
  return best.map(i => `${called(strip, i)} ${share(levels[i])}`).join(", ") || "nothing";
};
const hidden = levels => {
  const count = levels.reduce((sum, level) => sum + (level === MASKED), 0);
  return count ? `; ${count} of ${levels.length} masked` : "";
};

// A line for each weight, as wide as the weight; those of the chosen token in front.
const drawLines = (strip, i) => {
  const { T, S } = part, rest = [], chosen = [];
  for (let n = 0; n < T * S; n++) {
    const t = Math.floor(n / S), s = n % S, share = map[n] === MASKED ? 0 : weight(map[n]);
    if (share < 0.02) continue;
    const own = (strip ? s : t) === i, wide = ((own ? 12 : 6) * share).toFixed(2);
    (own ? chosen : rest).push(`<path class="${own ? "own" : "rest"}" data-link="${t} ${s}" ` +
      `stroke-width="${wide}" d="M0 ${t + 0.5}C50 ${t + 0.5} 50 ${s + 0.5} 100 ${s + 0.5}"/>`);
  }
  lines.innerHTML = rest.concat(chosen).join("");
};

// Where token `i` looks as a fill of the keys, who looks at it as a bar under the queries.
const show = (strip, i, pair) => {
  shown = [strip, i];
  const looks = !strip || self() ? row(i) : null, seen = strip || self() ? column(i) : null;
  lists.forEach((buttons, side) => buttons.forEach((button, j) => {
    const fill = looks && (side || self()) ? looks[j] : null;
    const by = seen && (!side || self()) ? seen[j] : null;
    const chosen = j === i && (side === strip || self());
    const face = `${fill} ${by} ${chosen}`;
    if (faces[side][j] === face) return;
    faces[side][j] = face;
    const style = button.style, length = by && by !== MASKED ? 100 * weight(by) : 0;
    button.classList.toggle("masked", fill === MASKED || !looks && by === MASKED);
    button.classList.toggle("chosen", chosen);
    style.backgroundColor = fill === null || fill === MASKED ? "" : fills[fill];
    style.color = fill === null || fill === MASKED ? "" : inks[fill];
    style.setProperty("--bar", `${length.toFixed(1)}%`);
    if (linked) {
      const level = fill ?? by; // said beside the token, where it is no trifle
      button.dataset.share = level === null || level === MASKED || weight(level) < 0.05 ? "" : share(level);
    }
  }));
  if (linked) drawLines(strip, i);
  const lines = [];
  if (pair) {
    const level = map[pair[0] * part.S + pair[1]];
    const what = level === MASKED ? "masked" : level ? share(level) : "0";
    lines.push(`${called(0, pair[0])} to ${called(1, pair[1])}: ${what}`);
  }
  if (looks) lines.push(`${called(0, i)} looks at ${top(looks, 1)}${hidden(looks)}.`);
  if (seen) lines.push(`${called(1, i)} is looked at by ${top(seen, 0)}${hidden(seen)}.`);
  said.replaceChildren(...lines.map(line => make("p", {}, line)));
  if (pair) { // under the mouse on the map: bring its token into view
    const list = strips.querySelector(".strip"), { offsetTop, offsetHeight } = lists[0][i];
    const y = offsetTop - list.offsetTop;
    if (y < list.scrollTop || y + offsetHeight > list.scrollTop + list.clientHeight)
      list.scrollTop = y - list.clientHeight / 2;
  }
  const [at, to] = pair || [looks ? i : -1, seen ? i : -1];
  across.style.cssText = at < 0 ? "display:none" : `top:${100 * at / part.T}%;height:max(3px,${100 / part.T}%)`;
  down.style.cssText = to < 0 ? "display:none" : `left:${100 * to / part.S}%;width:max(3px,${100 / part.S}%)`;
};
const mark = i => {
  const [text, numbers] = marked[i] || ["", []];
  heads.querySelectorAll("button").forEach((button, n) => {
    button.classList.toggle("marked", numbers.includes(n));
    button.setAttribute("aria-label", button.title + (numbers.includes(n) ? ", marked" : ""));
  });
  goal.textContent = text;
};
const pin = (strip, i) => {
  lists.flat().forEach(button => { button.tabIndex = -1; });
  lists.forEach((buttons, side) => { buttons[side === strip ? i : 0].tabIndex = 0; });
  pinned = [strip, i];
  show(strip, i);
  mark(strip ? -1 : i);
};

const fit = () => {
  const { T, S } = part, room = Math.min(box.clientWidth, 540);
  let cell = Math.floor((room - 90) / S);
  const named = cell >= 10 && T <= 60;
  if (!named) cell = Math.min(room / S, 540 / T);
  cell = Math.min(cell, 26);
  canvas.style.width = `${cell * S}px`; canvas.style.height = `${cell * T}px`;
  left.hidden = upper.hidden = !named;
  left.style.cssText = named ? `grid-auto-rows:${cell}px;font-size:${Math.min(cell - 1, 13)}px` : "display:none";
  upper.style.cssText = named ? `grid-auto-columns:${cell}px;font-size:${Math.min(cell - 1, 13)}px` : "display:none";
};

const tabulate = () => {
  if (!details.open) return;
  const line = (strip, i, ...cells) =>
    make("tr", {}, make("th", { scope: "row" }, called(strip, i)), ...cells.map(text => make("td", {}, text)));
  const titled = self() ? ["token", "looks at", "is looked at by"] : ["token", "looks at, or is looked at by"];
  titles.replaceChildren(...titled.map(text => make("th", { scope: "col" }, text)));
  const queries = [...names(0).keys()], keys = [...names(1).keys()];
  table.replaceChildren(...self()
    ? queries.map(i => line(0, i, top(row(i), 1, 3), top(column(i), 0, 3)))
    : [...queries.map(i => line(0, i, "looks at " + top(row(i), 1, 3))),
      ...keys.map(i => line(1, i, "is looked at by " + top(column(i), 0, 3)))]);
};

const choose = (l, h) => {
  layer = l; head = h;
  map = plane(part, number());
  heads.querySelectorAll("button").forEach((button, n) => {
    button.setAttribute("aria-selected", n === number());
    button.tabIndex = n === number() ? 0 : -1;
  });
  paint(canvas, map, part.T, part.S);
  title.replaceChildren(make("strong", {}, capital(place(layer, head))), `: ${part.said[layer][head]}.`);
  canvas.setAttribute("aria-label", `Map of ${place(layer, head)}, queries down, keys across: ` +
    `${part.said[layer][head]}. The tokens beside it say each weight.`);
  const some = "links" in part && part.n !== number();
  const whole = parts.find(one => "one" in one);
  kept.textContent = !some ? "" : `Of this head the page has the ${part.k} largest weights of each token; ` +
    `whole it has ${whole.label}, ${place(Math.floor(whole.n / whole.H), whole.n % whole.H)}.`;
  show(...pinned);
  clearTimeout(later);
  later = setTimeout(tabulate, 150); // after the arrow keys have come to rest
};

const drawHeads = () => heads.querySelectorAll("canvas").forEach((small, n) =>
  paint(small, ...thumbnail(part, n)));

const open = (i, l, h) => {
  part = parts[i];
  select.value = i;
  heads.className = "heads";
  heads.setAttribute("role", "grid");
  heads.setAttribute("aria-label", `Heads of ${part.label}: arrow keys choose`);
  heads.style.gridTemplateColumns = `max-content repeat(${part.H}, minmax(0, ${linked ? 2.9 : 3.6}rem))`;
  const line = (first, cells) => make("div", { role: "row" },
    make("span", { class: "name", role: first.startsWith("layer ") ? "rowheader" : "columnheader", "aria-label": first },
      first.replace("layer ", "")), ...cells);
  const count = [...Array(part.H).keys()];
  heads.replaceChildren(
    line("layer, head", count.map(n =>
      make("span", { class: "name", role: "columnheader", "aria-label": `head ${n}` }, `${n}`))),
    ...part.said.map((all, l) => line(`layer ${l + 1}`, all.map((text, n) => {
      const about = `${capital(place(l, n))}: ${text}`;
      return make("button", { type: "button", class: "head", role: "gridcell", "aria-label": about, title: about },
        make("canvas", { "aria-hidden": "true", class: Math.max(part.T, part.S) > 30 ? "fine" : "" }));
    }))));
  lists = (self() ? [0] : [0, 1]).map(strip => names(strip).map((token, n) =>
    make("button", { type: "button", class: "token", "aria-label": `${visible(token)}, token ${n}` }, visible(token))));
  const about = linked ? ["looks", "is looked at"] : self() ? ["Tokens"]
    : ["Queries: they look", "Keys: they are looked at"];
  const columns = lists.map((buttons, strip) => make("div",
    { class: "strip", role: "group", "aria-label": `${about[strip]}: arrow keys choose`, "data-strip": strip }, ...buttons));
  const above = about.map(text => make("div", {}, text));
  strips.className = linked ? "links" : "";
  if (linked) {
    lines.setAttribute("viewBox", `0 0 100 ${Math.max(part.T, part.S)}`);
    lines.style.setProperty("--rows", Math.max(part.T, part.S));
    strips.replaceChildren(above[0], make("div"), above[1], columns[0], between, columns[1]);
  } else strips.replaceChildren(...columns.flatMap((column, strip) => [above[strip], column]));
  bar.hidden = linked; // the lines say it
  bar.lastChild.textContent = self() ? " under a token: looks at the chosen one, by the bar's length"
    : " under a query: looks at the chosen key, by the bar's length";
  left.replaceChildren(...names(0).map(token => make("span", {}, visible(token))));
  upper.replaceChildren(...names(1).map(token => make("span", {}, visible(token))));
  faces = lists.map(() => []);
  drawHeads();
  fit();
  pinned = [0, 0];
  choose(l, h);
  pin(0, word ?? part.T >> 1); // in the middle of a causal map, a token both looks and is looked at
};

// --- listening

const step = (event, at, count, wide) => {
  const by = { ArrowRight: 1, ArrowLeft: -1, ArrowDown: wide, ArrowUp: -wide }[event.key];
  const to = { Home: 0, End: count - 1 }[event.key] ?? (by === undefined ? -1 : at + by);
  if (by === undefined && to < 0) return -1;
  event.preventDefault();
  return to >= 0 && to < count ? to : at;
};
select.addEventListener("change", () => open(+select.value, 0, 0));
heads.addEventListener("click", event => {
  const n = [...heads.querySelectorAll("button")].indexOf(event.target.closest("button"));
  if (n >= 0) choose(Math.floor(n / part.H), n % part.H);
});
heads.addEventListener("keydown", event => {
  const n = step(event, number(), part.L * part.H, part.H);
  if (n < 0) return;
  choose(Math.floor(n / part.H), n % part.H);
  heads.querySelectorAll("button")[n].focus();
});
const found = event => {
  const button = event.target.closest(".token"), strip = event.target.closest(".strip");
  return button ? [+strip.dataset.strip, lists[+strip.dataset.strip].indexOf(button)] : null;
};
for (const [kind, what] of [["pointerover", show], ["focusin", pin], ["click", pin]])
  strips.addEventListener(kind, event => { const one = found(event); if (one) what(...one); });
strips.addEventListener("pointerleave", () => show(...pinned));
strips.addEventListener("keydown", event => {
  const one = found(event);
  if (!one) return;
  const to = step(event, one[1], lists[one[0]].length, 1);
  if (to >= 0) lists[one[0]][to].focus();
});
const cell = event => {
  const { left: x, top: y, width, height } = canvas.getBoundingClientRect();
  const at = (from, size, count) => Math.max(0, Math.min(count - 1, Math.floor(from / size * count)));
  return [at(event.clientY - y, height, part.T), at(event.clientX - x, width, part.S)];
};
canvas.addEventListener("pointermove", event => { const [i, j] = cell(event); show(0, i, [i, j]); });
canvas.addEventListener("pointerleave", () => show(...pinned));
canvas.addEventListener("click", event => pin(0, cell(event)[0]));
details.addEventListener("toggle", tabulate);

const redraw = () => {
  if (!theme()) return;
  ramp.style.background = `linear-gradient(90deg, ${fills[0]}, ${fills[85]}, ${fills[169]}, ${fills[254]})`;
  if (!part) return;
  drawHeads();
  paint(canvas, map, part.T, part.S);
  faces = lists.map(() => []);
  show(...shown);
};
redraw();
open(...start);
new ResizeObserver(fit).observe(box);
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);
const watch = new MutationObserver(() => box.isConnected ? redraw() : watch.disconnect());
for (const node of [document.documentElement, document.body]) watch.observe(node, { attributes: true });
