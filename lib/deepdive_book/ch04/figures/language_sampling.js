const spec = JSON.parse(given.values), box = document.getElementById(given.id);
const bars = box.querySelector(".as-bars"), told = box.querySelector("[role=status]");
const slider = box.querySelector("input"), shown = box.querySelector("output");
const rects = [...bars.querySelectorAll("rect")], words = [...bars.querySelectorAll("text")];
const names = [...box.querySelectorAll("svg > text[text-anchor=end]")]
  .filter((_, i) => i % 2 === 0).map(each => each.textContent);
const HALF = 118, MOST = 16, LEAST = 0.25, STEPS = +slider.max;
const sharesAt = alpha => {
  const weights = spec.sizes.map(n => (n / Math.max(...spec.sizes)) ** alpha);
  const total = weights.reduce((a, b) => a + b, 0);
  return weights.map(w => w / total);
};
const largest = Math.max(...sharesAt(1));
const long = times =>
  HALF * Math.min(1, Math.max(0.02, Math.log2(times / LEAST) / Math.log2(MOST / LEAST)));
const draw = () => {
  const alpha = +slider.value / STEPS, part = sharesAt(alpha);
  const times = part.map((p, i) => spec.drawn * p / spec.sizes[i]);
  part.forEach((p, i) => {
    rects[2 * i].setAttribute("width", (HALF * p / largest).toFixed(1));
    rects[2 * i + 1].setAttribute("width", long(times[i]).toFixed(1));
    words[2 * i].textContent = `${(100 * p).toFixed(0)}%`;
    words[2 * i + 1].textContent = `${times[i].toFixed(1)}×`;
  });
  const last = part.length - 1, known = spec.models[slider.value];
  told.textContent = `alpha = ${alpha.toFixed(2)}${known ? `, as ${known}` : ""}. ` +
    `${names[0]} has ${(100 * part[0]).toFixed(0)}% of the draws, and each of its sentences is ` +
    `read ${times[0].toFixed(1)} times. ${names[last]} has ${(100 * part[last]).toFixed(0)}%, and ` +
    `each of its sentences is read ${times[last].toFixed(1)} times.`;
  shown.textContent = String(alpha);
};
slider.oninput = draw;
box.querySelector(".as-choose").hidden = false;
draw();
