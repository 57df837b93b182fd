const { left, wide, half, scales, words, last } = spec;
const number = value => (Math.abs(value) < 0.005 ? 0 : value).toFixed(2).replace("-", "−");
const quoted = word => (/[\p{L}\p{N}]/u.test(word) ? word : `“${word}”`);
const x = place => (left + place * wide / last).toFixed(1);
const y = (value, scale) => (scale.zero - value * scale.by).toFixed(1);
const line = (values, scale) => "M" + values.map((v, i) => `${x(i)} ${y(v, scale)}`).join("L");
const area = (values, at, part) => {
  const zero = scales.slope.zero.toFixed(1);
  const top = values.slice(0, at + 1).map((v, i) => `L${x(i)} ${y(part(v, 0), scales.slope)}`);
  return `M${x(0)} ${zero}${top.join("")}L${x(at)} ${zero}Z`;
};
const color = (row, values, most) => all(`${row} .ex-word`).forEach((word, k) => {
  const share = values[k] / most, high = half * Math.abs(share);
  const mark = share > 0 ? spec.for : spec.against, bar = word.querySelector(".ex-bar span");
  word.style.background = mark + Math.round(120 * Math.abs(share)).toString(16).padStart(2, "0");
  word.title = number(values[k]);
  Object.assign(bar.style, { top: `${(share > 0 ? half - high : half).toFixed(1)}px`,
    height: `${high.toFixed(1)}px`, background: mark });
});
const draw = () => {
  const path = spec.paths[state.baseline], { at } = state, sums = path.sums[at];
  set(".path-answer", [{ d: line(path.answers, scales.answer) }]);
  set(".path-slope", [{ d: line(path.total, scales.slope) }]);
  set(".path-for", [{ d: area(path.total, at, Math.max) }]);
  set(".path-against", [{ d: area(path.total, at, Math.min) }]);
  set(".path-at", [{ d: `M${x(at)} ${scales.answer.top}V${spec.bottom}` }]);
  set(".path-dot", [{ cx: x(at), cy: y(path.answers[at], scales.answer) }]);
  color(".path-here", path.slopes[at], path.most[0]);
  color(".path-so-far", sums, path.most[1]);
  const order = words.map((_, k) => k).sort((a, b) => Math.abs(sums[b]) - Math.abs(sums[a]));
  return `Place ${at} of ${last}. Gradients here: ${number(path.total[at])} in all. `
    + `Area so far: ${number(sums.reduce((a, b) => a + b))} = ${number(path.answers[at])} − `
    + `(${number(path.answers[0])}). Most of it: `
    + `${order.slice(0, spec.listed).map(k => `${quoted(words[k])} ${number(sums[k])}`).join(", ")}.`;
};
const follow = event => {
  const frame = drawing.getBoundingClientRect();
  const place = ((event.clientX - frame.left) * spec.full / frame.width - left) / wide * last;
  state.at = clamp(Math.round(place), last);
  update();
};
drawing.onpointerdown = event => { drawing.setPointerCapture(event.pointerId); follow(event); };
drawing.onpointermove = event => { if (event.buttons) follow(event); };
