// Words exchanged for words of their kind, and what the models then say. `given`: id, spec (JSON).

const spec = JSON.parse(given.spec), box = document.getElementById(given.id);
const find = what => box.querySelector(what), each = what => [...box.querySelectorAll(what)];
const judges = spec.models.map(({ model, weights }) => {
  const flat = halves(weights);
  return judge(model, cut(model.shapes, flat));
});
const choosers = each("select"), bars = each(".xc-row"), tried = new Set(), turned = new Set();
const first = spec.tokens.map(([own]) => own), percent = share => `${Math.round(100 * share)}%`;
const chosen = () => {
  const text = [...first];
  for (const chooser of choosers)
    text[chooser.dataset.place] = spec.tokens[chooser.dataset.place][chooser.selectedIndex];
  return text;
};
const begin = judges.map(read => read([spec.begin, ...first, spec.end])[spec.label] > 0.5);

const show = () => {
  const text = chosen(), key = text.join(" ");
  const moved = text.filter((token, i) => token !== first[i]).length;
  const shares = judges.map(read => read([spec.begin, ...text, spec.end])[spec.label]);
  const now = shares.map((share, m) => (share > 0.5) !== begin[m]);
  if (moved) {
    tried.add(key);
    now.forEach((yes, m) => { if (yes) turned.add(`${m} ${key}`); });
  }
  bars.forEach((row, m) => {
    row.querySelector("i").style.width = `${100 * shares[m]}%`;
    row.querySelector(".xc-share").textContent = percent(shares[m]);
    row.querySelector(".xc-says").textContent = spec.names[shares[m] > 0.5 ? spec.label
      : 1 - spec.label] + (now[m] ? ", turned" : "");
    row.classList.toggle("xc-turned", now[m]);
  });
  for (const chooser of choosers) chooser.classList.toggle("xc-moved", chooser.selectedIndex > 0);
  const flips = spec.models.map((model, m) => `${model.name}, ${
    [...turned].filter(line => line.startsWith(`${m} `)).length}`).join("; ");
  find("[role=status]").textContent = `Words exchanged: ${moved}. Texts tried: ${tried.size}. `
    + `Answers turned: ${flips}.`;
};
for (const chooser of choosers) {
  chooser.disabled = false;
  chooser.onchange = show;
}
find(".xc-back").onclick = () => {
  for (const chooser of choosers) chooser.selectedIndex = 0;
  show();
  choosers[0].focus();
};
find(".xc-back").hidden = false;
for (const chooser of choosers) chooser.selectedIndex = 0;  // a browser may remember others
show();
