const spec = JSON.parse(given.values), box = document.getElementById(given.id);
const all = box.querySelector(".mt-all"), asks = box.querySelector(".mt-asks");
const patches = [...box.querySelectorAll(".mt-patch")], keys = [...box.querySelectorAll(".mt-key")];
const told = box.querySelector("[role=status]"), choices = [...box.querySelectorAll("input")];
const side = spec.side, per = side * side, n = patches.length;
let chosen = spec.chosen;
const heard = steps => {
  const found = new Set([chosen]);
  for (const step of [...steps].reverse())
    for (const one of [...found]) step.met[one].forEach(other => found.add(other));
  return found;
};
const show = () => {
  const steps = spec.schemes[choices.find(each => each.checked).value], reached = heard(steps);
  patches.forEach((patch, p) => {
    const [square, dot] = patch.children;
    let met = -1;
    steps.forEach((step, k) => { if (step.met[chosen].includes(p)) met = k; });
    square.setAttribute("fill", met < 0 ? "none" : spec.colours[met]);
    dot.setAttribute("visibility", reached.has(p) ? "visible" : "hidden");
  });
  const here = patches[chosen].firstElementChild;
  for (const at of ["x", "y"]) asks.setAttribute(at, here.getAttribute(at));
  keys.forEach((key, k) => {
    key.setAttribute("visibility", k < steps.length ? "visible" : "hidden");
    key.querySelector("text").textContent = k < steps.length ? steps[k].name : "";
  });
  const parts = steps.map(step => `${step.met[chosen].length} (${step.name})`).join(", ");
  const pairs = steps.reduce((sum, step) => sum + step.met.reduce((s, met) => s + met.length, 0), 0);
  told.textContent = `Patch ${chosen % per + 1} of frame ${Math.floor(chosen / per) + 1} meets ` +
    `${parts}. After one layer it has heard of ${reached.size} of ${n} patches. All patches ` +
    `together: ${pairs} pairs a layer.`;
};
const go = to => { chosen = to; show(); };
patches.forEach((patch, p) => patch.addEventListener("click", () => go(p)));
all.tabIndex = 0;
all.addEventListener("keydown", event => {
  const f = Math.floor(chosen / per), y = Math.floor(chosen % per / side), x = chosen % side;
  const [down, across] = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1],
    ArrowRight: [0, 1] }[event.key] ?? [0, 0];
  if (!down && !across) return;
  event.preventDefault();
  const column = f * side + x + across, line = y + down;  // columns go on from frame to frame
  if (column < 0 || column >= n / side || line < 0 || line >= side) return;
  go(Math.floor(column / side) * per + line * side + column % side);
});
choices.forEach(each => { each.onchange = show; });
box.querySelector(".mt-choose").hidden = false;
box.classList.add("mt-live");
