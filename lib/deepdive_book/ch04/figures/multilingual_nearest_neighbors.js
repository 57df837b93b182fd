// Several languages in one heap. `given`: id, values (JSON), language, chosen.
const { names, texts, found } = JSON.parse(given.values);
const box = document.getElementById(given.id), shown = box.querySelector(".oh-shown");
const [language, sentence] = box.querySelectorAll("select"), said = box.querySelector("[role=status]");
const [means, turned] = box.querySelectorAll("input");
const WAYS = ["as they are", "means off", "means off and turned"];

const part = (tag, text, kind = "") => {
  const made = document.createElement(tag);
  made.textContent = text;
  if (kind) made.className = kind;
  return made;
};
const glossed = (made, k, at) => {
  if (k) made.append(part("i", texts[0][at]));
  return made;
};
const line = (head, k, at, chosen) => {
  const right = at === chosen, made = part("div", "", right ? "oh-right" : "oh-wrong");
  const term = part("dt", `nearest ${head}: `);
  term.append(part("b", right ? "translation" : "another"));
  made.append(term, glossed(part("dd", texts[k][at]), k, at));
  return made;
};
const list = () => {
  const cut = text => (text.length > 60 ? `${text.slice(0, 58)} …` : text);
  const at = sentence.selectedIndex;
  sentence.replaceChildren(...texts[+language.value].map((text, i) => {
    const option = part("option", cut(text));
    option.value = i;
    return option;
  }));
  sentence.selectedIndex = Math.max(0, at);
};
const draw = () => {
  const way = turned.checked ? 2 : +means.checked, k = +language.value, i = +sentence.value;
  const { each, heap } = found[way], [of, at] = heap[k][i], all = document.createElement("dl");
  all.append(
    ...names.map((name, m) => (m === k ? null : line(`in ${name}`, m, each[k][i][m], i)))
      .filter(Boolean),
    line(`of the whole heap (${names[of]})`, of, at, i),
  );
  shown.replaceChildren(glossed(part("p", texts[k][i], "oh-asked"), k, i), all);
  const right = heap[k].filter(([m, j], s) => j === s && m !== k).length;
  const own = heap[k].filter(([m]) => m === k).length;
  said.textContent = `${names[k]}, ${WAYS[way]}: for ${right} of ${texts[0].length} sentences the `
    + `nearest of the whole heap is a translation, for ${own} another sentence of the same language.`;
};
language.onchange = () => { list(); draw(); };
sentence.onchange = draw;
means.onchange = () => { if (!means.checked) turned.checked = false; draw(); };
turned.onchange = () => { if (turned.checked) means.checked = true; draw(); };
language.value = given.language;
list();
sentence.value = given.chosen;
box.querySelector(".oh-controls").hidden = false;
draw();
