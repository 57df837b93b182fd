const spec = JSON.parse(given.values), box = document.getElementById(given.id);
const svg = box.querySelector("svg.la-all"), table = box.querySelector(".la-parts");
const choice = box.querySelector("select"), told = box.querySelector(".la-told");
const sum = box.querySelector(".la-sum"), BLANK = "-";
const colours = {};
for (const [name, what] of [["key", "[data-s='1'] circle:last-of-type"],
  ["score", "[data-s='0'] circle:last-of-type"]]) {
  colours[name] = svg.querySelector(what).getAttribute("fill");
}
colours.weight = svg.querySelector("circle[stroke-width='3.5']").getAttribute("stroke");
let parts, states, T, chosen, at;
const waysIn = (z, s) => {
  const skips = s > 1 && z[s] !== BLANK && z[s] !== z[s - 2];
  return (skips ? [s, s - 1, s - 2] : [s, s - 1]).filter(i => i >= 0);
};
const along = (z, said) => {
  const before = z.map(() => Array(T).fill(0)), ways = z.map(() => Array(T).fill(0));
  for (let t = 0; t < T; t++) {
    for (let s = 0; s < z.length; s++) {
      before[s][t] = t === 0 ? (s < 2 ? 1 : 0)
        : waysIn(z, s).reduce((total, i) => total + ways[i][t - 1], 0);
      ways[s][t] = before[s][t] * said[s][t];
    }
  }
  return [before, ways];
};
const turned = rows => rows.map(row => [...row].reverse()).reverse();
const sums = () => {
  const said = states.map(z => parts[z]);
  const [before, ways] = along(states, said);
  const back = turned(along([...states].reverse(), turned(said))[0]);
  const through = ways.map((row, s) => row.map((value, t) => value * back[s][t]));
  let whole = 1;
  for (let t = 0; t < T; t++) {
    whole *= Object.values(parts).reduce((total, row) => total + row[t], 0);
  }
  const word = ways.slice(-2).reduce((total, row) => total + row[T - 1], 0);
  return { before, ways, through, word, whole };
};
const nameOf = s => {
  if (states[s] === BLANK) return `blank ${Math.floor(s / 2) + 1}`;
  if (states.filter(z => z === states[s]).length === 1) return `letter ${states[s]}`;
  const nth = states.slice(0, s).filter(z => z === states[s]).length;
  return `${["first", "second", "third", "fourth"][nth]} ${states[s]}`;
};
const equation = now => {
  const says = parts[states[chosen]][at], which = `Frame ${at + 1}, ${nameOf(chosen)}: `;
  if (at === 0) {
    const begins = chosen < 2 ? "a path may begin here: 1" : "no path begins here: 0";
    return `${which}${begins}; times ${says} is ${now.ways[chosen][0]}.`;
  }
  const all = waysIn(states, chosen).map(i => now.ways[i][at - 1]).join(" + ");
  return `${which}${all} = ${now.before[chosen][at]} come in; times ${says} is ` +
    `${now.ways[chosen][at]}.`;
};
const verdict = now => {
  const path = [];
  for (let t = 0; t < T; t++) {
    path.push(Object.keys(parts).reduce((a, b) => (parts[b][t] > parts[a][t] ? b : a)));
  }
  const text = path.filter((z, t) => z !== BLANK && z !== path[t - 1]).join("");
  const share = now.whole ? 100 * now.word / now.whole : 0;
  const grouped = n => n.toLocaleString("en-US");
  return `All paths of “${choice.value}” together: ${grouped(now.word)} of ${grouped(now.whole)}, ` +
    `${share.toFixed(1)} %. The likeliest symbol of each frame: ${path.join("\u2060\u00a0")}, which says ` +
    `${text ? `“${text}”` : "nothing"}.`;
};
const element = (kind, given, text) => {
  const made = document.createElementNS("http://www.w3.org/2000/svg", kind);
  for (const [name, value] of Object.entries(given)) made.setAttribute(name, value);
  if (text !== undefined) made.textContent = text;
  return made;
};
const word = (x, y, text, size, weight) => element("text", {
  x, y, "font-size": size, "text-anchor": "middle", fill: "currentColor",
  ...(weight ? { "font-weight": 700 } : {}) }, text);
