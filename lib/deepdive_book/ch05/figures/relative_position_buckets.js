const spec = JSON.parse(given.values), box = document.getElementById(given.id), n = spec.length;
const choice = box.querySelector("select"), [query, key] = box.querySelectorAll("input");
const cells = [...box.querySelectorAll(".bk-strip i")], marks = box.querySelectorAll(".bk-marks b");
const outputs = box.querySelectorAll("output"), told = box.querySelector("[role=status]");
const draw = () => {
  const table = spec.tables[+choice.value], behind = spec.behind[+choice.value];
  const at = +query.value, k = +key.value, of = i => table[i - at + n - 1];
  cells.forEach((cell, i) => { cell.style.opacity = behind && i > at ? 0 : spec.shades[of(i) % 2]; });
  [at, k].forEach((place, m) => {
    outputs[m].textContent = place;
    marks[m].style.left = `${100 * (place + 0.5) / n}%`;
    marks[m].textContent = m ? "▲" : "●";
  });
  let said = `Query at ${at}, key at ${k}: it stands ahead, and is masked.`;
  if (!behind || k <= at) {
    const keys = cells.map((_, i) => i).filter(i => (!behind || i <= at) && of(i) === of(k));
    const shared = keys.length > 1 ? `${keys.length} keys share it, ${keys[0]} to ${keys.at(-1)}` : "no other key has it";
    said = `Query at ${at}, key at ${k}: distance ${k - at}, bucket ${of(k)}; ${shared}.`;
  }
  told.textContent = said.replace("-", "−");
};
choice.onchange = query.oninput = key.oninput = draw;
box.querySelector(".bk-choose").hidden = false;
draw();
