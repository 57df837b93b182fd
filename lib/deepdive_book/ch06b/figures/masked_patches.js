const box = document.getElementById(given.id), spec = JSON.parse(given.values);
const bytes = Uint8Array.from(atob(spec.weights), c => c.charCodeAt(0)), halves = new DataView(bytes.buffer);
const half = i => { // a number in half precision
  const h = halves.getUint16(2 * i, true), e = (h >> 10) & 31, f = h & 1023;
  return (h >> 15 ? -1 : 1) * (e ? 2 ** (e - 15) * (1 + f / 1024) : 2 ** -14 * (f / 1024));
};
const W = {};
let from = 0;
for (const [name, size] of spec.sizes) {
  W[name] = Float64Array.from({ length: size }, (_, i) => half(from + i));
  from += size;
}
const linear = (rows, name) => { // rows W^T + b
  const w = W[name + ".weight"], b = W[name + ".bias"], out = b.length;
  return rows.map(x => Float64Array.from(b, (start, o) => {
    let sum = start;
    for (let i = 0, at = o * x.length; i < x.length; i++) sum += w[at + i] * x[i];
    return sum;
  }));
};
const norm = (rows, name) => rows.map(x => {
  const mean = x.reduce((a, b) => a + b, 0) / x.length;
  const variance = x.reduce((a, b) => a + (b - mean) ** 2, 0) / x.length, by = 1 / Math.sqrt(variance + spec.eps);
  return x.map((v, i) => (v - mean) * by * W[name + ".weight"][i] + W[name + ".bias"][i]);
});
const add = (a, b) => a.map((x, r) => x.map((v, i) => v + b[r][i]));
const gelu = x => { // x times the normal distribution; Abramowitz and Stegun 7.1.26
  const z = Math.abs(x) / Math.SQRT2, t = 1 / (1 + 0.3275911 * z);
  const tail = t * (0.254829592 + t * (-0.284496736 + t * (1.421413741 + t * (-1.453152027 + t * 1.061405429))));
  const erf = 1 - tail * Math.exp(-z * z);
  return 0.5 * x * (1 + (x < 0 ? -erf : erf));
};
const attend = (rows, name, heads) => {
  const q = linear(rows, name + ".q"), kv = linear(rows, name + ".kv"), d = q[0].length, size = d / heads;
  return linear(q.map(asks => {
    const mixed = new Float64Array(d);
    for (let h = 0; h < heads; h++) {
      const scores = kv.map(k => {
        let sum = 0;
        for (let i = h * size; i < (h + 1) * size; i++) sum += asks[i] * k[i];
        return sum / Math.sqrt(size);
      });
      const most = Math.max(...scores), e = scores.map(s => Math.exp(s - most)), all = e.reduce((a, b) => a + b, 0);
      kv.forEach((k, s) => { for (let i = h * size; i < (h + 1) * size; i++) mixed[i] += e[s] / all * k[d + i]; });
    }
    return mixed;
  }), name + ".out");
};
const layers = (rows, name, count, heads) => {
  for (let l = 0; l < count; l++) {
    const at = `${name}.blocks.${l}`;
    rows = add(rows, attend(norm(rows, at + ".attn_residual.norm"), at + ".attn", heads));
    const inner = linear(norm(rows, at + ".ff_residual.norm"), at + ".ff.inner").map(x => x.map(gelu));
    rows = add(rows, linear(inner, at + ".ff.out"));
  }
  return norm(rows, name + ".norm");
};
const row = (name, r, d) => W[name].slice(r * d, (r + 1) * d);
const n = spec.n, patch = spec.patch, side = n * patch, all = n * n, d = spec.width, narrow = spec.narrow;
const pixels = i => Uint8Array.from(atob(spec.images[i].pixels), c => c.charCodeAt(0));
const cut = image => Array.from({ length: all }, (_, p) => Float64Array.from({ length: patch * patch }, (_, i) =>
  (image[(Math.floor(p / n) * patch + Math.floor(i / patch)) * side + p % n * patch + i % patch] / 255 - 0.5) / 0.5));
