const spec = JSON.parse(given.values), box = document.getElementById(given.id);
const choice = box.querySelector("select"), slider = box.querySelector("input");
const told = box.querySelector("[role=status]"), drawing = box.querySelector("svg");
const part = name => drawing.querySelector(`.bw-${name}`);
const { left, wide, half, scales, words } = spec, last = +slider.max;
const number = value => (Math.abs(value) < 0.005 ? 0 : value).toFixed(2).replace("-", "−");
const x = place => (left + place * wide / last).toFixed(1);
const y = (value, scale) => (scale.zero - value * scale.by).toFixed(1);
const quoted = word => (/[\p{L}\p{N}]/u.test(word) ? word : `“${word}”`);
const line = (values, scale) => "M" + values.map((v, i) => `${x(i)} ${y(v, scale)}`).join("L");
const area = (values, at, keep) => {
  const zero = scales.slope.zero.toFixed(1);
  const top = values.slice(0, at + 1).map((v, i) => `L${x(i)} ${y(keep(v, 0), scales.slope)}`);
  return `M${x(0)} ${zero}${top.join("")}L${x(at)} ${zero}Z`;
};
const colour = (row, values, most) => [...box.querySelectorAll(`${row} .ex-word`)].forEach((word, k) => {
  const share = values[k] / most, high = half * Math.abs(share);
  const mark = share > 0 ? spec.for : spec.against, bar = word.querySelector(".ex-bar span");
  word.style.background = mark + Math.round(120 * Math.abs(share)).toString(16).padStart(2, "0");
  word.title = number(values[k]);
  bar.style.top = `${(share > 0 ? half - high : half).toFixed(1)}px`;
  bar.style.height = `${high.toFixed(1)}px`;
  bar.style.background = mark;
});
const draw = () => {
  const way = spec.ways[+choice.value], at = +slider.value;
  part("answer").setAttribute("d", line(way.answers, scales.answer));
  part("slope").setAttribute("d", line(way.total, scales.slope));
  part("for").setAttribute("d", area(way.total, at, Math.max));
  part("against").setAttribute("d", area(way.total, at, Math.min));
  const bottom = part("at").getAttribute("d").split("V")[1], top = scales.answer.top;
  part("at").setAttribute("d", `M${x(at)} ${top}V${bottom}`);
  part("dot").setAttribute("cx", x(at));
  part("dot").setAttribute("cy", y(way.answers[at], scales.answer));
  colour(".bw-here", way.slopes[at], way.most[0]);
  colour(".bw-so-far", way.sums[at], way.most[1]);
  const sums = way.sums[at], sum = sums.reduce((a, b) => a + b);
  const most = words.map((_, k) => k).sort((a, b) => Math.abs(sums[b]) - Math.abs(sums[a]));
  slider.setAttribute("aria-valuetext", `place ${at} of ${last}`);
  told.textContent = `Place ${at} of ${last}. Gradients here: ${number(way.total[at])} in all. `
    + `Area so far: ${number(sum)} = ${number(way.answers[at])} − (${number(way.answers[0])}). `
    + `Most of it: ${most.slice(0, spec.told).map(k => `${quoted(words[k])} ${number(sums[k])}`).join(", ")}.`;
};
choice.onchange = draw;
slider.oninput = draw;
const follow = event => {
  const frame = drawing.getBoundingClientRect(), full = drawing.viewBox.baseVal.width;
  const place = ((event.clientX - frame.left) * full / frame.width - left) / wide * last;
  slider.value = Math.max(0, Math.min(last, Math.round(place)));
  draw();
};
drawing.onpointerdown = event => { drawing.setPointerCapture(event.pointerId); follow(event); };
drawing.onpointermove = event => { if (event.buttons) follow(event); };
box.querySelector(".bw-choose").hidden = false;
