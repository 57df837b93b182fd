// The drawing and the model's prediction. `given`: id, spec (JSON). Every new point runs the model.

const spec = JSON.parse(given.spec), box = document.getElementById(given.id);
const find = what => box.querySelector(what), SVG = "http://www.w3.org/2000/svg";
const make = (tag, within, settings = {}) => {
  const made = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(settings)) made.setAttribute(name, value);
  return within.appendChild(made);
};
const percent = share => share > 0.995 ? "over 99%" : share < 0.005 ? "under 1%"
  : Math.floor(100 * share + 0.5) + "%";
const tell = (where, text) => { if (where.textContent !== text) where.textContent = text; };

const see = viewer(spec, cut(spec.shapes, halves(spec.weights)));
const { dots, cell, pen, side, patch } = spec, across = side / patch, patches = across ** 2;

// --- a drawing as the data are: `frame` and `prepared` of drawing.py -----------------------------

const frame = strokes => {
  const points = strokes.flat(), ends = axis => {
    const all = points.map(point => point[axis]);
    return [Math.min(...all), Math.max(...all)];
  };
  const [lowX, highX] = ends(0), [lowY, highY] = ends(1);
  const w = Math.max(highX - lowX, 0.05), h = Math.max(highY - lowY, 0.05);
  let high = (spec.high - 2 * pen) / h;
  const wide = Math.min(spec.wide / (w + 2 * pen / high), spec.stretch * high);
  high = Math.min(high, spec.stretch * wide);
  return { wide, left: dots / 2 - wide * (lowX + highX) / 2,
    high, top: dots / 2 - high * (lowY + highY) / 2 };
};

const away = (x, y, [ax, ay], [bx, by]) => {
  const dx = bx - ax, dy = by - ay, long = dx * dx + dy * dy;
  const along = long > 0 ? ((x - ax) * dx + (y - ay) * dy) / long : 0, t = Math.min(1, Math.max(0, along));
  return Math.hypot(x - ax - t * dx, y - ay - t * dy);
};

const prepared = strokes => {
  const fit = frame(strokes), counts = new Float32Array(side * side), ink = new Set();
  const wider = fit.wide / fit.high;  // the pen is stretched with the drawing
  for (const stroke of strokes) {
    const line = stroke.map(([x, y]) => [(fit.wide * x + fit.left) / wider, fit.high * y + fit.top]);
    line.forEach((a, i) => {
      const b = line[i + 1] ?? (i ? null : a);
      if (!b) return;
      const low = (k, by) => Math.max(0, Math.floor((Math.min(a[k], b[k]) - pen) * by));
      const high = (k, by) => Math.min(dots - 1, Math.ceil((Math.max(a[k], b[k]) + pen) * by));
      for (let y = low(1, 1); y <= high(1, 1); y++)
        for (let x = low(0, wider); x <= high(0, wider); x++)
          if (away((x + 0.5) / wider, y + 0.5, a, b) <= pen) ink.add(y * dots + x);
    });
  }
  for (const dot of ink)
    counts[Math.floor(dot / dots / cell) * side + Math.floor(dot % dots / cell)]++;
  return counts;
};

// --- what is seen --------------------------------------------------------------------------------

const paper = find(".dr-paper"), shown = find(".dr-given"), layer = find("select");
const heat = [...find(".dr-heat").children], pixels = [...find(".dr-pixels").children];
const bars = [...find(".dr-bars").children], nib = find(".dr-pen");
const one = spec.shown / across;
const frames = Array.from({ length: patches }, (_, t) => make("rect", find(".dr-patches"), {
  x: t % across * one + 1.5, y: Math.floor(t / across) * one + 1.5, width: one - 3, height: one - 3,
}));
let strokes = [], at = [0.5, 0.5], asks = 0, fit = null, result = null, counts = null;

const empty = () => !strokes.some(stroke => stroke.length);

// The patch in which a point of the paper lies, or the nearest one.
const patchAt = ([x, y]) => {
  const size = dots / across, place = value => Math.min(across - 1, Math.max(0, Math.floor(value / size)));
  return fit ? place(fit.high * y + fit.top) * across + place(fit.wide * x + fit.left) : 0;
};

const shade = () => {
  const look = result?.looks[layer.value - 1][asks + 1];
  const most = look ? Math.max(...look.slice(1)) : 1;
  frames.forEach((rect, t) => {
    const mine = result && t === asks;
    rect.setAttribute("fill", "@weight"); rect.setAttribute("fill-opacity", look ? 0.7 * look[t + 1] / most : 0);
    rect.setAttribute("stroke", mine ? "@query" : "gray"); rect.setAttribute("stroke-width", mine ? 4 : 1);
  });
};

const say = () => {
  if (!result) return tell(find("[role=status]"), "Draw a digit with a finger, a pen, or the mouse.");
  const order = [...result.shares.keys()].sort((a, b) => result.shares[b] - result.shares[a]);
  const [first, second] = order, look = result.looks[layer.value - 1][asks + 1];
  const best = look.slice(1).indexOf(Math.max(...look.slice(1)));
  const called = t => `row ${1 + Math.floor(t / across)}, column ${1 + t % across}`;
  tell(find("[role=status]"), `Prediction: ${spec.names[first]}, ${percent(result.shares[first])}; next ` +
    `${spec.names[second]}, ${percent(result.shares[second])}. In layer ${layer.value} the patch under the ` +
    `pen (${called(asks)}) attends most to ${best === asks ? "itself" : called(best)}` +
    (look[0] > look[best + 1] ? ", and more to the class token." : "."));
};

