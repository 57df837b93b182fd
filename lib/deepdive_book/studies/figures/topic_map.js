const { texts, listed } = JSON.parse(given.values), n = texts.length, NONE = -1;
const box = document.getElementById(given.id), find = what => box.querySelector(what);
const numbers = code => {
  const read = new DataView(Uint8Array.from(atob(code), c => c.charCodeAt(0)).buffer);
  return Array.from({ length: read.byteLength / 2 }, (_, i) => read.getInt16(2 * i, true));
};
const flat = numbers(given.points), topic = numbers(given.topics);
const reach = [0, 1].map(d => Math.max(1, ...flat.filter((_, i) => i % 2 === d).map(Math.abs)));
const topics = new Map(listed.map(one => [one.id, one]));
topics.set(NONE, { id: NONE, name: "in no topic", size: topic.filter(t => t === NONE).length, words: [] });
const grouped = x => x.toLocaleString("en-US");
const make = (tag, name = "", text = "", more = {}) => {
  const made = Object.assign(document.createElement(tag), { className: name, textContent: text }, more);
  if (tag === "button") made.type = "button";
  return made;
};

// What is seen: the middle of the window in the map's own numbers, and how many times enlarged;
// the topic that is chosen, the word that is looked for, the document that is read, and the one kept.
const at = { x: 0, y: 0, k: 1, topic: null, word: "", read: -1, kept: -1 };
let pattern = null, wide = 0, high = 0, base = 1, drawn = [], hits = texts.map(() => true);
const lit = i => (at.topic === null || topic[i] === at.topic) && hits[i];
const lits = () => texts.flatMap((_, i) => lit(i) ? [i] : []);
const place = ([x, y]) => [wide / 2 + (x - at.x) * base * at.k, high / 2 - (y - at.y) * base * at.k];
const spot = i => place([flat[2 * i], flat[2 * i + 1]]); // in pixels of the map
const apart = ([x, y], [a, b]) => Math.hypot(x - a, y - b);

// -- the map
const still = find(".tm-still"), canvas = make("canvas", "", "", { tabIndex: 0 });
const pen = canvas.getContext("2d");
canvas.setAttribute("role", "application");
canvas.setAttribute("aria-label", `Map of ${grouped(n)} documents. Arrow keys move it, plus and minus zoom, ` +
  "Enter and Shift Enter go through the documents.");
