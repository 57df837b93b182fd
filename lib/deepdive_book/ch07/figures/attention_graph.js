const [LEFT, RIGHT, TOP, ROW, BAR, FAINT] = spec.box, METHODS = ["raw", "rollout", "flow"];
const tiny = 1e-9;
const range = n => [...Array(n).keys()];
const mixed = weights => weights.map(layer => layer.map((row, t) =>
  row.map((w, s) => (w + (s === t)) / 2)));
const percent = x => `${(100 * x).toFixed(0)} %`;

// Shares of the input words in each state of each layer: rolled[l][t][s].
const rollout = pipes => {
  const size = pipes[0].length, rolled = [range(size).map(t => range(size).map(s => +(s === t)))];
  for (const A of pipes) {
    const before = rolled[rolled.length - 1];
    rolled.push(A.map(row => range(size).map(s => row.reduce((sum, a, j) => sum + a * before[j][s], 0))));
  }
  return rolled;
};

// Shares of the states of each layer in one state of the last: back[l][j].
const backwards = (pipes, state) => {
  const size = pipes[0].length, back = [range(size).map(t => +(t === state))];
  for (const A of [...pipes].reverse()) {
    back.unshift(range(size).map(j => A.reduce((sum, row, i) => sum + back[0][i] * row[j], 0)));
  }
  return back;
};

// The largest flow from a word to a state, by shortest paths with room left (Ford and Fulkerson,
// Edmonds and Karp): its value, what each pipe carries, and which nodes lie on the word's side.
const flow = (pipes, word, state) => {
  const depth = pipes.length, size = pipes[0].length;
  const used = pipes.map(A => A.map(row => row.map(() => 0)));
  let value = 0;
  for (;;) {
    const from = new Map([[`0,${word}`, null]]), queue = [[0, word]];
    while (queue.length && !from.has(`${depth},${state}`)) {
      const [l, j] = queue.shift();
      const visit = (k, i, room, edge) => {
        if (room > tiny && !from.has(`${k},${i}`)) {
          from.set(`${k},${i}`, { to: [l, j], room, edge });
          queue.push([k, i]);
        }
      };
      if (l < depth) range(size).forEach(i => visit(l + 1, i, pipes[l][i][j] - used[l][i][j], [l, i, j, 1]));
      if (l > 0) range(size).forEach(i => visit(l - 1, i, used[l - 1][j][i], [l - 1, j, i, -1]));
    }
    if (!from.has(`${depth},${state}`)) return { value, used, side: from };
    let room = Infinity;
    const path = [];
    for (let step = from.get(`${depth},${state}`); step; step = from.get(`${step.to}`)) {
      room = Math.min(room, step.room);
      path.push(step.edge);
    }
    path.forEach(([l, i, j, sign]) => { used[l][i][j] += sign * room; });
    value += room;
  }
};

const scoresOf = (weights, method, layer, state) => {
  const pipes = mixed(weights.slice(0, layer));
  if (method === "raw") return weights[layer - 1][state];
  if (method === "rollout") return rollout(pipes)[layer][state];
  return range(pipes[0].length).map(word => flow(pipes, word, state).value);
};

const describe = (words, scores, method, layer, state) => {
  const round = x => Math.round(1e4 * x);
  const order = range(words.length).sort((a, b) => round(scores[b]) - round(scores[a]) || a - b).slice(0, 3);
  const most = order.map(s => `${words[s]} ${percent(scores[s])}`).join(", ");
  const what = {
    raw: `In layer ${layer} ${words[state]} looks most at the states of`,
    rollout: `Rollout: ${words[state]} after layer ${layer} consists most of`,
    flow: `Flow: to ${words[state]} after layer ${layer} could come most of`,
  }[method];
  return `${what}: ${most}.`;
};

