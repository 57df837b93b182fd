// What the reader sees and moves. `given`: id, spec (JSON). Every change runs the model again.

const spec = JSON.parse(given.spec), box = document.getElementById(given.id);
const find = what => box.querySelector(what), make = (tag, within, text = "", kind = "") => {
  const made = document.createElement(tag);
  made.textContent = text; made.className = kind;
  return within.appendChild(made);
};
const SPECIAL = 4;  // pad, begin, end, unknown come first in our vocabularies, and are not typed
const name = token => token === spec.eos ? "end" : spec.target[token];
const percent = share => share > 0.995 ? "over 99%" : share < 0.005 ? "under 1%"
  : Math.round(100 * share) + "%";

// All models, the last one in half precision; each is unpacked when it is first asked for.
const kept = [], models = spec.snapshots.length + 1;
const modelAt = i => kept[i] ||= transformer(spec, cut(spec.shapes, i < models - 1
  ? quantised(spec.shapes, ...spec.snapshots[i].weights) : halves(spec.weights)));

// A word that is not known as it stands is tried in small letters, and cut at hyphens.
const ids = new Map(spec.source.map((word, i) => [word, i]).slice(SPECIAL));
const read = text => {
  const words = spec.letters ? [...text] : text.split(/\s+/).filter(Boolean);
  return words.flatMap(word => ids.has(word) ? [word] : spec.letters ? [word.toLowerCase()]
    : word.toLowerCase().split(/[-\u2010-\u2015,.]/).filter(Boolean));
};
const idOf = word => ids.get(word) ?? spec.unk;

const field = find("input[type=text]"), chips = find(".chips"), answer = find(".answer");
const said = find("[role=status]"), looks = find(".looks"), foot = find(".foot");
const [temperature, training] = box.querySelectorAll("input[type=range]");
const draw = find("input[type=checkbox]"), again = find(".again"), reset = find(".reset");
let words = [], left = new Set(), off = new Set();  // left and off: words and heads taken away
let chosen = 0, seed = 1, cutShort = false, untouched = "", result;

// --- maps: one pixel a weight, its strength as opacity, so that paper and dark pages fit ---------

const paint = (map, values, rows, columns) => {
  const pixels = new ImageData(columns.length, rows.length), labels = (where, texts) => {
    while (where.children.length > texts.length) where.lastChild.remove();
    texts.forEach((text, i) => {
      const label = where.children[i] ?? make("span", where);
      if (label.textContent !== text) label.textContent = text;
    });
  };
  values.forEach((row, i) => row.forEach((share, j) =>
    pixels.data.set([0, 114, 178, Math.round(255 * share)], 4 * (i * columns.length + j))));
  map.canvas.width = columns.length; map.canvas.height = rows.length;
  map.canvas.getContext("2d").putImageData(pixels, 0, 0);
  labels(map.across, columns); labels(map.down, rows);
  map.grid.style.setProperty("--columns", columns.length);
  map.grid.style.setProperty("--rows", rows.length);
  const best = values.map((row, i) => {
    const j = row.indexOf(Math.max(...row));
    return `${rows[i]}: ${columns[j]} ${row[j].toFixed(2)}`;
  });
  map.canvas.setAttribute("aria-label", `${map.title}. Largest in each row: ${best.join(", ")}.`);
  Object.assign(map, { values, rows, columns });
};

