const spec = JSON.parse(given.values), box = document.getElementById(given.id);
const [writer, form, way] = box.querySelectorAll("select"), day = box.querySelector("input");
const told = box.querySelector("[role=status]"), shown = box.querySelector("output");
const pieces = box.querySelector(".tl-pieces"), months = box.querySelector(".tl-months");
const element = (kind, text) => {
  const made = document.createElement(kind);
  if (text) made.textContent = text;
  return made;
};
const draw = () => {
  const at = (+writer.value * spec.forms.length + +form.value) * spec.days.length + +day.value;
  const slip = spec.slips[at], key = spec.keys[+way.value], shares = spec.says[key][at];
  const best = shares.indexOf(Math.max(...shares)), short = spec.short[+writer.value];
  const right = best === slip.month ? "right" : `wrong: it is ${spec.months[slip.month]}`;
  told.textContent = `“${slip.text}”, written in ${spec.languages[+writer.value]}, `
    + `${spec.ways[+way.value]}: ${spec.months[best]}, ${shares[best]}%. That is ${right}.`;
  shown.textContent = spec.days[+day.value];
  day.setAttribute("aria-valuetext", spec.days[+day.value]);
  const read = ["[CLS]", ...(key === "token" ? [`<${short}>`] : []), ...slip.pieces];
  pieces.replaceChildren(...read.map((piece, i) => {
    const chip = element("span", piece);
    if (key === "token" && i === 1) chip.className = "tl-told";
    if (key === "row") {
      chip.className = "tl-told";
      chip.append(element("small", `+ ${short}`));
    }
    return chip;
  }));
  months.replaceChildren(...shares.map((share, m) => {
    const column = element("span"), bar = element("i");
    bar.setAttribute("style", `height:${Math.round(share * 0.8)}px`);
    if (share >= 5) bar.setAttribute("data-share", `${share}%`);
    if (m === slip.month) column.className = "tl-right";
    column.append(bar, spec.months[m].slice(0, 3));
    return column;
  }));
};
for (const choice of [writer, form, way]) choice.onchange = draw;
day.oninput = draw;
box.querySelector(".tl-choose").hidden = false;
draw();
