const spec = JSON.parse(given.values), box = document.getElementById(given.id);
const slider = box.querySelector("input"), shown = box.querySelector("output");
const told = box.querySelector("[role=status]");
const rows = [...box.querySelectorAll(".la-row:not(.la-head)")].map(row =>
  [...row.querySelectorAll(".la-bar")].map(bar => [...bar.children]));
const set = ([bar, number], share) => {
  bar.style.width = `${(100 * share).toFixed(1)}%`;
  number.textContent = (100 * share).toFixed(0);
};
const draw = () => {
  const now = spec.states[+slider.value];
  rows.forEach((bars, i) => {
    set(bars[1], now.weights[i]);
    set(bars[2], now.left[i]);
  });
  shown.textContent = now.far;
  slider.setAttribute("aria-valuetext", now.far);
  told.textContent = now.told;
};
slider.oninput = draw;
box.querySelector(".la-choose").hidden = false;
draw();