// The lists whose options are the text's words.
const list = (name, names) => {
  const [select] = all(`[data-control=${name}]`);
  select.replaceChildren(...names.map(word => make("option", {}, word)));
  select.selectedIndex = state[name];
};
const draw = () => {
  const { words, weights } = spec.readings[state.text], depth = weights.length, size = words.length;
  const method = METHODS[state.method], layer = state.layer + 1, target = state.state;
  const word = state.word - 1, whole = word < 0, edges = [];
  const step = (RIGHT - LEFT) / depth, x = l => LEFT + l * step, y = s => TOP + (s + 0.5) * ROW;
  const pipes = mixed(weights.slice(0, layer)), scores = scoresOf(weights, method, layer, target);
  let text = describe(words, scores, method, layer, target);
  const line = (l, i, j, share, color, more = {}) => edges.push(make("path", {
    d: `M${x(l).toFixed(1)} ${y(j).toFixed(1)}L${x(l + 1).toFixed(1)} ${y(i).toFixed(1)}`,
    stroke: color, "stroke-width": (0.6 + 7 * share).toFixed(2), "stroke-opacity": 0.75, ...more }));
  const each = act => pipes.forEach((A, l) => A.forEach((row, i) => row.forEach((a, j) => act(a, l, i, j))));
  if (method === "raw") {
    weights[layer - 1][target].forEach((w, s) => { if (w >= FAINT) line(layer - 1, target, s, w, colors.key); });
  } else if (method === "rollout") {
    const rolled = rollout(pipes), back = backwards(pipes, target);
    each((a, l, i, j) => {
      const passes = back[l + 1][i] * a * (whole ? 1 : rolled[l][j][word]);
      if (passes >= (whole ? FAINT : FAINT / 4)) line(l, i, j, passes, colors.key);
    });
    if (!whole) text += ` The lines carry the ${percent(scores[word])} of ${words[word]}.`;
  } else {
    const source = whole ? scores.indexOf(Math.max(...scores)) : word;
    const { value, used, side } = flow(pipes, source, target), cut = [];
    each((a, l, i, j) => {
      const cuts = a > tiny && side.has(`${l},${j}`) && !side.has(`${l + 1},${i}`);
      if (used[l][i][j] >= FAINT || (cuts && a >= FAINT)) {
        line(l, i, j, used[l][i][j], cuts ? colors.query : colors.key, cuts ? { "stroke-dasharray": "5 3" } : {});
      }
      if (cuts) cut.push(a);
    });
    text += ` The lines are a largest flow from ${words[source]}; its narrowest cut, dashed, has `
      + `${cut.length} pipes, together ${percent(cut.reduce((a, b) => a + b, 0))}.`;
    box.dataset.value = value;
  }
  const names = words.map((name, s) => words.indexOf(name) === s ? name : `${name} (${s + 1})`);
  list("state", names);
  list("word", ["all words", ...names]);
  find(".graph-edges").replaceChildren(...edges);
  const most = method === "flow" ? 1 : Math.max(1, ...scores);
  const label = (at, s, size, words, more) => make("text", { x: at, y: y(s) + 4.5, "font-size": size,
    "text-anchor": "end", fill: "currentColor", ...more }, words);
  find(".graph-words").replaceChildren(...words.flatMap((name, s) => [
    label(58, s, 13.5, name, s === word ? { "font-weight": 700 } : {}),
    make("rect", { x: 64, y: y(s) - 7, width: (BAR * scores[s] / most).toFixed(2), height: 14,
      fill: colors.key, "fill-opacity": 0.75 }),
    label(134, s, 12, (100 * scores[s]).toFixed(0), { class: "graph-share" })]));
  find(".graph-nodes").replaceChildren(...range(depth + 1).flatMap(l => range(size).map(s => {
    const chosen = l === layer && s === target;
    const node = make("circle", { cx: x(l).toFixed(1), cy: y(s).toFixed(1), r: chosen ? 7 : 4,
      fill: chosen ? colors.query : colors.score, ...(l > layer && { "fill-opacity": 0.35 }) });
    node.onclick = () => {
      Object.assign(state, l ? { layer: l - 1, state: s } : { word: s + 1 });
      update();
    };
    return node;
  })));
  find("svg").setAttribute("viewBox", `0 0 400 ${TOP + size * ROW + 4}`);
  return text;
};
on("text", () => Object.assign(state, { state: 0, word: 0 }));
onArrows(drawing, (right, down) => {
  const { words, weights } = spec.readings[state.text];
  state.layer = clamp(state.layer + right, weights.length - 1);
  state.state = clamp(state.state + down, words.length - 1);
});
