// One layer and its answer, as the page computes them. forced[t] = { keep, write, show }: 0 or 1.
const sigmoid = z => 1 / (1 + Math.exp(-z));
const lstm = (spec, tokens, forced) => {
  const d = spec.U[0].length, steps = [];
  let h = Array(d).fill(0), c = h;
  tokens.forEach((token, t) => {
    const z = spec.b.map((b, r) =>
      spec.U[r].reduce((sum, u, k) => sum + u * h[k], b + spec.W[token][r]));
    const by = forced[t] || {}, old = c;
    const gate = (name, from) =>
      z.slice(from * d, from * d + d).map(v => name in by ? by[name] : sigmoid(v));
    const write = gate("write", 0), keep = gate("keep", 1), show = gate("show", 3);
    const fresh = z.slice(2 * d, 3 * d).map(Math.tanh);
    c = old.map((v, k) => keep[k] * v + write[k] * fresh[k]);
    h = c.map((v, k) => show[k] * Math.tanh(v));
    steps.push({ old, write, keep, show, fresh, cell: c, state: h });
  });
  const logits = spec.out.map(row => row.reduce((sum, w, k) => sum + w * h[k], 0));
  const top = Math.max(...logits), parts = logits.map(v => Math.exp(v - top));
  const whole = parts.reduce((a, b) => a + b);
  return { steps, answer: parts.map(v => v / whole) };
};
