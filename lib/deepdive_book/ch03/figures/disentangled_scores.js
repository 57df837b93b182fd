const spec = JSON.parse(given.values), box = document.getElementById(given.id);
const asker = box.querySelector(".sp-asker"), head = box.querySelector(".sp-head");
const switches = [...box.querySelectorAll("input[type=checkbox]")];
const rows = [...box.querySelectorAll(".sp-row")], said = box.querySelector(".sp-said");
const ends = ["low", "high"].map(end => box.querySelector(`.sp-${end}`));
const summed = parts => parts.map((part, p) => {
  const shown = Math.abs(part).toFixed(1), minus = part < 0 && shown !== "0.0";
  return p ? `${minus ? "−" : "+"} ${shown}` : (minus ? "−" : "") + shown;
}).join(" ");
const draw = () => {
  const t = +asker.value, tables = spec.tables[head.value];
  const parts = tables.map((part, p) => part[t].map(x => (switches[p].checked ? x : 0)));
  const all = tables.flatMap(part => part[t].map(Math.abs));  // one scale, whatever is off
  const most = Math.max(...all, 1e-9), unit = spec.half / most;
  ends.forEach((end, i) => { end.textContent = (i ? "" : "−") + most.toFixed(1); });
  const sums = spec.words.map((_, s) => parts.reduce((sum, part) => sum + part[s], 0));
  const top = Math.max(...sums), raised = sums.map(x => Math.exp(x - top));
  const total = raised.reduce((a, b) => a + b), weights = raised.map(x => x / total);
  rows.forEach((row, s) => {
    row.classList.toggle("sp-asks", s === t);
    row.querySelectorAll(".sp-part").forEach((bar, p) => {
      const long = parts[p][s] * unit;
      bar.setAttribute("x", spec.middle + Math.min(long, 0));
      bar.setAttribute("width", Math.abs(long));
    });
    row.querySelector(".sp-weight").setAttribute("width", spec.wide * weights[s]);
  });
  const best = weights.indexOf(Math.max(...weights)), called = s => `${s + 1}: ${spec.words[s]}`;
  const even = weights[best] < 1.5 / weights.length;
  const scores = summed(parts.map(part => part[best]));
  const to = `goes to ${called(best)}, whose parts are ${scores}`;
  said.textContent = `${called(t)} asks. ` +
    (even ? "All weights are nearly the same." : `The largest weight, ${weights[best].toFixed(2)}, ${to}.`);
};
rows.forEach((row, s) => { row.onclick = () => { asker.value = s; draw(); }; });
for (const each of [asker, head, ...switches]) each.onchange = draw;
box.querySelectorAll(".sp-choose").forEach(each => { each.hidden = false; });
box.classList.add("sp-live");
draw();