const colour = id => getComputedStyle(still.querySelector(`[data-topic="${id}"]`)).stroke; // the theme's
const paper = () => {
  for (let el = box; el; el = el.parentElement) {
    const its = getComputedStyle(el).backgroundColor;
    if (!/^(transparent|rgba\(.*, 0\))$/.test(its)) return its;
  }
  return "Canvas";
};
const draw = () => {
  const ink = getComputedStyle(box).color, page = paper();
  const size = Math.min(2.6 * at.k ** 0.35, 7), some = at.topic !== null || pattern;
  const dot = (i, r) => {
    const [x, y] = spot(i);
    pen.moveTo(x + r, y);
    pen.arc(x, y, r, 0, 7);
  };
  pen.setTransform(devicePixelRatio, 0, 0, devicePixelRatio, 0, 0);
  pen.clearRect(0, 0, wide, high);
  Object.assign(pen, { lineWidth: 1, strokeStyle: ink });
  for (const bright of [false, true]) // what is pale lies below
    for (const { id } of topics.values()) {
      pen.beginPath();
      for (let i = 0; i < n; i++) if (topic[i] === id && lit(i) === bright) dot(i, size);
      pen.globalAlpha = bright ? (some || id !== NONE ? 0.85 : 0.5) : 0.13;
      pen.fillStyle = colour(id);
      pen.fill();
      if (bright && pattern) pen.stroke();
    }
  Object.assign(pen, { font: "700 14px system-ui, sans-serif", textAlign: "center", textBaseline: "middle" });
  drawn = [];
  const chosen = one => one.id === at.topic; // its number is drawn in any case, then the largest topics'
  for (const one of [...listed].sort((a, b) => chosen(b) - chosen(a))) {
    const [x, y] = place(one.at);
    if (drawn.some(other => Math.abs(x - other.x) < given.apart[0] && Math.abs(y - other.y) < given.apart[1])) continue;
    drawn.push({ id: one.id, x, y });
    pen.globalAlpha = at.topic === null || at.topic === one.id ? 1 : 0.35;
    Object.assign(pen, { lineWidth: 4, strokeStyle: page });
    pen.strokeText(one.id, x, y);
    pen.fillStyle = ink;
    pen.fillText(one.id, x, y);
  }
  pen.beginPath();
  if (at.read >= 0) dot(at.read, size + 4);
  Object.assign(pen, { globalAlpha: 1, lineWidth: 2.5, strokeStyle: ink });
  pen.stroke();
  box.classList.toggle("tm-near", at.k > 1);
  canvas.style.touchAction = at.k > 1 ? "none" : "pan-y"; // the whole map lets a finger scroll the page
  box.dataset.state = JSON.stringify({ ...at, base, lit: lits().length, numbers: drawn.map(one => one.id) }); // for those who check
};
const move = (dx, dy) => { // by pixels; the window stays within the first one
  const room = side => side / (2 * base) * (1 - 1 / at.k);
  at.x = Math.max(-room(wide), Math.min(room(wide), at.x - dx / (base * at.k)));
  at.y = Math.max(-room(high), Math.min(room(high), at.y + dy / (base * at.k)));
  draw();
};
const zoom = (by, x = wide / 2, y = high / 2) => { // what is at pixel (x, y) stays there
  const before = at.k, mx = x - wide / 2, my = y - high / 2;
  at.k = Math.max(1, Math.min(40, at.k * by));
  at.x += mx / base * (1 / before - 1 / at.k);
  at.y -= my / base * (1 / before - 1 / at.k);
  move(0, 0);
};
new ResizeObserver(() => {
  ({ width: wide, height: high } = canvas.getBoundingClientRect());
  if (!wide) return; // in a closed fold
  [canvas.width, canvas.height] = [wide * devicePixelRatio, high * devicePixelRatio];
  base = Math.min((wide / 2 - given.pad) / reach[0], (high / 2 - given.pad) / reach[1]);
  move(0, 0);
}).observe(canvas);

// -- the document that is read
const doc = find(".tm-doc"), head = make("p", "tm-head"), body = make("p", "tm-text"), steps = make("div", "tm-steps");
const labelled = i => topic[i] === NONE ? "in no topic" : `topic ${topic[i]}: ${topics.get(topic[i]).name}`;
const read = (i, keep) => {
  at.read = i;
  if (keep) at.kept = i;
  head.textContent = i < 0 ? "Point at a document to read it." : `Document ${i + 1}, ${labelled(i)}`;
  body.replaceChildren();
  let from = 0;
  for (const hit of i >= 0 && pattern ? texts[i].matchAll(pattern) : []) {
    body.append(texts[i].slice(from, hit.index), make("mark", "", hit[0]));
    from = hit.index + hit[0].length;
  }
  if (i >= 0) body.append(texts[i].slice(from));
  doc.style.setProperty("--topic", i < 0 ? "currentColor" : colour(topic[i]));
  draw();
};
const step = by => { // to the next document of those that are marked
  const all = lits(), here = all.indexOf(at.read);
  if (!all.length) return;
  read(all[here < 0 ? (by > 0 ? 0 : all.length - 1) : (here + by + all.length) % all.length], true);
  const [x, y] = spot(at.read); // the map follows to a document that lies outside the window
  if (x < 0 || y < 0 || x > wide || y > high) move(wide / 2 - x, high / 2 - y);
};
for (const [name, by] of [["\u2190 previous", -1], ["next \u2192", 1]])
  steps.append(make("button", "", name, { onclick: () => step(by) }));
doc.append(head, body);
doc.after(steps);

