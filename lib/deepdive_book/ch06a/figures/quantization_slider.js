const spec = JSON.parse(given.values), box = document.getElementById(given.id);
const inner = box.querySelector(".fb-inner"), told = box.querySelector("[role=status]");
const [bits, block, times] = box.querySelectorAll("input");
const shown = box.querySelectorAll("output");
const WIDE = 400, LEFT = 34, TOP = 8, HIGH = 224, DRAWN = 5, OWN = 32, END = TOP + HIGH + 8;
const [query, key, weight] = ["path[stroke-width]", "circle[stroke]", "path:not([stroke-width])"]
  .map(each => inner.querySelector(each)?.getAttribute("stroke") ?? "currentColor");
const least = Math.min(...spec.weights), most = Math.max(...spec.weights);
const low = least - (most - least) / 20, high = most + (most - least) / 20;
const y = value => TOP + HIGH * (high - value) / (high - low);
const inside = at => Math.max(0, Math.min(END, at));
const short = number => number.toFixed(1).replace(/\.0$/, "");
const onMarks = (weights, bits, size) => {
  const found = [];
  for (let at = 0; at < weights.length; at += size) {
    const row = weights.slice(at, at + size), lowest = Math.min(...row);
    const step = (Math.max(...row) - lowest) / (2 ** bits - 1);
    found.push({ lowest, step, near: row.map(
      w => lowest + step * (step ? Math.floor((w - lowest) / step + 0.5) : 0)) });
  }
  return found;
};
const draw = () => {
  const n = +bits.value, size = spec.blocks[+block.value], factor = spec.times[+times.value];
  const weights = spec.weights.map((w, i) => i === spec.outlier ? w * factor : w);
  const blocks = onMarks(weights, n, size), wide = (WIDE - LEFT - 4) / weights.length;
  let body = "";
  blocks.forEach((each, k) => {
    const x0 = LEFT + wide * size * k + 1, x1 = LEFT + wide * size * (k + 1) - 1;
    if (n > DRAWN) {
      const y0 = inside(y(each.lowest + each.step * (2 ** n - 1))), y1 = inside(y(each.lowest));
      body += `<rect x="${x0}" y="${y0}" width="${x1 - x0}" height="${y1 - y0}" fill="${weight}" ` +
        'opacity="0.35"/>';
    } else for (let q = 0; q < 2 ** n; q++) {
      const at = y(each.lowest + each.step * q);
      if (at === inside(at)) body += `<path d="M${x0} ${at}H${x1}" stroke="${weight}"/>`;
    }
    each.near.forEach((near, i) => {
      const x = LEFT + wide * (size * k + i + 0.5), from = y(weights[size * k + i]), to = y(near);
      body += `<path d="M${x} ${inside(from)}V${inside(to)}" stroke="${query}" stroke-width="2"/>`;
      if (from === inside(from))
        body += `<circle cx="${x}" cy="${from}" r="2.4" fill="none" stroke="${key}"/>`;
      else body += `<path d="M${x - 4} ${from < 0 ? 9 : END - 9}l4 ${from < 0 ? -7 : 7}l4 ` +
        `${from < 0 ? 7 : -7}" fill="none" stroke="${key}" stroke-width="2"/>`;
      if (to === inside(to)) body += `<circle cx="${x}" cy="${to}" r="1.8" fill="${query}"/>`;
    });
  });
  inner.innerHTML = body;
  const near = blocks.flatMap(each => each.near), moved = near.map((x, i) => Math.abs(x - weights[i]));
  const steps = blocks.map(each => each.step);
  const [first, last] = [Math.min(...steps).toFixed(1), Math.max(...steps).toFixed(1)];
  const marks = 2 ** n, apart = first === last ? first : `${first} to ${last}`;
  told.textContent = `${n} + ${OWN}/${size} = ${short(n + OWN / size)} bits a weight. ` +
    `${marks} marks a block, ${apart} apart. A weight moves by ` +
    `${(moved.reduce((a, b) => a + b, 0) / moved.length).toFixed(2)} on average, by ` +
    `${Math.max(...moved).toFixed(1)} at most.`;
  [n, size, factor].forEach((value, i) => { shown[i].textContent = value; });
  block.setAttribute("aria-valuetext", size);
  times.setAttribute("aria-valuetext", factor);
};
[bits, block, times].forEach(each => { each.oninput = draw; });
box.querySelector(".fb-choose").hidden = false;
draw();
