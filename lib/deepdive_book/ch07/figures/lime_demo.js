const signed = value => value.toFixed(2).replace("-", "−");
const draw = () => {
  const judge = spec.judges[state.judge], { width, samples } = state;
  const fits = judge.fits[width][samples], weights = judge.weights[width][samples];
  find(".near-columns").replaceChildren(...judge.near[width].map((share, gone) => make("span", {},
    make("i", { style: `height:${(share * 0.6).toFixed(1)}px` }), gone + 1)));
  const place = value => ({ style: `left:${(50 + 48 * value / judge.most).toFixed(1)}%` });
  find(".near-rows").replaceChildren(...judge.words.map((word, k) => make("div", { class: "near-row" },
    make("span", {}, word), make("span", { class: "near-line" }, make("b", place(judge.value[k])),
      ...weights.map(each => make("i", place(each[k])))))));
  const ends = judge.words.map((_, k) => {
    const column = weights.map(each => each[k]);
    return [Math.min(...column), Math.max(...column)];
  });
  const ranges = ends.map(([low, high]) => high - low), widest = ranges.indexOf(Math.max(...ranges));
  return `Width ${spec.widths[width]}, ${spec.samples[samples].toLocaleString("en-US")} texts: R² `
    + `${Math.min(...fits).toFixed(2)} to ${Math.max(...fits).toFixed(2)} in ${spec.draws} draws. `
    + `Least sure: ${judge.words[widest]}, ${signed(ends[widest][0])} to ${signed(ends[widest][1])}.`;
};
