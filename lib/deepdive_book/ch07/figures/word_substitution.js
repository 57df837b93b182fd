// Words exchanged for words of their kind, and what the models then say.

const judges = spec.models.map(({ model, weights }) => judge(model, cut(model.shapes, halves(weights))));
const own = spec.tokens.map(([token]) => token), percent = share => `${Math.round(100 * share)}%`;
const read = text => judges.map(each => each([spec.begin, ...text, spec.end])[spec.label]);
const first = read(own).map(share => share > 0.5);
const draw = () => {
  const text = spec.tokens.map((tokens, i) => tokens[state[`word${i}`] ?? 0]), key = text.join(" ");
  const exchanged = text.filter((token, i) => token !== own[i]).length, shares = read(text);
  const turned = shares.map((share, m) => (share > 0.5) !== first[m]);
  if (exchanged) state.tried[key] = turned;
  all(".exchange-row").forEach((row, m) => {
    row.querySelector("i").style.width = `${100 * shares[m]}%`;
    row.querySelector(".exchange-share").textContent = percent(shares[m]);
    row.querySelector(".exchange-answer").textContent = spec.names[shares[m] > 0.5 ? spec.label
      : 1 - spec.label] + (turned[m] ? ", turned" : "");
    row.classList.toggle("exchange-turned", turned[m]);
  });
  all("select").forEach(each => each.classList.toggle("exchange-changed", each.selectedIndex > 0));
  const tried = Object.values(state.tried);
  const flips = spec.models.map(({ name }, m) => `${name}, ${tried.filter(text => text[m]).length}`);
  return `Words exchanged: ${exchanged}. Texts tried: ${tried.length}. Answers turned: ${flips.join("; ")}.`;
};
on("back", () => { all("select").forEach(each => { state[each.dataset.control] = 0; }); });
