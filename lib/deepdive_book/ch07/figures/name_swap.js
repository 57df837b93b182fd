// Every change runs each model twice: on the text and on its twin.

const judges = spec.models.map(({ model, weights }) => judge(model, cut(model.shapes, halves(weights))));
const ids = words => [spec.ends[0], ...words.map(word => spec.vocabulary[word]), spec.ends[1]];
const whole = share => Math.floor(100 * share + 0.5);
const texts = (what, values) => all(what).forEach((each, i) => { each.textContent = values[i]; });
const draw = () => {
  const chosen = spec.choices.map((words, gap) => words[state[`gap${gap}`]]);
  const names = [chosen[0], spec.pairs[chosen[0]]];
  const shares = names.map(name => {
    let gap = 0;
    const words = spec.template.map(word => word !== "{}" ? word : gap++ ? chosen[gap - 1] : name);
    return judges.map(read => read(ids(words))[1]);
  });
  const rows = judges.flatMap((_, m) => names.map((name, k) => [name, shares[k][m]]));
  texts(".twins-name", rows.map(([name]) => name));
  texts(".twins-share", rows.map(([, share]) => `${whole(share)} %`));
  all(".twins-bar i").forEach((bar, i) => { bar.style.width = `${(100 * rows[i][1]).toFixed(1)}%`; });
  return spec.models.map(({ name }, m) => {
    const [own, other] = [whole(shares[0][m]), whole(shares[1][m])];
    return `${name}: ${names[0]} ${spec.called} ${own} %, ${names[1]} ${other} %, `
      + `${Math.abs(own - other)} apart`;
  }).join("; ") + ".";
};
on("twin", () => { state.gap0 = spec.choices[0].indexOf(spec.pairs[spec.choices[0][state.gap0]]); });
on("next", () => { state.gap1 = (state.gap1 + 1) % spec.choices[1].length; });
