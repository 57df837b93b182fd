const spec = JSON.parse(given.values), [LEFT, RIGHT, TOP, ROW, BAR, FAINT] = spec.box;
const box = document.getElementById(given.id), find = what => box.querySelector(what);
const choose = Object.fromEntries(["text", "method", "state", "layer", "word"].map(
  name => [name, find(`.ag-${name}`)]));
const status = find("[role=status]");
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

const tell = (words, scores, method, layer, state) => {
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

const draw = () => {
  const { words, weights } = spec.readings[+choose.text.value];
  const method = choose.method.value, layer = +choose.layer.value, state = +choose.state.value;
  const word = +choose.word.value, all = word < 0, depth = weights.length, size = words.length;
  const step = (RIGHT - LEFT) / depth, x = l => LEFT + l * step, y = s => TOP + (s + 0.5) * ROW;
  const pipes = mixed(weights.slice(0, layer)), scores = scoresOf(weights, method, layer, state);
  let edges = "", said = tell(words, scores, method, layer, state);
  const line = (l, i, j, share, role, extra = "") => {
    edges += `<path d="M${x(l).toFixed(1)} ${y(j).toFixed(1)}L${x(l + 1).toFixed(1)} ${y(i).toFixed(1)}" `
      + `stroke="${role}" stroke-width="${(0.6 + 7 * share).toFixed(2)}" stroke-opacity=".75"${extra}/>`;
  };
  const each = does => pipes.forEach((A, l) => A.forEach((row, i) => row.forEach((a, j) => does(a, l, i, j))));
  if (method === "raw") {
    weights[layer - 1][state].forEach((w, s) => { if (w >= FAINT) line(layer - 1, state, s, w, "@key"); });
  } else if (method === "rollout") {
    const rolled = rollout(pipes), back = backwards(pipes, state);
    each((a, l, i, j) => {
      const passes = back[l + 1][i] * a * (all ? 1 : rolled[l][j][word]);
      if (passes >= (all ? FAINT : FAINT / 4)) line(l, i, j, passes, "@key");
    });
    if (!all) said += ` The lines carry the ${percent(scores[word])} of ${words[word]}.`;
  } else {
    const chosen = all ? scores.indexOf(Math.max(...scores)) : word;
    const { value, used, side } = flow(pipes, chosen, state), cut = [];
    each((a, l, i, j) => {
      const cuts = a > tiny && side.has(`${l},${j}`) && !side.has(`${l + 1},${i}`);
      if (used[l][i][j] >= FAINT || (cuts && a >= FAINT)) {
        line(l, i, j, used[l][i][j], cuts ? "@query" : "@key", cuts ? ' stroke-dasharray="5 3"' : "");
      }
      if (cuts) cut.push(a);
    });
    const total = cut.reduce((a, b) => a + b, 0);
    said += ` The lines are a largest flow from ${words[chosen]}; its narrowest cut, dashed, has `
      + `${cut.length} pipes, together ${percent(total)}.`;
    box.dataset.value = value;
  }
  find(".ag-edges").innerHTML = edges;
  const most = method === "flow" ? 1 : Math.max(1, ...scores);
  find(".ag-words").innerHTML = words.map((name, s) => {
    const bold = s === word ? ' font-weight="700"' : "", safe = name.replace(/&/g, "&amp;").replace(/</g, "&lt;");
    return `<text x="58" y="${y(s) + 4.5}" font-size="13.5" text-anchor="end" fill="currentColor"${bold}>${safe}</text>`
      + `<rect x="64" y="${y(s) - 7}" width="${(BAR * scores[s] / most).toFixed(2)}" height="14" fill="@key" fill-opacity=".75"/>`
      + `<text class="ag-share" x="134" y="${y(s) + 4.5}" font-size="12" text-anchor="end" fill="currentColor">${(100 * scores[s]).toFixed(0)}</text>`;
  }).join("");
  find(".ag-nodes").innerHTML = range(depth + 1).flatMap(l => range(size).map(s => {
    const chosen = l === layer && s === state;
    return `<circle cx="${x(l).toFixed(1)}" cy="${y(s).toFixed(1)}" r="${chosen ? 7 : 4}" data-at="${l},${s}" `
      + `fill="${chosen ? "@query" : "@score"}"${l > layer ? ' fill-opacity=".35"' : ""}/>`;
  })).join("");
  const svg = find("svg"), high = TOP + size * ROW + 4;
  svg.setAttribute("viewBox", `0 0 400 ${high}`);
  status.textContent = said;
};

const fill = () => {
  const { words } = spec.readings[+choose.text.value];
  const options = list => list.map(([value, name]) => {
    const made = document.createElement("option");
    made.value = value;
    made.textContent = name;
    return made;
  });
  const named = words.map((name, s) => [s, words.indexOf(name) === s ? name : `${name} (${s + 1})`]);
  choose.state.replaceChildren(...options(named));
  choose.word.replaceChildren(...options([[-1, "all words"], ...named]));
};

Object.entries(choose).forEach(([name, select]) => {
  select.onchange = () => {
    if (name === "text") fill();
    draw();
  };
});
find(".ag-nodes").onclick = event => {
  const at = event.target.dataset.at;
  if (!at) return;
  const [l, s] = at.split(",").map(Number);
  if (l === 0) choose.word.value = s;
  else {
    choose.layer.value = l;
    choose.state.value = s;
  }
  draw();
};
fill();
find(".ag-choose").hidden = false;
