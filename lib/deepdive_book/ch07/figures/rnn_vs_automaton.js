const { net, symbols, cards, left, step, row: ROW } = spec, rule = cards[cards.length - 1];
const sigmoid = z => 1 / (1 + Math.exp(-z)), on_off = yes => (yes ? "on" : "off");
const dot = (row, h) => row.reduce((sum, w, k) => sum + w * h[k], 0);
const percent = chance => `${Math.floor(100 * chance + 0.5)} %`;
const gru = (h, symbol) => {
  const d = h.length, x = net.W.map((row, r) => row[symbol] + net.b[r]);
  const u = net.U.map((row, r) => dot(row, h) + net.c[r]);
  return h.map((old, k) => {
    const reset = sigmoid(x[k] + u[k]), update = sigmoid(x[d + k] + u[d + k]);
    return (1 - update) * Math.tanh(x[2 * d + k] + reset * u[2 * d + k]) + update * old;
  });
};
const probabilities = word => {
  let h = net.start;
  return [h, ...word.map(symbol => { h = gru(h, symbol); return h; })].map(
    each => sigmoid(dot(net.out, each) + net.last[0]));
};
const walk = (card, word) => word.reduce((states, symbol) => [...states, card.next[states.at(-1)][symbol]], [0]);
const column = (x, sign, shares, differs) => [
  make("text", { x: x + 10, y: 20, "font-size": 15, "font-weight": 700, "text-anchor": "middle",
    fill: "currentColor" }, sign),
  ...shares.flatMap((share, k) => {
    const y = ROW * (k + 1) + 3, height = (ROW - 6) * share, mark = differs && k > 0;
    return [make("rect", { x, y, width: 20, height: ROW - 6, fill: "none",
      stroke: mark ? colors.query : "#888", "stroke-width": mark ? 2.5 : 0.8 }),
    make("rect", { x, y: (y + ROW - 6 - height).toFixed(2), width: 20, height: height.toFixed(2),
      fill: colors[["value", "key", "weight"][k]] })];
  })];
const draw = () => {
  const { word } = state, at = state.card ?? 0, card = cards[at], sure = probabilities(word);
  const states = walk(card, word), truth = walk(rule, word).map(s => rule.accepts[s]);
  const accepts = states.map(s => card.accepts[s]), n = word.length, first = Math.max(0, n + 1 - spec.shown);
  find(".automaton-columns").replaceChildren(...sure.slice(first).flatMap((share, i) => {
    const place = first + i;
    return column(left + step * i, place ? "·|"[word[place - 1]] : "",
      [+truth[place], share, +accepts[place]], (share > 0.5) !== accepts[place]);
  }));
  all(".automaton-card").forEach((graph, k) => {
    const path = walk(cards[k], word);
    graph.setAttribute("display", k === at ? "inline" : "none");
    for (const each of graph.querySelectorAll(".automaton-state"))
      each.setAttribute("fill-opacity", +(+each.dataset.state === path[n]));
    for (const each of graph.querySelectorAll(".automaton-arrow")) {
      const taken = n && +each.dataset.from === path[n - 1] && +each.dataset.symbol === word[n - 1];
      each.setAttribute("stroke-width", taken ? 4 : 1.3);
    }
  });
  const network = sure[n] > 0.5, light = truth[n];
  const counts = [1, 0].map(k => `${word.filter(s => s === k).length} × ${symbols[k]}`);
  const verdict = network === accepts[n] ? `agree: both are ${network === light ? "right" : "wrong"}.`
    : `differ: the ${accepts[n] === light ? "card" : "network"} is right.`;
  return `${counts.join(", ")}. The light is ${on_off(light)}. Network: ${on_off(network)} `
    + `(${percent(sure[n])} sure of on). Card: ${on_off(accepts[n])}. Network and card ${verdict}`;
};
const acts = { 1: () => state.word.push(1), 0: () => state.word.push(0), Backspace: () => state.word.pop() };
on("yes", acts[1]);
on("no", acts[0]);
on("back", acts.Backspace);
on("start", () => { state.word = []; });
box.addEventListener("keydown", event => {
  if (event.target.tagName === "SELECT" || !acts[event.key]) return;
  acts[event.key]();
  update();
  event.preventDefault();
});
