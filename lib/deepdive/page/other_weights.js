const spec = JSON.parse(given.values), box = document.getElementById(given.id);
const choice = box.querySelector("select"), told = box.querySelector("[role=status]");
const rows = [...box.querySelectorAll(".ow-row:not(.ow-head)")].map(row => ({
  row, word: row.querySelector(".ow-word"), bar: row.querySelector(".ow-bar > span"),
  slider: row.querySelector("input"), share: row.querySelector(".ow-share"),
  vote: row.querySelector(".ow-vote"),
}));
const [own, alike, found] = box.querySelectorAll("button");
let raw = [];
const text = () => spec.texts[+choice.value];
const dot = (a, b) => a.reduce((sum, x, i) => sum + x * b[i], 0);
const answer = weights => 1 / (1 + Math.exp(-(dot(weights, text().votes) + text().bias)));
const xlogx = x => (x > 0 ? x * Math.log(x) : 0);
const apart = (p, q) => p.reduce(
  (sum, x, i) => sum + (xlogx(x) + xlogx(q[i])) / 2 - xlogx((x + q[i]) / 2), 0);
const shares = values => {
  const sum = values.reduce((a, b) => a + b, 0);
  return values.map(v => (sum ? v / sum : 1 / values.length));
};
const draw = () => {
  const now = shares(raw), mine = shares(text().own);
  rows.forEach((each, i) => {
    each.row.hidden = i >= now.length;
    if (each.row.hidden) return;
    const percent = (100 * now[i]).toFixed(0), vote = text().votes[i];
    each.word.textContent = text().words[i];
    each.bar.style.width = `${(100 * now[i]).toFixed(1)}%`;
    each.share.textContent = `${percent} %`;
    each.vote.textContent = (vote < 0 ? "" : "+") + vote.toFixed(1);
    each.slider.value = Math.round(raw[i]);
    each.slider.setAttribute("aria-label", `weight of ${text().words[i]}`);
    each.slider.setAttribute("aria-valuetext", `${percent} percent`);
  });
  const [first, second] = [answer(mine), answer(now)];
  told.textContent = `The model says ${spec.name} with probability ${second.toFixed(2)}; with its `
    + `own weights ${first.toFixed(2)}. The answer moved by `
    + `${Math.abs(second - first).toFixed(2)}. The weights are ${Math.max(0, apart(now, mine)).toFixed(2)} apart, `
    + "of at most 0.69.";
};
const take = weights => { raw = weights.map(w => 100 * w); draw(); };
rows.forEach((each, i) => {
  each.slider.hidden = false;
  each.slider.oninput = () => { raw[i] = +each.slider.value; draw(); };
});
choice.onchange = () => take(text().own);
own.onclick = () => take(text().own);
alike.onclick = () => take(text().own.map(() => 1 / text().own.length));
found.onclick = () => take(text().found);
box.querySelector(".ow-choose").hidden = false;
take(text().own);
