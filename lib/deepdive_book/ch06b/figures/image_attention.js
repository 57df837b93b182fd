const spec = JSON.parse(given.values), box = document.getElementById(given.id);
const picker = box.querySelector(".lk-name"), said = box.querySelector(".lk-said");
const image = box.querySelector(".lk-image"), asks = box.querySelector(".lk-asks");
const dots = [...box.querySelectorAll(".lk-dot")], places = [...box.querySelectorAll(".lk-place")];
const bytes = text => Uint8Array.from(atob(text), letter => letter.charCodeAt(0));
for (const each of Object.values(spec.images)) {
  each.grey = bytes(each.grey);
  each.shares = bytes(each.shares);
}
const n = spec.grid, all = n * n;
let at = spec.at;
const where = place => `line ${Math.floor(place / n) + 1}, column ${(place % n) + 1}`;
const draw = () => {
  const shown = spec.images[picker.value], row = shown.shares.subarray(all * at, all * (at + 1));
  dots.forEach((dot, i) => {
    const light = shown.grey[i];
    dot.setAttribute("fill", `rgb(${light},${light},${light})`);
  });
  places.forEach((place, i) => place.setAttribute("fill-opacity", (0.85 * row[i]) / 255));
  asks.setAttribute("x", places[at].getAttribute("x"));
  asks.setAttribute("y", places[at].getAttribute("y"));
  const top = shown.tops[at], best = row.indexOf(Math.max(...row));
  said.textContent = top < 1.5 ? `The place in ${where(at)} looks everywhere alike.`
    : `The place in ${where(at)} looks most at ${where(best)}: ${top.toFixed(1)} times an even share.`;
};
const go = to => { at = to; draw(); };
places.forEach((place, i) => { place.onpointerdown = () => go(i); });
image.onpointermove = event => {  // a finger or a pressed mouse that is drawn over the image
  if (!event.buttons) return;
  const under = document.elementFromPoint(event.clientX, event.clientY);
  if (under && under.dataset.at && box.contains(under)) go(+under.dataset.at);
};
image.setAttribute("tabindex", 0);
image.style.touchAction = "none";
image.onkeydown = event => {
  const by = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] }[event.key];
  if (!by) return;
  const inside = place => Math.max(0, Math.min(n - 1, place));
  go(n * inside(Math.floor(at / n) + by[0]) + inside((at % n) + by[1]));
  event.preventDefault();
};
picker.onchange = draw;
box.querySelector(".lk-choose").hidden = picker.options.length < 2;
box.classList.add("lk-live");
draw();