// -- topics and words
const list = find(".tm-list"), words = find(".tm-words"), bar = find(".tm-find");
const search = make("input", "", "", { type: "search", placeholder: "find a word", autocomplete: "off" });
search.setAttribute("aria-label", "Mark the documents that have a word");
const buttons = new Map();
const count = id => topic.reduce((sum, t, i) => sum + (hits[i] && (id === null || t === id)), 0);
const show = () => {
  const chosen = topics.get(at.topic), own = chosen ? chosen.size : n;
  for (const [id, { button, size, dot }] of buttons) {
    button.setAttribute("aria-pressed", at.topic === id);
    if (id !== null) dot.style.background = colour(id);
    const all = id === null ? n : topics.get(id).size;
    size.textContent = pattern ? `${grouped(count(id))} of ${grouped(all)}` : grouped(all);
  }
  const where = !chosen ? "" : chosen.id === NONE ? " in no topic" : ` in topic ${chosen.id}`;
  find(".tm-said").textContent = pattern
    ? `${grouped(count(at.topic))} of ${grouped(own)} documents${where} have \u201c${at.word}\u201d ` +
      `in the first ${given.cut} letters` + (chosen ? `; ${grouped(count(null))} of all ${grouped(n)}.` : ".")
    : `${grouped(own)}${chosen ? ` of ${grouped(n)}` : ""} documents${where || `, ${listed.length} topics`}.`;
  const bars = make("div", "tm-bars");
  for (const [word, share] of chosen ? chosen.words : []) {
    const one = make("button", "", word, { onclick: () => { search.value = word; look(); } });
    one.title = `mark the documents that have \u201c${word}\u201d`;
    if (share === null) bars.classList.add("tm-plain");
    else {
      const tint = `color-mix(in srgb, ${colour(chosen.id)} 30%, transparent)`;
      one.style.backgroundImage = `linear-gradient(to right, ${tint} ${100 * share}%, transparent 0)`;
    }
    bars.append(one);
  }
  const named = chosen && (chosen.id === NONE ? "In no topic" : `Topic ${chosen.id}: ${chosen.name}`);
  const told = !chosen ? "Press a topic, its number on the map, or a document. + and \u2212 zoom, or two fingers, or " +
    "the wheel with Ctrl; then drag the map, and more numbers have room. By key: Tab to the map, then the arrows, +, \u2212 and Enter."
    : chosen.id === NONE ? "These documents lie in no group that is dense enough, or were left out." : "";
  words.replaceChildren(make("p", "tm-head", named || "Choose a topic"), ...(told ? [make("p", "", told)] : [bars]));
  read(at.read);
};
const choose = id => { at.topic = id; show(); };
const L = "[\\p{L}\\p{N}]"; // a letter or a digit
const look = () => {
  at.word = search.value.trim();
  const plain = at.word.replace(/[.*+?^${}()|[\]\\/]/g, "\\$&");
  // where the word begins or ends with a letter, the text's word does so too
  pattern = at.word ? new RegExp(`(?<!${L}(?=${L}))${plain}(?!(?<=${L})${L})`, "giu") : null;
  hits = texts.map(text => !pattern || text.search(pattern) >= 0);
  show();
};
search.oninput = () => {
  look();
  if (at.topic !== null && !count(at.topic) && count(null)) choose(null); // it stands elsewhere
};
const entry = (id, into, number, name) => {
  const button = make("button"), dot = make("i"), size = make("span");
  if (number !== "") {
    button.append(dot, make("span", "", number), make("span", "", name), size);
  } else button.append(name + " ", size);
  button.onclick = () => choose(at.topic === id ? null : id);
  buttons.set(id, { button, size, dot });
  into.append(button);
};
list.replaceChildren(...listed.map(one => {
  const item = make("li");
  entry(one.id, item, one.id, one.name);
  return item;
}));
bar.append(search);
entry(null, bar, "", "all");
entry(NONE, bar, "", "in no topic");
const corner = make("div", "tm-zoom");
for (const [sign, name, act] of [["+", "zoom in", () => zoom(1.6)], ["\u2212", "zoom out", () => zoom(1 / 1.6)],
  ["\u2922", "show the whole map", () => zoom(0)]]) {
  const button = make("button", "", sign, { onclick: act, title: name });
  button.setAttribute("aria-label", name);
  corner.append(button);
}

