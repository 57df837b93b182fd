const spec = JSON.parse(given.spec), box = document.getElementById(given.id);
const row = kind => box.querySelector(`.dd-belt-${kind}`);
const order = [1, 0, 0.5], sign = { 0: "0", 0.5: "½", 1: "1" };
const called = { 0: "shut", 0.5: "half open", 1: "open" };
const gates = {}, buttons = {};
const number = v => {
  const text = Number.isInteger(v) ? String(Math.abs(v)) : Math.abs(v).toFixed(2).replace(/^0/, "");
  return v === 0 ? "0" : (v > 0 ? "+" : "−") + text;
};
const name = v => Math.abs(v) < 0.5 ? "nothing clear" : v > 0 ? spec.names[0] : spec.names[1];
for (const gate of ["write", "keep", "show"]) {
  gates[gate] = spec.words.map(() => 1);
  buttons[gate] = [...row(gate).querySelectorAll("button")];
  buttons[gate].forEach((button, t) => {
    button.disabled = false;
    button.onclick = () => {
      gates[gate][t] = order[(order.indexOf(gates[gate][t]) + 1) % 3];
      draw(t);
    };
  });
}
const said = box.querySelector(".dd-belt-said");
const wanted = spec.says[spec.words.lastIndexOf("buy") + 1];
const draw = at => {
  let c = spec.start, early = -1, told = "";
  const last = spec.words.length - 1;
  spec.words.forEach((word, t) => {
    const f = gates.keep[t], i = gates.write[t], o = gates.show[t], old = c;
    c = f * old + i * spec.says[t];
    const h = o * c;
    if (t === at) told = `At “${word}”: ${sign[f]} × ${number(old)} kept, ` +
      `${sign[i]} × ${number(spec.says[t])} written; the belt holds ${number(c)}. `;
    if (h && t < last && early < 0) early = t;
    row("carried").cells[t + 2].innerHTML = `<b>${number(c)}</b>`;
    row("heard").cells[t + 2].textContent = h ? number(h) : "·";
    for (const gate in gates) {
      const button = buttons[gate][t], v = gates[gate][t];
      button.textContent = sign[v];
      button.style.setProperty("--open", `${100 * v}%`);
      button.setAttribute("aria-label", `${gate} at ${word}: ${sign[v]}, ${called[v]}`);
    }
  });
  const h = gates.show[last] * c, right = h * wanted > 0.5;
  const end = `In the shop you hear ${number(h)}: ${name(h)}. `;
  const judged = !right ? "That is not what you were asked to buy."
    : early >= 0 ? `Right. But the belt was also heard at “${spec.words[early]}”, before you asked.`
    : Math.abs(h) > 1.01 ? "The right thing, with something else mixed in." : "Solved.";
  said.textContent = told + end + judged;
};
const [open, half, solve] = box.querySelectorAll(".dd-belt-buttons button");
const set = values => { for (const gate in gates) gates[gate] = values(gate); draw(-1); };
open.onclick = () => set(() => spec.words.map(() => 1));
const faded = { write: 0, keep: 0.5, show: 1 };
half.onclick = () => set(gate => spec.words.map(() => faded[gate]));
solve.onclick = () => set(gate => spec.words.map((_, t) => {
  const asked = t === spec.words.lastIndexOf("buy") + 1;
  return gate === "write" ? +asked : gate === "keep" ? +!asked : +(t === spec.words.length - 1);
}));
box.querySelector(".dd-belt-buttons").hidden = false;
draw(-1);
