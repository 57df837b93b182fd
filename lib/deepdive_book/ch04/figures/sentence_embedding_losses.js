// Pairs on a circle, pulled or ranked. `given`: id, values (JSON).
const spec = JSON.parse(given.values), box = document.getElementById(given.id);
const [circle, grid] = box.querySelectorAll(".pr-both svg");
const buttons = [...box.querySelectorAll("button")], said = box.querySelector("[role=status]");
const [count, margin, scale, turn] = box.querySelectorAll("input");
const shown = [...box.querySelectorAll("output")], choice = box.querySelector("select");
const listed = [...box.querySelectorAll("li")];
const SIDE = 300, RADIUS = 112, RATE = 0.1, LEAST = 0.05;
let own, common, steps;

const dot = (a, b) => a[0] * b[0] + a[1] * b[1];
const unit = v => { const far = Math.hypot(...v); return v.map(x => x / far); };
const sum = list => list.reduce((a, b) => a + b, 0);
const size = () => +count.value;
const whole = (k, i) => own[k][i].map((x, d) => x + common[d]);
const points = () => [0, 1].map(k => own[k].slice(0, size()).map((_, i) => unit(whole(k, i))));
const cosines = ([one, other]) => one.map(u => other.map(v => dot(u, v)));
const turned = table => table[0].map((_, j) => table.map(row => row[j]));
// each row's softmax, its own partner set back by the margin
const shares = table => table.map((row, i) => {
  const scores = row.map((x, j) => +scale.value * (x - (i === j ? +margin.value : 0)));
  const most = Math.max(...scores), weights = scores.map(s => Math.exp(s - most));
  return weights.map(w => w / sum(weights));
});

const step = rank => {
  const at = points(), table = cosines(at), n = size();
  const rows = shares(table), columns = turned(shares(turned(table)));
  // what a cosine does to the loss: -2 for a pair; ranking adds both shares, for every cell
  const pull = table.map((row, i) => row.map((_, j) =>
    (i === j ? -2 : 0) + (rank ? rows[i][j] + columns[i][j] : 0)));
  const moves = [0, 1].map(k => at[k].map((u, i) => {
    const slope = [0, 1].map(d => sum(at[1 - k].map((v, j) =>
      (k ? pull[j][i] : pull[i][j]) * v[d])));
    const along = dot(slope, u), far = Math.max(LEAST, Math.hypot(...whole(k, i)));
    return slope.map((s, d) => (s - along * u[d]) / far);
  }));
  for (const k of [0, 1]) {
    for (let i = 0; i < n; i += 1) own[k][i] = own[k][i].map((x, d) => x - RATE * moves[k][i][d]);
  }
  common = common.map((x, d) => x - RATE * sum(moves.flat().map(m => m[d])));
  steps += 1;
};

const fixed = (x, digits) => x.toFixed(digits).replace(/^-(?=[0.]*$)/, "").replace("-", "−");
const place = v => [SIDE / 2 + RADIUS * v[0], SIDE / 2 - RADIUS * v[1]].map(x => +x.toFixed(1));
const g = (...numbers) => numbers.map(x => +x.toFixed(1)).join(" ");
const letter = (x, y, value, big = 15) => `<text x="${+x.toFixed(1)}" y="${+y.toFixed(1)}" `
  + `font-size="${big}" text-anchor="middle" fill="currentColor">${value}</text>`;
const mark = (k, [x, y]) => (k
  ? `<path class="pr-end" d="M${g(x, y - 9)}L${g(x + 9, y)}L${g(x, y + 9)}L${g(x - 9, y)}Z" `
    + `fill="${spec.colours.diamond}"/>`
  : `<circle class="pr-end" cx="${x}" cy="${y}" r="8" fill="${spec.colours.dot}"/>`);