const update = () => {
  fit = empty() ? null : frame(strokes);
  counts = fit ? prepared(strokes) : new Float32Array(side * side);
  result = fit ? see(counts.map(count => count / 8 - 1)) : null;
  if (result) result.shares = softmax(result.logits);
  const lines = find(".dr-ink");
  lines.replaceChildren();
  for (const stroke of strokes) if (stroke.length) make("polyline", lines, {
    points: [...stroke, ...(stroke.length === 1 ? stroke : [])]
      .map(([x, y]) => `${spec.paper * x},${spec.paper * y}`).join(" ") });
  counts.forEach((count, i) => {
    const grey = Math.floor(count * 255 / 16);
    pixels[i].setAttribute("fill", `rgb(${grey},${grey},${grey})`);
  });
  const rolled = result?.rolled[0].slice(1), most = rolled ? Math.max(...rolled) : 1;
  const size = dots / across;
  heat.forEach((rect, t) => {
    rect.setAttribute("visibility", fit ? "visible" : "hidden");
    if (!fit) return;
    const x = (t % across * size - fit.left) / fit.wide;
    const y = (Math.floor(t / across) * size - fit.top) / fit.high;
    for (const [name, value] of [["x", x], ["y", y], ["width", size / fit.wide], ["height", size / fit.high]])
      rect.setAttribute(name, spec.paper * value);
    rect.setAttribute("fill-opacity", 0.75 * rolled[t] / most);
  });
  const first = result ? result.shares.indexOf(Math.max(...result.shares)) : -1;
  bars.forEach((bar, i) => {
    const share = result ? result.shares[i] : 0;
    bar.classList.toggle("dr-best", i === first);
    bar.querySelector("i").style.width = `${100 * share}%`;
    tell(bar.querySelector(".dr-share"), result ? percent(share) : "");
  });
  point();
};

const point = () => {
  if (fit) asks = patchAt(at);
  nib.setAttribute("cx", spec.paper * at[0]); nib.setAttribute("cy", spec.paper * at[1]);
  shade(); say();
};

// --- what the reader does ------------------------------------------------------------------------

const place = event => {
  const box = paper.getBoundingClientRect(), within = value => Math.min(1, Math.max(0, value));
  return [within((event.clientX - box.left) / box.width), within((event.clientY - box.top) / box.height)];
};
let down = false, due = false;
const soon = () => {  // once a frame, however often the pen reports
  if (!due) requestAnimationFrame(() => { due = false; update(); });
  due = true;
};
paper.addEventListener("pointerdown", event => {
  if (event.button > 0 || !event.isPrimary) return;
  event.preventDefault(); paper.focus({ preventScroll: true });
  try { paper.setPointerCapture(event.pointerId); } catch { /* a pen that is already gone */ }
  down = true; at = place(event); strokes.push([at]); soon();
});
paper.addEventListener("pointermove", event => {
  if (!event.isPrimary) return;
  at = place(event);
  if (!down) return point();
  for (const each of event.getCoalescedEvents?.() ?? []) strokes.at(-1).push(place(each));
  strokes.at(-1).push(at); soon();
});
for (const name of ["pointerup", "pointercancel"]) paper.addEventListener(name, () => { down = false; });
paper.addEventListener("touchmove", event => event.preventDefault(), { passive: false });

const steps = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
paper.addEventListener("keydown", event => {  // arrows move the pen, the space bar sets it down
  const by = steps[event.key];
  if (!by && event.key !== " ") return;
  event.preventDefault();
  if (by) at = at.map((value, axis) => Math.min(0.98, Math.max(0.02, value + 0.04 * by[axis])));
  else { down = !down; if (down) strokes.push([]); }
  if (down) { strokes.at(-1).push(at); update(); } else point();
});
paper.addEventListener("blur", () => { down = false; });

const chosen = t => { asks = Math.min(patches - 1, Math.max(0, t)); shade(); say(); };
for (const name of ["pointerdown", "pointermove"]) shown.addEventListener(name, event => {
  const box = shown.getBoundingClientRect();
  const index = (at, long) => Math.min(across - 1, Math.max(0, Math.floor(at / long * across)));
  chosen(index(event.clientY - box.top, box.height) * across + index(event.clientX - box.left, box.width));
});
shown.addEventListener("keydown", event => {
  const by = steps[event.key];
  if (!by) return;
  event.preventDefault();
  const x = asks % across + by[0], y = Math.floor(asks / across) + by[1];
  if (x >= 0 && x < across && y >= 0 && y < across) chosen(y * across + x);
});

find(".dr-undo").onclick = () => { strokes.pop(); update(); };
find(".dr-clear").onclick = () => { strokes = []; update(); };
layer.onchange = () => { shade(); say(); };
const example = name => {
  strokes = spec.examples[name].map(stroke => stroke.map(point => [...point]));
  at = strokes.at(-1).at(-1); update();
};
box.querySelectorAll(".dr-examples button").forEach(button => {
  button.onclick = () => example(button.textContent);
});
box.querySelectorAll("[hidden]").forEach(part => { part.hidden = false; });
box.classList.add("dr-live");
example(spec.start);