const frame = (within, title, kind = "", switchable = "") => {
  const figure = make("figure", within), caption = make("figcaption", figure);
  const grid = make("div", figure, "", "grid"), map = { title: title + kind, grid, figure };
  map.across = make("div", grid, "", "across"); map.down = make("div", grid, "", "down");
  map.across.setAttribute("aria-hidden", true); map.down.setAttribute("aria-hidden", true);
  map.canvas = make("canvas", grid);
  map.canvas.setAttribute("role", "img");
  map.canvas.onpointermove = event => {
    const place = map.canvas.getBoundingClientRect();
    const j = Math.floor((event.clientX - place.left) / place.width * map.columns.length);
    const i = Math.floor((event.clientY - place.top) / place.height * map.rows.length);
    const share = map.values[i]?.[j];
    if (share !== undefined)
      map.canvas.title = `${map.rows[i]} → ${map.columns[j]}: ${share.toFixed(3)}`;
  };
  if (!switchable) caption.textContent = title;
  else {
    const button = make("button", caption, title);
    button.type = "button";
    button.setAttribute("aria-label", map.title);
    button.onclick = () => {
      off.has(switchable) ? off.delete(switchable) : off.add(switchable);
      update();
    };
    map.show = () => {
      button.setAttribute("aria-pressed", !off.has(switchable));
      figure.classList.toggle("off", off.has(switchable));
    };
    map.show();
  }
  return map;
};

const next = frame(find(".next"), "");
const maps = ["decoder cross", "decoder attn", "encoder attn"].flatMap((kind, k) => {
  const [side, part] = kind.split(" "), section = box.querySelectorAll(".maps")[k];
  const names = [], about = " of " + section.querySelector("strong").textContent;
  for (let layer = 0; layer < spec.layers[side]; layer++)
    for (let h = 0; h < spec.heads; h++) {
      const head = `${side}.stack.blocks.${layer}.${part}/${h}`;
      const title = `layer ${layer + 1}, head ${h}`;
      const map = frame(section.querySelector(".heads"), title, about, head);
      names.push({ head, kind: k, title, map });
    }
  section.querySelector("button").onclick = () => {
    const all = names.every(({ head }) => off.has(head));
    names.forEach(({ head }) => all ? off.delete(head) : off.add(head));
    update();
  };
  return names;
});

// --- one pass, from what is set to what is seen -------------------------------------------------

const written = tokens => tokens.filter(t => t !== spec.eos).map(name).join(spec.joined);

const pass = (i, source, more) => write(modelAt(i), source, { ...spec, off: new Set(), ...more });

// The columns of the table of what may come next: all tokens, or those most probable somewhere.
const candidates = shares => {
  const able = spec.target.map((_, t) => t).filter(t => !spec.never.includes(t));
  const best = t => Math.max(...shares.map(row => row[t]));
  const most = able.sort((a, b) => best(b) - best(a)).slice(0, 14);
  const text = t => t === spec.eos ? "\uffff" : spec.target[t];
  return most.sort((a, b) => text(a) < text(b) ? -1 : 1);
};

const update = () => {
  const source = words.filter((_, i) => !left.has(i)), start = performance.now();
  const tokens = [...source.map(idOf), spec.eos], T = +temperature.value, i = +training.value;
  result = pass(i, tokens, { off, temperature: T, draw: draw.checked ? randoms(seed) : null });
  const took = performance.now() - start, columns = [...source, "end"];
  const rows = result.tokens.map(name);
  const before = ["start", ...rows.slice(0, -1)];

  [...chips.children].forEach((chip, j) => chip.setAttribute("aria-pressed", left.has(j)));
  maps.forEach(({ head, kind, map }) => {
    const values = result.maps[head];
    const later = row => Array(rows.length - row.length).fill(0);  // is not written yet
    if (kind === 1) paint(map, values.map(row => [...row, ...later(row)]), rows, before);
    else paint(map, values, kind ? columns : rows, columns);
    map.show();
  });
  const able = candidates(result.shares);
  next.title = "Probability of each token at each step";
  paint(next, result.shares.map(row => able.map(t => row[t])), rows, able.map(name));

  while (answer.children.length > rows.length) answer.lastChild.remove();
  rows.forEach((text, j) => {
    const button = answer.children[j] ?? make("button", answer);
    button.type = "button"; button.textContent = text;
    button.onclick = () => { chosen = j; looks.ariaLive = "polite"; point(); };
  });
  const text = written(result.tokens), whole = result.tokens.at(-1) === spec.eos;
  const share = result.tokens.reduce((p, t, j) => p * result.shares[j][t], 1);
  const changed = left.size || off.size || draw.checked || i < models - 1;
  const unknown = source.filter(word => !ids.has(word));
  tell(said, [
    `It writes ${text || "nothing"}${whole ? "" : " …"}, probability ${percent(share)}.`,
    cutShort ? `It reads the first ${spec.most} tokens.` : "",
    unknown.length ? `Unknown: ${unknown.join(", ")}.` : "",
    changed ? `Untouched and trained, it writes ${untouched || "nothing"}.` : "",
  ].filter(Boolean).join(" "));
  tell(find(".T"), T.toFixed(1));
  tell(find(".when"), i < models - 1 ? spec.snapshots[i].name : spec.trained);
  training.setAttribute("aria-valuetext", find(".when").textContent);
  again.disabled = !draw.checked;
  tell(foot, `${spec.count.toLocaleString("en")} weights; this answer took ${took.toFixed(1)} ms ` +
    `in your browser.`);
  looks.ariaLive = "off";
  point();
};

