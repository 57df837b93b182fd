// What the reader sees and moves. `given`: id, spec (JSON). Every change runs both models again.

const spec = JSON.parse(given.spec), box = document.getElementById(given.id);
const find = what => box.querySelector(what), each = what => [...box.querySelectorAll(what)];
const judges = spec.models.map(({ model, weights }) => {
  const flat = halves(weights);
  return judge(model, cut(model.shapes, flat));
});
const text = spec.tokens, gone = new Set(spec.gone), last = text.length - 1;
const isGone = t => gone.has(t - 1);  // the first token is [CLS]
const hidden = token => text.map((x, t) => isGone(t) ? token(t) : x);

// What stands in the place of the words that are gone: a model -> the share of the explained class.
const ways = {
  mask: say => say(hidden(() => spec.mask)),
  zero: say => say(text, { zero: new Set([...text.keys()].filter(isGone)) }),
  "no key": say => say(text, { real: text.map((_, t) => !isGone(t)) }),
  cut: say => say(text.filter((_, t) => !isGone(t))),
  drawn: say => spec.draws.reduce((sum, other) => sum + say(hidden(t => other[t])), 0)
    / spec.draws.length,
};
// The same to read, word by word.
const seen = {
  mask: () => "[MASK]",
  zero: () => "[0]",
  "no key": word => `(${word})`,
  cut: () => "",
  drawn: (_, i) => spec.drawn[i],
};

const chips = each(".th-words button:not(.th-back)"), rows = each(".th-row"), told = find("[role=status]");
const chosen = () => rows.find(row => row.querySelector("input").checked);
const percent = share => `${Math.round(100 * share)}%`;
const show = () => {
  chips.forEach((chip, i) => {
    chip.setAttribute("aria-pressed", gone.has(i));
    chip.setAttribute("aria-label", `${spec.words[i]}, ${gone.has(i) ? "taken away" : "there"}`);
  });
  for (const row of rows) {
    const found = judges.map(read => ways[row.dataset.way](
      (tokens, how) => read(tokens, how)[spec.label]));
    row.querySelectorAll(".th-bar i").forEach((bar, m) => {
      bar.style.width = `${100 * found[m]}%`;
    });
    row.querySelectorAll(".th-share").forEach((cell, m) => { cell.textContent = percent(found[m]); });
    row.classList.toggle("th-chosen", row === chosen());
  }
  const row = chosen(), way = row.dataset.way;
  const reads = spec.words.map((word, i) => gone.has(i) ? seen[way](word, i) : word);
  find(".th-reads").textContent = reads.filter(word => word).join(" ");
  find(".th-more").textContent = way === "drawn" && gone.size
    ? `, and ${spec.draws.length - 1} other texts like it` : "";
  const away = spec.words.filter((_, i) => gone.has(i)), shares = [...row.querySelectorAll(".th-share")];
  told.textContent = `Away: ${away.join(" ") || "nothing"}. ${row.dataset.name}: `
    + spec.models.map((m, k) => `${m.name}, ${shares[k].textContent} ${spec.called}`).join("; ") + ".";
};
chips.forEach((chip, i) => {
  chip.disabled = false;
  chip.onclick = () => { gone.has(i) ? gone.delete(i) : gone.add(i); show(); };
});
for (const row of rows) {
  row.querySelector("input").disabled = false;
  row.querySelector("input").onchange = show;
}
find(".th-back").onclick = () => { gone.clear(); show(); chips[0].focus(); };
find(".th-back").hidden = false;
show();
