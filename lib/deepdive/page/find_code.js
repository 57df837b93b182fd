const spec = JSON.parse(given.values), box = document.getElementById(given.id);
const arrow = box.querySelector(".fc-arrow"), ten = box.querySelector(".fc-ten");
const bars = [...box.querySelectorAll(".fc-bar")], numbers = [...box.querySelectorAll(".fc-share")];
const said = box.querySelector(".fc-said"), told = box.querySelector(".fc-told");
const draw = () => {
  const turn = +arrow.value, temperature = +ten.value / 10, radians = turn * Math.PI / 180;
  const raised = spec.codes.map(code =>
    Math.exp(Math.cos((turn - code) * Math.PI / 180) / temperature));
  const total = raised.reduce((a, b) => a + b), shares = raised.map(x => x / total);
  said.setAttribute("x2", spec.middle + (spec.radius - 8) * Math.cos(radians));
  said.setAttribute("y2", spec.middle - (spec.radius - 8) * Math.sin(radians));
  bars.forEach((bar, i) => bar.setAttribute("width", spec.long * shares[i]));
  numbers.forEach((number, i) => { number.textContent = shares[i].toFixed(2); });
  told.textContent = `The arrow points to ${turn} degrees, the right code to ${spec.codes[0]}. ` +
    `At temperature ${temperature.toFixed(1)} the right code's share is ${shares[0].toFixed(2)}, ` +
    `the loss ${(-Math.log(shares[0])).toFixed(2)}.`;
};
arrow.oninput = ten.oninput = draw;
box.querySelector(".fc-turn").hidden = false;
draw();