const say = (patches, hidden) => { // what the model says of every patch
  const E = "encoder.embeddings", plus = (x, name, r, wide) => x.map((v, i) => v + W[name][r * wide + i]);
  const seen = patches.map((_, p) => p).filter(p => !hidden[p]);
  const rows = linear(patches, E + ".patches.project").map((x, p) => plus(x, E + ".positions", p + 1, d));
  const first = plus(row(E + ".special", 0, d), E + ".positions", 0, d);
  const states = linear(layers([first, ...seen.map(p => rows[p])], "encoder.stack", ...spec.encoder), "project");
  const whole = Array.from({ length: all }, () => W.mask);
  seen.forEach((p, i) => { whole[p] = states[i + 1]; });
  const placed = [states[0], ...whole].map((x, p) => plus(x, "decoder_positions", p, narrow));
  return linear(layers(placed, "decoder", ...spec.decoder), "out").slice(1);
};

const [seenBox, saidBox, trueBox] = box.querySelectorAll("canvas"), told = box.querySelector(".hp-told");
const grid = box.querySelector(".hp-grid"), which = box.querySelector("select");
let hidden = spec.hidden.slice(), at = 0, focus = 0;
const draw = (canvas, patches, blank) => {
  const pen = canvas.getContext("2d"), picture = pen.createImageData(side, side);
  patches.forEach((x, p) => x.forEach((v, i) => {
    const place = 4 * ((Math.floor(p / n) * patch + Math.floor(i / patch)) * side + p % n * patch + i % patch);
    const grey = Math.max(0, Math.min(255, Math.round(255 * (v / 2 + 0.5))));
    const shade = blank && hidden[p] ? [120, 134, 158] : [grey, grey, grey];
    picture.data.set([...shade, 255], place);
  }));
  pen.putImageData(picture, 0, 0);
};
const show = () => {
  const patches = cut(pixels(at)), said = say(patches, hidden), count = hidden.filter(Boolean).length;
  draw(seenBox, patches, true);
  draw(saidBox, patches.map((x, p) => hidden[p] ? said[p] : x), false);
  draw(trueBox, patches, false);
  let error = 0;
  patches.forEach((x, p) => { if (hidden[p]) x.forEach((v, i) => { error += (said[p][i] - v) ** 2 / (count * x.length); }); });
  told.textContent = count ? `${count} of ${all} patches hidden. Loss over them: ${error.toFixed(3)}`
    : `Nothing is hidden: press a patch.`;
  [...grid.children].forEach((button, p) => {
    button.setAttribute("aria-pressed", hidden[p]);
    button.tabIndex = p === focus ? 0 : -1;
  });
  box.dataset.state = JSON.stringify({ at, hidden, said: said.map(x => [...x].map(v => +v.toFixed(5))), error });
};
for (let p = 0; p < all; p++) {
  const button = document.createElement("button");
  button.type = "button";
  button.setAttribute("aria-label", `line ${Math.floor(p / n) + 1}, column ${p % n + 1}: hide`);
  button.onclick = () => {
    if (hidden[p] || hidden.filter(Boolean).length < all - 1) hidden[p] = !hidden[p]; // one stays to be seen
    focus = p;
    show();
  };
  grid.append(button);
}
grid.addEventListener("keydown", event => {
  const by = { ArrowRight: 1, ArrowLeft: -1, ArrowDown: n, ArrowUp: -n }[event.key];
  if (by === undefined) return;
  event.preventDefault();
  focus = (focus + by + all) % all;
  [...grid.children].forEach((button, p) => { button.tabIndex = p === focus ? 0 : -1; });
  grid.children[focus].focus();
});
which.onchange = () => { at = +which.value; show(); };
box.querySelectorAll(".hp-lots button").forEach((button, i) => {
  button.onclick = () => {
    const order = Array.from({ length: all }, (_, p) => [Math.random(), p]).sort((a, b) => a[0] - b[0]);
    hidden = hidden.map(() => false);
    order.slice(0, spec.lots[i]).forEach(([, p]) => { hidden[p] = true; });
    show();
  };
});
box.querySelector(".hp-still").hidden = true;
box.querySelector(".hp-live").hidden = false;
show();
