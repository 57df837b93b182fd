const draw = () => {
  const text = spec.texts[state.text], { point: at } = state, point = spec.points[at];
  find(".words-text").replaceChildren(...text.words.flatMap((word, i) => [make("span", {
    class: "words-word" + (text.kept[at][i] ? " words-selected" : "")
      + (text.decides[i] ? " words-decides" : "") }, word), " "]));
  all(".words-bars i").forEach((bar, k) => { bar.style.width = point.bars[k][0]; });
  write(".words-bars b", point.bars.map(([, percent]) => percent));
  const selected = text.words.filter((_, i) => text.kept[at][i]);
  return `At a penalty of ${point.penalty} it keeps ${selected.length} of ${text.words.length} words, `
    + `“${selected.join(" ")}”, and answers: ${text.says[at]}.`;
};
