const spec = JSON.parse(given.values), box = document.getElementById(given.id);
const slider = box.querySelector("input"), called = box.querySelector("output");
const told = box.querySelector("[role=status]");
const rows = [...box.querySelectorAll(".ex-row")].map(row => [...row.querySelectorAll(".ex-word")]);
const alpha = share => Math.round(120 * Math.abs(share)).toString(16).padStart(2, "0");
const draw = () => {
  const step = +slider.value;
  rows.forEach((row, m) => row.forEach((word, i) => {
    const share = spec.shares[m][step][i], colour = spec.colours[share > 0 ? 0 : 1];
    const high = spec.half * Math.abs(share), bar = word.querySelector(".ex-bar span");
    word.title = (share < 0 ? "" : "+") + share.toFixed(2);
    word.style.background = colour + alpha(share);
    bar.style.background = colour;
    bar.style.top = `${(share > 0 ? spec.half - high : spec.half).toFixed(1)}px`;
    bar.style.height = `${high.toFixed(1)}px`;
  }));
  called.textContent = spec.steps[step];
  slider.setAttribute("aria-valuetext", spec.steps[step]);
  told.textContent = spec.told[step];
};
slider.oninput = draw;
slider.setAttribute("aria-label", "step");
box.querySelector(".es-choose").hidden = false;
draw();
