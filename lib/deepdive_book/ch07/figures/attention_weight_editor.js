const dot = (a, b) => a.reduce((sum, x, i) => sum + x * b[i], 0);
const xlogx = x => (x > 0 ? x * Math.log(x) : 0);
const jsd = (p, q) => p.reduce(
  (sum, x, i) => sum + (xlogx(x) + xlogx(q[i])) / 2 - xlogx((x + q[i]) / 2), 0);
const normalized = values => {
  const sum = values.reduce((a, b) => a + b, 0);
  return values.map(v => (sum ? v / sum : 1 / values.length));
};
const text = () => spec.texts[state.text];
const answer = weights => 1 / (1 + Math.exp(-(dot(weights, text().votes) + text().bias)));
const draw = () => {
  const { words, votes, own } = text(), weights = normalized(state.raw), first = normalized(own);
  all(".weights-row").forEach((row, i) => {
    row.hidden = i >= words.length;
    if (row.hidden) return;
    const [word, bar, share, vote] = row.children, percent = (100 * weights[i]).toFixed(0);
    word.textContent = words[i];
    bar.firstChild.style.width = `${(100 * weights[i]).toFixed(1)}%`;
    share.textContent = `${percent} %`;
    vote.textContent = (votes[i] < 0 ? "" : "+") + votes[i].toFixed(1);
    const slider = bar.lastChild;
    slider.value = Math.round(state.raw[i]);
    slider.setAttribute("aria-label", `weight of ${words[i]}`);
    slider.setAttribute("aria-valuetext", `${percent} percent`);
  });
  const [before, now] = [answer(first), answer(weights)];
  return `The model says ${spec.name} with probability ${now.toFixed(2)}; with its own weights `
    + `${before.toFixed(2)}. The answer moved by ${Math.abs(now - before).toFixed(2)}. The weights are `
    + `${Math.max(0, jsd(weights, first)).toFixed(2)} apart, of at most 0.69.`;
};
const take = weights => { state.raw = weights.map(w => 100 * w); };
all(".weights-row input").forEach((slider, i) => {
  slider.hidden = false;
  slider.oninput = () => { state.raw[i] = +slider.value; update(); };
});
on("text", () => take(text().own));
on("own", () => take(text().own));
on("uniform", () => take(text().own.map(() => 1 / text().own.length)));
on("search", () => take(text().found));
