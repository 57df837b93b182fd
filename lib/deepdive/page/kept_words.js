const spec = JSON.parse(given.values), box = document.getElementById(given.id);
const choice = box.querySelector("select"), slider = box.querySelector("input");
const shown = box.querySelector("output"), told = box.querySelector("[role=status]");
const line = box.querySelector(".kw-text"), rows = [...box.querySelectorAll(".kw-row")];
const draw = () => {
  const text = spec.texts[+choice.value], at = +slider.value, point = spec.points[at];
  line.replaceChildren(...text.words.flatMap((word, i) => {
    const each = document.createElement("span");
    each.className = "kw-word" + (text.kept[at][i] ? " kw-kept" : "")
      + (text.decides[i] ? " kw-decides" : "");
    each.textContent = word;
    return [each, " "];
  }));
  const kept = text.words.filter((_, i) => text.kept[at][i]);
  rows.forEach((row, k) => {
    [row.querySelector("i").style.width, row.querySelector("b").textContent] = point.bars[k];
  });
  shown.textContent = point.penalty;
  slider.setAttribute("aria-valuetext", `${point.penalty}, ${kept.length} words kept`);
  told.textContent = `At a penalty of ${point.penalty} it keeps ${kept.length} of `
    + `${text.words.length} words, “${kept.join(" ")}”, and answers: ${text.says[at]}.`;
};
choice.onchange = draw;
slider.oninput = draw;
box.querySelector(".kw-choose").hidden = false;
draw();
