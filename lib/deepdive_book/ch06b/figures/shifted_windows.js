const { side, window: size, cell, last } = given;
const slide = box.querySelector("input"), number = box.querySelector("output");
const lines = box.querySelector(".mt-lines"), said = box.querySelector("p");
const patches = [...box.querySelectorAll(".mt-patch")];
let shift = given.shift, start = 0;

const windows = by => {
  const at = [...Array(side).keys()].map(place => Math.floor((place - by) / size) + 1);
  return at.flatMap(row => at.map(column => row * (side / size + 1) + column));
};
const moved = layer => layer % 2 ? 0 : shift;
const heard = layers => {
  const when = Array(side * side).fill(-1);
  when[start] = 0;
  for (let layer = 1; layer <= layers; layer++) {
    const of = windows(moved(layer)), told = new Set(of.filter((_, p) => when[p] >= 0));
    of.forEach((one, p) => { if (when[p] < 0 && told.has(one)) when[p] = layer; });
  }
  return when;
};
const pairs = by => {
  const many = {};
  for (const one of windows(by)) many[one] = (many[one] || 0) + 1;
  return Object.values(many).reduce((sum, n) => sum + n * n, 0);
};
const show = () => {
  const when = heard(at), by = moved(at), comma = n => n.toLocaleString("en-US");
  patches.forEach((patch, p) => {
    const full = when[p] < 0 ? 0 : Math.max(0.15, 1 - 0.17 * when[p]);
    patch.firstChild.setAttribute("fill-opacity", full.toFixed(2));
    patch.lastChild.textContent = when[p] < 0 ? "" : when[p];
  });
  const ends = [0];
  for (let x = by || size; x < side; x += size) ends.push(x);
  ends.push(side);
  const far = cell * side;
  lines.setAttribute("d", ends.map(x => `M${cell * x},0V${far}M0,${cell * x}H${far}`).join(""));
  const where = by ? `windows moved by ${by}` : "windows in the corner";
  const count = when.filter(one => one >= 0).length;
  said.textContent = (at ? `Layer ${at}, ${where}` : "Before the first layer")
    + `: ${count} of ${side * side} patches have heard. A layer compares ${comma(pairs(by))} pairs;`
    + ` all with all would be ${comma(side ** 4)}.`;
  number.textContent = shift;
  box.dataset.state = JSON.stringify({ at, shift, start, when, pairs: pairs(by) });
};
slide.oninput = () => { shift = +slide.value; show(); };
slide.addEventListener("keydown", event => event.stopPropagation());
const begin = patch => { start = patch; go(at); };
patches.forEach((patch, p) => { patch.onclick = () => begin(p); });
box.querySelector(".mt-corner").onclick = () => begin(0);
box.querySelector(".mt-middle").onclick = () => begin((side + 1) * (side >> 1));
go(given.layer);
