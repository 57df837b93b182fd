const dot = (a, b) => a.reduce((sum, x, i) => sum + x * b[i], 0);
const xlogx = x => (x > 0 ? x * Math.log(x) : 0);
const jsd = (p, q) => p.reduce(
  (sum, x, i) => sum + (xlogx(x) + xlogx(q[i])) / 2 - xlogx((x + q[i]) / 2), 0);
const normalized = values => {
  const sum = values.reduce((a, b) => a + b, 0);
  return values.map(v => (sum ? v / sum : 1 / values.length));
};
const text = () => spec.texts[state.text];
const logit = weights => dot(weights, text().contributions) + text().bias;
const sigmoid = z => 1 / (1 + Math.exp(-z));
const draw = () => {
  const { words, contributions, weights: own } = text();
  const weights = normalized(state.raw), first = normalized(own);
  all(".weights-row").forEach((row, i) => {
    row.hidden = i >= words.length;
    if (row.hidden) return;
    const [word, bar, share, contribution] = row.children;
    const percent = (100 * weights[i]).toFixed(0);
    word.textContent = words[i];
    bar.firstChild.style.width = `${(100 * weights[i]).toFixed(1)}%`;
    share.textContent = `${percent}%`;
    contribution.textContent = (contributions[i] < 0 ? "−" : "+") + Math.abs(contributions[i]).toFixed(1);
    const slider = bar.lastChild;
    slider.value = Math.round(state.raw[i]);
    slider.setAttribute("aria-label", `weight of ${words[i]}`);
    slider.setAttribute("aria-valuetext", `${percent} percent`);
  });
  const [before, now] = [logit(first), logit(weights)];
  return `P(${spec.name}) = ${sigmoid(now).toFixed(3)}, logit ${now.toFixed(2)}. With the model's `
    + `weights ${sigmoid(before).toFixed(3)}, logit ${before.toFixed(2)}. Jensen-Shannon divergence `
    + `of the weights: ${Math.max(0, jsd(weights, first)).toFixed(2)} of at most 0.69.`;
};
const take = weights => { state.raw = weights.map(w => 100 * w); };
all(".weights-row input").forEach((slider, i) => {
  slider.hidden = false;
  slider.oninput = () => { state.raw[i] = +slider.value; update(); };
});
on("text", () => take(text().weights));
on("own", () => take(text().weights));
on("uniform", () => take(text().weights.map(() => 1 / text().words.length)));
on("search", () => take(text().adversarial));
on("searchlogit", () => take(text().adversarial_logit));