const drawCircle = at => {
  const way = circle.querySelector(".pr-way").outerHTML;
  circle.innerHTML = way + at[0].map((_, i) => {
    const ends = [0, 1].map(k => place(at[k][i]));
    const line = `<line x1="${ends[0][0]}" y1="${ends[0][1]}" x2="${ends[1][0]}" `
      + `y2="${ends[1][1]}" stroke="${spec.colours.thread}" stroke-dasharray="4 4"/>`;
    return line + [0, 1].map(k => {
      const [x, y] = place(at[k][i].map(v => 1.22 * v));
      return mark(k, ends[k]) + letter(x, y + 5, i + 1, 16);
    }).join("");
  }).join("");
};
const drawGrid = table => {
  const cell = Math.floor(264 / table.length), all = shares(table);
  grid.innerHTML = table.map((row, i) => {
    const best = row.indexOf(Math.max(...row)), middle = 30 + cell * (i + 0.5);
    return letter(16, middle + 5, i + 1) + letter(middle, 20, i + 1) + row.map((x, j) => {
      const left = 30 + cell * j, top = 30 + cell * i;
      const frame = j !== best ? "none" : i === j ? spec.colours.right : spec.colours.wrong;
      return `<rect x="${left + 2}" y="${top + 2}" width="${cell - 4}" height="${cell - 4}" `
        + `fill="${spec.colours.share}" fill-opacity="${(all[i][j] * 0.6).toFixed(2)}" `
        + `stroke="${frame}" stroke-width="3"/>`
        + letter(left + cell / 2, top + cell / 2 + 5, fixed(x, 1));
    }).join("");
  }).join("");
};
const draw = () => {
  const at = points(), table = cosines(at), n = size(), back = turned(table);
  const right = t => t.filter((row, i) => Math.max(...row) === row[i]).length;
  const bits = t => sum(shares(t).map((row, i) => -Math.log2(row[i])));
  const apart = (sum(table.flat()) - sum(table.map((row, i) => row[i]))) / (n * n - n);
  drawCircle(at);
  drawGrid(table);
  listed.forEach((item, i) => { item.style.visibility = i < n ? "visible" : "hidden"; });
  [String(n), (+margin.value).toFixed(2), scale.value].forEach((text, i) => {
    shown[i].textContent = text;
  });
  const [k, i] = choice.value.split(",").map(Number);
  if (i < n) {
    const [x, y] = at[k][i];
    turn.value = (Math.atan2(y, x) * 180 / Math.PI + 360) % 360;
  }
  turn.disabled = i >= n;
  said.textContent = `Step ${steps}. Ranking costs ${((bits(table) + bits(back)) / (2 * n))
    .toFixed(2)} bits. ${right(table)} of ${n} sentences have their translation as the nearest, `
    + `${right(back)} of ${n} translations their sentence. Mean cosine of what does not belong `
    + `together: ${apart.toFixed(2)}.`;
};
const begin = () => {
  own = spec.at.map(side => side.map(a => [Math.cos(a), Math.sin(a)]));
  common = [0, 0];
  steps = 0;
};
const face = (k, i, angle) => {
  const far = Math.max(LEAST, Math.hypot(...whole(k, i)));
  own[k][i] = [Math.cos(angle), Math.sin(angle)].map((x, d) => far * x - common[d]);
  draw();
};
[[false, 1], [false, 20], [true, 1], [true, 20]].forEach(([rank, times], b) => {
  buttons[b].onclick = () => { for (let t = 0; t < times; t += 1) step(rank); draw(); };
});
buttons[4].onclick = () => { begin(); draw(); };
for (const slider of [count, margin, scale]) slider.oninput = draw;
choice.onchange = draw;
turn.oninput = () => {
  const [k, i] = choice.value.split(",").map(Number);
  face(k, i, turn.value * Math.PI / 180);
};
let held = null;
const where = event => {
  const spot = new DOMPoint(event.clientX, event.clientY)
    .matrixTransform(circle.getScreenCTM().inverse());
  return [spot.x - SIDE / 2, SIDE / 2 - spot.y];
};
circle.onpointerdown = event => {
  const [x, y] = where(event).map(v => v / RADIUS);
  const far = points().flatMap((side, k) => side.map((p, i) =>
    [Math.hypot(p[0] - x, p[1] - y), k, i]));
  const [least, k, i] = far.sort((a, b) => a[0] - b[0])[0];
  if (least > 0.3) return;
  held = [k, i];
  choice.value = `${k},${i}`;
  circle.setPointerCapture(event.pointerId);
};
circle.onpointermove = event => {
  if (!held) return;
  const [x, y] = where(event);
  face(...held, Math.atan2(y, x));
};
circle.onpointerup = () => { held = null; };
circle.onpointercancel = circle.onpointerup;
begin();
box.querySelector(".pr-controls").hidden = false;
draw();
