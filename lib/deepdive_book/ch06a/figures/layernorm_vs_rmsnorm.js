// A vector of integers and its two norms. `given`: id, values (JSON).
const spec = JSON.parse(given.values), box = document.getElementById(given.id);
const inputs = [...box.querySelectorAll("input")], rows = [...box.querySelectorAll(".tn-row")];
const said = box.querySelector("[role=status]"), EPS = 1e-9;
const mean = x => x.reduce((a, b) => a + b, 0) / x.length;
const byRoot = x => x.map(v => v / Math.sqrt(mean(x.map(u => u * u)) + EPS));
const shown = v => {
  const text = v.toFixed(2).replace(/\.?0+$/, "");
  return text === "-0" ? "0" : text;
};
const draw = () => {
  const x = inputs.map(input => +input.value), middle = mean(x);
  const found = [x, byRoot(x.map(v => v - middle)), byRoot(x)];
  rows.forEach((row, r) => row.querySelectorAll(".tn-bar").forEach((bar, i) => {
    const v = found[r][i], share = Math.min(1, Math.abs(v) / (r ? 2 : spec.high)), line = bar.firstChild;
    line.style.cssText = `${v >= 0 ? "bottom" : "top"}:50%;height:${50 * share}%`;
    bar.lastChild.textContent = shown(v);
  }));
  const [row, layer, rms] = found.map(values => values.map(shown).join(", "));
  said.textContent = `The input ${row} becomes ${layer} after LayerNorm and ${rms} after RMSNorm.`;
};
const all = change => {
  const next = inputs.map((input, i) => change(+input.value, i));
  if (next.some(v => v < spec.low || v > spec.high)) {
    said.textContent = `Out of range: entries go from ${spec.low} to ${spec.high}.`;
    return;
  }
  inputs.forEach((input, i) => { input.value = next[i]; });
  draw();
};
const [more, less, twice, first] = box.querySelectorAll("button");
more.onclick = () => all(v => v + 1);
less.onclick = () => all(v => v - 1);
twice.onclick = () => all(v => 2 * v);
first.onclick = () => all((_, i) => spec.row[i]);
inputs.forEach(input => { input.oninput = draw; });
box.querySelector(".tn-controls").hidden = false;