// -- by mouse, finger and key
const near = (x, y, far) => { // the nearest document, one that is pale only if there is no other
  let best = -1, least = Infinity;
  for (let i = 0; i < n; i++) {
    const away = apart(spot(i), [x, y]), cost = away + (lit(i) ? 0 : far);
    if (away <= far && cost < least) [best, least] = [i, cost];
  }
  return best;
};
const pressed = (x, y, far) => {
  const number = drawn.find(one => apart([one.x, one.y], [x, y]) < 10);
  if (number) return choose(number.id);
  const i = near(x, y, far);
  if (i < 0) return choose(null);
  read(i, true);
  return choose(topic[i]);
};
const pixel = event => { // offsetX is rounded, and this is not
  const { left, top } = canvas.getBoundingClientRect();
  return [event.clientX - left, event.clientY - top];
};
const held = new Map();
let moved = false;
canvas.onpointerdown = event => {
  if (event.button) return;
  canvas.setPointerCapture(event.pointerId);
  if (!held.size) moved = false;
  held.set(event.pointerId, [...pixel(event), ...pixel(event)]);
};
canvas.onpointermove = event => {
  const [x, y] = pixel(event), was = held.get(event.pointerId);
  if (!was) {
    const i = event.pointerType === "touch" ? -1 : near(x, y, 12);
    if (i >= 0 && i !== at.read) read(i);
    return;
  }
  const other = [...held.entries()].find(([id]) => id !== event.pointerId)?.[1];
  moved ||= Boolean(other) || apart([x, y], was.slice(2)) > 4;
  if (!moved) return;
  const [dx, dy] = [x - was[0], y - was[1]];
  if (other) {
    zoom(apart([x, y], other) / (apart(was, other) || 1), (x + other[0]) / 2, (y + other[1]) / 2);
    move(dx / 2, dy / 2);
  } else move(dx, dy);
  [was[0], was[1]] = [x, y];
};
canvas.onpointerup = event => {
  if (held.delete(event.pointerId) && !moved)
    pressed(...pixel(event), event.pointerType === "mouse" ? 12 : 22);
};
canvas.onpointercancel = event => { held.delete(event.pointerId); };
canvas.onpointerleave = () => { if (!held.size && at.kept >= 0) read(at.kept); };
canvas.addEventListener("wheel", event => { // without Ctrl, or unless the map has the focus, the page scrolls
  if (!event.ctrlKey && document.activeElement !== canvas) return;
  const before = at.k, by = event.deltaY * [1, 16, 200][event.deltaMode] * (event.ctrlKey ? 0.006 : 0.002);
  zoom(Math.exp(-Math.max(-1, Math.min(1, by))), ...pixel(event));
  if (event.ctrlKey || at.k !== before) event.preventDefault();
}, { passive: false });
canvas.onkeydown = event => {
  const by = { ArrowLeft: [40, 0], ArrowRight: [-40, 0], ArrowUp: [0, 40], ArrowDown: [0, -40] }[event.key];
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (by) move(...by);
  else if ("+=".includes(event.key)) zoom(1.6);
  else if ("-_".includes(event.key)) zoom(1 / 1.6);
  else if (event.key === "0") zoom(0);
  else if (event.key === "Enter") step(event.shiftKey ? -1 : 1);
  else if (event.key === "Escape") choose(null);
  else return;
  event.preventDefault();
};

still.style.display = "none"; // it keeps the colours
still.after(canvas);
find(".tm-under").append(corner);
box.classList.add("tm-on");
bar.hidden = doc.hidden = words.hidden = false;
new MutationObserver(show).observe(document.documentElement, { attributeFilter: ["data-theme"] });
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", show);
show();