const draw = () => {
  const now = sums(), X = t => spec.left + spec.step * t, Y = s => spec.top + spec.row * s;
  svg.replaceChildren();
  for (let t = 0; t < T; t++) svg.append(word(X(t), 12, `frame ${t + 1}`, 13));
  for (let t = 1; t < T; t++) {
    states.forEach((_, s) => waysIn(states, s).forEach(i => {
      const used = now.ways[i][t - 1] && now.through[s][t], into = s === chosen && t === at;
      const flow = used ? now.ways[i][t - 1] * now.through[s][t] / now.before[s][t] : 0;
      svg.append(element("line", {
        x1: X(t - 1), y1: Y(i), x2: X(t), y2: Y(s), stroke: into ? colours.weight : colours.score,
        "stroke-width": 0.7 + (now.word ? 7 * flow / now.word : 0),
        "stroke-opacity": into || used ? 0.9 : 0.25 }));
    }));
  }
  states.forEach((z, s) => {
    svg.append(word(14, Y(s) + 6, z, 17, z !== BLANK));
    for (let t = 0; t < T; t++) {
      const here = s === chosen && t === at, colour = colours[z === BLANK ? "score" : "key"];
      const place = element("g", { class: "la-place", "data-s": s, "data-t": t });
      const round = { cx: X(t), cy: Y(s), r: spec.round };
      place.append(element("circle", { ...round, class: "la-paper" }), element("circle", {
        ...round, fill: colour, "fill-opacity": 0.65 * now.through[s][t] / (now.word || 1),
        stroke: here ? colours.weight : colour, "stroke-width": here ? 3.5 : 1.2 }),
      word(X(t), Y(s) + 5, now.ways[s][t], 14));
      svg.append(place);
    }
  });
  const high = spec.top + spec.row * (states.length - 1) + spec.round + 4;
  svg.setAttribute("viewBox", `0 0 400 ${high}`);
  told.textContent = equation(now);
  sum.textContent = verdict(now);
};
const press = (button, value) => {
  const { symbol, t } = button.dataset;
  parts[symbol][+t] = value;
  button.textContent = value;
  button.style.setProperty("--part", value);
  button.setAttribute("aria-label", `frame ${+t + 1} says ${symbol}: ${value} parts`);
};
const begin = () => {
  const name = choice.value;
  parts = Object.fromEntries(Object.entries(spec.words[name]).map(([z, row]) => [z, [...row]]));
  states = [BLANK, ...[...name].flatMap(letter => [letter, BLANK])];
  T = parts[BLANK].length;
  [chosen, at] = [states.length - 2, T - 1];
  table.replaceChildren();
  for (const [symbol, row] of Object.entries(parts)) {
    const line = document.createElement("div"), label = document.createElement("span");
    line.className = "la-row";
    label.textContent = symbol;
    line.append(label);
    row.forEach((value, t) => {
      const button = document.createElement("button");
      button.type = "button";
      Object.assign(button.dataset, { symbol, t });
      press(button, value);
      line.append(button);
    });
    table.append(line);
  }
  draw();
};
table.addEventListener("click", event => {
  const button = event.target.closest("button");
  if (!button) return;
  press(button, (parts[button.dataset.symbol][+button.dataset.t] + 1) % (spec.most + 1));
  draw();
});
svg.addEventListener("click", event => {
  const place = event.target.closest(".la-place");
  if (!place) return;
  [chosen, at] = [+place.dataset.s, +place.dataset.t];
  draw();
});
box.tabIndex = 0;
box.addEventListener("keydown", event => {
  const by = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] }[event.key];
  if (!by || event.target === choice) return;
  chosen = Math.max(0, Math.min(states.length - 1, chosen + by[0]));
  at = Math.max(0, Math.min(T - 1, at + by[1]));
  draw();
  event.preventDefault();
});
choice.onchange = begin;
box.querySelector(".la-choose button").onclick = begin;
box.querySelector(".la-choose").hidden = false;
box.classList.add("la-live");
begin();
