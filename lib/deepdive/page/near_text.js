const spec = JSON.parse(given.values), box = document.getElementById(given.id);
const choice = box.querySelector("select"), told = box.querySelector("[role=status]");
const [width, samples] = box.querySelectorAll("input"), shown = box.querySelectorAll("output");
const rows = box.querySelector(".nt-rows"), near = box.querySelector(".nt-near");
const element = (kind, style) => {
  const made = document.createElement(kind);
  if (style) made.setAttribute("style", style);
  return made;
};
const signed = value => value.toFixed(2).replace("-", "−");
const draw = () => {
  const judge = spec.judges[+choice.value], w = +width.value, n = +samples.value;
  const fits = judge.fits[w][n], weights = judge.weights[w][n];
  const place = value => `left:${(50 + 48 * value / judge.most).toFixed(1)}%`;
  const ends = judge.words.map((_, k) => {
    const column = weights.map(each => each[k]);
    return [Math.min(...column), Math.max(...column)];
  });
  const apart = ends.map(([low, high]) => high - low), far = apart.indexOf(Math.max(...apart));
  const texts = spec.samples[n].toLocaleString("en-US");
  told.textContent = `Width ${spec.widths[w]}, ${texts} texts: R² ${Math.min(...fits).toFixed(2)} to `
    + `${Math.max(...fits).toFixed(2)} in ${spec.draws} draws. Least sure: ${judge.words[far]}, `
    + `${signed(ends[far][0])} to ${signed(ends[far][1])}.`;
  shown[0].textContent = spec.widths[w];
  shown[1].textContent = texts;
  width.setAttribute("aria-valuetext", `${spec.widths[w]}`);
  samples.setAttribute("aria-valuetext", `${texts} texts`);
  near.replaceChildren(...judge.near[w].map((share, gone) => {
    const column = element("span");
    column.append(element("i", `height:${(share * 0.6).toFixed(1)}px`), `${gone + 1}`);
    return column;
  }));
  rows.replaceChildren(...judge.words.map((word, k) => {
    const row = element("div"), name = element("span"), line = element("span");
    row.className = "nt-row";
    line.className = "nt-line";
    name.textContent = word;
    line.append(element("b", place(judge.value[k])),
      ...weights.map(each => element("i", place(each[k]))));
    row.append(name, line);
    return row;
  }));
};
choice.onchange = draw;
width.oninput = draw;
samples.oninput = draw;
box.querySelector(".nt-choose").hidden = false;
draw();
