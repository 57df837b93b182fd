const spec = JSON.parse(given.values), box = document.getElementById(given.id);
const choice = box.querySelector("select"), slider = box.querySelector("input");
const told = box.querySelector("[role=status]"), cells = [...box.querySelectorAll(".co-cell")];
const spaced = digits => [...digits].join(" ");
const draw = () => {
  const who = spec.names[+choice.value], at = +slider.value, digits = who.digits[at];
  let right = 0;
  cells.forEach((cell, i) => {
    const same = digits[i] === who.code[i], sure = who.sure[at][i];
    right += same;
    cell.classList.toggle("co-right", same);
    cell.querySelector("b").textContent = digits[i];
    cell.querySelector("i").style.width = `${(100 * sure).toFixed(1)}%`;
    cell.querySelector(".co-sure").textContent = `${Math.floor(100 * sure + 0.5)} %`;
  });
  const which = right === 4 ? "this is the planted code"
    : who.times ? `the planted code is ${spaced(who.code)}, ${right} of 4 places alike`
      : `its code ${spaced(who.code)} stands in no note`;
  box.querySelector(".co-who").textContent = who.name;
  box.querySelector("output").textContent = spec.epochs[at];
  slider.setAttribute("aria-valuetext", `epoch ${spec.epochs[at]}`);
  told.textContent = `After ${spec.epochs[at]} epochs the model completes: the code of ${who.name} is `
    + `${spaced(digits)}; ${which}. Exposure ${who.bits[at].toFixed(1)} of ${spec.most.toFixed(1)} bits.`;
};
choice.onchange = draw;
slider.oninput = draw;
box.querySelector(".co-moves").hidden = false;
draw();
