// Every change runs both models again.

const judges = spec.models.map(({ model, weights }) => judge(model, cut(model.shapes, halves(weights))));
const text = spec.tokens, isGone = t => state.gone[t - 1] ?? false;  // the first token is [CLS]
const hidden = token => text.map((x, t) => isGone(t) ? token(t) : x);
const percent = share => `${Math.round(100 * share)}%`;

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
const readable = {
  mask: () => "[MASK]",
  zero: () => "[0]",
  "no key": word => `(${word})`,
  cut: () => "",
  drawn: (_, i) => spec.drawn[i],
};
const chips = all(".removal-words button"), rows = all(".removal-row");
const draw = () => {
  const { gone, way } = state;
  chips.forEach((chip, i) => {
    chip.setAttribute("aria-pressed", gone[i]);
    chip.setAttribute("aria-label", `${spec.words[i]}, ${gone[i] ? "taken away" : "there"}`);
  });
  const shares = rows.map(row => judges.map(read => ways[row.dataset.way](
    (tokens, how) => read(tokens, how)[spec.label])));
  rows.forEach((row, k) => {
    row.querySelectorAll("i").forEach((bar, m) => { bar.style.width = `${100 * shares[k][m]}%`; });
    row.querySelectorAll(".removal-share").forEach((cell, m) => { cell.textContent = percent(shares[k][m]); });
    row.querySelector("input").checked = k === way;
    row.classList.toggle("removal-chosen", k === way);
  });
  const name = rows[way].dataset.way, words = spec.words.map(
    (word, i) => gone[i] ? readable[name](word, i) : word).filter(Boolean);
  find(".removal-text").textContent = words.join(" ");
  find(".removal-more").textContent = name === "drawn" && gone.some(Boolean)
    ? `, and ${spec.draws.length - 1} other texts like it` : "";
  const away = spec.words.filter((_, i) => gone[i]).join(" ") || "nothing";
  return `Away: ${away}. ${rows[way].dataset.name}: `
    + spec.models.map((m, k) => `${m.name}, ${percent(shares[way][k])} ${spec.called}`).join("; ") + ".";
};
chips.forEach((chip, i) => {
  chip.disabled = false;
  chip.onclick = () => { state.gone[i] = !state.gone[i]; update(); };
});
rows.forEach((row, k) => {
  const input = row.querySelector("input");
  Object.assign(input, { disabled: false, name: given.id });
  input.onchange = () => { state.way = k; update(); };
});
on("back", () => { state.gone.fill(false); });
