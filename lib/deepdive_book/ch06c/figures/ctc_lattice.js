const BLANK = "-", words = Object.keys(spec.words);
const statesOf = word => [BLANK, ...[...word].flatMap(letter => [letter, BLANK])];
const predecessors = (states, s) => {
  const skips = s > 1 && states[s] !== BLANK && states[s] !== states[s - 2];
  return (skips ? [s, s - 1, s - 2] : [s, s - 1]).filter(i => i >= 0);
};
const recursion = (states, emitted) => {
  const before = states.map(() => []), ways = states.map(() => []);
  for (let t = 0; t < emitted[0].length; t++) {
    for (let s = 0; s < states.length; s++) {
      before[s][t] = t === 0 ? (s < 2 ? 1 : 0)
        : predecessors(states, s).reduce((total, i) => total + ways[i][t - 1], 0);
      ways[s][t] = before[s][t] * emitted[s][t];
    }
  }
  return [before, ways];
};
const reversed = rows => rows.map(row => [...row].reverse()).reverse();
const sums = (states, T) => {
  const emitted = states.map(symbol => state.parts[symbol]);
  const [before, ways] = recursion(states, emitted);
  const back = reversed(recursion([...states].reverse(), reversed(emitted))[0]);
  const through = ways.map((row, s) => row.map((value, t) => value * back[s][t]));
  let whole = 1;
  for (let t = 0; t < T; t++) whole *= Object.values(state.parts).reduce((total, row) => total + row[t], 0);
  return { before, ways, through, word: ways.slice(-2).reduce((total, row) => total + row[T - 1], 0), whole };
};
const nameOf = (states, s) => {
  if (states[s] === BLANK) return `blank ${Math.floor(s / 2) + 1}`;
  const same = list => list.filter(symbol => symbol === states[s]).length;
  if (same(states) === 1) return `character ${states[s]}`;
  return `${["first", "second", "third", "fourth"][same(states.slice(0, s))]} ${states[s]}`;
};
const equation = (states, { before, ways }, s, t) => {
  const emitted = state.parts[states[s]][t], place = `Frame ${t + 1}, ${nameOf(states, s)}: `;
  if (t === 0) {
    const start = s < 2 ? "an alignment may start here: 1" : "no alignment starts here: 0";
    return `${place}${start}; times ${emitted} is ${ways[s][0]}.`;
  }
  const terms = predecessors(states, s).map(i => ways[i][t - 1]).join(" + ");
  return `${place}${terms} = ${before[s][t]} enter; times ${emitted} is ${ways[s][t]}.`;
};
const verdict = ({ word, whole }, T) => {
  const path = Array.from({ length: T }, (_, t) => Object.keys(state.parts).reduce(
    (a, b) => (state.parts[b][t] > state.parts[a][t] ? b : a)));
  const text = path.filter((symbol, t) => symbol !== BLANK && symbol !== path[t - 1]).join("");
  const [some, all] = [word, whole].map(n => n.toLocaleString("en-US"));
  return `All alignments of “${words[state.word]}” together: ${some} of ${all}, ` +
    `${(whole ? 100 * word / whole : 0).toFixed(1)}%. Argmax of each frame: ` +
    `${path.join("\u2060\u00a0")}, which collapses to ${text ? `“${text}”` : "the empty text"}.`;
};
const label = (x, y, size, text, bold) => make("text", { x, y, "font-size": size,
  "text-anchor": "middle", fill: "currentColor", ...(bold && { "font-weight": 700 }) }, text);
const draw = () => {
  const states = statesOf(words[state.word]), T = state.parts[BLANK].length, { s: here, t: now } = state;
  const sum = sums(states, T), X = t => spec.left + spec.step * t, Y = s => spec.top + spec.row * s;
  const svg = find("svg");
  svg.setAttribute("viewBox", `0 0 ${spec.wide} ${Y(states.length - 1) + spec.round + 4}`);
  svg.replaceChildren(...Array.from({ length: T }, (_, t) => label(X(t), 12, 13, `frame ${t + 1}`)));
  for (let t = 1; t < T; t++) {
    states.forEach((_, s) => predecessors(states, s).forEach(i => {
      const used = sum.ways[i][t - 1] && sum.through[s][t], into = s === here && t === now;
      const flow = used ? sum.ways[i][t - 1] * sum.through[s][t] / sum.before[s][t] : 0;
      svg.append(make("line", { x1: X(t - 1), y1: Y(i), x2: X(t), y2: Y(s),
        stroke: into ? colors.weight : colors.score, "stroke-opacity": into || used ? 0.9 : 0.25,
        "stroke-width": 0.7 + (sum.word ? 7 * flow / sum.word : 0) }));
    }));
  }
  states.forEach((symbol, s) => {
    svg.append(label(14, Y(s) + 6, 17, symbol, symbol !== BLANK));
    for (let t = 0; t < T; t++) {
      const chosen = s === here && t === now, color = colors[symbol === BLANK ? "score" : "key"];
      const circle = { cx: X(t), cy: Y(s), r: spec.round };
      const place = make("g", { class: "lattice-node" }, make("circle", { ...circle, fill: "Canvas" }),
        make("circle", { ...circle, fill: color, "fill-opacity": 0.65 * sum.through[s][t] / (sum.word || 1),
          stroke: chosen ? colors.weight : color, "stroke-width": chosen ? 3.5 : 1.2 }),
        label(X(t), Y(s) + 5, 14, sum.ways[s][t]));
      place.onclick = () => { Object.assign(state, { s, t }); update(); };
      svg.append(place);
    }
  });
  drawParts();
  write(".lattice-sum", [verdict(sum, T)]);
  return equation(states, sum, here, now);
};
const drawParts = () => {
  const focused = all(".lattice-row button").indexOf(document.activeElement);
  find(".lattice-parts").replaceChildren(...Object.entries(state.parts).map(([symbol, row]) =>
    make("div", { class: "lattice-row" }, make("span", {}, symbol), ...row.map((value, t) => {
      const button = make("button", { type: "button", style: `--part:${value}`,
        "aria-label": `frame ${t + 1}, ${symbol}: weight ${value}` }, value);
      button.onclick = () => { row[t] = (value + 1) % (spec.most + 1); update(); };
      return button;
    }))));
  if (focused >= 0) all(".lattice-row button")[focused].focus();
};
on("word", () => {
  const word = words[state.word], parts = structuredClone(spec.words[word]);
  Object.assign(state, { parts, s: 2 * word.length - 1, t: parts[BLANK].length - 1 });
});
onArrows(drawing, (right, down) => {
  state.s = clamp(state.s + down, 2 * words[state.word].length);
  state.t = clamp(state.t + right, state.parts[BLANK].length - 1);
});
