const right = (reading, k, t) => reading.said[k][t][0][0] === reading.truth[k][t];
const label = (reading, k, t) => reading.said[k][t][0][0]
  + (reading.truth ? (right(reading, k, t) ? " ✓" : " ✗") : "");
const draw = () => {
  const reading = spec.readings[state.reading], [k, t] = state.cell, answers = reading.said[k][t];
  const focused = drawing.contains(document.activeElement);
  find("thead tr").replaceChildren(make("th", {}, "word"),
    ...reading.layers.map(layer => make("th", { scope: "col" }, layer)));
  find("tbody").replaceChildren(...reading.words.map((word, j) => make("tr", {},
    make("th", { scope: "row" }, word), ...reading.layers.map((layer, i) => {
      const text = label(reading, i, j), chosen = i === k && j === t;
      const button = make("button", { type: "button", "aria-pressed": chosen,
        "aria-label": `${text}, ${layer}, at ${word}`, style: `--sure:${reading.said[i][j][0][1]}%` }, text);
      button.onclick = () => { state.cell = [i, j]; update(); };
      return make("td", {}, button);
    }))));
  if (focused) find("button[aria-pressed=true]").focus();
  find(".lens-bars").replaceChildren(...answers.map(([word, sure]) => make("div", { class: "lens-row" },
    make("span", {}, word), make("span", { class: "lens-line" }, make("i", { style: `width:${sure}%` })),
    make("b", {}, `${sure} %`))));
  const truth = reading.truth ? ` The state holds “${reading.truth[k][t]}”: the lens is `
    + `${right(reading, k, t) ? "right" : "wrong"}.` : "";
  return `${reading.layers[k]}, at “${reading.words[t]}”: the lens reads “${answers[0][0]}”, sure to `
    + `${answers[0][1]} %.${truth}`;
};
on("reading", () => { state.cell = spec.readings[state.reading].chosen; });
onArrows(drawing, (across, down) => {
  const { layers, words } = spec.readings[state.reading], [k, t] = state.cell;
  state.cell = [clamp(k + across, layers.length - 1), clamp(t + down, words.length - 1)];
});
