const spec = JSON.parse(given.values), box = document.getElementById(given.id), net = spec.net;
const strip = box.querySelector(".ab-strip"), told = box.querySelector("[role=status]");
const [yes, no, back, again] = box.querySelectorAll("button"), choice = box.querySelector("select");
const rule = spec.cards[spec.cards.length - 1], LEFT = 66, STEP = 23.5, ROW = 30;
const colours = [...strip.querySelectorAll("rect:not([fill=none])")].slice(0, 3)
  .map(each => each.getAttribute("fill"));
const differs = box.querySelector("[data-symbol='1'] path").getAttribute("stroke");
const head = [...strip.querySelectorAll("text")].slice(0, 3).map(each => each.outerHTML).join("");
const sigmoid = z => 1 / (1 + Math.exp(-z)), on = yes => (yes ? "on" : "off");
const dot = (row, h) => row.reduce((sum, w, k) => sum + w * h[k], 0);
const per = chance => `${Math.floor(100 * chance + 0.5)} %`;
let word = [...spec.word];
const read = (h, symbol) => {
  const d = h.length, x = net.W.map((row, r) => row[symbol] + net.b[r]);
  const u = net.U.map((row, r) => dot(row, h) + net.c[r]);
  return h.map((old, k) => {
    const reset = sigmoid(x[k] + u[k]), keep = sigmoid(x[d + k] + u[d + k]);
    return (1 - keep) * Math.tanh(x[2 * d + k] + reset * u[2 * d + k]) + keep * old;
  });
};
const chances = () => {
  let h = net.start;
  const found = [sigmoid(dot(net.out, h) + net.last[0])];
  for (const symbol of word) {
    h = read(h, symbol);
    found.push(sigmoid(dot(net.out, h) + net.last[0]));
  }
  return found;
};
const walk = card => word.reduce((states, symbol) =>
  [...states, card.next[states[states.length - 1]][symbol]], [0]);
const draw = () => {
  const card = spec.cards[+choice.value], sure = chances(), states = walk(card);
  const truth = walk(rule).map(s => rule.accepts[s]), said = states.map(s => card.accepts[s]);
  let body = head;
  const first = Math.max(0, word.length + 1 - spec.shown);
  for (let place = first; place <= word.length; place++) {
    const x = LEFT + STEP * (place - first), wrong = (sure[place] > 0.5) !== said[place];
    body += `<text x="${x + 10}" y="20" font-size="15" font-weight="700" text-anchor="middle" ` +
      `fill="currentColor">${place ? "·|"[word[place - 1]] : ""}</text>`;
    [+truth[place], sure[place], +said[place]].forEach((share, k) => {
      const y = ROW * (k + 1) + 3, high = (ROW - 6) * share, mark = wrong && k > 0;
      body += `<rect x="${x}" y="${y}" width="20" height="${ROW - 6}" fill="none" ` +
        `stroke="${mark ? differs : "#888"}" stroke-width="${mark ? 2.5 : 0.8}"/>` +
        `<rect x="${x}" y="${(y + ROW - 6 - high).toFixed(2)}" width="20" ` +
        `height="${high.toFixed(2)}" fill="${colours[k]}"/>`;
    });
  }
  strip.innerHTML = body;
  const now = states[word.length], before = states[word.length - 1], last = word[word.length - 1];
  for (const drawn of box.querySelectorAll(".ab-card")) {
    drawn.toggleAttribute("hidden", drawn.dataset.card !== choice.value);
    for (const each of drawn.querySelectorAll(".ab-state"))
      each.setAttribute("fill-opacity", +(+each.dataset.state === now));
    for (const each of drawn.querySelectorAll(".ab-arrow")) {
      const took = word.length && +each.dataset.from === before && +each.dataset.symbol === last;
      each.setAttribute("stroke-width", took ? 4 : 1.3);
    }
  }
  const network = sure[word.length] > 0.5, says = said[word.length], light = truth[word.length];
  const counts = [1, 0].map(k => `${word.filter(s => s === k).length} × ${spec.symbols[k]}`);
  const verdict = network === says
    ? `Network and card agree: both are ${says === light ? "right" : "wrong"}.`
    : `Network and card differ: the ${says === light ? "card" : "network"} is right.`;
  told.textContent = `${counts.join(", ")}. The light is ${on(light)}. Network: ${on(network)} ` +
    `(${per(sure[word.length])} sure of on). Card: ${on(says)}. ${verdict}`;
};
const add = symbol => { word.push(symbol); draw(); };
const less = () => { word.pop(); draw(); };
yes.onclick = () => add(1);
no.onclick = () => add(0);
back.onclick = less;
again.onclick = () => { word = []; draw(); };
choice.onchange = draw;
box.addEventListener("keydown", event => {
  if (event.target === choice) return;
  const does = { 1: () => add(1), 0: () => add(0), Backspace: less }[event.key];
  if (does) { does(); event.preventDefault(); }
});
box.querySelector(".ab-choose").hidden = false;
