const spec = JSON.parse(given.values), box = document.getElementById(given.id);
const all = box.querySelector(".sh-all"), frame = box.querySelector(".sh-frame");
const image = box.querySelector(".sh-image"), maps = [...box.querySelectorAll(".sh-map")];
const choice = box.querySelector("select"), told = box.querySelector("[role=status]");
const reach = spec.reach, n = 2 * reach + 1, cell = spec.map / n;
let down = 0, across = 0;
const cross = (x, y) => {
  const [a, b] = [0.3 * cell, 0.7 * cell];
  return `M${x + a} ${y + a}L${x + b} ${y + b}M${x + b} ${y + a}L${x + a} ${y + b}`;
};
const say = now => {
  const moves = down ? [`${Math.abs(down)} ${down > 0 ? "down" : "up"}`] : [];
  if (across) moves.push(`${Math.abs(across)} to the ${across > 0 ? "right" : "left"}`);
  const parts = [moves.length ? `Moved ${moves.join(" and ")}.` : "Not moved."];
  spec.models.forEach(model => {
    const says = now.says[model], top = says.top[down + reach][across + reach];
    const sure = says.sure[down + reach][across + reach].toFixed(2);
    const verdict = top === now.kind ? "right" : `wrong: it is ${spec.names[now.kind]}`;
    parts.push(`${model} says ${spec.names[top]}, ${verdict} (sure of the right kind: ${sure}).`);
  });
  told.textContent = parts.join(" ");
};
const move = (y, x) => {
  const within = v => Math.max(-reach, Math.min(reach, v));
  [down, across] = [within(y), within(x)];
  const now = spec.images[+choice.value];
  image.setAttribute("x", across);
  image.setAttribute("y", down);
  maps.forEach((map, m) => {
    const here = map.querySelector(".sh-here");
    here.setAttribute("x", spec.lefts[m] + (across + reach) * cell);
    here.setAttribute("y", spec.top + (down + reach) * cell);
    const top = now.says[spec.models[m]].top[down + reach][across + reach];
    map.querySelector(".sh-says").textContent = `says ${spec.names[top]}`;
  });
  say(now);
};
const draw = () => {  // another image
  const now = spec.images[+choice.value];
  image.setAttribute("href", `data:image/png;base64,${now.png}`);
  maps.forEach((map, m) => {
    const says = now.says[spec.models[m]], left = spec.lefts[m];
    let crosses = "", right = 0;
    map.querySelectorAll("rect").forEach((square, i) => {
      if (i >= n * n) return;  // the frames come last
      const [r, c] = [Math.floor(i / n), i % n];
      square.setAttribute("fill-opacity", says.sure[r][c]);
      if (says.top[r][c] === now.kind) right += 1;
      else crosses += cross(left + c * cell, spec.top + r * cell);
    });
    map.querySelector(".sh-crosses").setAttribute("d", crosses);
    map.querySelector(".sh-share").textContent = `right at ${right} of ${n * n}`;
  });
  move(0, 0);
};
const at = event => {  // in the drawing's own lengths
  const point = new DOMPoint(event.clientX, event.clientY);
  return point.matrixTransform(all.getScreenCTM().inverse());
};
let held = null;
frame.addEventListener("pointerdown", event => {
  const from = at(event);
  held = { x: from.x, y: from.y, down, across };
  frame.setPointerCapture(event.pointerId);
});
frame.addEventListener("pointermove", event => {
  if (!held) return;
  const now = at(event), pixel = spec.side / spec.images[+choice.value].side;
  move(held.down + Math.round((now.y - held.y) / pixel),
    held.across + Math.round((now.x - held.x) / pixel));
});
for (const end of ["pointerup", "pointercancel"]) frame.addEventListener(end, () => { held = null; });
all.addEventListener("click", event => {
  const { x, y } = at(event), r = Math.floor((y - spec.top) / cell);
  for (const left of spec.lefts) {
    const c = Math.floor((x - left) / cell);
    if (r >= 0 && r < n && c >= 0 && c < n) move(r - reach, c - reach);
  }
});
all.tabIndex = 0;
all.addEventListener("keydown", event => {
  const by = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] }[event.key];
  if (by) { move(down + by[0], across + by[1]); event.preventDefault(); }
});
choice.onchange = draw;
box.querySelector("button").onclick = () => move(0, 0);
box.querySelector(".sh-choose").hidden = false;
box.classList.add("sh-live");