const tell = (where, text) => { if (where.textContent !== text) where.textContent = text; };

// Where the model looked when it wrote one token: the words are shaded by the mean of the heads.
const point = () => {
  chosen = Math.min(chosen, result.tokens.length - 1);
  [...answer.children].forEach((one, j) => one.setAttribute("aria-pressed", j === chosen));
  const on = maps.filter(({ head, kind }) => kind === 0 && !off.has(head));
  const source = words.map((_, j) => j).filter(j => !left.has(j));
  [...chips.children].forEach(chip => chip.style.setProperty("--share", "0%"));
  source.forEach((j, at) => {
    const mean = on.reduce((sum, { head }) => sum + result.maps[head][chosen][at], 0) / on.length;
    chips.children[j].style.setProperty("--share", Math.round(100 * (mean || 0)) + "%");
  });
  const texts = on.map(({ head, title }) => {
    const row = result.maps[head][chosen], top = row.indexOf(Math.max(...row));
    return `${title} at ${words[source[top]] ?? "end"} (${row[top].toFixed(2)})`;
  });
  tell(looks, `Writing ${name(result.tokens[chosen])}, ` +
    (texts.length ? `it looks most: ${texts.join("; ")}.` : "it sees no source: no head is on."));
  maps.forEach(({ kind, map }) => kind < 2 &&
    [...map.down.children].forEach((label, j) => label.classList.toggle("chosen", j === chosen)));
};

const typed = () => {  // the answer of the untouched model is worked out once a text
  const whole = read(field.value);
  words = whole.slice(0, spec.most); cutShort = words.length < whole.length;
  left = new Set(); chosen = 0;
  untouched = written(pass(models - 1, [...words.map(idOf), spec.eos]).tokens);
  chips.replaceChildren(...words.map((word, i) => {
    const chip = document.createElement("button");
    chip.type = "button"; chip.textContent = word; chip.title = "leave out, or put back";
    chip.classList.toggle("unknown", !ids.has(word));
    chip.onclick = () => { left.has(i) ? left.delete(i) : left.add(i); update(); };
    return chip;
  }));
  update();
};

field.oninput = typed;
temperature.oninput = () => { draw.checked = true; update(); };
training.oninput = draw.onchange = update;
again.onclick = () => { seed++; update(); };
reset.onclick = () => {
  left.clear(); off.clear();
  draw.checked = false; temperature.value = 1; training.value = models - 1;
  update();
};
box.querySelectorAll(".examples button").forEach(button => {
  button.onclick = () => { field.value = button.textContent; typed(); };
});
training.max = training.value = models - 1;
find(".training").hidden = models === 1;
find(".still").hidden = true; find(".now").hidden = false;
typed();
