const box = document.getElementById(given.id), data = JSON.parse(given.data);
const find = what => box.querySelector(what), all = what => [...box.querySelectorAll(what)];
const drawing = find("svg"), tips = all(".dda-tip"), halos = all(".dda-halo");
const rows = all("tbody tr"), length = find("input"), last = data.keys.length;
const middle = data.width / 2, unit = (middle - data.margin) / data.reach;
let places; // the keys, then the query
const restart = () => { places = [...data.keys, data.query].map(([x, y]) => [x, y]); };

const mix = (query, keys, values) => {
  const scores = keys.map(key => query[0] * key[0] + query[1] * key[1]);
  const most = Math.max(...scores), powers = scores.map(score => Math.exp(score - most));
  const sum = powers.reduce((a, b) => a + b), shares = powers.map(power => power / sum);
  const answer = [0, 1, 2].map(c => shares.reduce((a, s, i) => a + s * values[i][c], 0));
  return { scores, shares, answer };
};
const number = x => (Math.abs(x) < 0.005 ? "0" : String(+x.toFixed(2))).replace("-", "\u2212");
const set = (element, values) => {
  for (const key in values) element.setAttribute(key, values[key]);
};
const show = () => {
  const { scores, shares, answer } = mix(places[last], places.slice(0, last), data.values);
  const words = [];
  tips.forEach((tip, i) => {
    const [x, y] = places[i], size = Math.hypot(x, y) || 1, dx = x / size, dy = -y / size;
    const px = middle + unit * x, py = middle - unit * y;
    const [line, head, ring, word, hold] = tip.children;
    set(line, { x2: px, y2: py });
    set(head, { transform: `translate(${px} ${py}) rotate(${Math.atan2(dy, dx) * 180 / Math.PI})` });
    for (const round of [ring, hold]) set(round, { cx: px, cy: py });
    const half = 4.6 * word.textContent.length, inside = to =>
      Math.max(half, Math.min(data.width - half, to));
    const past = far => [inside(px + (16 * far + 0.93 * half) * dx), py + 22 * far * dy];
    let far = 1; // a word moves out from under another
    while (far < 3 && words.some(([a, b]) =>
      Math.abs(past(far)[0] - a) < 38 && Math.abs(past(far)[1] - b) < 17)) far += 0.25;
    words.push(past(far));
    set(word, { x: words[i][0], y: words[i][1] });
    set(tip, { "aria-valuenow": size.toFixed(2),
      "aria-valuetext": `${number(x)} to the right, ${number(y)} up` });
  });
  rows.forEach((row, i) => {
    const [x, y] = places[i];
    set(halos[i], { x2: middle + unit * x, y2: middle - unit * y, "stroke-width": 26 * shares[i] });
    row.querySelector(".dda-score").textContent = number(scores[i]);
    row.querySelector(".dda-bar").style.width = `${100 * shares[i]}%`;
    row.querySelector(".dda-percent").textContent = `${(100 * shares[i]).toFixed(0)}%`;
  });
  const order = shares.map((_, i) => i).filter(i => shares[i] >= 0.005);
  order.sort((a, b) => shares[b] - shares[a]);
  const parts = order.map(i => `${(100 * shares[i]).toFixed(0)}% ${data.called[i]}`);
  find("[role=status]").textContent = `The answer: ${parts.join(", ")}.`;
  find(".dda-called").style.background =
    `rgb(${answer.map(part => Math.round(255 * part)).join(",")})`;
  length.value = Math.hypot(...places[last]);
  length.setAttribute("aria-valuetext", (+length.value).toFixed(1));
  box.dataset.state = JSON.stringify({ places, scores, shares, answer }); // for those who check
};
const put = (i, x, y) => {
  const size = Math.hypot(x, y), most = size > data.reach ? data.reach / size : 1;
  places[i] = [x * most, y * most];
  show();
};
tips.forEach((tip, i) => {
  set(tip, { tabindex: 0, role: "slider", "aria-roledescription": "arrow", "aria-valuemin": 0,
    "aria-valuemax": data.reach });
  let from = null;
  const at = event => { // where the pointer is, in units of the plane
    const frame = drawing.getBoundingClientRect(), scale = data.width / frame.width;
    return [((event.clientX - frame.left) * scale - middle) / unit,
      (middle - data.cut - (event.clientY - frame.top) * scale) / unit];
  };
  tip.addEventListener("pointerdown", event => {
    const [x, y] = at(event);
    from = [places[i][0] - x, places[i][1] - y];
    tip.setPointerCapture(event.pointerId);
    tip.focus({ preventScroll: true });
    event.preventDefault();
  });
  tip.addEventListener("pointermove", event => {
    if (!from) return;
    const [x, y] = at(event);
    put(i, x + from[0], y + from[1]);
  });
  for (const end of ["pointerup", "pointercancel"])
    tip.addEventListener(end, () => { from = null; });
  tip.addEventListener("keydown", event => {
    const by = { ArrowRight: [1, 0], ArrowLeft: [-1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] };
    const [dx, dy] = by[event.key] ?? [0, 0], step = data.reach / (event.shiftKey ? 80 : 20);
    if (!dx && !dy) return;
    put(i, places[i][0] + step * dx, places[i][1] + step * dy);
    event.preventDefault();
    event.stopPropagation();
  });
});
length.addEventListener("input", () => {
  const [x, y] = places[last], size = Math.hypot(x, y), to = +length.value;
  put(last, size ? x * to / size : to, size ? y * to / size : 0);
});
find("button").onclick = () => { restart(); show(); };
find(".dda-controls").hidden = find(".dda-how").hidden = false;
box.classList.add("dda-on");
restart();
show();
