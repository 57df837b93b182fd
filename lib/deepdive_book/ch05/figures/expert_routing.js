// Letters that fly to their experts. `given`: id, values (JSON).
const spec = JSON.parse(given.values), box = document.getElementById(given.id);
const [weight, room] = box.querySelectorAll("input"), outputs = box.querySelectorAll("output");
const letters = [...box.querySelectorAll(".rt-letter")], slots = [...box.querySelectorAll(".rt-slot")];
const told = box.querySelector("[role=status]"), button = box.querySelector("button");
const A_LINE = slots.length / spec.n;
const put = (letter, [x, y]) => { letter.style.transform = `translate(${x}px,${y}px)`; };
const draw = () => {
  const experts = spec.routes[+weight.value], most = +room.value, asked = Array(spec.n).fill(0);
  let passed = 0;
  experts.forEach((e, i) => {
    const out = asked[e] >= most;
    put(letters[i], out ? spec.lane[passed] : spec.slots[e][asked[e]]);
    letters[i].classList.toggle("rt-out", out);
    passed += out;
    asked[e] += 1;
  });
  slots.forEach((slot, i) => {
    if (i % A_LINE < most) slot.removeAttribute("visibility");
    else slot.setAttribute("visibility", "hidden");
  });
  const label = spec.weights[+weight.value], top = Math.max(...asked);
  const factor = +(most * spec.n / experts.length).toPrecision(3);
  outputs[0].textContent = label;
  outputs[1].textContent = most;
  weight.setAttribute("aria-valuetext", label);
  told.textContent = `Balance weight ${label}, room for ${most} at each expert (capacity factor ` +
    `${factor}): ${passed} of ${experts.length} letters pass by. Most asked: expert ` +
    `${asked.indexOf(top) + 1}, by ${top}; not asked: ${asked.filter(n => n === 0).length} of ${spec.n}.`;
};
const again = () => {
  box.classList.remove("rt-moves");
  letters.forEach((letter, i) => { put(letter, spec.first[i]); letter.classList.remove("rt-out"); });
  letters.forEach((letter, i) => { letter.style.transitionDelay = `${25 * i}ms`; });
  box.getBoundingClientRect(); // the browser sees them at home before they leave
  box.classList.add("rt-moves");
  draw();
};
weight.oninput = room.oninput = () => {
  letters.forEach(letter => { letter.style.transitionDelay = "0ms"; });
  draw();
};
button.onclick = again;
box.querySelector(".rt-choose").hidden = false;
button.hidden = false;
box.classList.add("rt-moves");
draw();
